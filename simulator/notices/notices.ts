import type { Reply } from '../http.ts'
import type { Client } from '../oauth/client.ts'
import type { Settings } from '../settings.ts'
import type { Person } from '../truth/person.ts'
import type { Outgoing } from './request.ts'
import type { Subscription, Subscriptions } from './subscriptions.ts'

/** What a provider says about something that became known; it is sent to each subscription that wants its topic. */
export interface Notice {
  /** When it became known, epoch ms by the clock of data. */
  readonly atMs: number
  /** By what subscriptions and faults name it, such as `sleep update`. */
  readonly topic: string
  /** Text is sent as it is, everything else as JSON. */
  body(subscription: Subscription, sent: Sent): Record<string, unknown> | string
}

/** What a body may depend on besides. */
export interface Sent {
  /** The clock of data. */
  readonly nowMs: number
  /** Where the provider is, for links; without a slash at its end. */
  readonly address: string
  /** Puts a secret on the list of all secrets. */
  remember(secret: string): void
}

/** A notice and who it is about. */
export interface Told {
  readonly person: string
  readonly notice: Notice
}

/** A notice about several people; those of a lane follow each other. */
export interface Bundle {
  readonly people: readonly string[]
  readonly lane: string
  readonly notice: Notice
}

/** A stretch of a person's life: from one instant (left out) to another (included). */
export interface Stretch {
  readonly person: Person
  /** Without the provider's prefix. */
  readonly scopes: ReadonlySet<string>
  readonly fromMs: number
  readonly toMs: number
  readonly settings: Settings
}

/** How a provider tells what became known. */
export interface Notices {
  /** Whether people enter the address in the provider's dashboard; others have requests for it. */
  readonly byHand: boolean
  /** The address that people enter for one of the application, where it holds a secret. */
  addressed?(url: string): string
  /** Seconds after which a notice that was not taken is sent again, one entry for each time. */
  readonly retries: readonly number[]
  /** How long it waits for an answer. */
  readonly answerSeconds: number
  /** After so many days without success a subscription gets no more notices until it is activated. */
  readonly holdDays?: number
  /** After so many days without success a subscription ends. */
  readonly cancelDays?: number
  /** So many failures one after the other stop all notices for so many seconds. */
  readonly breaker?: { readonly failures: number; readonly seconds: number }
  /** How long notices are kept for a subscription that gets none; they are lost where nothing is said. */
  readonly keptDays?: number
  /** Requests that are open at the same time; 6 where nothing is said. */
  readonly atOnce?: number
  /** What is said of a stretch, in order of time. */
  of(stretch: Stretch): Notice[]
  /** What was asked for and is due by now; each once. */
  asked?(nowMs: number): Told[]
  /** Puts what is told to a subscription into fewer bodies. */
  bundled?(told: readonly Told[], settings: Settings): Bundle[]
  /** What is said when a person changes what may be read. */
  changed?(person: Person, scopes: readonly string[], atMs: number): Notice
  /** What is said when a person ends the consent. */
  left?(person: Person, atMs: number): Notice | undefined
  /** Headers besides the content type. */
  headers(sending: Sending): Record<string, string>
  /** Whether an answer means that the notice was taken. */
  takes(status: number): boolean
  /** Whether an answer ends the subscription. */
  cancels?(status: number): boolean
  /** Requests about subscriptions, made by the application; undefined for other paths. */
  answer?(call: SubscriptionCall): Promise<Reply> | undefined
}

/** A notice that is about to be sent. */
export interface Sending {
  readonly topic: string
  readonly text: string
  readonly subscription: Subscription
  readonly client: Client
  readonly settings: Settings
  /** The machine's clock: when it is sent, and when it was sent first. */
  readonly nowMs: number
  readonly firstMs: number
}

/** A request of the application about its subscriptions. */
export interface SubscriptionCall {
  readonly method: string
  /** Below the API's path. */
  readonly path: string
  readonly query: URLSearchParams
  readonly text: string
  readonly form: URLSearchParams
  header(name: string): string
  readonly client: Client
  /** Whose access token came along, where it is good, and what may be read with it. */
  readonly person: Person | null
  readonly scopes: ReadonlySet<string>
  readonly subscriptions: Subscriptions
  readonly settings: Settings
  /** The machine's clock, and that of data. */
  readonly nowMs: number
  readonly dataMs: number
  /** Puts a key on the list of all secrets. */
  remember(key: string): void
  /** Sends a request to the application while this one is open; null when no answer came in time. */
  ask(url: string, sent: Outgoing): Promise<{ readonly status: number; readonly text: string } | null>
}
