import type { ProviderName } from '../catalogue/providers.ts'
import type { Brings, Json, MapPart } from './part.ts'
import type { Account, Identity, Tokens } from './tokens.ts'

export type { Account, Identity, Refusal, Tokens } from './tokens.ts'

// The interface between the engine and the folders of cloud providers. A folder is data and pure functions: it decides
// which request comes first and which comes next, and what an answer means; only the engine makes requests, keeps
// tokens and stores data. Folders do nothing at import, since worker threads import them, too. Read one in this order:
// index.ts (the manifest), streams.ts, mapping.ts, whose half of the interface is part.ts.

/** Fields of a query, a form or a header, by name. */
export type Form = Readonly<Record<string, string>>

/** A request to a provider. It holds no token: `call` adds that of the account as a bearer header. */
export interface Request {
  /** Below `Api.url`, with a leading slash and its parts encoded; or an address at the origin of the API or token URL. */
  readonly path: string
  /** GET without one. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly query?: Form
  readonly headers?: Form
  /** A body of type application/x-www-form-urlencoded, or of JSON. */
  readonly form?: Form
  readonly json?: Json
  /** Whose credentials are sent; by default the account's token. `application`: see `Api.application`. */
  readonly as?: 'account' | 'application' | 'nobody'
  /** Where the token of the account goes, instead of a bearer header. */
  readonly token?: { readonly in: 'query' | 'form'; readonly name: string }
  /**
   * What a later request and the mapping have to know of this one; stored with the answer, so without secrets. An answer
   * counts as another one when they differ, so of the window at most whole days belong here.
   */
  readonly args?: Json
  /** What only a later request has to know of this one. */
  readonly memo?: Json
}

/** A provider's answer to a request, whatever its status. */
export interface Answer {
  readonly status: number
  /** By lower-case name. */
  readonly headers: Form
  /** The parsed body, with integers beyond 2^53 as text; undefined when it is not JSON. */
  readonly json: unknown
}

/** How an operator runs a provider's application. */
export interface ProviderSettings {
  readonly clientId: string
  readonly clientSecret: string
  /** What it was before; notices may still be signed with it. */
  readonly previousClientSecret?: string
  /** Values of the further variables that a folder names in `settings`, by these names; absent ones are absent. */
  readonly more: Form
}

/**
 * Makes a request with an account's token, and returns the answer whatever its status. It rejects only when there is no
 * answer: network, time-out, a body that is too large.
 */
export interface Call {
  (request: Request): Promise<Answer>
  readonly settings: ProviderSettings
  /** The token URL in use, which the operator may have replaced. */
  readonly tokenUrl: string
  readonly nowSeconds: number
}

/** A provider with a cloud API: the export `cloud` of its folder. */
export interface Provider {
  readonly id: ProviderName
  /** The provider that took its place: people are pointed there. */
  readonly successor?: ProviderName
  /** Further variables, without the prefix: `AUTH_HOST` is OURA_AUTH_HOST; of `…_FILE` the value is what that file holds. */
  readonly settings?: readonly string[]
  /** A former prefix of its variables, such as GOOGLE, which counts where the usual one is not set. */
  readonly formerPrefix?: string
  /** What a value of one of `settings` must be instead ("must be …"); undefined: it can be right. */
  settingProblem?(name: string, value: string): string | undefined
  readonly api: Api
  /**
   * How access is granted. `issuer`: of a grant that exists, the `OAuth.issuer` it was granted by, which stays right
   * when settings change.
   */
  oauth(settings: Pick<ProviderSettings, 'more'>, issuer?: string | null): OAuth
  /** Runs in a worker thread. */
  readonly map: MapPart
  /** The data that all streams together bring. */
  readonly brings: Brings
  /** What can be asked for; absent: the provider cannot be pulled. */
  readonly streams?: readonly Stream[]
  /** How the past is asked for that the provider then sends as notices; absent: it does not. */
  readonly backfill?: Backfill
  /** Single things that notices and pages name, by kind. */
  readonly objects?: Readonly<Record<string, ObjectKind>>
  /** Workouts as the provider lists them, passed through. */
  readonly workouts?: {
    list(query: WorkoutQuery): Request
    /** Absent: they are listed only. */
    one?(id: string, query: WorkoutQuery): Request
  }
}

/** A provider's API. */
export interface Api {
  /** `<PROVIDER>_API_URL` replaces it. Without a slash at its end. */
  readonly url: string
  readonly budgets: readonly Budget[]
  /** Whether HTTP/2 is used where the provider offers it. */
  readonly http2?: true
  /**
   * The request for the bearer token of requests `as: 'application'`, or what an operator has to set for it. Absent: these
   * have client id and secret in their form.
   */
  application?(settings: ProviderSettings, tokenUrl: string, nowSeconds: number): Request | string
  /** What goes with every request to `url`, beside the token. */
  headers?(settings: ProviderSettings): Form
  /** The provider's own figures for its budgets, from any answer; empty if the answer has none. */
  readBudget?(answer: Answer): readonly BudgetReading[]
  /** The meaning of an answer where its status alone misleads; undefined: by status (`Verdict`). */
  judge?(answer: Answer): Verdict | undefined
  /** What an answer of status 200 says instead of data, for people; undefined: nothing. */
  problem?(answer: Answer): string | undefined
}

/** How many requests a provider accepts. */
export interface Budget {
  readonly per: 'application' | 'account'
  readonly seconds: number
  /** Infinity: there is one only where `setting` says it. */
  readonly limit: number
  /** Added to the limit for every connected account. */
  readonly perAccount?: number
  /** Windows begin at multiples of `seconds` since 1970, UTC; otherwise the limit holds for any span of that length. */
  readonly aligned: boolean
  /** A further variable, without the prefix, that replaces the limit: where it depends on the operator's agreement. */
  readonly setting?: string
}

/** A provider's own figures for a budget, identified by `per` and `seconds`. */
export interface BudgetReading extends Pick<Budget, 'per' | 'seconds'> {
  readonly limit?: number
  /** Requests left in the window. */
  readonly remaining?: number
  /** Until the window ends. */
  readonly resetSeconds?: number
}

/**
 * What an answer means. By status: `ok` 2xx; `empty` 204; `missing` 404 and 410; `auth` 401; `denied` 403; later 408,
 * 425, 429 and 5xx (`afterSeconds` null: not said); `wrong` everything else, such as 2xx that is not JSON. `retired`, which
 * no status says: the provider has ended this API, so nobody is asked there for a day.
 */
export type Verdict =
  | 'ok'
  | 'empty'
  | 'missing'
  | 'auth'
  | 'denied'
  | 'wrong'
  | 'retired'
  | {
      readonly later: true
      readonly afterSeconds: number | null
      /** The budget is used up, whatever the status says. */
      readonly limited?: true
    }

/** How a provider grants access (RFC 6749). */
export interface OAuth {
  /** Which of several sign-in services this is; stored with a grant and given back to `Provider.oauth`. */
  readonly issuer?: string
  /** `<PROVIDER>_AUTHORIZE_URL` and `_TOKEN_URL` replace these. */
  readonly authorizeUrl: string
  readonly tokenUrl: string
  /** How the client identifies itself: Basic, or id and secret in the body. */
  readonly client: 'basic' | 'body'
  /** Whether a code challenge (S256) is sent. */
  readonly pkce: boolean
  /** As they are asked for, unless `<PROVIDER>_DEFAULT_SCOPE` says otherwise. */
  readonly scopes: readonly string[]
  readonly separator: ' ' | ','
  /** Left out when granted names are compared with those of `needs` and streams (`grantedScopes`). */
  readonly scopePrefix?: string
  /** Further parameters of the authorize URL. */
  readonly params?: Form
  /** One of each must be granted, or there is no connection. */
  readonly needs?: readonly Need[]
  /** How access is renewed; null: it is not. */
  readonly refresh: Refresh | null
  /** Where token requests and their answers have another form. */
  readonly envelope?: {
    /** Further fields of every token request. */
    readonly form: Form
    /** An answer as RFC 6749 has it: status, and tokens (5.1) or an error (5.2). */
    open(answer: Answer): Answer
  }
  /** The error of RFC 6749, 5.2, in a refusal of the token endpoint that has another form; null: none of these. */
  readonly errorIn?: (refusal: unknown) => string | null
  /** Errors of the callback by which the provider admits no more people, or not this one, to our application. */
  readonly limitErrors?: readonly string[]
  /**
   * The account that tokens belong to.
   * @throws Error when the provider does not say
   */
  identify(tokens: Tokens, call: Call): Promise<Identity>
  /**
   * Registers an account that has granted access, where data comes only after that; undefined: it is registered, perhaps
   * since before. Text says to the person why it is not. Absent: nothing has to be registered.
   * @throws Error when the provider does not say
   */
  readonly enrol?: (account: Account, call: Call) => Promise<string | undefined>
  /** Ends the grant at the provider; its answer says whether that was needed. Absent: there is no such request. */
  readonly leave?: (account: Account, call: Call) => Promise<Answer>
}

/** Scopes of which one must be granted. */
export interface Need {
  /** Names without `scopePrefix`. */
  readonly anyOf: readonly string[]
  /** What the person has to allow on the provider's page, in words that fit after "allow". */
  readonly words: string
}

/** How access is renewed. */
export interface Refresh {
  /** Whether each refresh brings a new refresh token and ends the old one. */
  readonly rotates: boolean
  /** After so many days without use the refresh token may expire, so it is used earlier. */
  readonly idleDays?: number
  /** Further fields of the request. */
  readonly form?: Form
  /**
   * Errors of the token endpoint that mean, as `invalid_grant` does, that the refresh token no longer works (`gone`: a 410
   * without one). Not those of a wrong client or address, which would end everybody's connection.
   */
  readonly deadErrors?: readonly string[]
}

/** Something that a provider can be asked for: the unit of cursors, of reports and of mapping. */
export interface Stream {
  readonly name: string
  readonly family: 'workouts' | '247'
  /** What has to be granted, as the provider writes it, without `scopePrefix`. */
  readonly scope?: string
  /** The longest range of one request, and how far back there is data; null = no limit known. */
  readonly windowDays: number
  readonly historyDays: number | null
  /** How late data may come or change: windows begin that long before what is covered. */
  readonly overlapHours: number
  /** How many days a sync asks for that names no range; absent: 30. */
  readonly usualDays?: number
  /** Asked for at most so often; absent: with every pull. */
  readonly pollSeconds?: number
  /** 404 means that there is nothing. */
  readonly emptyOn404?: true
  /** A pull asks for what was added or changed since the start of its window: then none has to reach further back. */
  readonly byChange?: true
  /** It cannot be asked for by a span: its data comes with notices, or from what they name. */
  readonly noticesOnly?: true
  /** The first request for a window; null: nothing to ask. */
  first(window: Window, state: StreamState): Request | null
  /** The request for the next page, after this answer to that request; null: there is none. */
  next?(answer: Answer, asked: Request): Request | null
  /** An answer that says nothing, and so is not stored, though it may differ from the last one. Absent: none is. */
  isEmpty?(answer: Answer, asked: Request): boolean
  /** The one after a request whose answer cannot be used, which keeps no other day back. Absent: there the window ends. */
  skip?(asked: Request): Request | null
  /** The zone that an answer names, for parts that do not: an IANA name or an offset; null: none. */
  zone?(answer: Answer, asked: Request): string | null
  /** What else has to be asked for because of this answer; asked for once the answer is stored. */
  follow?(answer: Answer, asked: Request, state: StreamState): readonly Wish[]
}

/**
 * The past that a provider sends as notices, once it was asked for. A range that overlaps one that was asked for since the
 * consent is refused and brings nothing, so each is asked for once.
 */
export interface Backfill {
  /** How far back there is data. */
  readonly days: number
  /** From one request for an account to the next. */
  readonly pauseSeconds: number
  /** After so long without data there is no more to come. */
  readonly silenceSeconds: number
  /** In the order in which they are asked for; each needs all of its scopes, and comes as parts of a stream. */
  readonly types: readonly { readonly type: string; readonly stream: string; readonly scopes: readonly string[] }[]
  request(type: string, window: Window): Request
  /** The meaning of an answer; 401 only if a new token did not help. */
  judge(answer: Answer): BackfillVerdict
}

/**
 * What an answer to a request for the past means: data will come; it was asked for before; the operator has to enable the
 * type; the person does not permit it; only what is later than `earliestMs` can be asked for; later; none of these.
 */
export type BackfillVerdict =
  | 'asked'
  | 'duplicate'
  | 'disabled'
  | 'forbidden'
  | { readonly earliestMs: number }
  | Extract<Verdict, { later: true }>
  | 'wrong'

/** A single thing that can be asked for: a workout, a night, what belongs to a day. Its answers are parts of `stream`. */
export interface ObjectKind {
  /** Whose scope it needs, whose mapping reads it, and whose report includes it. */
  readonly stream: string
  /** The request for it; null: these `args` name nothing that can be asked for. */
  request(args: Json, state: StreamState): Request | null
  /** A further request that it takes, after this answer to that request; null: that is all. */
  next?(answer: Answer, asked: Request): Request | null
  follow?(answer: Answer, asked: Request, state: StreamState): readonly Wish[]
  /**
   * Asked for only with a token that was renewed in the same turn: otherwise an answer without data may mean that the
   * person has withdrawn access.
   */
  readonly provesAccess?: true
  /** 404 means that there is nothing; otherwise it is asked for again after 1 and 10 minutes, since notices come early. */
  readonly emptyOn404?: true
  /** What follows from that the provider does not have it, even then; absent: nothing. */
  missing?(args: Json): Missing
}

/** What follows when the provider does not have a thing. */
export interface Missing {
  /** External id, as mappings give it to `Out`, of what is removed here. */
  readonly gone?: string
  readonly wish?: Wish
  /** Why it was there and cannot be had any more, for people: then it has failed. */
  readonly lost?: string
}

/**
 * Something to be asked for soon. An object: wishes of one key become one request, and one that comes while it is asked
 * for makes it asked for again. A span of a stream: the spans of one stream grow together.
 */
export type Wish =
  | {
      readonly kind: 'object'
      /** A name of `Provider.objects`. */
      readonly object: string
      /** Of what is the same thing; without spaces, at most 200 characters. */
      readonly key: string
      readonly args: Json
    }
  | {
      readonly kind: 'span'
      readonly stream: string
      readonly window: Window
      /** At most once in so many seconds, the first time at once. */
      readonly everySeconds?: number
    }

/** A span of time, half-open, epoch milliseconds. */
export interface Window {
  readonly fromMs: number
  readonly untilMs: number
}

/** What is known when a window is asked for. */
export interface StreamState {
  /** Granted names (`grantedScopes`); null: the provider does not say, so everything. */
  readonly scope: ReadonlySet<string> | null
  /** The person's zone, as far as profile and pages named it. */
  readonly zone: string | null
  /** What the caller of a sync asked for beside its range (contract 7.1). */
  readonly options: Readonly<Record<string, Json>>
  /** Whether the past is asked for, not what is new. */
  readonly isHistory: boolean
  /** A scheduled pull: what is new or has changed since the start of the window, whenever it happened. */
  readonly isPull?: boolean
  /** A notice named the window: something in it is new, has changed or is gone. */
  readonly isNotice?: boolean
  /** When the person gave access, the last time; epoch milliseconds. */
  readonly grantedMs: number
  /** How finely an operator wants what is measured all day, where the provider can be asked for less; absent: as it is. */
  readonly granularity?: Granularity
  /** Values of the further variables that the folder names in `Provider.settings`; absent: none is set. */
  readonly settings?: Form
}

/** The finest time that is wanted (contract 2.2). */
export type Granularity = 'raw' | 'hourly' | 'daily'

/** Which workouts are listed as the provider has them. */
export interface WorkoutQuery {
  /** The last 30 days unless the caller names a range. */
  readonly window: Window
  /** How many are wanted, where the provider takes a number. */
  readonly limit: number
  /** What else the caller asked for. */
  readonly options: Readonly<Record<string, Json>>
}
