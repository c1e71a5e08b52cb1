import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { access, chmod, mkdir, mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { type Account, canEnter, serverAccount } from '../server/db/embedded/account.ts'
import { initCluster, SUPERUSER } from '../server/db/embedded/cluster.ts'
import { waitUntil } from '../server/db/embedded/processes.ts'
import { freePort, spawnPostgres } from '../server/db/embedded/server.ts'
import { startEmbeddedDatabase } from '../server/db/embedded.ts'
import { parentOf } from './processes.ts'

const run = promisify(execFile)

/** The settings of the embedded server (server/db/embedded.ts) that affect speed, and the extension. */
const TIMESCALE_SETTINGS = {
  shared_buffers: '1024MB',
  max_connections: '60',
  wal_compression: 'pglz',
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  checkpoint_completion_target: '0.9',
  random_page_cost: '1.1',
  effective_io_concurrency: '16',
  fsync: 'on',
  synchronous_commit: 'on',
  timezone: 'UTC',
  lc_messages: 'C',
  shared_preload_libraries: 'timescaledb',
  'timescaledb.telemetry_level': 'off',
  max_worker_processes: '32',
}

/** The engines of the design, in the order they are measured. */
export const ENGINE_NAMES = ['plain', 'timescale'] as const
export type EngineName = (typeof ENGINE_NAMES)[number]

/** A separate database server for the benchmark, with the settings of production. */
export interface Engine {
  name: EngineName
  /** PostgreSQL's version, and the extension's if it is used. */
  version: string
  /** Process id of the postmaster, the parent of every backend. */
  pid: number
  /** Creates an empty database and returns its address. */
  create(database: string): Promise<string>
  drop(database: string): Promise<void>
  stop(): Promise<void>
}

/** A temporary directory that the database's user can enter. */
export async function temporaryDirectory(): Promise<string> {
  const account = await serverAccount('', () => {})
  for (const parent of [tmpdir(), '/tmp', '/var/tmp']) {
    if (account && !(await canEnter(account, parent))) continue
    const directory = await mkdtemp(join(parent, 'pulsebase-bench-'))
    await chmod(directory, 0o711)
    return directory
  }
  throw new Error('The database user can enter neither the temporary directory nor /tmp or /var/tmp')
}

/**
 * Starts the server of an engine with its data below `directory`.
 * @throws Error for `timescale` when no installed PostgreSQL 15 or newer has the extension.
 */
export async function startEngine(name: EngineName, directory: string): Promise<Engine> {
  const home = join(directory, name)
  await mkdir(home)
  await chmod(home, 0o711)
  const { url, stop } = name === 'plain' ? await startPlain(home) : await startTimescale(home)
  try {
    return await describe(name, url, stop)
  } catch (error) {
    await stop()
    throw error
  }
}

interface Running {
  /** Superuser address of some database. */
  url: string
  stop(): Promise<void>
}

const startPlain = (dataDir: string): Promise<Running> => startEmbeddedDatabase({ dataDir, log: () => {} })

async function startTimescale(home: string): Promise<Running> {
  const bin = await timescalePrograms()
  if (!bin) throw new Error('no installed PostgreSQL 15 or newer has the extension')
  const cluster = join(home, 'postgres')
  const account: Account | undefined = await serverAccount(cluster, () => {})
  const password = randomBytes(12).toString('base64url')
  await initCluster({ initdb: join(bin, 'initdb'), cluster, password, account, args: ['--locale=C.UTF-8'] })
  const port = await freePort()
  const logFile = join(home, 'postgres.log')
  const postgres = join(bin, 'postgres')
  const server = await spawnPostgres({ postgres, cluster, port, settings: TIMESCALE_SETTINGS, logFile, account })
  const url = `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`
  const ready = await waitUntil(async () => server.hasEnded() || (await answers(url)), 60_000)
  if (ready && !server.hasEnded()) return { url, stop: () => server.stop() }
  await server.stop()
  throw new Error(`${postgres} did not start: ${await server.ended}`)
}

/** Directory of the programs of the newest installed PostgreSQL that comes with the extension. */
async function timescalePrograms(): Promise<string | undefined> {
  const onPath = await run('pg_config', ['--bindir']).catch(() => undefined)
  const debian = (await readdir('/usr/lib/postgresql').catch(() => [])).map(
    (major) => `/usr/lib/postgresql/${major}/bin`,
  )
  const redHat = (await readdir('/usr'))
    .filter((entry) => /^pgsql-\d+$/.test(entry))
    .map((entry) => `/usr/${entry}/bin`)
  const newestFirst = [...debian, ...redHat].sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
  for (const bin of [...(onPath ? [onPath.stdout.trim()] : []), ...newestFirst]) {
    const version = await run(join(bin, 'postgres'), ['--version']).catch(() => undefined)
    const major = Number(/PostgreSQL\) (\d+)/.exec(version?.stdout ?? '')?.[1] ?? 0)
    const share = await run(join(bin, 'pg_config'), ['--sharedir']).catch(() => undefined)
    // Debian packages pg_config separately from the server.
    const control = join(share?.stdout.trim() ?? `/usr/share/postgresql/${major}`, 'extension', 'timescaledb.control')
    if (major >= 15 && (await exists(control))) return bin
  }
  return undefined
}

async function describe(name: EngineName, url: string, stop: () => Promise<void>): Promise<Engine> {
  const [server] = await query<{ version: string; pid: number; extension: string | null }>(
    url,
    `select current_setting('server_version') as version, pg_backend_pid() as pid,
            (select default_version from pg_available_extensions where name = 'timescaledb') as extension`,
    ({ pid, ...row }) => ({ ...row, pid: parentOf(pid) }),
  )
  if (!server) throw new Error('the database server reports no version')
  return {
    name,
    version: `PostgreSQL ${server.version}${name === 'timescale' ? `, TimescaleDB ${server.extension}` : ''}`,
    pid: server.pid,
    async create(database) {
      await query(url, `create database ${database} template template0`)
      const address = new URL(url)
      address.pathname = `/${database}`
      return address.href
    },
    async drop(database) {
      await query(url, `drop database ${database} with (force)`)
    },
    stop,
  }
}

/** Runs one statement on a separate connection; `look` sees the rows before that connection ends. */
async function query<Row>(url: string, sql: string, look = (row: Row) => row): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows.map(look)
  } finally {
    await client.end()
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await query(url, 'select 1')).length > 0
  } catch {
    return false
  }
}

async function exists(path: string): Promise<boolean> {
  return (await access(path).catch(() => false)) !== false
}
