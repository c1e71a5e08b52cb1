import type { Reply } from '../http.ts'
import type { Client } from '../oauth/client.ts'
import type { Settings } from '../settings.ts'
import type { Person } from '../truth/person.ts'
import type { Subscription, Subscriptions } from './subscriptions.ts'

/** What a provider says about something that became known; it is sent to each subscription that wants its topic. */
export interface Notice {
  /** When it became known, epoch ms by the clock of data. */
  readonly atMs: number
  /** By what subscriptions and faults name it, such as `sleep update`. */
  readonly topic: string
  body(subscription: Subscription): Record<string, unknown>
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
  /** Seconds after which a notice that was not taken is sent again, one entry for each time. */
  readonly retries: readonly number[]
  /** How long it waits for an answer. */
  readonly answerSeconds: number
  /** After so many days without success a subscription gets no more notices until it is activated. */
  readonly holdDays?: number
  /** What is said of a stretch, in order of time. */
  of(stretch: Stretch): Notice[]
  /** What is said when a person ends the consent. */
  left?(person: Person, atMs: number): Notice
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
  readonly subscriptions: Subscriptions
  readonly settings: Settings
  /** The machine's clock, and that of data. */
  readonly nowMs: number
  readonly dataMs: number
  /** Puts a key on the list of all secrets. */
  remember(key: string): void
  /** Sends a request to the application while this one is open; null when no answer came in time. */
  ask(url: string, init: RequestInit): Promise<{ readonly status: number; readonly text: string } | null>
}
