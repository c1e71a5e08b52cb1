import type { Passwords } from './api/auth/passwords.ts'
import type { SyncFeed } from './api/sync/feed.ts'
import type { Config } from './config.ts'
import type { Console } from './console-build.ts'
import type { Database } from './db/database.ts'
import type { Replicas } from './db/replicas.ts'
import type { Demo } from './demo.ts'
import type { Answers } from './http/answers.ts'
import type { ApiKeys } from './http/api-keys.ts'
import type { Keys } from './http/tokens.ts'
import type { Inbox } from './intake/notices/observe.ts'
import type { Receiver } from './intake/notices/receive.ts'
import type { Uploads } from './intake/uploads/accept.ts'
import type { Gates, Limits } from './limits.ts'
import type { Logger } from './log.ts'
import type { Metrics, ShownMetrics } from './metrics.ts'
import type { OAuthParts } from './oauth/parts.ts'
import type { AccessTokens } from './oauth/refresh.ts'
import type { Backlog } from './webhooks/observe.ts'

/** Everything that handlers use; `main.ts` and the tests build it. */
export interface Dependencies {
  config: Config
  db: Database
  /** Where reads of a user may go instead. */
  replicas?: Replicas
  limits: Limits
  gates: Gates
  answers: Answers
  keys: Keys
  apiKeys: ApiKeys
  passwords: Passwords
  uploads: Uploads
  syncFeed: SyncFeed
  /** What connects people to cloud providers; each of its statements takes a connection of its own. */
  oauth: OAuthParts
  /** Access to the accounts of grants. */
  tokens: AccessTokens
  /** Receives notices of providers. */
  notices: Receiver
  /** The files of the web console; absent where it is off. */
  console?: Console
  log: Logger
  metrics: Metrics
  /** What `/metrics` shows. */
  shownMetrics: ShownMetrics
  /** Adds and removes the demo data. */
  demo: Demo
  /** Whether migrations have run and jobs can run, for `/readyz`. */
  ready(): Promise<boolean>
  /** Counts of waiting deliveries, undefined while unknown; absent if nothing is recorded. */
  webhookBacklog?: () => Backlog | undefined
  /** Counts of the notices of providers, undefined while unknown; absent if no provider is configured. */
  inbox?: () => Inbox | undefined
}
