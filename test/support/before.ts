// Run by tap before the first test file (see .taprc): starts the database servers that all test files share, and
// compiles the test files.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { access, chmod, mkdtemp, readdir, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { type Account, canEnter, serverAccount } from '../../server/db/embedded/account.ts'
import { nativePackage, usableBinaries } from '../../server/db/embedded/binaries.ts'
import { BUILTIN_LOCALE, initCluster, SUPERUSER } from '../../server/db/embedded/cluster.ts'
import { SHARED_DIR } from '../../server/db/embedded/place.ts'
import { startTime, waitUntil } from '../../server/db/embedded/processes.ts'
import { freePort, spawnPostgres } from '../../server/db/embedded/server.ts'
import { compileTests, removeCompiled } from './compile.ts'
import {
  type Engine,
  liveRuns,
  readRecord,
  type ServerRecord,
  stopServers,
  withRecordLock,
  writeRecord,
} from './servers.ts'

const run = promisify(execFile)
const say = (line: string) => process.stderr.write(`${line}\n`)

/** The data is temporary: nothing waits for the disk. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '200',
  shared_buffers: '128MB',
  max_wal_size: '1GB',
  checkpoint_timeout: '30min',
  timezone: 'UTC',
  lc_messages: 'C',
}
/** Each database with the extension has a background worker. */
const TIMESCALE_SETTINGS = {
  shared_preload_libraries: 'timescaledb',
  'timescaledb.telemetry_level': 'off',
  'timescaledb.max_background_workers': '0',
  max_worker_processes: '48',
}

/**
 * Nor do thousands of connections each derive a key from the password, 2.5 ms of CPU: it is random, and for this run.
 */
const QUICK_AUTH = ['--auth=md5']

/** Free memory required to keep the servers' data there: two logs of `max_wal_size`, and the data of large tests. */
const MEMORY_BYTES = 6 * 2 ** 30

interface Programs {
  initdb: string
  postgres: string
}

await withRecordLock(async () => {
  const environment = `${process.env.TEST_DATABASE_URL ?? ''} ${process.env.TEST_TIMESCALE_URL ?? ''}`
  const thisRun = { pid: process.ppid, start: (await startTime(process.ppid)) ?? '' }
  const shared = await sharedServers(environment)
  await removeCompiled(shared?.runs ?? [])
  const compiled = compileTests(thisRun).catch(() =>
    say('The tests are not compiled: each file is when it is imported'),
  )
  if (shared) {
    await compiled
    return writeRecord({ ...shared, runs: [...shared.runs, thisRun] })
  }
  const record: ServerRecord = {
    ready: false,
    engines: [],
    directories: [],
    clusters: [],
    runs: [thisRun],
    environment,
  }
  try {
    record.engines = await startEngines(record)
    await compiled
    await writeRecord({ ...record, ready: true })
  } catch (error) {
    await stopServers(record)
    throw error
  }
})

/** The servers of a run still in progress in this checkout; stops those of a run that died. */
async function sharedServers(environment: string): Promise<ServerRecord | undefined> {
  const record = readRecord()
  if (!record) return undefined
  const runs = await liveRuns(record)
  const usable = record.ready && runs.length > 0 && (await Promise.all(record.engines.map(answers))).every(Boolean)
  if (!usable) {
    await stopServers(record)
    return undefined
  }
  if (record.environment !== environment) {
    throw new Error(`A test run with other TEST_* variables is going on in this checkout (tap process ${runs[0]?.pid})`)
  }
  return { ...record, runs }
}

async function startEngines(record: ServerRecord): Promise<Engine[]> {
  const given = process.env.TEST_DATABASE_URL
  const timescaleUrl = process.env.TEST_TIMESCALE_URL
  const engines: Engine[] = []
  if (given) engines.push({ name: (await hasTimescale(given)) ? 'timescale' : 'plain', url: given })
  if (timescaleUrl) engines.push({ name: 'timescale', url: timescaleUrl })
  if (given) return engines
  const account = await serverAccount('', say)
  // Settled, not all: if one fails, the other must be up before both can be stopped.
  const [plain, timescale] = await Promise.allSettled([
    startPlain(record, account),
    timescaleUrl ? undefined : startTimescale(record, account),
  ])
  if (plain.status === 'rejected') throw plain.reason
  if (timescale.status === 'fulfilled' && timescale.value) engines.push(timescale.value)
  return [plain.value, ...engines]
}

async function startPlain(record: ServerRecord, account: Account | undefined): Promise<Engine> {
  const directory = await temporaryDirectory(record, account)
  const programs = await usableBinaries(await nativePackage(), account, account ? SHARED_DIR : directory, say)
  const url = await startCluster(record, directory, programs, account, BUILTIN_LOCALE, SETTINGS)
  return { name: 'plain', url }
}

/** Starts an installed PostgreSQL 15 or newer with the extension; if there is none, prints why in one line. */
async function startTimescale(record: ServerRecord, account: Account | undefined): Promise<Engine | undefined> {
  let reason = 'no installed PostgreSQL 15 or newer has the extension, and TEST_TIMESCALE_URL is not set'
  try {
    const programs = await installedTimescale()
    if (programs) {
      const directory = await temporaryDirectory(record, account)
      const settings = { ...SETTINGS, ...TIMESCALE_SETTINGS }
      const url = await startCluster(record, directory, programs, account, ['--locale=C.UTF-8'], settings)
      if (await hasTimescale(url)) return { name: 'timescale', url }
      reason = `${programs.postgres} does not offer the extension`
    }
  } catch (error) {
    reason = String(error).replaceAll(/\s+/g, ' ')
  }
  say(`The TimescaleDB half of the tests is not run: ${reason}`)
  return undefined
}

async function startCluster(
  record: ServerRecord,
  directory: string,
  { initdb, postgres }: Programs,
  account: Account | undefined,
  locale: string[],
  settings: Record<string, string>,
): Promise<string> {
  const cluster = join(directory, 'postgres')
  const password = randomBytes(12).toString('base64url')
  await initCluster({ initdb, cluster, password, account, args: ['--no-sync', ...QUICK_AUTH, ...locale] })
  record.clusters.push(cluster)
  await writeRecord(record)
  const port = await freePort()
  const logFile = join(directory, 'postgres.log')
  const server = await spawnPostgres({ postgres, cluster, port, settings, logFile, account, outlive: true })
  const engine: Engine = { name: 'plain', url: `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres` }
  const ready = await waitUntil(async () => server.hasEnded() || (await answers(engine)), 60_000, 20)
  if (ready && !server.hasEnded()) return engine.url
  if (!server.hasEnded()) await server.stop()
  throw new Error(`${postgres} did not start: ${await server.ended}`)
}

/**
 * A directory for one server that its user can enter, in memory if Linux has enough: creating a database creates a
 * thousand files. It is recorded at once, so that a crash leaves nothing behind.
 */
async function temporaryDirectory(record: ServerRecord, account: Account | undefined): Promise<string> {
  const memory = await statfs('/dev/shm').catch(() => undefined)
  const roomy = memory && memory.bavail * memory.bsize >= MEMORY_BYTES
  for (const parent of [...(roomy ? ['/dev/shm'] : []), tmpdir(), '/tmp', '/var/tmp']) {
    if (account && !(await canEnter(account, parent))) continue
    const directory = await mkdtemp(join(parent, 'pulsebase-test-'))
    await chmod(directory, 0o711)
    record.directories.push(directory)
    await writeRecord(record)
    return directory
  }
  throw new Error('The database user can enter neither the temporary directory nor /tmp or /var/tmp')
}

async function installedTimescale(): Promise<Programs | undefined> {
  for (const bin of await binDirectories()) {
    const programs = { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
    const version = await run(programs.postgres, ['--version']).catch(() => undefined)
    const major = Number(/PostgreSQL\) (\d+)/.exec(version?.stdout ?? '')?.[1] ?? 0)
    if (major < 15) continue
    const share = await run(join(bin, 'pg_config'), ['--sharedir']).catch(() => undefined)
    // Debian packages pg_config separately from the server.
    const directory = share?.stdout.trim() ?? `/usr/share/postgresql/${major}`
    if (await exists(join(directory, 'extension', 'timescaledb.control'))) return programs
  }
  return undefined
}

/** Directories of the server programs: Debian, Red Hat, a build from source, Homebrew; newest first. */
async function binDirectories(): Promise<string[]> {
  const onPath = await run('pg_config', ['--bindir']).catch(() => undefined)
  const versioned = await Promise.all([
    below('/usr/lib/postgresql', /^\d+$/),
    below('/usr', /^pgsql-\d+$/),
    below('/opt/homebrew/opt', /^postgresql@\d+$/),
    below('/usr/local/opt', /^postgresql@\d+$/),
  ])
  return [...(onPath ? [onPath.stdout.trim()] : []), ...versioned.flat(), '/usr/local/pgsql/bin']
}

async function below(parent: string, name: RegExp): Promise<string[]> {
  const names = (await readdir(parent).catch(() => [])).filter((entry) => name.test(entry))
  names.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
  return names.map((entry) => join(parent, entry, 'bin'))
}

/** Whether the extension can be created: installed, and loaded at the server's start. */
async function hasTimescale(url: string): Promise<boolean> {
  const rows = await query(
    url,
    `select default_version from pg_available_extensions
     where name = 'timescaledb' and current_setting('shared_preload_libraries') like '%timescaledb%'`,
  )
  return rows.length > 0
}

async function answers({ url }: Engine): Promise<boolean> {
  try {
    return (await query(url, 'select 1')).length > 0
  } catch {
    return false
  }
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

async function exists(path: string): Promise<boolean> {
  return (await access(path).catch(() => false)) !== false
}
