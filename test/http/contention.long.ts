// Everything at the same time: twenty readers of large CSV pages, twelve deletions of a busy user, four uploads that
// stall and ninety abandoned logins. Probes and small uploads are still answered, and nothing is lost. Run with: npm
// run test:long
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import pg from 'pg'
import t, { type Test } from 'tap'
import { createTestDatabase } from '../support/app.ts'
import {
  type BatchStatus,
  body,
  createUser,
  eachEngine,
  heartRate,
  upload,
  waitForAll,
  waitForBatch,
} from '../support/sdk.ts'
import { API_KEY, onDatabase, type Service, startService } from '../support/service.ts'

const SEED = 20_261_122
const READERS = 20
const DELETIONS = 12
const STALLED = 4
const LOGINS = 90
const STORM_MS = 25_000
const P99_MS = 1_000

const MIB = 2 ** 20
const BASE = Date.UTC(2025, 0, 1)
const PAGE = 200_000
const UPLOADS = 5
const RECORDS = 50_000

const agent = new Agent({ keepAlive: true })

interface Answer {
  status: number
  /** Of `Retry-After`, ms. */
  retryMs: number
  bytes: number
  ms: number
}

/** Sends a request and discards the body of its answer. */
function ask(service: Service, method: string, path: string, headers: object = {}, content?: string): Promise<Answer> {
  const started = performance.now()
  return new Promise((resolve, reject) => {
    const sent = request(`${service.url}${path}`, {
      method,
      agent,
      headers: { 'X-Service-API-Key': API_KEY, ...headers },
    })
    sent.on('error', reject).on('response', (response: IncomingMessage) => {
      let bytes = 0
      response.on('data', (chunk) => {
        bytes += chunk.length
      })
      response.on('error', reject).on('end', () => {
        const retryMs = Number(response.headers['retry-after'] ?? 0) * 1000
        resolve({ status: response.statusCode ?? 0, retryMs, bytes, ms: performance.now() - started })
      })
    })
    sent.end(content)
  })
}

/** Repeats the request until the answer is no 503, as long as that says when to come back. */
async function insist(service: Service, ...[method, path, headers]: [string, string, object?]): Promise<Answer[]> {
  const answers: Answer[] = []
  for (;;) {
    const answer = await ask(service, method, path, headers)
    answers.push(answer)
    if (answer.status !== 503 || answer.retryMs === 0) return answers
    await delay(answer.retryMs)
  }
}

const p99 = (times: number[]) => times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0

/** An upload of 31 MiB that stalls before its last bytes. */
function stall(service: Service, user: string): ClientRequest {
  const sent = request(`${service.url}/api/v1/sdk/users/${user}/sync`, {
    method: 'POST',
    headers: { 'X-Service-API-Key': API_KEY, 'Content-Type': 'application/json', 'Content-Length': 31 * MIB },
  })
  sent.on('error', () => {}).on('response', (response) => response.resume())
  sent.write(Buffer.alloc(30 * MIB, ' '))
  return sent
}

/** A login that is abandoned as soon as it is sent. */
function giveUpLogin(service: Service): void {
  const form = 'username=admin@localhost&password=not+the+password'
  const sent = request(`${service.url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': form.length },
  })
  sent.on('error', () => {}).on('response', (response) => response.resume())
  sent.end(form, () => setTimeout(() => sent.destroy(), 50))
}

/** A user with more samples than fit on a page. */
async function fill(service: Service): Promise<string> {
  const user = await createUser(service)
  for (let n = 0; n < UPLOADS; n += 1) {
    const records = Array.from({ length: RECORDS }, (_, place) =>
      heartRate(BASE + (n * RECORDS + place) * 1000, 40 + (place % 120)),
    )
    await upload(service, user, body(records))
  }
  await waitForAll(service, user)
  return user
}

/** Repeats an action until the storm is over, and returns how long each run took, in ms. */
async function repeatedly(over: () => boolean, pauses: number[], work: (n: number) => Promise<Answer>) {
  const times: number[] = []
  const failed: Answer[] = []
  for (let n = 0; !over(); n += 1) {
    const answer = await work(n)
    times.push(answer.ms)
    if (answer.status >= 300) failed.push(answer)
    await delay(pauses[n % pauses.length])
  }
  return { times, failed }
}

/** Holds a user's ingest lock, as an import does, until the returned function is called. */
async function beBusy(t: Test, databaseUrl: string, user: string): Promise<() => Promise<void>> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  t.teardown(() => client.end())
  await client.query('begin')
  await client.query(`select pg_advisory_xact_lock(hashtextextended('ingest:' || $1, 0))`, [user])
  return async () => {
    await client.query('commit')
  }
}

eachEngine(t, 'everybody at once', async (t, engine) => {
  const [pauses] = fc.sample(fc.array(fc.integer({ min: 5, max: 80 }), { minLength: 97, maxLength: 97 }), {
    seed: SEED,
    numRuns: 1,
  }) as [number[]]
  const databaseUrl = await createTestDatabase(t, engine)
  const many = { LOGIN_ATTEMPTS_PER_MINUTE: '100000', LOGIN_ATTEMPTS_PER_ACCOUNT: '100000' }
  const service = await startService(t, { ...onDatabase(databaseUrl), ...many })
  const read = await fill(service)
  const [busy, small, stalling] = [
    await createUser(service),
    await createUser(service),
    await createUser(service),
  ] as const
  await upload(service, busy, body([heartRate(BASE, 60)]))
  await waitForAll(service, busy)
  const path = `/api/v1/users/${read}/timeseries?start_time=2024-12-31&end_time=2026-01-01&limit=${PAGE}`
  const csv = { Accept: 'text/csv' }
  const page = await ask(service, 'GET', path, csv)
  t.equal(page.status, 200)

  const ends = performance.now() + STORM_MS
  const over = () => performance.now() > ends
  const release = await beBusy(t, databaseUrl, busy)
  const token = await loginToken(service)
  const stalled = Array.from({ length: STALLED }, () => stall(service, stalling))
  const deletions = Array.from({ length: DELETIONS }, (_, n) =>
    n % 2
      ? insist(service, 'DELETE', `/api/v1/users/${busy}`, { Authorization: `Bearer ${token}` })
      : insist(service, 'DELETE', `/api/v1/users/${busy}/connections/apple/data`),
  )
  const readers = Array.from({ length: READERS }, async () => {
    const pages: Answer[] = []
    while (!over()) pages.push(...(await insist(service, 'GET', path, csv)))
    return pages
  })
  for (let n = 0; n < LOGINS; n += 1) giveUpLogin(service)

  const probes = repeatedly(over, pauses, () => ask(service, 'GET', '/readyz'))
  const accepted: string[] = []
  const uploads = repeatedly(over, pauses, async (n) => {
    const started = performance.now()
    const answer = await upload(service, small, body([heartRate(BASE + n * 1000, 50 + (n % 100))]))
    if (answer.status === 202) accepted.push(answer.body.batch_id)
    return { status: answer.status, retryMs: 0, bytes: 0, ms: performance.now() - started }
  })

  const [probed, uploaded] = [await probes, await uploads]
  await release()
  const pages = (await Promise.all(readers)).flat()
  const deleted = (await Promise.all(deletions)).map((answers) => answers.map(({ status }) => status))
  for (const sent of stalled) sent.destroy()
  t.comment(
    `${probed.times.length} probes, p99 ${p99(probed.times).toFixed(0)} ms, longest ${Math.max(...probed.times).toFixed(0)}; ` +
      `${uploaded.times.length} uploads, p99 ${p99(uploaded.times).toFixed(0)} ms, longest ${Math.max(...uploaded.times).toFixed(0)}; ` +
      `${pages.filter(({ status }) => status === 200).length} pages, ${pages.filter(({ status }) => status === 503).length} put off; ` +
      `${await service.rssMiB()} MiB; deletions ${JSON.stringify(deleted)}`,
  )
  t.ok(p99(probed.times) < P99_MS, 'probes are answered')
  t.ok(p99(uploaded.times) < P99_MS, 'small uploads are answered')
  t.strictSame([probed.failed, uploaded.failed], [[], []], 'none of them is refused')
  t.strictSame(
    pages.filter(({ status, bytes }) => status !== 503 && (status !== 200 || bytes !== page.bytes)),
    [],
    'every page is whole, or put off with a time to come back',
  )
  t.ok(
    deleted.every((statuses) => statuses.slice(0, -1).every((status) => status === 503)),
    'deletions are put off while the user is busy',
  )
  t.equal(deleted.filter((statuses) => statuses.at(-1) === 200).length, 1, 'and the user is deleted once')
  t.strictSame(
    deleted.map((statuses) => statuses.at(-1)).filter((status) => ![200, 204, 404].includes(status ?? 0)),
    [],
  )
  // One by one: hundreds of simultaneous requests of one caller are refused.
  const batches: BatchStatus[] = []
  for (const id of accepted) batches.push(await waitForBatch(service, small, id))
  t.strictSame(
    batches.filter(({ status, inserted }) => status !== 'success' || inserted !== 1),
    [],
    'what was accepted is stored',
  )
  const kept = await ask(service, 'GET', path, csv)
  t.equal(kept.bytes, page.bytes, 'and what was there is there')
  t.equal(await service.stop(), 0)
})

/** The token of a login. */
async function loginToken(service: Service): Promise<string> {
  const answer = await service.request('POST', '/api/v1/auth/login', {
    auth: 'none',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: `username=admin@localhost&password=${encodeURIComponent('correct horse battery staple')}`,
  })
  return answer.body.access_token
}
