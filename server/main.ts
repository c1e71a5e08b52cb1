import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { bootstrapAccounts } from './api/auth/bootstrap.ts'
import { openSyncFeed } from './api/sync/feed.ts'
import { buildApp } from './app.ts'
import { type Config, ConfigError, loadConfig } from './config.ts'
import { startCron } from './cron.ts'
import { type Database, gated, openDatabase } from './db/database.ts'
import { type EmbeddedDatabase, startEmbeddedDatabase } from './db/embedded.ts'
import { migrate } from './db/migrate.ts'
import { openProbe } from './db/probe.ts'
import type { Dependencies } from './dependencies.ts'
import { countAnswers } from './http/answers.ts'
import { openApiKeys } from './http/api-keys.ts'
import { deriveKeys } from './http/tokens.ts'
import { startThreads } from './intake/threads.ts'
import { acceptUploads } from './intake/uploads/accept.ts'
import { createHandover } from './intake/uploads/handover.ts'
import { createImporter } from './intake/uploads/import.ts'
import { API_CONNECTIONS, LIMITS, openGates } from './limits.ts'
import { type Logger, logProcess, openLog } from './log.ts'
import { createMetrics } from './metrics.ts'
import { migrateJobs, startJobs } from './queue.ts'
import { observeRollups } from './rollups/observe.ts'
import { applyStrategy } from './rollups/strategy.ts'
import { dataDirSecret } from './secrets.ts'
import { observeWebhooks } from './webhooks/observe.ts'
import { startWebhooks, WEBHOOK_CONNECTIONS } from './webhooks/start.ts'
import { welcome } from './welcome.ts'

/** Imports at the same time; each has a connection, and the queue a few of its own. */
const JOB_CONCURRENCY = 4
const JOB_TIMEOUT_MS = 60_000

/** Time from SIGTERM to the end, whatever still runs; the embedded database stops last. */
const DRAIN_MS = 19_000
/** Part of it that running requests get, since a phone on a slow network would otherwise take all of it. */
const REQUESTS_DRAIN_MS = 12_000
const POLL_MS = 100

/** Steps to undo, run in reverse. */
type Closers = (() => Promise<unknown>)[]

async function start(config: Config, log: Logger, closers: Closers): Promise<Promise<string>> {
  const embedded = config.databaseUrl ? undefined : await startEmbedded(config, log, closers)
  const url = config.databaseUrl ?? (embedded as EmbeddedDatabase).url
  await migrate(url, (message) => log.info(message))
  await applyStrategy(url, config.rollupStrategy, (message) => log.info(message))
  await migrateJobs(url)
  const keys = deriveKeys(config.secretKey ?? (await dataDirSecret(config.dataDir)))
  const metrics = createMetrics()
  const threads = startThreads()
  closers.push(() => threads.close())
  // What is imported elsewhere is read from the database there.
  const handover = config.role === 'all' ? createHandover() : createHandover(0)
  const recordsEvents = config.outgoingWebhooksEnabled || config.eventFeedEnabled
  const ends = [embedded?.exited ?? new Promise<string>(() => {})]

  if (config.role !== 'api') {
    const db = database(url, 'pulsebase jobs', closers, log, {
      maxConnections: JOB_CONCURRENCY + 1,
      statementTimeoutMs: JOB_TIMEOUT_MS,
    })
    const jobs = await startJobs({
      url,
      db,
      importer: createImporter({ db, threads, handover, settings: config, metrics, log }),
      settings: config,
      concurrency: JOB_CONCURRENCY,
      log,
    })
    closers.push(() => jobs.stop())
    ends.push(jobs.failed.then((error) => `the job queue stopped: ${error.message}`))
    const stopCron = startCron(jobs, config, log)
    closers.push(stopCron)
    if (recordsEvents) {
      const db = database(url, 'pulsebase webhooks', closers, log, {
        maxConnections: WEBHOOK_CONNECTIONS,
        statementTimeoutMs: JOB_TIMEOUT_MS,
      })
      const stopWebhooks = await startWebhooks({
        db,
        deliver: config.outgoingWebhooksEnabled,
        key: keys.webhookSecret,
        guard: { allowHttp: config.webhooksAllowHttp, allowNetworks: config.webhooksAllowNetworks },
        processId: jobs.processId,
        metrics,
        log,
      })
      closers.push(stopWebhooks)
    }
  }
  const probe = openProbe(url, LIMITS.probeMs)
  closers.push(() => probe.end())
  const db = database(url, 'pulsebase api', closers, log, {
    maxConnections: API_CONNECTIONS,
    statementTimeoutMs: LIMITS.statementMs,
    lockTimeoutMs: LIMITS.lockMs,
  })
  const gates = openGates(LIMITS, metrics.registry)
  observeRollups(metrics.registry, gated(db, gates.metrics))
  const apiKeys = await openApiKeys(gated(db, gates.guard), log)
  closers.push(() => apiKeys.close())
  const syncFeed = await openSyncFeed(gated(db, gates.stream), log, metrics)
  let open = false
  const deps: Dependencies = {
    config,
    db,
    limits: LIMITS,
    gates,
    answers: countAnswers(LIMITS),
    keys,
    apiKeys,
    uploads: acceptUploads({ db, gates, limits: LIMITS, metrics }, threads, handover),
    syncFeed,
    log,
    metrics,
    ready: async () => open && (await probe.answers()),
    ...(recordsEvents && { webhookBacklog: observeWebhooks(metrics.registry, gated(db, gates.metrics)) }),
  }
  const server = createServer(buildApp(deps).callback())
  closers.push(() => closeServer(server))
  // Streams never end by themselves.
  closers.push(() => syncFeed.close())
  closers.push(async () => {
    open = false
  })
  await listen(server, config.port, config.host)
  // Only now, since the secrets are shown once: a start that fails before must not have made them.
  const created = await bootstrapAccounts(db, config)
  open = true
  // The probe answers with the last count: this is the first.
  deps.webhookBacklog?.()
  const { port } = server.address() as AddressInfo
  welcome({ config, port, created, embedded: embedded !== undefined })
  return Promise.race(ends)
}

async function startEmbedded(config: Config, log: Logger, closers: Closers): Promise<EmbeddedDatabase> {
  const embedded = await startEmbeddedDatabase({ dataDir: config.dataDir, log: (message) => log.info(message) })
  closers.push(() => embedded.stop())
  return embedded
}

type Opening = Parameters<typeof openDatabase>[0]

function database(
  url: string,
  name: string,
  closers: Closers,
  log: Logger,
  limits: Pick<Opening, 'maxConnections' | 'statementTimeoutMs' | 'lockTimeoutMs'>,
): Database {
  const db = openDatabase({
    url,
    name,
    ...limits,
    onError: (error) => log.warn({ err: error }, 'a database connection was lost'),
  })
  closers.push(() => db.end())
  return db
}

function listen(server: Server, port: number, host: string): Promise<void> {
  // A phone on a slow network may take minutes for 32 MiB; headers have to come at once.
  server.requestTimeout = 300_000
  server.headersTimeout = 20_000
  server.keepAliveTimeout = 65_000
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE'
      reject(
        taken ? new ConfigError('PORT', `${port} is in use on ${host}: stop what listens there or set another`) : error,
      )
    })
    server.listen(port, host, resolve)
  })
}

/** Lets running requests finish; a connection is closed as soon as it is idle, kept alive or not. */
async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  const idle = setInterval(() => server.closeIdleConnections(), POLL_MS)
  const late = setTimeout(() => server.closeAllConnections(), REQUESTS_DRAIN_MS)
  await closed
  clearInterval(idle)
  clearTimeout(late)
}

async function close(closers: Closers, log: Logger): Promise<void> {
  while (closers.length > 0) {
    try {
      await closers.pop()?.()
    } catch (error) {
      log.error({ err: error }, 'a part did not stop cleanly')
    }
  }
}

async function main(): Promise<void> {
  const config = loadConfig(process.env)
  const log = openLog(config.logLevel)
  const closers: Closers = []
  let stopping = false
  async function stop(code: number): Promise<void> {
    if (stopping) return
    stopping = true
    setTimeout(() => {
      log.error('could not finish in time, stopping anyway')
      process.exit(code)
    }, DRAIN_MS).unref()
    await close(closers, log)
    process.exit(code)
  }
  logProcess(log, () => void stop(1))
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      log.info({ signal }, 'stopping')
      void stop(0)
    })
  }
  try {
    const reason = await await start(config, log, closers)
    log.fatal(reason)
    await stop(1)
  } catch (error) {
    if (!stopping) {
      if (!(error instanceof ConfigError)) log.fatal({ err: error }, 'could not start')
      sayCannotStart(error)
    }
    await stop(1)
  }
}

function sayCannotStart(error: unknown): void {
  process.stderr.write(`Cannot start: ${reasonOf(error)}\n`)
}

/** What went wrong in words; a refused connection has none of its own, only one error per address tried. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}

main().catch((error: unknown) => {
  sayCannotStart(error)
  process.exit(1)
})
