// An operator or NTP sets the clock of the process while deliveries wait and calls are in flight: a real service, with
// a call that takes all of its 15 seconds. Run with: npm run test:long
import t, { type Test } from 'tap'
import { createTestDatabase } from '../support/app.ts'
import { eachEngine } from '../support/sdk.ts'
import type { Engine } from '../support/servers.ts'
import { onDatabase, startService } from '../support/service.ts'
import {
  attemptsOf,
  createEndpoint,
  deliveriesOf,
  eventually,
  openTestDatabase,
  type Received,
  recordEvents,
  startReceiver,
} from '../support/webhooks.ts'
import { SETTINGS } from './kills.ts'

const HOUR_MS = 3_600_000
/** The delay requested by `Retry-After`: within the limit for the second attempt, whatever the jitter. */
const ASKED_SECONDS = 8

eachEngine(t, 'the clock of the process is set an hour ahead or back', async (t, engine) => {
  await Promise.all([HOUR_MS, -HOUR_MS].map((aheadMs) => setProcessClock(t, engine, aheadMs)))
})

async function setProcessClock(t: Test, engine: Engine, aheadMs: number): Promise<void> {
  const how = aheadMs > 0 ? 'ahead' : 'back'
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t, ({ path }, response, calls) => {
    if (path === '/hangs') return
    if (path === '/answers' || calls.filter((call) => call.path === path).length > 1) return response.end('ok')
    const now = Date.now()
    const inSeconds = (seconds: number) => new Date(now + seconds * 1000).toUTCString()
    if (path === '/seconds') response.setHeader('retry-after', ASKED_SECONDS)
    if (path === '/dates') response.setHeader('date', inSeconds(0)).setHeader('retry-after', inSeconds(ASKED_SECONDS))
    if (path === '/date') {
      response.sendDate = false
      response.setHeader('retry-after', inSeconds(ASKED_SECONDS))
    }
    response.writeHead(503).end()
  })
  const service = await startService(t, { ...onDatabase(url), ...SETTINGS }, 'test/support/clocked-main.ts')
  const paths = ['/fails', '/seconds', '/dates', '/date', '/hangs']
  const endpoints = await Promise.all(
    paths.map((path) => createEndpoint(db, receiver.origin + path, { filterTypes: ['test.first'] })),
  )
  const answering = await createEndpoint(db, `${receiver.origin}/answers`, { filterTypes: ['test.second'] })
  const holder = () => db.one<{ held: number }>('select count(distinct process_id) as held from endpoint')

  // Some answers are read after the clock is set, and all retries wait meanwhile.
  const [id] = await recordEvents(db, [{ type: 'test.first' }])
  await receiver.got(paths.length)
  await service.setClock(aheadMs)
  const setAt = performance.now()
  await recordEvents(db, [{ type: 'test.second' }])
  const at = (path: string) => receiver.calls.filter((call) => call.path === path)
  await eventually(
    async () => at('/answers').length,
    (count) => count === 1,
  )
  t.ok((at('/answers')[0] as Received).at - setAt < 3_000, `${how}: what is new is delivered at once`)

  const [failing, ...others] = endpoints
  await eventually(
    async () => paths.filter((path) => at(path).length === 2),
    (again) => again.length === paths.length - 1,
  )
  /** Seconds between both calls, by the monotonic clock of the test. */
  const waited = (path: string) => {
    const [first, second] = at(path) as [Received, Received]
    return (second.at - first.at) / 1000
  }
  const within = (path: string, least: number, most: number) =>
    t.ok(waited(path) >= least && waited(path) < most, `${how}: ${path} was tried again after ${waited(path)} s`)
  within('/fails', 3.9, 8)
  within('/seconds', ASKED_SECONDS - 0.1, ASKED_SECONDS + 2)
  within('/dates', ASKED_SECONDS - 0.1, ASKED_SECONDS + 2)
  // Without a `Date` beside it, the hour counts, but for no more than twice the delay.
  within('/date', 3.9, 14)
  for (const path of paths.slice(0, -1)) {
    const [first, second] = at(path) as [Received, Received]
    t.equal(second.id, id)
    const moved = second.timestamp - first.timestamp - waited(path) - aheadMs / 1000
    t.ok(Math.abs(moved) < 3, `${how}: hook-timestamp is that of the clock`)
  }

  const hanging = others.at(-1) as typeof answering
  const [attempt] = await eventually(
    () => attemptsOf(db, hanging),
    ({ length }) => length === 1,
  )
  const duration = attempt?.duration_ms ?? 0
  t.ok(duration >= 14_900 && duration < 17_000, `${how}: a call on its way had its 15 s: ${duration} ms`)
  const [delivery] = await deliveriesOf(db, hanging)
  t.ok((delivery?.due_in ?? 0) > 2 && (delivery?.due_in ?? 0) <= 6, `${how}: and is due again in ${delivery?.due_in} s`)
  const { wrong } = await db.one<{ wrong: number }>(
    `select count(*) as wrong from attempt where attempted_at not between now() - interval '1 minute' and now()`,
  )
  t.equal(wrong, 0, `${how}: attempts have the time of the database`)
  // The hanging call took longer than a lease lasts without being renewed.
  t.strictSame(await holder(), { held: 1 }, `${how}: the endpoints stay with the process`)
  const { seconds } = await db.one<{ seconds: number }>(
    `select date_part('epoch', leased_until - now()) as seconds from endpoint where id = $1`,
    [hanging.id],
  )
  t.ok(seconds > 15 && seconds <= 30, `${how}: the lease was renewed and ends in ${seconds} s`)
  t.equal((await deliveriesOf(db, failing as typeof answering))[0]?.state, 'delivered')
  t.equal(await service.stop(), 0)
}
