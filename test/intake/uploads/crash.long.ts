// The service is killed while it works, again and again, and its database server too: nothing answered 202 is lost,
// nothing is imported twice. Run with: npm run test:long
import { chmod, mkdtemp, readFile, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { signalProcess, waitUntil } from '../../../server/db/embedded/processes.ts'
import { createTestDatabase } from '../../support/app.ts'
import { accounted, type BatchStatus, body, createUser, eachEngine, heartRate, upload } from '../../support/sdk.ts'
import { onDatabase, type Service, startService } from '../../support/service.ts'

const SEED = 20_260_224
const KILLS = 20
const USERS = 3
const RECORDS = 1500
const REPEATED = 100
const BASE = Date.UTC(2025, 0, 1)
const FINISH_MS = 120_000

/** A phone: it sends one upload after the other, and repeats those not answered 202. */
interface Phone {
  user: string
  /** Number of the upload to send next. */
  next: number
  /** Batches answered 202, with the uploads they stand for. */
  accepted: Map<string, number>
}

const valueAt = (upload: number, place: number) => 40 + ((upload * 31 + place * 7) % 120)
const timeOf = (upload: number, place: number) => BASE + (upload * RECORDS + place) * 1000

/** New samples, some repeated ones, and one that shows which upload was the last. */
const content = (upload: number) => {
  const records = (upload: number, count: number) =>
    Array.from({ length: count }, (_, place) => heartRate(timeOf(upload, place), valueAt(upload, place)))
  const known = upload > 0 ? records(upload - 1, REPEATED) : []
  const last = heartRate(BASE - 1000, upload)
  return body([...records(upload, RECORDS), ...known, last], { syncSessionId: String(upload) })
}

/** Sends the next upload. iOS repeats an upload under the same id, Android does not. */
function send(service: Service, { user, next }: Phone) {
  const headers: Record<string, string> = next % 2 ? { 'X-Request-Id': `${user}-${next}` } : {}
  return upload(service, user, content(next), { headers })
}

/** Sends until the connection breaks. */
async function sendOn(service: Service, phone: Phone, onAccepted: () => void): Promise<void> {
  for (;;) {
    try {
      const answer = await send(service, phone)
      if (answer.status !== 202) continue
      phone.accepted.set(answer.body.batch_id, phone.next)
      phone.next += 1
      onAccepted()
    } catch {
      return
    }
  }
}

interface Run {
  run_id: string
  status: string
}

const runsOf = async (service: Service, { user }: Phone): Promise<Run[]> =>
  (await service.request('GET', `/api/v1/sync/runs?user_id=${user}&limit=10000`)).body

/** Waits until every stored upload is imported; live uploads are a run each. */
async function waitForImports(service: Service, phones: Phone[]): Promise<number> {
  const started = performance.now()
  const finished = async () => {
    for (const phone of phones) {
      const runs = await runsOf(service, phone)
      if (runs.some(({ status }) => status === 'in_progress')) return false
    }
    return true
  }
  if (!(await waitUntil(finished, FINISH_MS, 50))) throw new Error(`not all is imported:\n${service.output()}`)
  return performance.now() - started
}

async function survive(
  t: Test,
  settings: Record<string, string>,
  killDatabase: (() => Promise<void>) | undefined,
): Promise<Service> {
  const plan = fc.sample(
    fc.noBias(fc.record({ accepted: fc.integer({ min: 1, max: 12 }), ms: fc.nat(80), database: fc.boolean() })),
    { numRuns: KILLS, seed: SEED },
  )
  let service = await startService(t, settings)
  const phones: Phone[] = []
  for (let count = 0; count < USERS; count += 1) {
    phones.push({ user: await createUser(service), next: 0, accepted: new Map() })
  }
  let unfinished = 0
  let longestMs = 0
  for (const [round, { accepted, ms, database }] of plan.entries()) {
    let left = accepted
    const enough = new Promise<void>((resolve) => {
      for (const phone of phones) {
        void sendOn(service, phone, () => {
          left -= 1
          if (left === 0) resolve()
        })
      }
    })
    await enough
    await delay(ms)
    await Promise.all([service.kill(), killDatabase && (database || round % 2) ? killDatabase() : undefined])
    service = await startService(t, settings)
    for (const phone of phones) {
      unfinished += (await runsOf(service, phone)).filter(({ status }) => status === 'in_progress').length
    }
    longestMs = Math.max(longestMs, await waitForImports(service, phones))
  }
  // Repeats the upload that the last kill cut off.
  for (const phone of phones) {
    const answer = await send(service, phone)
    t.equal(answer.status, 202)
    phone.accepted.set(answer.body.batch_id, phone.next)
  }
  await waitForImports(service, phones)
  t.ok(
    unfinished > KILLS,
    `${unfinished} uploads waited for their import at a start; the longest took ${longestMs.toFixed(0)} ms`,
  )

  for (const phone of phones) await checkPhone(t, service, phone)
  return service
}

async function checkPhone(t: Test, service: Service, phone: Phone): Promise<void> {
  const runs = await runsOf(service, phone)
  const stored = new Set(runs.map(({ run_id }) => run_id))
  t.ok(
    [...phone.accepted.keys()].every((id) => stored.has(id)),
    `${phone.accepted.size} uploads answered 202 are there`,
  )
  const batches = await Promise.all(
    runs.map(
      async ({ run_id }) =>
        (await service.request('GET', `/api/v1/sdk/users/${phone.user}/sync/batches/${run_id}`)).body as BatchStatus,
    ),
  )
  t.ok(
    batches.every((batch) => batch.status === 'success' && accounted(batch) === batch.received),
    'each of them a success that accounts for all it received',
  )
  const inserted = batches.reduce((sum, batch) => sum + batch.inserted, 0)
  const sentAs = batches.map(({ sync_session_id }) => Number(sync_session_id)).sort((a, b) => a - b)
  t.strictSame([...new Set(sentAs)], [...phone.accepted.values()], 'all uploads, none missing')
  const twice = sentAs.filter((number, at) => number === sentAs[at - 1])
  t.ok(
    twice.every((number) => number % 2 === 0),
    `${twice.length} came twice, since an answer was lost; none with an id did`,
  )

  const samples = new Map<number, number>()
  let cursor: string | undefined
  let total = 0
  do {
    const query = new URLSearchParams({ start_time: '2024-12-31', end_time: '2026-01-01', limit: '200000' })
    if (cursor) query.set('cursor', cursor)
    const { body: page } = await service.request('GET', `/api/v1/users/${phone.user}/timeseries?${query}`, {
      headers: { Accept: 'application/vnd.pulsebase.columns+json' },
    })
    const { timestamp_ms: times, value: values } = page.columns
    for (const [index, ms] of times.entries()) samples.set(ms, values[index])
    total += times.length
    cursor = page.pagination.next_cursor ?? undefined
  } while (cursor)
  const expected = phone.next + 1
  t.equal(total, expected * RECORDS + 1, `the samples of ${expected} uploads, each once`)
  t.equal(samples.size, total)
  t.equal(inserted, total, 'as many as were reported new')
  t.equal(samples.get(BASE - 1000), phone.next, 'the last upload has the last word')
  let wrong = 0
  for (let upload = 0; upload < expected; upload += 1) {
    for (let place = 0; place < RECORDS; place += 1) {
      if (samples.get(timeOf(upload, place)) !== valueAt(upload, place)) wrong += 1
    }
  }
  t.equal(wrong, 0, 'with their values')
}

t.test(`${KILLS} kills, with the embedded database`, async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'pulsebase-crash-'))
  await chmod(dataDir, 0o755)
  const cluster = join(dataDir, 'postgres')
  t.teardown(async () => {
    // The server outlives a killed service, and may be in another directory.
    await killPostmaster(cluster)
    const place = await readlink(cluster).catch(() => undefined)
    if (place) await rm(dirname(place), { recursive: true, force: true })
    await rm(dataDir, { recursive: true, force: true })
  })
  const service = await survive(t, { DATA_DIR: dataDir }, () => killPostmaster(cluster))
  t.equal(await service.stop(), 0)
})

async function killPostmaster(cluster: string): Promise<void> {
  const pid = Number.parseInt(await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '0'), 10)
  if (pid > 0) signalProcess(pid, 'SIGKILL')
}

eachEngine(t, `${KILLS} kills, with a database of its own`, async (t, engine) => {
  const service = await survive(t, onDatabase(await createTestDatabase(t, engine)), undefined)
  t.equal(await service.stop(), 0)
})
