// The service as operators start it: a separate process, which tests can measure and kill.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import type { Database } from '../../server/db/database.ts'
import { signalProcess, waitUntil } from '../../server/db/embedded/processes.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const START_MS = 60_000

/** The environment in which a child process of a test runs the files compiled for this run of tap. */
export const THIS_RUN = { TAP_RUN: String(process.ppid) }

/** The arguments with which Node.js runs a file of the checkout, such as `server/main.ts`, as it was compiled. */
export function compiledFile(file: string): string[] {
  const compiled = `.tap/compiled/${THIS_RUN.TAP_RUN}/${file.replace(/\.ts$/, '.js')}`
  return ['--import', './test/support/compiled.mjs', existsSync(ROOT + compiled) ? compiled : file]
}

/** The options of a request; by default `auth` is the API key. */
export interface TestRequest {
  /** Sent as JSON; text, bytes and forms are sent unchanged. */
  body?: unknown
  headers?: Record<string, string>
  auth?: 'key' | 'developer' | 'none' | { bearer: string }
}

/** An answer, its body parsed if it is JSON. Each is checked against the API description. */
export interface TestAnswer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any
}

/** Anything that answers requests: a `TestApp`, or a service in a separate process, whose database may be unknown. */
export interface Api {
  db?: Database
  request(method: string, path: string, options?: TestRequest): Promise<TestAnswer>
}

/** A running service in a separate process group. */
export interface Service extends Api {
  url: string
  pid: number
  /** Its output so far. */
  output(): string
  /** Whether the process is still running. */
  alive(): boolean
  /** Runs `work` and returns the longest time a measured service's event loop was blocked meanwhile, in ms. */
  loopDelay(work: () => Promise<unknown>): Promise<number>
  /** Sets the clock of a service with its own clock ahead of ours, in ms; negative values set it back. */
  setClock(aheadMs: number): Promise<void>
  /** Resident memory of the process in MiB. */
  rssMiB(): Promise<number>
  /** SIGKILL to the whole process group; resolves when the process is gone. */
  kill(): Promise<void>
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>
}

/** The key of a service started with `BOOTSTRAP_API_KEY: API_KEY`. */
export const API_KEY = 'sk-0123456789abcdef0123456789abcdef'

const SETTINGS = {
  PORT: '0',
  LOG_LEVEL: 'error',
  ADMIN_PASSWORD: 'correct horse battery staple',
  BOOTSTRAP_API_KEY: API_KEY,
}

/** Settings for an existing database. */
export const onDatabase = (url: string): Record<string, string> => ({
  DATABASE_URL: url,
  SECRET_KEY: '8d2f6c0b9e7a41d35f1c8b6a0e9d7c5b',
})

/** A port that is free now, for a service that has it again after each start. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** A data directory that the database's user can enter; it is removed with the test. */
export async function passableDirectory(t: Test): Promise<string> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'pulsebase-start-')))
  await chmod(dir, 0o755)
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}

/** Where the process begins. */
type Entry = 'server/main.ts' | `test/support/${'measured' | 'clocked' | 'hurried'}-main.ts`

/** Starts the service with these settings and resolves when it is ready; the process ends with the test. */
export async function startService(
  t: Test,
  settings: Record<string, string>,
  entry: Entry = 'server/main.ts',
): Promise<Service> {
  const { PATH = '', HOME = '', TMPDIR = '' } = process.env
  const child = spawn(process.execPath, compiledFile(entry), {
    cwd: ROOT,
    detached: true,
    env: { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...THIS_RUN, ...SETTINGS, ...settings },
    stdio: ['ignore', 'pipe', 'pipe', entry === 'server/main.ts' ? 'ignore' : 'ipc'],
  })
  let printed = ''
  const collect = (chunk: Buffer) => {
    printed += chunk
  }
  child.stdout?.on('data', collect)
  child.stderr?.on('data', collect)
  const { pid } = child
  if (pid === undefined) throw new Error('the service could not be started')
  const alive = () => child.exitCode === null && child.signalCode === null
  // Also when the test is killed from outside, before its teardown.
  const onExit = () => signalGroup(pid)
  process.once('exit', onExit)
  child.once('exit', () => process.off('exit', onExit))
  t.teardown(() => endGroup(child, pid))
  const address = () => /is ready at (http:\S+)/.exec(printed)?.[1]
  await waitUntil(async () => address() !== undefined || !alive(), START_MS, 10)
  const url = address()
  if (!url) throw new Error(`the service did not start:\n${printed}`)
  const ask = async (question: 'reset' | 'read') => {
    const answer = once(child, 'message')
    child.send(question)
    return ((await answer)[0] as { maxMs: number }).maxMs
  }
  return {
    url,
    pid,
    alive,
    output: () => printed,
    request: (method, path, options) => send(url, method, path, options),
    async loopDelay(work) {
      await ask('reset')
      await work()
      return ask('read')
    },
    async setClock(aheadMs) {
      const set = once(child, 'message')
      child.send({ aheadMs })
      await set
    },
    async rssMiB() {
      const status = await readFile(`/proc/${pid}/status`, 'utf8')
      return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024
    },
    kill: () => endGroup(child, pid),
    async stop() {
      const exited = once(child, 'exit')
      signalProcess(pid, 'SIGTERM')
      return (await exited)[0] as number | null
    },
  }
}

/** Kills the process group; its database server has a session of its own. */
async function endGroup(child: ChildProcess, pid: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  signalGroup(pid)
  await exited
}

const signalGroup = (pid: number) => signalProcess(-pid, 'SIGKILL')

async function send(
  url: string,
  method: string,
  path: string,
  { body, headers = {}, auth = 'key' }: TestRequest = {},
): Promise<TestAnswer> {
  const sent = new Headers(headers)
  if (auth === 'key') sent.set('X-Service-API-Key', API_KEY)
  const asIs = typeof body === 'string' || body instanceof Uint8Array
  if (body !== undefined && !sent.has('content-type')) sent.set('Content-Type', 'application/json')
  const response = await fetch(new URL(path, url), {
    method,
    redirect: 'manual',
    headers: sent,
    ...(body !== undefined && { body: asIs ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, body: isJson && text ? JSON.parse(text) : text }
}
