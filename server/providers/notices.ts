import type { SeriesName } from '../catalogue/series.ts'
import type { Json } from './part.ts'
import type { Answer, Form, ProviderSettings, Request, Wish } from './provider.ts'

// The seam for notices: what a provider sends to us of its own accord, and how it is asked to. A folder that has them
// exports `notices` from its index. As the rest of a folder this is data and pure functions: the engine receives, stores,
// asks and deletes.

/** How a provider notifies: the export `notices` of its folder. */
export interface Notices {
  /** The largest body that is taken; at most 32 MiB. */
  readonly limitBytes: number
  /** Bodies are forms, not JSON. */
  readonly isForm?: true
  /** The status of our answer to a notice that was taken, without a body; absent: 200 with one (contract 8.1). */
  readonly accepted?: 204
  /**
   * Names of secrets of ours that the provider is given, without the prefix: read from `<PROVIDER>_<NAME>`, and made at
   * random when first needed where the operator has set none; without `subscriptions` of either kind the operator has to.
   * They are in `Keys.own`.
   */
  readonly secrets?: readonly string[]
  /** The one of them that is in the address, as `k` of its query or as its last part. */
  readonly addressSecret?: string
  /** A subscription that is created comes with `signingSecret` (`Keys.given`): without it no notice can be verified. */
  readonly givesSigningSecret?: true
  /**
   * Whether a notice comes from the provider: `signed`, what it says is believed; `unsigned`, taken, but nothing it says
   * is believed, all is asked for; `refused`. A reply answers what carries nothing, such as a ping, and ends it there.
   * Fails closed: refused when a secret, a header or a time is missing. Compares with server/providers/signing.ts only.
   */
  verify(request: InboundRequest, keys: Keys): 'signed' | 'unsigned' | 'refused' | Reply
  /** The answer to a GET by which the provider makes sure that the address is ours. Absent: it does not. */
  challenge?(query: Form, keys: Keys): Challenge
  /** A body that came within the last week is the same notice again, and says nothing new. Absent: it may. */
  readonly repeats?: boolean
  /**
   * What notices are about, beside workouts and nights: when a pull finds new data of it, one was missed. Without what also
   * comes from elsewhere, which is not notified.
   */
  readonly tells?: readonly (SeriesName | 'health_score' | 'meal')[]
  /**
   * The accounts that a body is about, found quickly as it arrives: all that `open` finds, and perhaps others. What is about
   * one account is opened in the order of receipt; accounts take turns.
   */
  accounts(body: Uint8Array): readonly string[]
  /** What a notice says; empty: nothing of use. Runs in a worker thread, of short ones in the event loop. */
  open(body: OpenedBody): readonly Notice[] | 'malformed'
  /** The requests that register our address at the provider; absent: an operator does that on its pages. */
  readonly subscriptions?: (application: Application) => Subscriptions
  /** The same where each account has to be subscribed to by itself. */
  readonly accountSubscriptions?: (application: Application) => AccountSubscriptions
}

/** A request to our address. */
export interface InboundRequest {
  /** As it came, byte by byte. */
  readonly body: Uint8Array
  /** By lower-case name. */
  readonly headers: Form
  readonly query: Form
  readonly nowSeconds: number
}

/** What can prove that a request comes from the provider. */
export interface Keys {
  /** Our id at the provider, which is no secret. */
  readonly clientId: string
  /** Secrets of the application: the client secret, and the former one while it is being changed (`_PREVIOUS`). */
  readonly client: readonly string[]
  /** The values of `Notices.secrets`, by name; one that is neither set nor made yet is absent. */
  readonly own: Form
  /** What the provider gave us to verify with when it was subscribed to (`Subscribed.signingSecret`); null: nothing. */
  readonly given: string | null
  /** Names of `Notices.secrets` that a challenge has brought back (`Challenge.confirms`). */
  readonly confirmed: readonly string[]
  /** Values of the further variables that the folder names in `Provider.settings`. */
  readonly more: Form
}

/** An answer of ours; with 204 it has no body. */
export interface Reply {
  readonly status: number
  readonly json: Json
}

/** The answer to a challenge; `confirms` names a secret of ours that came with it, so that from now on it can be demanded. */
export interface Challenge extends Reply {
  readonly confirms?: string
}

/** A notice that was received. */
export interface OpenedBody {
  readonly body: Uint8Array
  /** The parsed body, with integers beyond 2^53 as text; undefined when it is not JSON. */
  readonly json: unknown
  /** When it was received, epoch milliseconds. */
  readonly atMs: number
  /** Ids of our subscriptions at the provider, as far as they are known. */
  readonly subscriptionIds: readonly string[]
  /** Whether an operator wants what is recorded in workouts (`INGEST_WORKOUT_SAMPLES`). */
  readonly wantsSamples: boolean
}

/** What a notice says about an account. */
export type Notice = {
  /** The provider's id of the account, as `Identity.id`. */
  readonly account: string
} & (
  | {
      /** It carries data: a part for the mapping of the folder. */
      readonly kind: 'data'
      readonly stream: string
      readonly args?: Json
      /** A piece of the body; absent: all of it. */
      readonly body?: Uint8Array
      /** Of a provider that sends the past so (`Provider.backfill`): what distinguishes it from new data. Absent: it is new. */
      readonly covers?: Covers
      /**
       * What the elements of the body, a JSON list, are states of, in their order: an older one that comes later is left out.
       * Absent: each counts when it comes.
       */
      readonly states?: readonly (State | null)[]
    }
  /** There is something to be asked for. */
  | { readonly kind: 'fetch'; readonly wish: Wish }
  | {
      /** Something was deleted. Signed, it is removed; otherwise it is asked for, and `ObjectKind.missing` decides. */
      readonly kind: 'delete'
      readonly stream: string
      /** As mappings give it to `Out`. */
      readonly externalId: string
      readonly wish: Wish
    }
  /**
   * The person withdrew access. Signed, the grant ends, unless it was granted in the days in which notices are repeated:
   * then, and unsigned, its tokens are tried, which decides.
   */
  | { readonly kind: 'deauthorise' }
  | {
      /** The person changed what we may have. Signed, it takes the place of the scope of the grant, unless that is newer. */
      readonly kind: 'scope'
      readonly scope: string
      /** When that was, epoch milliseconds. */
      readonly atMs: number
    }
)

/** A state of a thing that is sent again and again: one with a lower `order` than what has come is older. */
export interface State {
  readonly key: string
  readonly order: number
}

/** Records that a notice carries: how many, and when the first and the last of them begin, epoch milliseconds. */
export interface Covers {
  readonly items: number
  readonly fromMs: number
  readonly untilMs: number
}

/** Our application at a provider. */
export interface Application {
  readonly settings: ProviderSettings
  /** As `Keys.own`, all of them. */
  readonly own: Form
}

/**
 * How our address is registered at a provider. Requests name no account: `as` is 'nobody' or 'application' (`Api.application`),
 * and headers hold what the provider wants of the application. What is not offered is absent, and answered 501.
 */
export interface Subscriptions {
  /** What is subscribed to: one element for each subscription that the provider keeps. */
  readonly wanted: readonly Wanted[]
  /** Our secret that the provider is given with each and does not show: once it is another one, they are given that. */
  readonly gives?: string | undefined
  /** Registering answers with one result, instead of a list of them (contract 8.2). */
  readonly asOne?: true
  list(): Request
  /** The subscriptions that an answer holds: a list, or the one that was created, updated or renewed. */
  read(answer: Answer): readonly Subscribed[]
  create(wanted: Wanted, url: string): Request
  /** Absent: it is removed and created again. */
  update?(one: Subscribed, url: string): Request
  remove(id: string): Request
  one?(id: string): Request
  /** Extends it. */
  renew?(one: Subscribed): Request
  /** Resumes it, after the provider has stopped notifying; an answer 204 means that there is none: it is created. */
  activate?(one: Subscribed): Request
  /** What a refusal means, where its status does not say: 409 `exists`, 404 `missing`. */
  refusal?(answer: Answer): 'exists' | 'missing' | undefined
}

/** How our address is registered for one account; requests are made with its token. */
export interface AccountSubscriptions {
  /** What is to be subscribed to; `scope`: granted names (`grantedScopes`), null = everything. */
  wanted(scope: ReadonlySet<string> | null): readonly string[]
  /** The address to register, with what proves that a notice came to it; `url` is that without it. */
  address(url: string): string
  list(): Request
  read(answer: Answer): readonly AccountSubscribed[]
  /** The provider may ask at the address before it answers. */
  create(one: AccountSubscribed): Request
  remove(one: AccountSubscribed): Request
}

/** A subscription of an account as the provider has it. */
export interface AccountSubscribed {
  /** What it is for. */
  readonly of: string
  /** With what proves that a notice came to it. */
  readonly url: string
}

/** What one subscription is for; empty where a provider has only one for everything. */
export interface Wanted {
  readonly eventType?: string
  readonly dataType?: string
}

/** A subscription as the provider has it. */
export interface Subscribed extends Wanted {
  readonly id: string
  /** Without what the folder itself adds to it; null: the answer does not say. */
  readonly url: string | null
  /** False: the provider has stopped notifying, or it lacks what the folder would give it now. Absent: it is as it should be. */
  readonly isActive?: boolean
  /** Epoch milliseconds; absent: it does not end. */
  readonly expiresAtMs?: number
  /** What its notices are signed with; said once, when it is created. */
  readonly signingSecret?: string
  /** As our API shows it (contract 8.2), without secrets. */
  readonly shown: Json
}
