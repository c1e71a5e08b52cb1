import type { AddressInfo } from 'node:net'
import { bootstrapAccounts } from './api/auth/bootstrap.ts'
import { createPasswords } from './api/auth/passwords.ts'
import { openSyncFeed } from './api/sync/feed.ts'
import { buildApp } from './app.ts'
import { isFirst, isOneOfSeveral, placeOf, shareMetrics, tellServing } from './child.ts'
import type { Config } from './config.ts'
import { needsOf, reportConnections } from './connections.ts'
import { openConsole } from './console-build.ts'
import { startCron } from './cron.ts'
import { changing } from './db/changes.ts'
import { type Database, gated, openDatabase } from './db/database.ts'
import { type EmbeddedDatabase, startEmbeddedDatabase } from './db/embedded.ts'
import { migrate } from './db/migrate.ts'
import { openProbe } from './db/probe.ts'
import { openReplicas, type Replicas } from './db/replicas.ts'
import { openDemo } from './demo.ts'
import type { Dependencies } from './dependencies.ts'
import { countAnswers } from './http/answers.ts'
import { openApiKeys } from './http/api-keys.ts'
import { closeServer, listen, openServer } from './http/server.ts'
import { deriveKeys, type Keys } from './http/tokens.ts'
import { keepBodies, NOTICE_BYTES, type NoticeBodies } from './intake/notices/bodies.ts'
import { observeNotices } from './intake/notices/observe.ts'
import { startOpening } from './intake/notices/opening.ts'
import { openReceiver } from './intake/notices/receive.ts'
import { observePulls } from './intake/pulls/observe.ts'
import { queueFirst } from './intake/pulls/plan.ts'
import { startPulls } from './intake/pulls/pulls.ts'
import { acceptUploads } from './intake/uploads/accept.ts'
import { createHandover, HANDOVER_BYTES, type Handover } from './intake/uploads/handover.ts'
import { createImporter } from './intake/uploads/import.ts'
import { hasOthers, type Limits, openGates, replicaConnections } from './limits.ts'
import type { Logger } from './log.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { observeGrants } from './oauth/observe.ts'
import { IDENTIFY_MS, type OAuthParts } from './oauth/parts.ts'
import { type AccessTokens, openAccessTokens } from './oauth/refresh.ts'
import { storeLeftBehind } from './oauth/refreshed.ts'
import { registerProcess } from './processes.ts'
import { type OAuthClients, oauthClients } from './provider-client/clients.ts'
import { type Http, openHttp } from './provider-client/http.ts'
import { cloudProviders, notifyingProviders } from './providers/index.ts'
import { migrateJobs, startJobs } from './queue.ts'
import { observeRollups } from './rollups/observe.ts'
import { applyStrategy } from './rollups/strategy.ts'
import { dataDirSecret } from './secrets.ts'
import type { Connections, Work } from './shares.ts'
import { reportScattered } from './sources/groups.ts'
import { startThreads, type Threads, threadCount } from './threads.ts'
import { openVault, type Vault } from './vault.ts'
import { observeWebhooks } from './webhooks/observe.ts'
import { startWebhooks } from './webhooks/start.ts'
import { welcome } from './welcome.ts'

const JOB_TIMEOUT_MS = 60_000

/** Steps to undo, run in reverse. */
export type Closers = (() => Promise<unknown>)[]

/** Shared by the parts of this process. */
interface Shared {
  config: Config
  limits: Limits
  /** What it does besides serving, and its connections. */
  work: Work
  connections: Connections
  log: Logger
  closers: Closers
  /** Access tokens of its parts. */
  tokens: AccessTokens[]
  /** Of the database. */
  url: string
  isEmbedded: boolean
  keys: Keys
  metrics: Metrics
  threads: Threads
  handover: Handover
  noticeBodies: NoticeBodies
  /** For cloud providers. */
  http: Http
  vault: Vault
  clients: OAuthClients
  /** Past the limits of requests. */
  saving: Database
  /** Whether events are recorded for endpoints and the feed. */
  recordsEvents: boolean
  /** Parts this process cannot run without; each resolves with the reason when it ends. */
  ends: Promise<string>[]
}

/**
 * Starts every part of the role. Resolves, with the reason, when it cannot continue. `closers` gets what ends the parts,
 * the last one first, and `tokens` those whose refreshes have to be waited for.
 */
export async function startParts(
  config: Config,
  log: Logger,
  closers: Closers,
  tokens: AccessTokens[],
): Promise<string> {
  const { url, embedded } = await prepareDatabase(config, log, closers)
  const secretKey = config.secretKey ?? (await dataDirSecret(config.dataDir))
  const place = placeOf(config.webConcurrency)
  const { limits, work, connections } = needsOf(config, place)
  if (isFirst()) await reportConnections(url, config, log)
  const threads = startThreads(threadCount(place))
  closers.push(() => threads.close())
  const http = openHttp()
  closers.push(() => http.close())
  const saving = database({ url, closers, log }, 'pulsebase tokens', {
    ...{ maxConnections: connections.saving, statementTimeoutMs: limits.statementMs, lockTimeoutMs: limits.lockMs },
  })
  void storeLeftBehind({ saving, log, settings: config })
  if (isFirst()) void sayScattered(url, log)
  const shared: Shared = {
    ...{ config, limits, work, connections, log, closers, tokens, url, threads, http, saving },
    keys: deriveKeys(secretKey),
    vault: openVault(secretKey, config.previousSecretKey),
    clients: oauthClients(cloudProviders, config),
    isEmbedded: embedded !== undefined,
    metrics: createMetrics(),
    // Unless another process imports the uploads, or opens the notices, and reads them from the database.
    handover: createHandover(config.role === 'all' && work.imports > 0 ? HANDOVER_BYTES / work.importing : 0),
    noticeBodies: keepBodies(config.role === 'all' && work.asks ? NOTICE_BYTES : 0),
    recordsEvents: config.outgoingWebhooksEnabled || config.eventFeedEnabled,
    ends: embedded ? [embedded.exited] : [],
  }
  await startWork(shared)
  await startApi(shared)
  return Promise.race(shared.ends)
}

/** Starts the embedded database unless another one is configured, and brings its schema up to date. */
async function prepareDatabase(config: Config, log: Logger, closers: Closers) {
  const say = (message: string) => log.info(message)
  const embedded = config.databaseUrl ? undefined : await startEmbeddedDatabase({ dataDir: config.dataDir, log: say })
  if (embedded) closers.push(() => embedded.stop())
  const url = config.databaseUrl ?? (embedded as EmbeddedDatabase).url
  await migrate(url, say)
  await applyStrategy(url, config.rollupStrategy, say)
  await migrateJobs(url)
  return { url, embedded }
}

/** Goes over the sources of an old database while the service starts; nothing depends on it. */
const sayScattered = (url: string, log: Logger) =>
  reportScattered(url, (message) => log.info(message)).catch((err: Error) =>
    log.warn({ err }, 'sources were not checked'),
  )

/** Starts what this process does besides serving. */
async function startWork(shared: Shared): Promise<void> {
  const { closers, work } = shared
  if (!(work.imports > 0 || work.delivers || work.asks)) return
  const { processId, tokens } = work.imports > 0 ? await startImports(shared) : await startLife(shared)
  if (work.asks) {
    closers.push(startAsking(shared, processId, tokens))
    closers.push(await startOpeningNotices(shared))
  }
  if (work.delivers) closers.push(await startDeliveries(shared, processId))
}

/** Who does work that has to be taken over when this process dies, and the access tokens it uses. */
interface Worker {
  processId(): number
  tokens?: AccessTokens
}

/** Starts taking jobs, and the clock that enqueues them. */
async function startImports(shared: Shared): Promise<Worker> {
  const { config, log, closers, url, threads, handover, metrics, work, connections } = shared
  const db = database(shared, 'pulsebase jobs', {
    maxConnections: connections.jobs,
    statementTimeoutMs: JOB_TIMEOUT_MS,
  })
  const parts = oauthParts(shared, db)
  const tokens = openTokens(shared, parts)
  const jobs = await startJobs({
    url,
    db,
    grants: { parts, tokens },
    importer: createImporter({ db, threads, handover, settings: config, metrics, log }),
    settings: config,
    concurrency: work.imports,
    log,
  })
  closers.push(() => jobs.stop())
  shared.ends.push(jobs.failed.then((error) => `the job queue stopped: ${error.message}`))
  closers.push(startCron(jobs, config, log))
  return { processId: jobs.processId, tokens }
}

/** Where other processes take the jobs. */
async function startLife({ url, log, closers }: Shared): Promise<Worker> {
  const living = await registerProcess(url, log)
  closers.push(() => living.close())
  return { processId: living.id }
}

function openTokens({ closers, tokens }: Shared, parts: OAuthParts): AccessTokens {
  const opened = openAccessTokens(parts)
  tokens.push(opened)
  closers.push(() => opened.idle())
  return opened
}

/** Starts asking cloud providers; returns a function that stops it. */
function startAsking(shared: Shared, processId: () => number, tokens?: AccessTokens): () => Promise<void> {
  const db = database(shared, 'pulsebase pulls', {
    maxConnections: shared.connections.pulls,
    statementTimeoutMs: JOB_TIMEOUT_MS,
  })
  const parts = oauthParts(shared, db)
  const pulls = startPulls({ db, parts, tokens: tokens ?? openTokens(shared, parts), processId })
  return () => pulls.stop()
}

/** Starts opening notices of cloud providers; returns a function that stops it. */
function startOpeningNotices(shared: Shared): Promise<() => Promise<void>> {
  const db = database(shared, 'pulsebase notices', {
    maxConnections: shared.connections.notices,
    statementTimeoutMs: JOB_TIMEOUT_MS,
  })
  const { threads, noticeBodies: bodies } = shared
  return startOpening({ db, parts: oauthParts(shared, db), bodies, read: (task) => threads.openNotices(task) })
}

function startDeliveries(shared: Shared, processId: () => number): Promise<() => Promise<void>> {
  const { config, log, vault, metrics } = shared
  return startWebhooks({
    db: database(shared, 'pulsebase webhooks', {
      maxConnections: shared.connections.webhooks,
      statementTimeoutMs: JOB_TIMEOUT_MS,
    }),
    deliver: config.outgoingWebhooksEnabled,
    vault,
    guard: { allowHttp: config.webhooksAllowHttp, allowNetworks: config.webhooksAllowNetworks },
    processId,
    metrics,
    log,
  })
}

/** Starts to serve: every role does, at least its probes. */
async function startApi(shared: Shared): Promise<void> {
  const { config, log, closers } = shared
  let open = false
  const deps = await openDependencies(shared, () => open)
  const server = openServer(buildApp(deps).callback())
  closers.push(() => closeServer(server, () => log.warn('requests were cut off: they did not finish in time')))
  // Streams never end on their own.
  closers.push(() => deps.syncFeed.close())
  closers.push(async () => {
    open = false
  })
  await listen(server, config.port, config.host)
  // Only now, since the secrets are shown once: a start that fails before must not have made them.
  // A worker leaves them to the process at whose address they can be used.
  const created = config.role === 'worker' ? {} : await bootstrapAccounts(deps.db, config, deps.passwords)
  open = true
  // The probe answers with the last count; this is the first.
  deps.webhookBacklog?.()
  deps.inbox?.()
  const { port } = server.address() as AddressInfo
  if (isOneOfSeveral()) tellServing(port, created)
  else welcome({ config, port, created, embedded: shared.isEmbedded })
  // Whoever opens the console at once waits for it; the API does not.
  void deps.console?.files().catch(() => {})
  void shared.threads.warmUp().catch((err: Error) => log.debug({ err }, 'no thread was warmed up'))
}

/** Everything that handlers use; ready while `isOpen` and the database answers. */
async function openDependencies(shared: Shared, isOpen: () => boolean): Promise<Dependencies> {
  const { config, limits, connections, log, closers, url, keys, metrics, threads, handover, vault } = shared
  const probe = openProbe(url, limits.probeMs)
  closers.push(() => probe.end())
  const db = database(shared, 'pulsebase api', {
    maxConnections: connections.api,
    statementTimeoutMs: limits.statementMs,
    lockTimeoutMs: limits.lockMs,
  })
  const gates = openGates(limits, metrics.registry)
  observeRollups(metrics.registry, gated(db, gates.metrics))
  const inbox = observeNotices(metrics.registry, gated(db, gates.metrics))
  observePulls(metrics.registry, gated(db, gates.metrics), shared.clients)
  observeGrants(metrics.registry, gated(db, gates.metrics), vault)
  const apiKeys = await openApiKeys(gated(db, gates.guard), log)
  closers.push(() => apiKeys.close())
  const replicas = replicasOf(shared, db)
  const syncFeed = await openSyncFeed(gated(db, gates.stream), log, metrics)
  const demo = openDemo(log)
  closers.push(() => demo.close())
  const oauth = oauthParts(shared, changing(db, { gates, limits }, OAUTH_CHANGES))
  const tokens = openTokens(shared, oauth)
  return {
    config,
    db,
    ...(replicas && { replicas }),
    limits,
    gates,
    answers: countAnswers(limits),
    keys,
    apiKeys,
    passwords: createPasswords(),
    uploads: acceptUploads({ db, gates, limits, metrics, threads, handover }),
    syncFeed,
    demo,
    ...{ oauth, tokens },
    notices: openReceiver({
      bodies: shared.noticeBodies,
      hasOthers: () => hasOthers(gates),
      ...{ db: gated(db, gates.inbox), vault, clients: shared.clients, notifying: notifyingProviders, metrics, log },
    }),
    ...(config.consoleEnabled && config.role !== 'worker' && { console: openConsole(log) }),
    log,
    metrics,
    shownMetrics: shareMetrics(metrics.registry),
    ready: async () => isOpen() && (await probe.answers()),
    ...(shared.clients.size > 0 && { inbox }),
    ...(shared.recordsEvents && { webhookBacklog: observeWebhooks(metrics.registry, gated(db, gates.metrics)) }),
  }
}

/** The replicas that answer reads, if there are any. */
function replicasOf({ config, limits, log, closers, metrics }: Shared, primary: Database): Replicas | undefined {
  if (config.databaseReadUrls.length === 0 || config.role === 'worker') return undefined
  const replicas = openReplicas({
    ...{ urls: config.databaseReadUrls, primary, maxConnections: replicaConnections(limits) },
    ...{ metrics, log },
  })
  closers.push(() => replicas.end())
  return replicas
}

/** Whose place the consents of all people take together: the address that calls back says nothing about them. */
const OAUTH_CHANGES = { share: 'write', key: 'oauth', user: undefined } as const

const oauthParts = ({ config, log, metrics, http, vault, clients, saving }: Shared, db: Database): OAuthParts => ({
  ...{ db, saving, vault, http, clients, settings: config, metrics, log, identifyMs: IDENTIFY_MS },
  connected: queueFirst(clients, config.historicalSyncOnConnect),
})

type Opening = Parameters<typeof openDatabase>[0]

function database(
  { url, closers, log }: Pick<Shared, 'url' | 'closers' | 'log'>,
  name: string,
  limits: Pick<Opening, 'maxConnections' | 'statementTimeoutMs' | 'lockTimeoutMs'>,
): Database {
  const onError = (error: Error) => log.warn({ err: error }, 'a database connection was lost')
  const db = openDatabase({ url, name, ...limits, onError })
  closers.push(() => db.end())
  return db
}
