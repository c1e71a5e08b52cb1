import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { pino } from 'pino'
import root, { type Test } from 'tap'
import { bootstrapAccounts } from '../../server/api/auth/bootstrap.ts'
import { createPasswords, type HashCost, type Passwords } from '../../server/api/auth/passwords.ts'
import { openSyncFeed } from '../../server/api/sync/feed.ts'
import { buildApp } from '../../server/app.ts'
import { shareMetrics } from '../../server/child.ts'
import { type Config, loadConfig } from '../../server/config.ts'
import { type Console, openConsole } from '../../server/console-build.ts'
import { changing } from '../../server/db/changes.ts'
import { type Database, gated, openDatabase } from '../../server/db/database.ts'
import { migrate } from '../../server/db/migrate.ts'
import { openReplicas } from '../../server/db/replicas.ts'
import { openDemo } from '../../server/demo.ts'
import type { Dependencies } from '../../server/dependencies.ts'
import { countAnswers } from '../../server/http/answers.ts'
import { openApiKeys } from '../../server/http/api-keys.ts'
import { openServer } from '../../server/http/server.ts'
import { deriveKeys, signAccessToken } from '../../server/http/tokens.ts'
import { keepBodies, type NoticeBodies } from '../../server/intake/notices/bodies.ts'
import { observeNotices } from '../../server/intake/notices/observe.ts'
import { openReceiver } from '../../server/intake/notices/receive.ts'
import { observePulls } from '../../server/intake/pulls/observe.ts'
import { queueFirst } from '../../server/intake/pulls/plan.ts'
import { acceptUploads, type Uploads } from '../../server/intake/uploads/accept.ts'
import { createHandover, type Handover } from '../../server/intake/uploads/handover.ts'
import { apiConnections, hasOthers, LIMITS, type Limits, openGates, replicaConnections } from '../../server/limits.ts'
import { type Logger, openLog } from '../../server/log.ts'
import { createMetrics } from '../../server/metrics.ts'
import { observeGrants } from '../../server/oauth/observe.ts'
import type { OAuthParts } from '../../server/oauth/parts.ts'
import { openAccessTokens } from '../../server/oauth/refresh.ts'
import { oauthClients } from '../../server/provider-client/clients.ts'
import { type Http, openHttp } from '../../server/provider-client/http.ts'
import { cloudProviders, notifyingProviders } from '../../server/providers/index.ts'
import type { Notices } from '../../server/providers/notices.ts'
import type { Provider } from '../../server/providers/provider.ts'
import { migrateJobs } from '../../server/queue.ts'
import { observeRollups } from '../../server/rollups/observe.ts'
import { applyStrategy } from '../../server/rollups/strategy.ts'
import { startThreads, type Threads } from '../../server/threads.ts'
import { openVault } from '../../server/vault.ts'
import { observeWebhooks } from '../../server/webhooks/observe.ts'
import { undescribed } from './described.ts'
import { exchange } from './exchange.ts'
import type { Engine } from './servers.ts'
import { type Service, startService, type TestAnswer, type TestRequest } from './service.ts'
import { PROCESSES, variablesOf } from './several.ts'

export type { TestAnswer, TestRequest } from './service.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Everything that determines a migrated database. */
const TEMPLATE_SOURCES = [
  'server/catalogue/series.ts',
  'server/catalogue/devices.ts',
  'server/catalogue/providers.ts',
  'node_modules/graphile-worker/package.json',
]

const EMAIL = 'developer@example.org'
const PASSWORD = 'correct horse battery staple'
/** Its hash at a cost of next to nothing, as all hashes of the tests have it, unless they ask for another. */
const PASSWORD_HASH = '$scrypt$ln=4,r=8,p=1$cHVsc2ViYXNlIHRlc3RzIQ$LU//oOIQp68a9HTm+CaLCp6gqpaNG4PhUKkLTbUrWZ0'
export const CHEAP_HASHES: HashCost = { ln: 4, r: 8, p: 1 }
const SECRET_KEY = '8d2f6c0b9e7a41d35f1c8b6a0e9d7c5b'

const LIMITS_OF_LOGINS = { LOGIN_ATTEMPTS_PER_MINUTE: '10000', LOGIN_ATTEMPTS_PER_ACCOUNT: '10000' }

/** Settings that a test replaces, limits on what requests hold, and how passwords are hashed. */
type Overrides = Partial<Config> & {
  limits?: Limits
  passwords?: Passwords
  /** Connectors in place of the list, by slug. */
  clouds?: ReadonlyMap<string, Provider>
  notifying?: ReadonlyMap<string, Notices>
  /** The files of the web console. */
  console?: Console
  /** How long a provider is asked whose account was connected. */
  identifyMs?: number
  /** How many days of demo data there are to add. */
  demoDays?: number
}

const OAUTH_CHANGES = { share: 'write', key: 'oauth', user: undefined } as const

/** Connections that a test and its own processes may hold in addition to the requests. */
const TEST_CONNECTIONS = 12

/** A running service with its own database. */
export interface TestApp {
  url: string
  db: Database
  databaseUrl: string
  apiKey: string
  developer: { id: string; email: string; password: string; token(): Promise<string> }
  /** Passed to handlers; starts the worker threads only when uploads are accepted. */
  deps: Dependencies
  threads(): Threads
  /** Keeps accepted uploads for an importer of this process. */
  handover: Handover
  /** Keeps received notices for whoever opens them. */
  noticeBodies: NoticeBodies
  request(method: string, path: string, options?: TestRequest): Promise<TestAnswer>
  sdkToken(userId: string): Promise<string>
  /** A second service on the same database, like another process. */
  another(overrides?: Overrides): Promise<TestApp>
  close(): Promise<void>
}

/**
 * Starts the service on a free port of 127.0.0.1 with its own migrated database, a developer and an API key;
 * `overrides` replace settings. By default logins are hardly limited. All of it ends with the test.
 */
export async function startTestApp(t: Test, engine: Engine, overrides: Overrides = {}): Promise<TestApp> {
  const databaseUrl = await createTestDatabase(t, engine)
  const apiKey = `sk-${randomBytes(16).toString('hex')}`
  return startApp(t, databaseUrl, apiKey, overrides)
}

/** Creates a migrated, empty database on the engine's server and returns its address; it is dropped with the test. */
export async function createTestDatabase(t: Test, engine: Engine): Promise<string> {
  const name = `pulsebase_test_${randomBytes(8).toString('hex')}`
  const administrator = await administratorOf(engine)
  // Half the work of logging each page, and nothing has to survive a crash.
  await administrator.query(`create database ${name} template ${await templateOf(engine)} strategy file_copy`)
  t.teardown(() => administrator.query(`drop database ${name} with (force)`))
  return addressOf(engine, name)
}

function addressOf(engine: Engine, database: string): string {
  const url = new URL(engine.url)
  url.pathname = `/${database}`
  return url.href
}

const administrators = new Map<string, Promise<pg.Client>>()

/** The connection of this process to the engine's server, with which it creates and drops databases. */
function administratorOf({ url }: Engine): Promise<pg.Client> {
  let connected = administrators.get(url)
  if (!connected) {
    const client = new pg.Client({ connectionString: url, application_name: 'pulsebase test' })
    // Some tests have servers of their own, and stop them.
    client.on('error', () => administrators.delete(url))
    connected = client.connect().then(() => client)
    administrators.set(url, connected)
    root.teardown(() => client.end().catch(() => {}))
  }
  return connected
}

async function hashSources(): Promise<string> {
  const sql = (await readdir(`${ROOT}sql`, { recursive: true })).filter((path) => path.endsWith('.sql')).sort()
  const hash = createHash('sha256')
  for (const path of [...sql.map((file) => `sql/${file}`), ...TEMPLATE_SOURCES]) {
    hash.update(`${path}\n`).update(await readFile(ROOT + path))
  }
  return hash.digest('hex').slice(0, 16)
}

const templates = new Map<string, Promise<string>>()

/** The migrated template database of the engine's server, which this process looks for once. */
function templateOf(engine: Engine): Promise<string> {
  let found = templates.get(engine.url)
  if (!found) {
    found = administratorOf(engine).then((client) => ensureTemplate(client, engine))
    templates.set(engine.url, found)
  }
  return found
}

/** Creates the template once per server and version of the schema. */
async function ensureTemplate(client: pg.Client, engine: Engine): Promise<string> {
  const template = `pulsebase_template_${await hashSources()}`
  const exists = async () =>
    (await client.query('select 1 from pg_database where datname = $1', [template])).rows.length > 0
  if (await exists()) return template
  await client.query(`select pg_advisory_lock(hashtext('pulsebase template'))`)
  try {
    if (!(await exists())) await createTemplate(client, engine, template)
  } finally {
    await client.query(`select pg_advisory_unlock(hashtext('pulsebase template'))`)
  }
  return template
}

async function createTemplate(client: pg.Client, engine: Engine, template: string): Promise<void> {
  // Renamed when it is complete: an aborted run only leaves one called "new".
  const unfinished = 'pulsebase_template_new'
  await client.query(`drop database if exists ${unfinished} with (force)`)
  await client.query(`create database ${unfinished} template template0`)
  await migrate(addressOf(engine, unfinished))
  await migrateJobs(addressOf(engine, unfinished))
  await applyStrategy(addressOf(engine, unfinished), 'auto', () => {})
  await tidyCatalogs(addressOf(engine, unfinished))
  // Copying requires that nothing is connected: the migrators are disconnecting, and TimescaleDB keeps a process in
  // every database that allows it.
  const migrators = `select 1 from pg_stat_activity where datname = $1 and backend_type = 'client backend'`
  while ((await client.query(migrators, [unfinished])).rows.length > 0);
  await client.query(`alter database ${unfinished} allow_connections false`)
  await client.query('select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = $1', [unfinished])
  await client.query(`alter database ${unfinished} rename to ${template}`)
}

/**
 * Leaves nothing in the system catalogs of what the migrations made and dropped again, and the file with which PostgreSQL
 * spares each connection reading them: both are copied into each database.
 */
async function tidyCatalogs(url: string): Promise<void> {
  const tidying = [
    `select format('vacuum (full, freeze, analyze) %s', oid::regclass) as statement from pg_class
     where relnamespace = 'pg_catalog'::regnamespace and relkind = 'r' and not relisshared`,
    'select where false',
  ]
  for (const statements of tidying) {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      for (const { statement } of (await client.query(statements)).rows) await client.query(statement)
    } finally {
      await client.end()
    }
  }
}

let threads: Threads | undefined

/** The threads of this test file, which keep no state of an upload; each start would compile their code again. */
function sharedThreads(): Threads {
  if (!threads) {
    threads = startThreads(1)
    root.teardown(threads.close)
  }
  return threads
}

let http: Http | undefined

function sharedHttp(): Http {
  if (!http) {
    http = openHttp()
    root.teardown(http.close)
  }
  return http
}

let builtConsole: Console | undefined

/** The console of this test file: it is built when the first test asks for its page. */
function sharedConsole(log: Logger): Console {
  builtConsole ??= openConsole(log)
  return builtConsole
}

async function startApp(t: Test, databaseUrl: string, apiKey: string, overrides: Overrides): Promise<TestApp> {
  const { limits = LIMITS, passwords = createPasswords(CHEAP_HASHES), ...others } = overrides
  const {
    clouds = cloudProviders,
    notifying = notifyingProviders,
    identifyMs = 20_000,
    console,
    demoDays,
    ...settings
  } = others
  const config: Config = {
    ...loadConfig({
      DATABASE_URL: databaseUrl,
      SECRET_KEY,
      PORT: '0',
      BOOTSTRAP_API_KEY: apiKey,
      ...LIMITS_OF_LOGINS,
    }),
    ...settings,
  }
  // Standard output carries the test results.
  const log = openLog('error', pino.destination(2))
  const keys = deriveKeys(config.secretKey ?? SECRET_KEY)
  const db = openDatabase({
    url: databaseUrl,
    name: 'pulsebase test',
    // In addition to the service's, for the test itself.
    maxConnections: apiConnections(LIMITS) + TEST_CONNECTIONS,
    statementTimeoutMs: limits.statementMs,
    lockTimeoutMs: limits.lockMs,
    onError: (error) => log.error({ err: error }, 'a database connection was lost'),
  })
  await db.query(
    `insert into developer (email, password_hash) select $1, $2 where not exists (select from developer)`,
    [EMAIL, PASSWORD_HASH],
  )
  await bootstrapAccounts(db, config, passwords)
  // Nobody stops that of a service that has ended, and a process has dozens of them.
  const metrics = createMetrics(1000)
  const gates = openGates(limits, metrics.registry)
  const apiKeys = await openApiKeys(gated(db, gates.guard), log)
  const syncFeed = await openSyncFeed(gated(db, gates.stream), log, metrics)
  observeRollups(metrics.registry, gated(db, gates.metrics))
  const clients = oauthClients(clouds, config)
  const inbox = observeNotices(metrics.registry, gated(db, gates.metrics))
  observePulls(metrics.registry, gated(db, gates.metrics), clients)
  const vault = openVault(config.secretKey ?? SECRET_KEY, config.previousSecretKey)
  observeGrants(metrics.registry, gated(db, gates.metrics), vault)
  const handover = createHandover()
  const noticeBodies = keepBodies()
  let uploads: Uploads | undefined
  const startedUploads = () => {
    uploads ??= acceptUploads({ db, gates, limits, metrics, threads: sharedThreads(), handover })
    return uploads
  }
  const oauth: OAuthParts = {
    ...{
      db: changing(db, { gates, limits }, OAUTH_CHANGES),
      saving: db,
      http: sharedHttp(),
      settings: config,
      metrics,
      log,
    },
    ...{ identifyMs, vault, clients, connected: queueFirst(clients, config.historicalSyncOnConnect) },
  }
  const replicas =
    config.databaseReadUrls.length > 0 &&
    openReplicas({
      ...{ urls: config.databaseReadUrls, primary: db, maxConnections: replicaConnections(limits) },
      ...{ metrics, log },
    })
  const demo = openDemo(log, demoDays)
  const deps: Dependencies = {
    config,
    db,
    ...(replicas && { replicas }),
    limits,
    gates,
    answers: countAnswers(limits),
    keys,
    apiKeys,
    passwords,
    uploads: { accept: (upload) => startedUploads().accept(upload) },
    ...{ syncFeed, demo },
    ...{ oauth, tokens: openAccessTokens(oauth) },
    notices: openReceiver({
      ...{ db: gated(db, gates.inbox), vault, clients, notifying, metrics, log },
      bodies: noticeBodies,
      hasOthers: () => hasOthers(gates),
    }),
    ...(config.consoleEnabled && config.role !== 'worker' && { console: console ?? sharedConsole(log) }),
    log,
    metrics,
    shownMetrics: shareMetrics(metrics.registry),
    ready: async () => true,
    ...(clients.size > 0 && { inbox }),
    ...(config.outgoingWebhooksEnabled && {
      webhookBacklog: observeWebhooks(metrics.registry, gated(db, gates.metrics)),
    }),
  }
  const several = PROCESSES > 1 ? await startSeveral(t, databaseUrl, apiKey, overrides) : undefined
  const server = openServer(buildApp(deps).callback())
  // Longer than a test blocks the event loop: closing a connection while a request is on its way fails the request.
  server.keepAliveTimeout = 65_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = several?.url ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { id } = await db.one<{ id: string }>('select id from developer order by created_at limit 1')
  let signed: Promise<string> | undefined
  const token = () => {
    signed ??= signAccessToken(keys, 'developer', id)
    return signed
  }
  let closing: Promise<void> | undefined
  const app: TestApp = {
    url,
    db,
    databaseUrl,
    apiKey,
    developer: { id, email: EMAIL, password: PASSWORD, token },
    deps,
    threads: sharedThreads,
    handover,
    noticeBodies,
    request: async (method, path, options = {}) => send(url, method, path, options, { apiKey, token }),
    sdkToken: (userId) => signAccessToken(keys, 'sdk', userId),
    another: (more = {}) => startApp(t, databaseUrl, apiKey, { ...overrides, ...more }),
    close: () => {
      closing ??= (async () => {
        if (several?.alive()) await several.stop()
        await demo.close()
        await deps.syncFeed.close()
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
        await apiKeys.close()
        if (replicas) await replicas.end()
        await db.end()
      })()
      return closing
    },
  }
  t.teardown(app.close)
  return app
}

/** Starts several processes on a database; undefined if a test replaces parts of its own. */
async function startSeveral(t: Test, url: string, key: string, overrides: Overrides): Promise<Service | undefined> {
  const { limits, passwords, clouds, notifying, console, identifyMs, demoDays, ...settings } = overrides
  const parts = { limits, passwords, clouds, notifying, console, identifyMs, demoDays }
  const replaced = Object.entries(parts).flatMap(([name, part]) => (part === undefined ? [] : [name]))
  const variables = variablesOf(settings)
  if (replaced.length > 0 || !variables) {
    t.comment(`answered by one process: the test has ${replaced.join() || 'providers'} of its own`)
    return undefined
  }
  const service = await startService(t, {
    ...{ DATABASE_URL: url, SECRET_KEY, BOOTSTRAP_API_KEY: key, ROLE: 'api', ...LIMITS_OF_LOGINS },
    ...{ ...variables, WEB_CONCURRENCY: String(PROCESSES) },
  })
  const all = new RegExp(`^pulsebase_processes ${PROCESSES}$`, 'm')
  while (!all.test((await exchange(new URL('/metrics', service.url))).text));
  return service
}

async function send(
  url: string,
  method: string,
  path: string,
  { body, headers = {}, auth = 'key' }: TestRequest,
  { apiKey, token }: { apiKey: string; token(): Promise<string> },
): Promise<TestAnswer> {
  const sent = new Headers(headers)
  if (auth === 'key') sent.set('X-Service-API-Key', apiKey)
  else if (auth !== 'none') sent.set('Authorization', `Bearer ${auth === 'developer' ? await token() : auth.bearer}`)
  const asIs = typeof body === 'string' || body instanceof Uint8Array || body instanceof URLSearchParams
  if (body !== undefined && !asIs && !sent.has('content-type')) sent.set('Content-Type', 'application/json')
  const { status, text, ...response } = await exchange(new URL(path, url), {
    ...{ method, headers: sent },
    ...(body !== undefined && { body: asIs ? body : JSON.stringify(body) }),
  })
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '')
  const answer = { status, headers: response.headers, body: isJson && text ? JSON.parse(text) : text }
  const problems = undescribed(method, path, answer)
  if (problems.length > 0) throw new Error(`not as /openapi.json says: ${problems.slice(0, 5).join('; ')}`)
  return answer
}
