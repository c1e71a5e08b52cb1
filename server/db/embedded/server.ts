import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Account } from './account.ts'
import { serverEnv } from './cluster.ts'
import { findProcesses, type SystemProcess, signalProcess, waitUntil } from './processes.ts'

/** Time for PostgreSQL's fast shutdown, which writes a checkpoint, before the immediate one, which recovers later. */
const FAST_MS = 15_000
const LEFTOVER_FAST_MS = 8000
const IMMEDIATE_MS = 5000
const LOG_LIMIT_BYTES = 10 * 2 ** 20
const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants

export interface ServerOptions {
  postgres: string
  cluster: string
  port: number
  /** PostgreSQL parameters beside the address, given on the command line so that no file needs editing. */
  settings: Record<string, string>
  logFile: string
  account: Account | undefined
  /** Leave the server running when this process ends without having stopped it. */
  outlive?: boolean
}

/** A server this process started. */
export interface PostgresServer {
  pid: number
  port: number
  /** Resolves with the end of the server's log when it ends in any way. */
  ended: Promise<string>
  /** Whether it has ended. */
  hasEnded(): boolean
  stop(): Promise<void>
}

/**
 * Starts `postgres` on 127.0.0.1 only, in a session of its own: a Ctrl-C in the terminal reaches this process alone,
 * which stops the server last. It may not accept connections yet.
 * @throws Error when the program cannot be started.
 */
export async function spawnPostgres(options: ServerOptions): Promise<PostgresServer> {
  const { postgres, cluster, port, logFile, account } = options
  const settings = {
    ...options.settings,
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    cluster_name: await clusterName(cluster),
  }
  const args = ['-D', cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const { fd, size, close } = await openLog(logFile, account)
  const child = spawn(postgres, args, {
    ...account,
    cwd: '/',
    env: serverEnv(),
    detached: true,
    stdio: ['ignore', fd, fd],
  })
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', () => readFile(logFile).then((text) => resolve(lastLines(text.subarray(size))), resolve))
  })
  await close()
  if (child.pid === undefined) throw new Error(`${postgres} could not be started: ${await ended}`)
  if (options.outlive) child.unref()
  else stopAtExit(child, child.pid)
  return serverOf(child, { pid: child.pid, port, ended, cluster })
}

/** An orderly end of this process that forgot stop(), or did not come to it, must not leave a server behind. */
function stopAtExit(child: ChildProcess, pid: number): void {
  const onExit = () => signalProcess(pid, 'SIGINT')
  process.once('exit', onExit)
  child.once('exit', () => process.off('exit', onExit))
}

interface Started extends Pick<PostgresServer, 'pid' | 'port' | 'ended'> {
  cluster: string
}

function serverOf(child: ChildProcess, { pid, port, ended, cluster }: Started): PostgresServer {
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const stop = async () => {
    for (const [signal, ms] of [['SIGINT', FAST_MS] as const, ['SIGQUIT', IMMEDIATE_MS] as const]) {
      if (!hasEnded()) signalProcess(pid, signal)
      if (await waitUntil(async () => hasEnded(), ms, 10)) break
    }
    if (!hasEnded()) await stopLeftover(cluster, () => {})
    await ended
  }
  return { pid, port, ended, hasEnded, stop }
}

/**
 * Stops every process of a server that an earlier process left running on `cluster`, and removes a postmaster.pid
 * that would keep a new one from starting because its number now belongs to another process.
 * The processes are known by their cluster_name, never by number alone, and by their owner.
 * @throws Error when they cannot be stopped.
 */
export async function stopLeftover(cluster: string, log: (message: string) => void): Promise<void> {
  const pidFile = join(cluster, 'postmaster.pid')
  const recorded = async () => Number.parseInt(await readFile(pidFile, 'utf8').catch(() => '0'), 10)
  const running = await clusterProcesses(cluster)
  if (running.length > 0) {
    log(`stopping the database server that an earlier process left running in ${cluster}`)
    await stopProcesses(cluster, running, await recorded())
  }
  // PostgreSQL takes any process of that number for a server, even a zombie that nobody has waited for.
  const pid = await recorded()
  if (pid > 0 && isAlive(pid)) await rm(pidFile, { force: true })
}

async function stopProcesses(cluster: string, running: SystemProcess[], postmaster: number): Promise<void> {
  const gone = async () => (await clusterProcesses(cluster)).length === 0
  if (running.some(({ pid }) => pid === postmaster)) {
    signalProcess(postmaster, 'SIGINT')
    if (await waitUntil(gone, LEFTOVER_FAST_MS, 50)) return
  }
  // Without their postmaster, backends may work on for long: SIGQUIT ends them at once and the next start recovers.
  for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
    for (const { pid } of await clusterProcesses(cluster)) signalProcess(pid, signal)
    if (await waitUntil(gone, IMMEDIATE_MS, 50)) return
  }
  throw new Error(`The database server that still runs in ${cluster} could not be stopped`)
}

/** The postmaster and all its children, found by their command line or title (`postgres: <cluster_name>: ...`). */
async function clusterProcesses(cluster: string): Promise<SystemProcess[]> {
  const [name, { uid }] = await Promise.all([clusterName(cluster), stat(cluster)])
  const found = await findProcesses(
    (command) =>
      command.startsWith(`postgres: ${name}: `) ||
      (/\/postgres -D /.test(command) && `${command} `.includes(` cluster_name=${name} `)),
  )
  return found.filter((process) => process.uid === uid)
}

/** A name that all processes of a cluster's server carry in their titles; it survives moving the directory. */
async function clusterName(cluster: string): Promise<string> {
  const { dev, ino } = await stat(cluster, { bigint: true })
  return `pulsebase-${dev}-${ino}`
}

/** A port of 127.0.0.1 that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

async function openLog(file: string, account: Account | undefined) {
  const old = await stat(file).catch(() => undefined)
  if (old && old.size > LOG_LIMIT_BYTES) await rename(file, `${file}.1`)
  // No link: as root in somebody else's directory, we would write to and give away the file it leads to.
  const handle = await open(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
  // Left to the cluster's owner, so that a later start as that user can write it.
  if (account) await handle.chown(account.uid, account.gid)
  return { fd: handle.fd, size: (await handle.stat()).size, close: () => handle.close() }
}

const lastLines = (text: Buffer) => text.toString('utf8').trim().split('\n').slice(-15).join('\n')

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
