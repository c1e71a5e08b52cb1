import { type Database, openDatabase } from '../server/db/database.ts'
import { migrate } from '../server/db/migrate.ts'
import { refreshContinuous } from '../server/rollups/continuous.ts'
import { refreshRollups } from '../server/rollups/refresh.ts'
import { applyStrategy, type Strategy } from '../server/rollups/strategy.ts'
import { type Bench, figure, type Measure, median, withDatabase } from './bench.ts'
import { familyCpuSeconds } from './processes.ts'

/** What it costs to keep rollups up to date in the background, with either strategy. */
export const ids = ['B1']

const USERS = [1, 20, 50]
const STRATEGIES: readonly Strategy[] = ['per_series', 'continuous']

/** Days already stored, among which a refresh of all rollups has to find the recent ones. */
const DAYS = 30

/** What a watch sends in a quarter of an hour. */
const SYNC_MINUTES = 15

/** A series of a user: its id, seconds between two samples. */
const SERIES = [
  [1, 60],
  [80, 300],
  [81, 300],
  [82, 900],
  [100, 300],
  [24, 900],
  [20, 900],
  [121, 900],
] as const

/** From, until: epoch seconds, the end excluded. */
type Time = readonly [fromS: number, toS: number]

interface Costs {
  /** Per uploaded sample, in microseconds: time of the refresh, and the database's CPU time in it. */
  wallUs: number[]
  cpuUs: number[]
  /** A late year of one series, in milliseconds: with the strategy's own refresh, and with a refresh of all rollups. */
  lateMs: number
  lateForAllMs: number | undefined
}

/**
 * All users sync a quarter of an hour, then rollups are refreshed, as every minute; finally a long history arrives
 * late.
 */
export async function run(bench: Bench): Promise<Measure[]> {
  if (bench.engine.name === 'plain') return []
  const measures: Measure[] = []
  for (const users of bench.quick ? USERS.slice(0, 2) : USERS) {
    const costs: Record<string, Costs> = {}
    for (const strategy of STRATEGIES) costs[strategy] = await measure(bench, users, strategy)
    const [series, all] = STRATEGIES.map((strategy) => costs[strategy] as Costs) as [Costs, Costs]
    measures.push({
      id: 'B1',
      what: `background refresh per uploaded sample, ${users} ${users === 1 ? 'user' : 'users'}: continuous ÷ per series, time`,
      values: all.wallUs.map((us, round) => us / (series.wallUs[round] as number)),
      // Aggregates pay where several users write at the same time.
      target: { at: 'most', value: users === 1 ? 3 : 0.5 },
      beside: [figureLine('per series', series), figureLine('continuous', all)],
    })
  }
  return measures
}

function figureLine(name: string, { wallUs, cpuUs, lateMs, lateForAllMs }: Costs): string {
  const [wall, cpu, late] = [median(wallUs), median(cpuUs), lateMs].map(figure)
  const forAll = lateForAllMs ? `, for everybody at once ${figure(lateForAllMs)} ms` : ''
  return `${name}: ${wall} µs and ${cpu} µs of database CPU a sample; a late year in ${late} ms${forAll}`
}

function measure(bench: Bench, users: number, strategy: Strategy): Promise<Costs> {
  return withDatabase(bench, `refresh_${users}_${strategy}`, async (url) => {
    await migrate(url)
    await applyStrategy(url, strategy, () => {})
    const db = openDatabase({
      url,
      name: 'pulsebase benchmark',
      maxConnections: 3,
      statementTimeoutMs: 600_000,
      onError: () => {},
    })
    try {
      return await rounds(bench, db, users, strategy)
    } finally {
      await db.end()
    }
  })
}

async function rounds(bench: Bench, db: Database, users: number, strategy: Strategy): Promise<Costs> {
  const sources = await db.rows<[number]>(
    `with people as (insert into app_user (first_name) select 'Bench' from generate_series(1, $1) returning id)
     insert into data_source (user_id, provider, source) select id, 'apple', 'Watch' from people returning id`,
    [users],
  )
  const ids = sources.map(([id]) => id)
  const startS = Math.floor(Date.now() / 900_000) * 900 - 6 * 3_600
  await store(db, ids, [startS - DAYS * 86_400, startS])
  await store(db, ids.slice(0, 20), [startS - (DAYS + 400) * 86_400, startS - DAYS * 86_400], 10)
  while (await refreshRollups(db));
  await db.query('vacuum (analyze)')
  const costs: Costs = { wallUs: [], cpuUs: [], lateMs: 0, lateForAllMs: undefined }
  // Not counted: the first round plans statements.
  for (let round = -1; round < bench.samples; round += 1) {
    const fromS = startS + (round + 1) * SYNC_MINUTES * 60
    const samples = await store(db, ids, [fromS, fromS + SYNC_MINUTES * 60])
    const cpu = familyCpuSeconds(bench.engine.pid)
    const started = performance.now()
    while (await refreshRollups(db));
    if (round < 0) continue
    costs.wallUs.push(((performance.now() - started) * 1000) / samples)
    costs.cpuUs.push(((familyCpuSeconds(bench.engine.pid) - cpu) * 1e6) / samples)
  }
  const source = ids[0] as number
  const year = [startS - (DAYS + 400) * 86_400, startS - (DAYS + 35) * 86_400] as const
  costs.lateMs = await lateYear(db, [source, 2], year, () => refreshRollups(db))
  if (strategy === 'continuous') {
    const forAll = () => refreshContinuous(db, 0, '500 days')
    costs.lateForAllMs = await lateYear(db, [source, 3], year, forAll)
  }
  return costs
}

/** Stores samples of every series of these sources, and notes them as an import does; returns how many. */
async function store(db: Database, sources: readonly number[], [fromS, toS]: Time, thin = 1): Promise<number> {
  let samples = 0
  for (const [series, everyS] of SERIES) {
    const rows = await db.query(
      `with stored as (
         insert into sample (ts, value, source_id, series_id, zone_offset_min)
         select to_timestamp(s), hashint4(s + id) & 63, id, $2::int2, 60
         from unnest($1::int4[]) id, generate_series($3::int4, $4::int4 - 1, $5::int4) s
         returning 1
       )
       select count(*) as n from stored`,
      [sources, series, fromS, toS, everyS * thin],
    )
    samples += (rows[0] as { n: number }).n
    await note(db, sources, series, [fromS, toS - everyS])
  }
  return samples
}

const note = (db: Database, sources: readonly number[], series: number, time: Time) =>
  db.query('select note_added($1::int4[], $2::int2[], $3::float8[], $4::float8[])', [
    sources,
    ...[series, ...time].map((value) => sources.map(() => value)),
  ])

/** Stores a year of a series of a source, and returns in how many milliseconds `refresh` processes it. */
async function lateYear(
  db: Database,
  [source, series]: readonly [source: number, series: number],
  [fromS, toS]: Time,
  refresh: () => Promise<boolean>,
): Promise<number> {
  await db.query(
    `insert into sample (ts, value, source_id, series_id, zone_offset_min)
     select to_timestamp(s), hashint4(s) & 63, $1, $2::int2, 60 from generate_series($3::int4, $4::int4 - 1, 60) s`,
    [source, series, fromS, toS],
  )
  await note(db, [source], series, [fromS, toS - 60])
  const started = performance.now()
  while (await refresh());
  return performance.now() - started
}
