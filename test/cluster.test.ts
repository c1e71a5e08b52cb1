// Several processes behind one port, as WEB_CONCURRENCY starts them: what a client, an operator and Prometheus see of it.
import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { signalProcess, waitUntil } from '../server/db/embedded/processes.ts'
import { createTestDatabase } from './support/app.ts'
import { body, createUser, heartRate, oneEngine, upload } from './support/sdk.ts'
import { freePort, onDatabase, type Service, startService } from './support/service.ts'
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

async function requestsCounted({ request }: Service, route: string): Promise<number> {
  const { body: text } = await request('GET', '/metrics')
  const counts = String(text).matchAll(/^pulsebase_http_request_seconds_count\{(.*)\} (\d+)$/gm)
  return [...counts].reduce((sum, [, labels, n]) => sum + (labels?.includes(`"${route}"`) ? Number(n) : 0), 0)
}

oneEngine(t, 'several processes behind one port', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const settings = { WEB_CONCURRENCY: String(PROCESSES), PORT: String(await freePort()) }
  const service = await startService(t, { ...onDatabase(url), ...settings })
  const allServe = async () => {
    const { body: metrics } = await service.request('GET', '/metrics').catch(() => ({ body: '' }))
    return new RegExp(`^pulsebase_processes ${PROCESSES}$`, 'm').test(String(metrics))
  }
  t.ok(await waitUntil(allServe, WAIT_MS, 50), 'all of them serve')
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
          if (number === UPLOADS / 4 || number === UPLOADS / 2) await killOne(service, killed)
          await sendUntilAccepted(service, user, number)
        }
      }
      await Promise.all(Array.from({ length: LANES }, lane))
      t.equal(killed.length, 2)
      const waiting = async () =>
        (await db.query(`select from upload where status in ('queued', 'processing')`)).length === 0
      t.ok(await waitUntil(waiting, WAIT_MS, 100), 'everything is imported')
      const [row] = await db.query<{ samples: number; uploads: number }>(
        `select (select count(*)::int from sample) as samples, (select count(*)::int from upload) as uploads`,
      )
      t.equal(row?.samples, UPLOADS * RECORDS)
      t.ok((row?.uploads ?? 0) >= UPLOADS)
      t.ok(await waitUntil(allServe, WAIT_MS, 50), 'the killed ones are replaced')
      t.notOk((await serving(service)).some((pid) => killed.includes(pid)))
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
    t.ok(await waitUntil(allServe, WAIT_MS, 50))
    t.ok((await requestsCounted(service, '/healthz')) >= before, `${before} at least`)
  })

  await stopsAll(t, service)
})

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
