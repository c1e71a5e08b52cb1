import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { waitUntil } from '../server/db/embedded/processes.ts'
import { freePort } from '../server/db/embedded/server.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const START_MS = 60_000
/** How exactly the time of a start is known. */
const READY_POLL_MS = 10
/** Accounts of the whole run: a service started again on a database finds them there. */
const ADMIN = { username: 'bench@example.org', password: randomBytes(12).toString('hex') }
const API_KEY = `sk-${randomBytes(16).toString('hex')}`
/** Encrypts the stored secrets of endpoints. */
export const SECRET_KEY = randomBytes(32).toString('hex')
/** The service drains for 20 s at most. */
const STOP_MS = 25_000

/** A statement as it goes to the driver. */
export interface Statement {
  name: string
  text: string
  values: unknown[]
  /** Rows as objects unless given. */
  rowMode?: 'array'
}

/** The real service, as `npm start` runs it, in a separate process. */
export interface Service {
  origin: string
  pid: number
  /** Header that carries the API key. */
  headers: Record<string, string>
  createUser(): Promise<string>
  /** Header of a developer who has logged in. */
  login(): Promise<Record<string, string>>
  /** The statements that the API ran since the last call; none unless the service was started with `hear`. */
  statements(): Promise<Statement[]>
  stop(): Promise<void>
}

/** Which service, and how. */
export interface ServiceOptions {
  databaseUrl: string
  /** For its log and data. */
  directory: string
  /** With it, the service writes a CPU profile of each of its threads there when it ends. */
  profileDirectory?: string
  /** Runs no jobs and reports the statements of its API, which costs time: not for timed work. */
  hear?: boolean
  /** Further environment variables. */
  settings?: Record<string, string>
}

/** Starts the service on a free port and waits until it is ready. Otherwise throws with the end of its log. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const home = await mkdtemp(join(options.directory, 'service-'))
  if (options.profileDirectory) await mkdir(options.profileDirectory, { recursive: true })
  const port = await freePort()
  const logFile = join(home, 'log')
  const child = spawnService(options, { home, port, logFile })
  const service = serviceOf(child, `http://127.0.0.1:${port}`, options.hear === true)
  const ready = await waitUntil(
    async () => ended(child) || (await answers(`${service.origin}/readyz`)),
    START_MS,
    READY_POLL_MS,
  )
  if (ready && !ended(child)) return service
  await service.stop()
  throw new Error(`the service did not start: ${readFileSync(logFile, 'utf8').slice(-2_000)}`)
}

const ended = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

function spawnService(
  { databaseUrl, profileDirectory, hear = false, settings = {} }: ServiceOptions,
  { home, port, logFile }: { home: string; port: number; logFile: string },
): ChildProcess {
  const log = openSync(logFile, 'a')
  const profile = profileDirectory ? ['--cpu-prof', `--cpu-prof-dir=${profileDirectory}`] : []
  const entry = hear ? 'benchmarks/heard-main.ts' : 'server/main.ts'
  const child = spawn(process.execPath, [...profile, '--import', './server/typescript.mjs', entry], {
    cwd: ROOT,
    stdio: ['ignore', log, log, ...(hear ? (['ipc'] as const) : [])],
    serialization: 'advanced',
    env: {
      PATH: process.env.PATH,
      // As `npm start` and the image have it.
      MALLOC_ARENA_MAX: '2',
      DATABASE_URL: databaseUrl,
      DATA_DIR: home,
      PORT: String(port),
      HOST: '127.0.0.1',
      LOG_LEVEL: 'warn',
      SECRET_KEY,
      ADMIN_EMAIL: ADMIN.username,
      ADMIN_PASSWORD: ADMIN.password,
      ...(hear && { ROLE: 'api' }),
      BOOTSTRAP_API_KEY: API_KEY,
      ...settings,
    },
  })
  closeSync(log)
  // However this process ends, the service must not outlive it.
  const atExit = () => child.kill('SIGKILL')
  process.once('exit', atExit)
  child.once('exit', () => process.off('exit', atExit))
  return child
}

function serviceOf(child: ChildProcess, origin: string, hear: boolean): Service {
  const exited = once(child, 'exit')
  const headers = { 'x-service-api-key': API_KEY }
  return {
    origin,
    pid: child.pid as number,
    headers,
    async createUser() {
      const answer = await fetch(`${origin}/api/v1/users`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: '{"first_name":"Bench"}',
      })
      if (answer.status !== 201) throw new Error(`creating a user was answered ${answer.status}`)
      return ((await answer.json()) as { id: string }).id
    },
    async login() {
      const answer = await fetch(`${origin}/api/v1/auth/login`, { method: 'POST', body: new URLSearchParams(ADMIN) })
      if (answer.status !== 200) throw new Error(`the login was answered ${answer.status}`)
      return { authorization: `Bearer ${((await answer.json()) as { access_token: string }).access_token}` }
    },
    async statements() {
      if (!hear) return []
      const reported = once(child, 'message')
      child.send('report')
      return (await reported)[0] as Statement[]
    },
    async stop() {
      if (!ended(child)) child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
      await exited
      clearTimeout(timer)
    },
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}
