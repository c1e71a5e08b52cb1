// A primary and a streaming standby of it, each a real server with a cluster of its own.
import { chmod, chown, cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { type Account, serverAccount } from '../../server/db/embedded/account.ts'
import { BUILTIN_LOCALE, initCluster, SUPERUSER } from '../../server/db/embedded/cluster.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { freePort, type PostgresServer, spawnPostgres } from '../../server/db/embedded/server.ts'
import type { Engine } from './servers.ts'

const PASSWORD = 'standby-password'
const START_MS = 60_000

const SETTINGS = {
  fsync: 'off',
  shared_buffers: '64MB',
  max_connections: '100',
  wal_keep_size: '512MB',
  timezone: 'UTC',
  lc_messages: 'C',
}
const TIMESCALE_SETTINGS = {
  shared_preload_libraries: 'timescaledb',
  'timescaledb.telemetry_level': 'off',
  'timescaledb.max_background_workers': '0',
}

/** A primary with its standby; both end with the test. */
export interface Replicated {
  primary: Engine
  primaryPid: number
  /** The address at the standby of a database of the primary. */
  atStandby(databaseUrl: string): string
  /** Waits until the standby has replayed what the primary has written by now. */
  caughtUp(): Promise<void>
  /** Has the standby replay what it receives so much later, from now on. */
  delayReplay(delayMs: number): Promise<void>
  /** Ends the standby at once, as a crash does. */
  stopStandby(): Promise<void>
  startStandby(): Promise<void>
  /** Makes a server of its own of it. */
  promote(): Promise<void>
}

/** Starts a primary of the engine's PostgreSQL, and a standby. */
export async function startReplicated(
  t: { teardown(end: () => Promise<void>): unknown },
  engine: Engine,
): Promise<Replicated> {
  const account = await serverAccount('', () => {})
  const postgres = await programOf(engine)
  const directory = await mkdtemp(join(tmpdir(), 'pulsebase-standby-'))
  await chmod(directory, 0o711)
  const running = new Set<PostgresServer>()
  t.teardown(async () => {
    await Promise.all([...running].map((server) => server.stop()))
    await rm(directory, { recursive: true, force: true })
  })
  const settings = { ...SETTINGS, ...(engine.name === 'timescale' && TIMESCALE_SETTINGS) }
  const [primary, standby] = [join(directory, 'primary'), join(directory, 'standby')]
  const args = ['--no-sync', ...(engine.name === 'timescale' ? ['--locale=C.UTF-8'] : BUILTIN_LOCALE)]
  await initCluster({ initdb: join(dirname(postgres), 'initdb'), cluster: primary, password: PASSWORD, account, args })
  await copyCluster(primary, standby, account)

  async function start(cluster: string, port: number, more: Record<string, string>): Promise<PostgresServer> {
    const logFile = `${cluster}.log`
    const server = await spawnPostgres({
      postgres,
      cluster,
      port,
      settings: { ...settings, ...more },
      logFile,
      account,
    })
    running.add(server)
    const answers = () =>
      ask(urlOf(port), 'select 1').then(
        () => true,
        () => false,
      )
    const ready = await waitUntil(async () => server.hasEnded() || (await answers()), START_MS, 20)
    if (!ready || server.hasEnded()) throw new Error(`${cluster} did not start: ${await server.ended}`)
    return server
  }

  const ports = { primary: await freePort(), standby: await freePort() }
  const { pid: primaryPid } = await start(primary, ports.primary, {})
  const upstream = `host=127.0.0.1 port=${ports.primary} user=${SUPERUSER} password=${PASSWORD}`
  const startStandby = () => start(standby, ports.standby, { primary_conninfo: upstream })
  let server = await startStandby()
  const standbyUrl = urlOf(ports.standby)
  return {
    primary: { name: engine.name, url: urlOf(ports.primary) },
    primaryPid,
    atStandby(databaseUrl) {
      const url = new URL(databaseUrl)
      url.port = String(ports.standby)
      return url.href
    },
    async caughtUp() {
      const [at] = await ask(urlOf(ports.primary), 'select pg_current_wal_lsn()::text as lsn')
      const reached = `select pg_last_wal_replay_lsn() >= '${at?.lsn}' as reached`
      const done = await waitUntil(async () => (await ask(standbyUrl, reached))[0]?.reached === true, START_MS, 10)
      if (!done) throw new Error('the standby does not catch up')
    },
    async delayReplay(delayMs) {
      await ask(standbyUrl, `alter system set recovery_min_apply_delay = '${delayMs}ms'`)
      await ask(standbyUrl, 'select pg_reload_conf()')
    },
    async stopStandby() {
      process.kill(server.pid, 'SIGQUIT')
      await server.ended
      running.delete(server)
    },
    async startStandby() {
      server = await startStandby()
    },
    async promote() {
      await ask(standbyUrl, 'select pg_promote()')
    },
  }
}

const urlOf = (port: number) => `postgresql://${SUPERUSER}:${PASSWORD}@127.0.0.1:${port}/postgres`

/** The server program of a running engine of the tests. */
async function programOf({ url }: Engine): Promise<string> {
  const [row] = await ask(url, `select setting as directory from pg_settings where name = 'data_directory'`)
  return (await readFile(join(String(row?.directory), 'postmaster.opts'), 'utf8')).split(' ')[0] as string
}

/** A copy of a cluster that is not running, as the beginning of a standby. */
async function copyCluster(from: string, to: string, account: Account | undefined): Promise<void> {
  await cp(from, to, { recursive: true, preserveTimestamps: true })
  await writeFile(join(to, 'standby.signal'), '')
  await chmod(to, 0o700)
  if (!account) return
  const files = await readdir(to, { recursive: true })
  await Promise.all([to, ...files.map((file) => join(to, file))].map((path) => chown(path, account.uid, account.gid)))
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}
