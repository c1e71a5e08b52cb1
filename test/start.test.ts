// How the service starts, with the real entry point as a child process, compiled before; test/readme.test.ts starts it
// as operators do.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import nodeModule from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import t, { type Test } from 'tap'
import { signalProcess, waitUntil } from '../server/db/embedded/processes.ts'
import { freePort, stopLeftover } from '../server/db/embedded/server.ts'
import { createTestDatabase, type TestRequest } from './support/app.ts'
import { type Api, body, createUser, heartRate, importBody, oneEngine, timeseries, waitForAll } from './support/sdk.ts'
import { type Engine, engines } from './support/servers.ts'
import { compiledFile, passableDirectory, THIS_RUN } from './support/service.ts'
import { beginUpload } from './support/slow-upload.ts'
import { inTestLong } from './support/thorough.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../', import.meta.url))
const START_MS = 40_000
const SECRET_KEY = randomBytes(24).toString('base64url')

t.test('a data directory from its first start to its last', async (t) => {
  const dataDir = join(await passableDirectory(t), 'pulse base', 'data dir')
  const env = { DATA_DIR: dataDir, LOG_LEVEL: 'trace' }
  const first = await startService(t, env)
  t.teardown(() => stopLeftover(join(dataDir, 'postgres'), () => {}))
  const { apiKey, password, curl } = firstStart(first.output())
  const api = apiOf(first.url, apiKey)
  const secrets: string[] = []
  const outputs: (() => string)[] = [first.output]
  const range = { types: 'heart_rate', start_time: '2026-01-01', end_time: '2026-12-31', limit: 1 }
  const userId = await createUser(api)

  await t.test('the first start prints address, login, API key and a line that works when pasted', async (t) => {
    t.match(first.output(), `ready at ${first.url}  (API reference: ${first.url}/docs, data in ${dataDir})`)
    t.match(first.url, /^http:\/\/localhost:\d+$/)
    t.match(first.output(), /^ {2}login {4}admin@localhost$/m)
    const { stdout } = await run('bash', ['-c', curl])
    t.match(JSON.parse(stdout), { first_name: 'Ada', id: /^[0-9a-f-]{36}$/ })
    const login = new URLSearchParams({ username: 'admin@localhost', password })
    const answer = await api.request('POST', '/api/v1/auth/login', { body: login, auth: 'none' })
    t.equal(answer.status, 200)
    secrets.push(answer.body.access_token, answer.body.refresh_token)
    for (const path of ['/readyz', '/healthz', '/metrics', '/docs', '/openapi.json']) {
      t.equal((await api.request('GET', path, { auth: 'none' })).status, 200, path)
    }
  })

  await t.test('and a link that signs in to the console, once; another one is a command away', async (t) => {
    const codeOf = (text: string, url: string) => {
      const [, address, code = ''] = /(http\S+)\/console#code=(\S+)$/m.exec(text) ?? []
      t.equal(address, url)
      return code
    }
    const signIn = async (code: string) => {
      const headers = { 'X-Pulsebase-Console': '1' }
      const answer = await api.request('POST', '/api/v1/console/session', { body: { code }, headers, auth: 'none' })
      return answer.status === 201 ? answer.body.developer.email : answer.status
    }
    const printed = codeOf(first.output(), first.url)
    t.strictSame([await signIn(printed), await signIn(printed)], ['admin@localhost', 401])
    t.equal((await api.request('GET', '/console', { auth: 'none' })).status, 200, 'the page is built')
    const command = (...args: string[]) =>
      run(process.execPath, [...compiledFile('server/console-code.ts'), ...args], {
        cwd: ROOT,
        env: { ...process.env, ...THIS_RUN, ...env, API_BASE_URL: first.url },
      })
    for (const args of [[], ['Admin@localhost']]) {
      const { stdout } = await command(...args)
      const code = codeOf(stdout, first.url)
      t.equal(await signIn(code), 'admin@localhost')
      secrets.push(code)
    }
    await t.rejects(command('nobody@example.org'), { code: 1, stderr: /^There is no developer nobody@example\.org\./ })
    await t.rejects(command('--help'), { code: 1, stderr: /npm run console:code/ })
  })

  await t.test('SIGTERM lets the upload that is under way finish, then ends with 0', async (t) => {
    const upload = await beginUpload(first.url, apiKey, userId, JSON.stringify(hourOfHeartRates(0)))
    first.child.kill('SIGTERM')
    t.ok(await waitUntil(async () => first.output().includes('"stopping"'), START_MS))
    await t.rejects(fetch(`${first.url}/readyz`), 'nothing new is taken')
    const answer = await upload.finish()
    t.match(answer, { status: 202, body: { batch_id: /^[0-9a-f-]{36}$/ } })
    t.strictSame(await first.ended, [0, null])
    t.notMatch(first.output(), /cut off/, 'and waits for nobody who only keeps a connection open')
  })

  const second = await startService(t, env)
  outputs.push(second.output)

  await t.test('the second start prints no secret, and has the data', async (t) => {
    t.notMatch(second.output(), /First start|password|API key|curl/)
    const api = apiOf(second.url, apiKey)
    t.match(await waitForAll(api, userId), [{ status: 'success', inserted: 60 }])
  })

  await t.test('kill -9 of the whole process group loses nothing that was acknowledged', inTestLong, async (t) => {
    const api = apiOf(second.url, apiKey)
    const acknowledged: string[] = []
    const uploads = Array.from({ length: 15 }, async (_, index) => {
      const answer = await api.request('POST', `/api/v1/sdk/users/${userId}/sync`, {
        body: hourOfHeartRates(index + 1),
      })
      if (answer.status === 202) acknowledged.push(answer.body.batch_id)
    })
    t.ok(await waitUntil(async () => acknowledged.length >= 5, START_MS, 1))
    process.kill(-(second.child.pid ?? 0), 'SIGKILL')
    await Promise.allSettled(uploads)
    t.strictSame(await second.ended, [null, 'SIGKILL'])

    const third = await startService(t, env)
    outputs.push(third.output)
    t.match(third.output(), /left running/, 'what becomes of the database server is said')
    const batches = await waitForAll(apiOf(third.url, apiKey), userId)
    t.ok(batches.every(({ status }) => status === 'success'))
    const known = batches.map(({ batch_id }) => batch_id)
    t.ok(acknowledged.every((id) => known.includes(id)))
    // An upload whose answer was lost may be there too, but only as a whole.
    const { body } = await timeseries(apiOf(third.url, apiKey), userId, range)
    t.equal(body.pagination.total_count, batches.length * 60)
    third.child.kill('SIGINT')
    t.strictSame(await third.ended, [0, null])
  })

  await t.test('SIGINT ends it, too', { skip: !inTestLong.skip && 'it was killed' }, async (t) => {
    second.child.kill('SIGINT')
    t.strictSame(await second.ended, [0, null])
  })

  await t.test('what was compiled is kept for the next start, by a Node.js that can', async (t) => {
    t.equal(existsSync(join(dataDir, 'compiled')), 'enableCompileCache' in nodeModule)
  })

  await t.test('no secret is in the log, and those of the first start stand there once', async (t) => {
    for (const name of ['postgres.password', 'secret-key']) {
      secrets.push((await readFile(join(dataDir, name), 'utf8')).trim())
    }
    const databaseLog = await readFile(join(dataDir, 'postgres.log'), 'utf8')
    const log = outputs.map((output) => output()).join('') + databaseLog
    t.equal(secrets.length, 6)
    t.ok(secrets.every((secret) => secret.length >= 32 && !log.includes(secret)))
    t.equal(log.split(password).length - 1, 1, 'the password')
    t.equal(log.split('#code=').length - 1, 1, 'the link to the console')
    t.equal(log.split(apiKey).length - 1, 2, 'the API key, and again in the curl line')
  })
})

oneEngine(t, 'processes of different roles share one database', async (t, engine) => {
  const env = {
    DATABASE_URL: await emptyDatabase(t, engine),
    SECRET_KEY,
    ADMIN_EMAIL: 'grace@example.org',
    ADMIN_PASSWORD: randomBytes(12).toString('base64url'),
    BOOTSTRAP_API_KEY: `sk-${randomBytes(16).toString('hex')}`,
    API_KEY_HEADERS: 'X-My-Key, X-Other-Key',
  }
  const dataDirs = [await passableDirectory(t), await passableDirectory(t)] as const
  for (const dataDir of dataDirs) await leaveTokens(dataDir)
  // Both find an empty database at the same moment.
  const [front, worker] = await Promise.all([
    startService(t, { ...env, ROLE: 'api', DATA_DIR: dataDirs[0] }),
    startService(t, { ...env, ROLE: 'worker', DATA_DIR: dataDirs[1] }),
  ])
  const api = apiOf(front.url, env.BOOTSTRAP_API_KEY, 'X-My-Key')

  await t.test('given secrets are not printed, and the line to paste works with them', async (t) => {
    t.match(worker.output(), `ready at ${worker.url}  (a worker, without API)`)
    t.notMatch(worker.output(), 'First start')
    const output = front.output()
    t.match(output, /login {4}grace@example\.org\n {2}password \(as given in ADMIN_PASSWORD\)\n {2}API key {2}\(as/)
    const curl = /^ {2}(curl .*)$/m.exec(output)?.[1] ?? ''
    t.match(curl, 'X-My-Key: $BOOTSTRAP_API_KEY')
    const { stdout } = await run('bash', ['-c', curl], { env: { PATH: process.env.PATH, ...env } })
    t.match(JSON.parse(stdout), { first_name: 'Ada' })
  })

  await t.test('each takes up the tokens that its predecessor could not store', async (t) => {
    const left = async () => (await Promise.all(dataDirs.map((dataDir) => readdir(dataDir)))).flat()
    t.ok(await waitUntil(async () => (await left()).length === 0, START_MS, 50), 'whose grant has ended meanwhile')
  })

  await t.test('what one accepts, the other imports', async (t) => {
    const batch = await importBody(api, await createUser(api), body([heartRate(Date.UTC(2026, 1, 1), 60)]), {
      auth: 'none',
      headers: { 'X-Other-Key': env.BOOTSTRAP_API_KEY },
    })
    t.match(batch, { status: 'success', inserted: 1 })
  })

  await t.test('only the configured headers carry the key', async (t) => {
    const other = apiOf(front.url, env.BOOTSTRAP_API_KEY, 'X-Service-API-Key')
    t.equal((await other.request('GET', '/api/v1/users')).status, 401)
    t.equal((await api.request('GET', '/api/v1/users')).status, 200)
  })

  await t.test('a worker offers probes and metrics only', async (t) => {
    const probe = apiOf(worker.url, env.BOOTSTRAP_API_KEY, 'X-My-Key')
    t.equal((await probe.request('GET', '/readyz')).status, 200)
    t.match((await probe.request('GET', '/metrics')).body, /^pulsebase_samples_total\{outcome="inserted"\} 1$/m)
    t.equal((await probe.request('GET', '/api/v1/users')).status, 404)
  })

  await t.test('another worker takes over from one that was killed', async (t) => {
    worker.child.kill('SIGKILL')
    await worker.ended
    const userId = await createUser(api)
    const answer = await api.request('POST', `/api/v1/sdk/users/${userId}/sync`, { body: hourOfHeartRates(0) })
    t.equal(answer.status, 202)
    const next = await startService(t, { ...env, ROLE: 'worker' })
    t.match(await waitForAll(api, userId), [{ status: 'success', inserted: 60 }])
    next.child.kill('SIGTERM')
    t.strictSame(await next.ended, [0, null])
  })

  front.child.kill('SIGTERM')
  t.strictSame(await front.ended, [0, null])
  const log = front.output() + worker.output()
  const { password } = new URL(env.DATABASE_URL)
  for (const secret of [SECRET_KEY, env.ADMIN_PASSWORD, env.BOOTSTRAP_API_KEY, password]) {
    if (secret) t.notOk(log.includes(secret))
  }
})

/** A refreshed pair of tokens in a file (server/oauth/refreshed.ts), of a grant that is not there any more. */
function leaveTokens(dataDir: string): Promise<void> {
  const grantId = randomUUID()
  const tokens = { keyId: 1, access: 'AAAA', refresh: null }
  const pair = { grantId, version: 1, atMs: Date.now(), accessSeconds: 3600, tokens }
  return writeFile(join(dataDir, `refreshed-${grantId}-1-0a0b0c0d.json`), JSON.stringify(pair))
}

t.test('a first start that finds its port taken names it, and keeps the secrets for the next one', async (t) => {
  const [engine] = engines()
  if (!engine) return
  const url = await createTestDatabase(t, engine)
  const blocker = createServer().listen(0, '127.0.0.1')
  await once(blocker, 'listening')
  t.teardown(() => blocker.close())
  const { port } = blocker.address() as AddressInfo
  const env = { DATABASE_URL: url, SECRET_KEY, ADMIN_EMAIL: 'new@example.org' }
  const refused = spawnService(t, { ...env, PORT: String(port) })
  t.strictSame(await refused.ended, [1, null])
  t.equal(
    refused.output().trim(),
    `Cannot start: PORT ${port} is in use on 127.0.0.1: stop what listens there or set another`,
  )
  const elsewhere = spawnService(t, { ...env, HOST: '203.0.113.1' })
  t.strictSame(await elsewhere.ended, [1, null])
  t.match(elsewhere.output(), 'Cannot start: HOST 203.0.113.1 is not an address of this machine')
  const started = await startService(t, env)
  t.match(started.output(), /login {4}new@example\.org\n {2}password \S{20}/)
  t.match(started.output(), /API key {2}sk-[0-9a-f]{32}/)
  started.child.kill('SIGTERM')
  await started.ended
})

t.test('what cannot work stops the start in words, with exit code 1 and no stack', async (t) => {
  // Every other variable is read the same way: test/config.test.ts has them all.
  const database = `postgres://pulsebase:hunter2hunter2@127.0.0.1:${await freePort()}/pulsebase`
  const refused: [env: Record<string, string>, message: RegExp][] = [
    [{ DATABASE_URL: database }, /^Cannot start: SECRET_KEY is required with DATABASE_URL: set .*\n$/],
    // Failures outside our code are logged as well.
    [{ DATABASE_URL: database, SECRET_KEY }, /^Cannot start: connect ECONNREFUSED 127\.0\.0\.1:\d+$/m],
    [{ DATA_DIR: process.execPath }, /^Cannot start: DATA_DIR \/.* cannot be used: EEXIST: file already exists/m],
    // In a file system that lets nobody make folders.
    [{ DATA_DIR: '/proc/pulsebase/data' }, /^Cannot start: DATA_DIR \/proc.* cannot be used: ENOENT: no such file/m],
    [{ ROLE: 'api' }, /^Cannot start: ROLE can only be all without DATABASE_URL: .*\n$/],
  ]
  const dataDir = join(tmpdir(), `pulsebase-start-${randomBytes(8).toString('hex')}`)
  const starts = refused.map(([env]) => spawnService(t, { DATA_DIR: dataDir, ...env }))
  for (const [index, [, message]] of refused.entries()) {
    const { ended, output } = starts[index] as Service
    t.strictSame(await ended, [1, null])
    t.match(output(), message)
    t.notMatch(output(), /hunter2/)
  }
  await t.rejects(stat(dataDir), 'nothing was created')
})

interface Service {
  child: ChildProcess
  output(): string
  /** Exit code and signal. */
  ended: Promise<[number | null, string | null]>
}

/** Runs the service in a separate process group, by default on a free port, and with none of our environment. */
function spawnService(t: Test, env: Record<string, string>): Service {
  const child = spawn(process.execPath, compiledFile('server/main.ts'), {
    cwd: ROOT,
    env: { PATH: process.env.PATH, TMPDIR: tmpdir(), PORT: '0', ...THIS_RUN, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const chunks: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => chunks.push(text))
  const ended = once(child, 'close') as Promise<[number | null, string | null]>
  // Also when the test is killed from outside, before its teardown.
  const onExit = () => signalProcess(-(child.pid ?? 0), 'SIGKILL')
  process.once('exit', onExit)
  child.once('exit', () => process.off('exit', onExit))
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
    await ended
  })
  return { child, output: () => chunks.join(''), ended }
}

async function startService(t: Test, env: Record<string, string>): Promise<Service & { url: string }> {
  const service = spawnService(t, env)
  const url = () => /ready at (\S+) .*\n(\nFirst start[\s\S]*\n {2}curl .*\n)?\n/.exec(service.output())?.[1]
  const gone = () => service.child.exitCode !== null || service.child.signalCode !== null
  await waitUntil(async () => url() !== undefined || gone(), START_MS)
  const found = url()
  if (!found) throw new Error(`the service did not start: ${service.output()}`)
  return { ...service, url: found }
}

/** The output of the first start for its operator. */
function firstStart(output: string): { password: string; apiKey: string; curl: string } {
  const [, password = ''] = /^ {2}password (\S{24,})$/m.exec(output) ?? []
  const [, apiKey = ''] = /^ {2}API key {2}(sk-\S{32})$/m.exec(output) ?? []
  const [, curl = ''] = /^ {2}(curl .*)$/m.exec(output) ?? []
  return { password, apiKey, curl }
}

/** Sends requests with this key. */
function apiOf(url: string, apiKey: string, header = 'X-Service-API-Key'): Api {
  return {
    async request(method: string, path: string, { body, headers = {}, auth = 'key' }: TestRequest = {}) {
      const sent = new Headers(headers)
      if (auth === 'key') sent.set(header, apiKey)
      const asIs = body instanceof URLSearchParams || body instanceof Uint8Array
      if (body !== undefined && !asIs && !sent.has('content-type')) sent.set('Content-Type', 'application/json')
      const content = asIs ? body : JSON.stringify(body)
      const answer = await fetch(url + path, { method, headers: sent, ...(body !== undefined && { body: content }) })
      const text = await answer.text()
      const isJson = /\bjson\b/.test(answer.headers.get('content-type') ?? '')
      return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text }
    },
  }
}

/** A heart rate a minute. */
function hourOfHeartRates(hour: number) {
  const start = Date.UTC(2026, 2, 1, hour)
  return body(Array.from({ length: 60 }, (_, minute) => heartRate(start + minute * 60_000, 60 + (minute % 40))))
}

/** A database without anything of ours. */
async function emptyDatabase(t: Test, { url }: Engine): Promise<string> {
  const name = `pulsebase_start_${randomBytes(8).toString('hex')}`
  const administer = async (sql: string) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(sql).finally(() => client.end())
  }
  await administer(`create database ${name} template template0`)
  t.teardown(() => administer(`drop database ${name} with (force)`))
  const address = new URL(url)
  address.pathname = `/${name}`
  return address.href
}
