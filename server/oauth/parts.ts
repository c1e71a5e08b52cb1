import type { Config } from '../config.ts'
import type { Database, Transaction } from '../db/database.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { OAuthClients } from '../provider-client/clients.ts'
import type { Http } from '../provider-client/http.ts'
import type { Vault } from '../vault.ts'

/** What granting, refreshing and ending access works with, in requests and in jobs. */
export interface OAuthParts {
  readonly db: Database
  /** Not subject to the limits of requests: stores what a refusal would lose, such as tokens that a provider issues once. */
  readonly saving: Database
  readonly vault: Vault
  readonly http: Http
  readonly clients: OAuthClients
  readonly settings: Pick<
    Config,
    | 'outgoingWebhooksEnabled'
    | 'eventFeedEnabled'
    | 'dataDir'
    | 'dataGranularity'
    | 'ingestWorkoutSamples'
    | 'deleteDataOnDeauthorisation'
  >
  readonly metrics: Pick<
    Metrics,
    'providerRequests' | 'tokenRefreshes' | 'consentsRefused' | 'pulls' | 'noticesOpened' | 'noticesMissed'
  >
  readonly log: Logger
  /** Queues the first pulls of a new connection, in the transaction that stores it and holds the grant. */
  readonly connected: (tx: Transaction, connection: Connected) => Promise<void>
  /** How long a provider is asked whose account was connected, in milliseconds. */
  readonly identifyMs: number
}

/** A connection that was just made, or made anew. */
export interface Connected {
  readonly provider: string
  readonly grantId: string
  readonly connectionId: string
  readonly userId: string
  /** Whether the connection is new to this grant: then it has a past. */
  readonly isNew: boolean
}

/** The usual time for that: a person waits for it. */
export const IDENTIFY_MS = 10_000

/**
 * Counts a request to a provider for the metrics; status 0 = no answer. Requests for tokens, for the account and to end a
 * grant take no permit (intake/pulls/budget.ts), since a refusal would lose a consent or a pair of tokens. There are few
 * for each grant and day, and pulls leave enough of the limit free. A provider that counts them shows it in its next answer.
 */
export const askedOf =
  ({ metrics }: Pick<OAuthParts, 'metrics'>) =>
  (provider: string, status: number): void =>
    metrics.providerRequests.labels(provider, status === 0 ? 'none' : String(status)).inc()
