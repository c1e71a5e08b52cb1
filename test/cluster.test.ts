// Several processes behind one port, as WEB_CONCURRENCY starts them: what a client, an operator and Prometheus see of it.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Database } from '../server/db/database.ts'
import { signalProcess, waitUntil } from '../server/db/embedded/processes.ts'
import { stopLeftover } from '../server/db/embedded/server.ts'
import { unpackSamples } from '../server/webhooks/packed.ts'
import { createTestDatabase } from './support/app.ts'
import { body, createUser, heartRate, oneEngine, upload } from './support/sdk.ts'
import { API_KEY, freePort, onDatabase, passableDirectory, type Service, startService } from './support/service.ts'
import { beginUpload } from './support/slow-upload.ts'
import { inTestLong, runs } from './support/thorough.ts'
import { openTestDatabase } from './support/webhooks.ts'

const PROCESSES = runs(2, 4)
const UPLOADS = runs(24, 200)
const RECORDS = 20
const LANES = 8
const BASE = Date.UTC(2026, 1, 1)
const WAIT_MS = 90_000
const STOP_MS = 20_000

/** The processes that serve, by their ids. */
async function serving({ pid }: Service): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  const children = text.trim().split(/\s+/).filter(Boolean).map(Number)
  const names = await Promise.all(children.map((one) => readFile(`/proc/${one}/comm`, 'utf8').catch(() => '')))
  return children.filter((_, index) => names[index]?.trim() !== 'postgres')
}

/** Sends one upload until it is accepted, as a phone does. */
async function sendUntilAccepted(service: Service, user: string, number: number): Promise<void> {
  const records = Array.from({ length: RECORDS }, (_, place) =>
    heartRate(BASE + (number * RECORDS + place) * 1000, 40 + ((number + place) % 120)),
  )
  const headers = { 'X-Request-Id': `${user}-${number}` }
  const accepted = async () => {
    const answer = await upload(service, user, body(records), { headers }).catch(() => undefined)
    return answer?.status === 202
  }
  if (!(await waitUntil(accepted, WAIT_MS, 50))) throw new Error(`upload ${number} was never accepted`)
}

const metrics = async ({ request }: Service): Promise<string> => {
  const { body: text } = await request('GET', '/metrics').catch(() => ({ body: '' }))
  return String(text)
}

const allServe = (service: Service): Promise<boolean> =>
  waitUntil(async () => new RegExp(`^pulsebase_processes ${PROCESSES}$`, 'm').test(await metrics(service)), WAIT_MS, 50)

async function requestsCounted(service: Service, route: string): Promise<number> {
  const counts = (await metrics(service)).matchAll(/^pulsebase_http_request_seconds_count\{(.*)\} (\d+)$/gm)
  return [...counts].reduce((sum, [, labels, n]) => sum + (labels?.includes(`"${route}"`) ? Number(n) : 0), 0)
}

oneEngine(t, 'several processes behind one port', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const settings = { WEB_CONCURRENCY: String(PROCESSES), PORT: String(await freePort()), EVENT_FEED_ENABLED: 'true' }
  const service = await startService(t, { ...onDatabase(url), ...settings })
  t.ok(await allServe(service), 'all of them serve')
  t.equal(service.output().match(/is ready at/g)?.length, 1, 'the start is told once')

  await t.test(
    'one that is killed during uploads loses and doubles nothing, and is replaced',
    inTestLong,
    async (t) => {
      const user = await createUser(service)
      let next = 0
      const killed: number[] = []
      const lane = async () => {
        for (let number = next++; number < UPLOADS; number = next++) {
          if (number % (UPLOADS / PROCESSES) === LANES) await killOne(service, killed)
          await sendUntilAccepted(service, user, number)
        }
      }
      await Promise.all(Array.from({ length: LANES }, lane))
      t.equal(killed.length, PROCESSES, 'each of them')
      const waiting = async () =>
        (await db.query(`select from upload where status in ('queued', 'processing')`)).length === 0
      t.ok(await waitUntil(waiting, WAIT_MS, 100), 'everything is imported')
      await onceEach(t, db, user)
      t.ok(await allServe(service), 'the killed ones are replaced')
      t.notOk((await serving(service)).some((pid) => killed.includes(pid)))
      const waits = [...service.output().matchAll(/"waitMs":(\d+)/g)].map(([, waitMs]) => Number(waitMs))
      t.strictSame(waits, [1_000, 2_000, 4_000, 8_000].slice(0, PROCESSES), 'the next one later')
      const ended = [...service.output().matchAll(/"ended":(\d+)/g)].map(([, pid]) => Number(pid))
      t.strictSame(ended, killed, 'the log says which')
    },
  )

  await t.test('the metrics of all are added up, whoever is asked', async (t) => {
    const before = await requestsCounted(service, '/healthz')
    for (let n = 0; n < 3 * PROCESSES; n += 1) {
      // A connection each: they go to one process after the other.
      const { status } = await service.request('GET', '/healthz', { headers: { Connection: 'close' } })
      t.equal(status, 200)
    }
    const after = await Promise.all(Array.from({ length: PROCESSES }, () => requestsCounted(service, '/healthz')))
    t.strictSame(
      after.map((count) => count - before),
      Array(PROCESSES).fill(3 * PROCESSES),
    )
  })

  await t.test('what a killed one has counted goes on to count', async (t) => {
    const before = await requestsCounted(service, '/healthz')
    await killOne(service, [])
    t.ok(await allServe(service))
    t.ok((await requestsCounted(service, '/healthz')) >= before, `${before} at least`)
  })

  await t.test('SIGTERM lets the uploads that are under way finish, whichever process has them', async (t) => {
    const user = await createUser(service)
    const hour = (index: number) =>
      JSON.stringify(body(Array.from({ length: 60 }, (_, m) => heartRate(BASE + (index * 60 + m) * 60_000, 60 + m))))
    const bodies = Array.from({ length: 4 * PROCESSES }, (_, index) => hour(index))
    const bytes = bodies.reduce((sum, one) => sum + Buffer.byteLength(one), 0)
    const uploads = await Promise.all(bodies.map((one) => beginUpload(service.url, API_KEY, user, one)))
    const isRead = async () => (await metrics(service)).includes(`pulsebase_gate_held{gate="smallBodies"} ${bytes}`)
    t.ok(await waitUntil(isRead, WAIT_MS, 20), 'all of them are being read')
    const stopped = stopsAll(t, service)
    const isTaken = () =>
      fetch(`${service.url}/healthz`, { headers: { Connection: 'close' } }).then(
        () => false,
        () => true,
      )
    t.ok(await waitUntil(isTaken, WAIT_MS, 20), 'nothing new is taken')
    const answers = await Promise.all(uploads.map((one) => one.finish()))
    t.ok(answers.every(({ status }) => status === 202))
    await stopped
    const rows = await db.query<{ id: string }>('select id from upload where user_id = $1', [user])
    t.strictSame(new Set(rows.map(({ id }) => id)), new Set(answers.map(({ body }) => body.batch_id)))
  })
})

const ONCE = 'several processes have one embedded database, and one set of secrets of the first start'

t.test(ONCE, inTestLong, async (t) => {
  const dataDir = join(await passableDirectory(t), 'data')
  t.teardown(() => stopLeftover(join(dataDir, 'postgres'), () => {}))
  const settings = {
    ...{ WEB_CONCURRENCY: String(PROCESSES), PORT: String(await freePort()), DATA_DIR: dataDir },
    ...{ ADMIN_PASSWORD: '', BOOTSTRAP_API_KEY: '' },
  }
  const first = await startService(t, settings)
  t.ok(await allServe(first))
  const [, key = ''] = /API key {2}(sk-\w+)/.exec(first.output()) ?? []
  const once = /First start|API key {2}|login {4}|is ready at|#code=/g
  t.equal(first.output().match(once)?.length, 5, 'each is said once')
  const createdBy = async (service: Service) => {
    // A connection each, so that every process is asked.
    const asked = Array.from({ length: 4 * PROCESSES }, () =>
      fetch(`${service.url}/api/v1/users`, {
        method: 'POST',
        headers: { 'X-Service-API-Key': key, 'Content-Type': 'application/json', Connection: 'close' },
        body: '{}',
      }),
    )
    return (await Promise.all(asked)).map(({ status }) => status)
  }
  t.strictSame(new Set(await createdBy(first)), new Set([201]))
  const secret = await readFile(join(dataDir, 'secret-key'), 'utf8')
  await killOne(first, [])
  t.ok(await allServe(first), 'another one takes its place, and the database goes on')
  await stopsAll(t, first)
  const left: string[] = []
  await stopLeftover(join(dataDir, 'postgres'), (line) => left.push(line))
  t.strictSame(left, [], 'with the database')

  const second = await startService(t, settings)
  t.ok(await allServe(second))
  t.notMatch(second.output(), /First start|sk-/)
  t.strictSame(new Set(await createdBy(second)), new Set([201]))
  t.equal(await readFile(join(dataDir, 'secret-key'), 'utf8'), secret)
  await stopsAll(t, second)
})

/** Each upload is there once, as is its run, each sample in it and the event of each of these. */
async function onceEach(t: Test, db: Database, user: string): Promise<void> {
  const count = async (sql: string) => (await db.one<{ n: number }>(`select count(*)::int as n from ${sql}`)).n
  const uploads = await db.query<{ id: string; n: number }>(
    'select request_id as id, count(*)::int as n from upload group by 1',
  )
  t.equal(uploads.length, UPLOADS)
  t.ok(
    uploads.every(({ n }) => n === 1),
    'however often it was sent',
  )
  t.strictSame(new Set(uploads.map(({ id }) => id)), new Set(Array.from({ length: UPLOADS }, (_, n) => `${user}-${n}`)))
  t.equal(await count('sample'), UPLOADS * RECORDS)
  const progress = await db.query('select stage, count(*)::int as n from sync_event group by 1 order by min(id)')
  t.strictSame(progress, [
    { stage: 'queued', n: UPLOADS },
    { stage: 'completed', n: UPLOADS },
  ])
  const [runs] = await db.query<{ runs: number; inserted: number }>(
    `select count(*)::int as runs, sum(items_inserted)::int as inserted from sync_run where status = 'success'`,
  )
  t.strictSame(runs, { runs: UPLOADS, inserted: UPLOADS * RECORDS })
  const events = await db.query<{ data: Buffer }>('select data from event where packed')
  const times = events.flatMap(({ data }) => [...unpackSamples(data).timeMs])
  t.equal(times.length, UPLOADS * RECORDS)
  t.equal(new Set(times).size, times.length, 'no sample is told of twice')
}

async function killOne(service: Service, killed: number[]): Promise<void> {
  const [pid] = (await serving(service)).filter((one) => !killed.includes(one))
  if (pid === undefined) throw new Error('nothing serves')
  killed.push(pid)
  signalProcess(pid, 'SIGKILL')
}

async function stopsAll(t: Test, service: Service): Promise<void> {
  const pids = await serving(service)
  const startedMs = performance.now()
  t.equal(await service.stop(), 0, 'it stops as asked')
  t.ok(performance.now() - startedMs < STOP_MS, 'in time')
  const left = await Promise.all(
    pids.map((pid) =>
      readFile(`/proc/${pid}/comm`).then(
        () => pid,
        () => undefined,
      ),
    ),
  )
  t.strictSame(left.filter(Boolean), [], 'no process is left')
}
