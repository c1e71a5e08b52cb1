import type { Client } from 'pg'
import { type Database, openDatabase } from '../server/db/database.ts'
import { migrate } from '../server/db/migrate.ts'
import { FEED, type FeedRow, REACH } from '../server/webhooks/due.ts'
import { EVENTS_AT_ONCE, fanOut } from '../server/webhooks/fan-out.ts'
import { type Bench, figure, type Measure, median, withClient, withDatabase } from './bench.ts'
import { familyCpuSeconds } from './processes.ts'

/** The cost of finding the endpoints that get an event. */
export const ids = ['W2']

const ENDPOINTS = 10
/** Endpoints that want the events. */
const MATCHING = 3
/** Deliveries that are read at once for an endpoint, as for one that keeps up (server/webhooks/lane.ts). */
const WINDOW = 200

/** One side of a round: its duration, and the database's CPU time in it. */
interface Run {
  seconds: number
  cpuSeconds: number
}

/**
 * Fans out pending events and finds the deliveries with the statements of the service, in this process; nothing is
 * delivered meanwhile.
 */
export function run(bench: Bench): Promise<Measure[]> {
  return withDatabase(bench, 'fan_out', async (url) => {
    await migrate(url)
    const db = openDatabase({
      url,
      name: 'pulsebase benchmark',
      maxConnections: 1,
      statementTimeoutMs: 600_000,
      onError: () => {},
    })
    try {
      return await withClient(url, (client) => rounds(bench, db, client))
    } finally {
      await db.end()
    }
  })
}

async function rounds(bench: Bench, db: Database, client: Client): Promise<Measure[]> {
  const events = bench.quick ? 5_000 : 40_000
  await db.query(
    `insert into endpoint (uid, url, filter_types, secret)
     select 'ep_bench' || at, 'https://example.org/' || at,
            case when at <= $2 then array['workout.created', 'meal.created'] else array['sleep.created'] end, ''
     from generate_series(1, $1::int4) at`,
    [ENDPOINTS, MATCHING],
  )
  const { id: processId } = await db.one<{ id: number }>(
    `insert into process (host, pid) values ('benchmark', 1) returning id`,
  )
  await db.query(`update endpoint set process_id = $1, leased_until = 'infinity'`, [processId])
  const fanned: Run[] = []
  const inserted: Run[] = []
  // Not counted: the first round plans statements.
  for (let round = -1; round < bench.samples; round += 1) {
    const sides = [
      async () => fanned.push(await timedOn(bench, client, events, () => deliveriesOf(db, processId))),
      async () => inserted.push(await timedOn(bench, client, events, () => insertAll(client))),
    ]
    for (const side of round % 2 === 0 ? sides : sides.reverse()) await side()
  }
  fanned.shift()
  inserted.shift()
  const figureLine = (what: string, runs: Run[]) => {
    const perSecond = figure(events / median(runs.map(({ seconds }) => seconds)))
    const cpu = figure(median(runs.map(({ cpuSeconds }) => (cpuSeconds / events) * 1e6)))
    return `${what}: ${perSecond} events/s, ${cpu} µs of database CPU an event of ${MATCHING} deliveries`
  }
  return [
    {
      id: 'W2',
      what: `events placed and found/s by ${MATCHING} of ${ENDPOINTS} endpoints ÷ plain insert of the same deliveries`,
      values: fanned.map(({ seconds }, round) => (inserted[round] as Run).seconds / seconds),
      target: { at: 'least', value: 0.5 },
      beside: [figureLine('placed and found', fanned), figureLine('insert', inserted)],
    },
  ]
}

/** Times work on this many events that wait for fan-out. */
async function timedOn(bench: Bench, client: Client, events: number, work: () => Promise<number>): Promise<Run> {
  await client.query('truncate event cascade')
  await client.query(
    `insert into event (type, key, data)
     select 'workout.created', 'bench', convert_to(repeat('x', 500), 'UTF8') from generate_series(1, $1::int4)`,
    [events],
  )
  await client.query('vacuum (analyze) event, delivery')
  await client.query('checkpoint')
  const cpu = familyCpuSeconds(bench.engine.pid)
  const started = performance.now()
  const made = await work()
  const seconds = (performance.now() - started) / 1000
  const cpuSeconds = familyCpuSeconds(bench.engine.pid) - cpu
  if (made !== events * MATCHING) throw new Error(`${made} deliveries were found or made`)
  return { seconds, cpuSeconds }
}

/** Gives all events their places, and finds what each endpoint gets; returns the number of deliveries. */
async function deliveriesOf(db: Database, processId: number): Promise<number> {
  await fanOut(db, true)
  const endpoints = await db.query<{ id: number }>('select id from endpoint order by id')
  const places = new Map(endpoints.map(({ id }) => [id, 0]))
  let found = 0
  while (places.size > 0) {
    const ids = [...places.keys()]
    const wanted = ids.map(() => WINDOW)
    const rows = await db.query<FeedRow>(FEED, [processId, ids, wanted, [...places.values()], REACH, [], []])
    for (const row of rows) {
      const due = row.found?.split(' ') ?? []
      found += due.length
      const place = due.length === WINDOW ? Number(due.at(-1)?.split(',')[1]) : row.read_to
      if (place < row.last) places.set(row.endpoint_id, place)
      else places.delete(row.endpoint_id)
    }
  }
  return found
}

/** Creates the deliveries of all events for known endpoints, in batches as large as the service's; returns their number. */
async function insertAll(client: Client): Promise<number> {
  const { rows } = await client.query<{ low: string; high: string }>(
    'select min(id) as low, max(id) as high from event',
  )
  const [low, high] = [Number(rows[0]?.low), Number(rows[0]?.high)]
  for (let from = low; from <= high; from += EVENTS_AT_ONCE) {
    await client.query({
      name: 'insert',
      text: `insert into delivery (event_id, endpoint_id)
             select e.id, n.id
             from generate_series($1::int8, $2::int8) e (id)
             cross join generate_series(1, $3::int4) n (id)`,
      values: [from, Math.min(from + EVENTS_AT_ONCE - 1, high), MATCHING],
    })
  }
  const { rows: made } = await client.query<{ count: number }>('select count(*)::int4 as count from delivery')
  return made[0]?.count ?? 0
}
