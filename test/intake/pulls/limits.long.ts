// Five thousand tasks, four processes, and a provider that takes 100 requests in a minute: never more, and not much less.
// Minutes last twenty seconds, for the simulator (its clock) and for the service (hurried-main.ts). What is shown is the same,
// and harder: a budget counts tenths of its window, whatever its length, by the clock of the database, and the eleventh
// tenth is what a request may take from its permit to the provider: two seconds here, six in a minute.
import t, { type Test } from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { createTestDatabase } from '../../support/app.ts'
import { connectPerson } from '../../support/people.ts'
import { createUser, eachEngine } from '../../support/sdk.ts'
import type { Engine } from '../../support/servers.ts'
import { onDatabase, startService } from '../../support/service.ts'
import { type Json, type Playing, play } from '../../support/simulator.ts'
import { openTestDatabase } from '../../support/webhooks.ts'

const FASTER = 3
const PROCESSES = 4
const LIMIT = 100
const MINUTE_MS = 60_000
/** Of the simulator. */
const MINUTES = 6
const PEOPLE = 25
const STREAMS = ['sleep', 'recovery', 'workout', 'cycle']
/** Each asks for every stream of a day of a person. */
const RUNS = 50

// As a sync that somebody asks for, once for each day.
const QUEUE_SQL = `
  select start_sync(
    c.grant_id, c.id, c.user_id, 'sync', 'asked', now() - n * interval '1 day', '{}',
    (select jsonb_agg(jsonb_build_object('stream', s, 'lo', now() - (n + 1) * interval '1 day')) from unnest($1::text[]) s)
  )
  from connection c, generate_series(1, $2) n`

const TASKS_SQL = `select count(*)::int4 as n from sync_task where kind = 'sync'`

eachEngine(t, 'a limit of requests that four processes share', async (t: Test, engine: Engine) => {
  const startMs = Date.now()
  const simulator = await play(t, { people: PEOPLE, days: 80, now: () => startMs + (Date.now() - startMs) * FASTER })
  const limitTo = (limits: number[] | null) =>
    simulator.control('POST', 'settings', { provider: 'whoop', access_seconds: 1e6, limits })
  await limitTo([1e6, 1e6])
  const url = await createTestDatabase(t, engine)
  const settings = {
    ...{ ...onDatabase(url), ...simulator.env, HISTORICAL_SYNC_ON_CONNECT: 'false' },
    ...{ SYNC_INTERVAL_SECONDS: '86400', RECONCILE_INTERVAL_SECONDS: '86400', TIMES_FASTER: String(FASTER) },
  }
  const first = await startService(t, settings, 'test/support/hurried-main.ts')
  for (const { key: person } of (await simulator.control('GET', 'people')).body) {
    await connectPerson(first, { user: await createUser(first), provider: 'whoop', person })
    // Who is made up when first asked for would keep the simulator from answering in time.
    await simulator.control('GET', `truth?person=${person}`)
  }
  await first.stop()
  await limitTo(null)

  const db = openTestDatabase(t, url)
  await db.query('delete from sync_task')
  await db.query(QUEUE_SQL, [STREAMS, RUNS])
  const { n: queued } = await db.one<{ n: number }>(TASKS_SQL)
  t.equal(queued, PEOPLE * STREAMS.length * RUNS, '5,000 tasks')
  // Nobody's requests before count any more.
  await db.query('delete from rate_budget')
  const before = (await asked(simulator)).at(-1)?.number ?? 0
  if (!(await waitUntil(() => isForgotten(simulator), 2 * MINUTE_MS, 100)))
    throw new Error('requests are still counted')
  const services = Array.from({ length: PROCESSES }, () => startService(t, settings, 'test/support/hurried-main.ts'))
  await Promise.all(services)

  const busy = new Set<number>()
  const isOver = async () => {
    const rows = await db.query<{ id: number }>(
      'select process_id as id from provider_grant where process_id is not null',
    )
    for (const { id } of rows) busy.add(id)
    const list = await asked(simulator, before)
    return list.length > 0 && timeOf(list.at(-1)) - timeOf(list[0]) > MINUTES * MINUTE_MS
  }
  t.ok(await waitUntil(isOver, (3 * MINUTES * MINUTE_MS) / FASTER, 200), 'it went on all the time')
  const list = await asked(simulator, before)
  await Promise.all((await Promise.all(services)).map((service) => service.kill()))

  t.strictSame([...new Set(list.map(({ status }) => status))], [200], 'nothing was refused')
  const times = list.map(timeOf)
  const most = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + MINUTE_MS).length))
  t.ok(most <= LIMIT, `at most ${most} in any minute`)
  const length = (times.at(-1) ?? 0) - (times[0] ?? 0)
  const used = (times.length / length) * MINUTE_MS
  t.ok(used >= 0.8 * LIMIT, `${used.toFixed(1)} in a minute, of ${times.length} requests`)
  t.equal(busy.size, PROCESSES, 'all processes asked')
  const { n: left } = await db.one<{ n: number }>(TASKS_SQL)
  t.ok(left > 0, `${left} tasks were left`)
})

/** Requests for data to the provider after a number, oldest first. */
async function asked({ control }: Playing, after = 0): Promise<Json[]> {
  const { body } = await control('GET', `log?provider=whoop&after=${after}`)
  return body.filter(({ method, path }: Json) => method === 'GET' && path.includes('/v2/'))
}

const timeOf = (request: Json) => Date.parse(request.at)

/** Whether no limit of a minute counts a request any more. */
async function isForgotten(simulator: Playing): Promise<boolean> {
  const last = (await asked(simulator)).at(-1)
  const { body } = await simulator.control('GET', 'clock')
  return last === undefined || Date.parse(body.machine) - timeOf(last) > MINUTE_MS
}
