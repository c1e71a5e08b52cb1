import type { SampleColumns } from '../server/batch/columns.ts'
import { compressChunks } from '../server/db/compress.ts'
import { type Database, openDatabase } from '../server/db/database.ts'
import { migrate } from '../server/db/migrate.ts'
import { archive } from '../server/rollups/archive.ts'
import { refreshRollups } from '../server/rollups/refresh.ts'
import { applyStrategy, type Strategy } from '../server/rollups/strategy.ts'
import { writeSamples } from '../server/store/samples.ts'
import { countOpened } from '../test/support/opened.ts'
import { type Bench, figure, type Measure, median, withDatabase } from './bench.ts'

/** The cost of writes into compressed history, and the rows of it that they open. */
export const ids = ['O1']

const STRATEGIES: readonly Strategy[] = ['per_series', 'continuous']
const DAYS = 730
const HOUR_S = 3_600
const DAY_S = 86_400
/** Rows of a batch at most. */
const BATCH = 1_000

/** Series of every user: id, seconds between two samples. */
const SERIES = [
  [1, 3_600],
  [80, 7_200],
] as const

/** The history lacks this hour of each day, between so many days before its end. */
const GAPS = { from: 430, to: 400, hour: 10 }

interface History {
  sources: number[]
  /** Its end, in seconds since 1970. */
  endS: number
}

/** The costs of one kind of write in each round. */
interface Costs {
  ms: number[]
  /** Rows that were taken out of batches. */
  opened: number[]
  /** Rows of batches that were deleted as a whole. */
  removed: number[]
}

type Work = (db: Database, history: History, round: number) => Promise<unknown>

/** One user's hour of both series, including its rollups. */
const sync =
  (fromS: (history: History, round: number) => number): Work =>
  async (db, history, round) => {
    const source = history.sources[round % history.sources.length] as number
    const columns = SERIES.map(([series]) => hour(series, fromS(history, round), round))
    await db.transaction((tx) => writeSamples(tx, columns, [source]))
    while (await refreshRollups(db));
  }

const dayOf = ({ endS }: History, round: number) => endS - (GAPS.from - (round % (GAPS.from - GAPS.to))) * DAY_S

const deletePoints: Work = async (db, history, round) => {
  const source = history.sources[round % history.sources.length] as number
  const fromS = dayOf(history, round) + 15 * HOUR_S
  const ats = [fromS, fromS + HOUR_S]
  await db.query('select delete_sample_points($1, $2, $3)', [ats.map(() => source), ats.map(() => 1), ats])
  while (await refreshRollups(db));
}

/** Sources are deleted from the last one on. */
const deleteSource: Work = (db, { sources }, round) =>
  db.query('select delete_sources($1)', [[sources[sources.length - 1 - round]]])

/** Before all of this history: so it has nothing to archive. */
const archiveNothing: Work = async (db) => {
  await db.query('update archival set archive_after_days = 3650')
  while (await archive(db, Date.now()));
}

const FRESH = 'a fresh hour'
const NOTHING = 'an archive with nothing to do'
const GAP = 'a late hour where there was none'
const CHANGED = 'a late hour that changes what is stored'

/** Compressed tables that a change reaches: samples, quarter hours, hours. The chunk of days has not ended. */
const TABLES = 3

const works: Record<string, Work> = {
  [FRESH]: sync(({ endS }, round) => endS + (round + 1) * HOUR_S),
  [GAP]: sync((history, round) => dayOf(history, round) + GAPS.hour * HOUR_S),
  [CHANGED]: sync((history, round) => dayOf(history, round) + 12 * HOUR_S),
  'the same hour again': sync((history, round) => dayOf(history, round) + 12 * HOUR_S),
  'a deletion of two samples': deletePoints,
  'a deletion of a user': deleteSource,
  [NOTHING]: archiveNothing,
}

/** Writes in every way to two compressed years of fifty users, which are compressed again after each write. */
export async function run(bench: Bench): Promise<Measure[]> {
  if (bench.engine.name === 'plain') return []
  const measures: Measure[] = []
  for (const strategy of STRATEGIES) {
    const costs = await withDatabase(bench, `opened_${strategy}`, (url) => measure(bench, url, strategy))
    const [fresh, late, changed, nothing] = [FRESH, GAP, CHANGED, NOTHING].map((what) => costs[what]) as [
      Costs,
      Costs,
      Costs,
      Costs,
    ]
    measures.push(
      {
        id: 'O1',
        what: `an hour synced 400 days late ÷ a fresh one, rollups ${strategy}, time`,
        values: late.ms.map((ms, round) => ms / (fresh.ms[round] as number)),
        target: { at: 'most', value: 2 },
        beside: Object.entries(costs).map(([what, cost]) => costLine(what, cost)),
      },
      {
        id: 'O1',
        what: `batches opened by an hour that changes ÷ series and tables it touches, rollups ${strategy}`,
        values: changed.opened.map((rows) => rows / BATCH / SERIES.length / TABLES),
        target: { at: 'most', value: 1 },
        beside: [],
      },
      {
        id: 'O1',
        what: `${NOTHING}, rollups ${strategy}, time`,
        values: nothing.ms,
        unit: 'ms',
        target: { at: 'most', value: 1_000 },
        beside: [],
      },
      {
        id: 'O1',
        what: `rows opened by ${NOTHING}, rollups ${strategy}`,
        values: nothing.opened,
        target: { at: 'most', value: 0 },
        beside: [],
      },
    )
  }
  return measures
}

const costLine = (what: string, { ms, opened, removed }: Costs) =>
  `${what}: ${figure(median(ms))} ms, ${figure(median(opened))} rows opened, ${figure(median(removed))} deleted as batches`

async function measure(bench: Bench, url: string, strategy: Strategy): Promise<Record<string, Costs>> {
  await migrate(url)
  await applyStrategy(url, strategy, () => {})
  const name = 'pulsebase benchmark'
  const db = openDatabase({ url, name, maxConnections: 2, statementTimeoutMs: 600_000, onError: () => {} })
  try {
    const history = await store(db, bench.quick ? 10 : 50)
    const costs: Record<string, Costs> = {}
    // Not counted: the first round makes plans.
    for (let round = -1; round < bench.samples; round += 1) {
      for (const [what, work] of Object.entries(works)) {
        const cost = costs[what] ?? { ms: [], opened: [], removed: [] }
        costs[what] = cost
        let ms = 0
        const counts = await countOpened(db, async () => {
          const started = performance.now()
          await work(db, history, round + 1)
          ms = performance.now() - started
        })
        await compress(db)
        if (round < 0) continue
        const sum = (of: 'opened' | 'removed') => Object.values(counts).reduce((all, one) => all + one[of], 0)
        cost.ms.push(ms)
        cost.opened.push(sum('opened'))
        cost.removed.push(sum('removed'))
      }
    }
    return costs
  } finally {
    await db.end()
  }
}

async function compress(db: Database): Promise<void> {
  while (await compressChunks(db, '0'));
}

/** Stores the history of a number of users with their rollups, compressed. */
async function store(db: Database, users: number): Promise<History> {
  const sources = await db.rows<[number]>(
    `with people as (insert into app_user (first_name) select 'Bench' from generate_series(1, $1) returning id)
     insert into data_source (user_id, provider, source) select id, 'apple', 'Watch' from people returning id`,
    [users],
  )
  const history = { sources: sources.map(([id]) => id), endS: Math.floor(Date.now() / 1000 / DAY_S) * DAY_S - DAY_S }
  const { sources: ids, endS } = history
  for (const [series, everyS] of SERIES) {
    await db.query(
      `insert into sample (ts, value, source_id, series_id, zone_offset_min)
       select to_timestamp(s), hashint4(s + id) & 63, id, $2::int2, 60
       from unnest($1::int4[]) id, generate_series($3::int4, $4::int4 - 1, $5::int4) s
       where s % $6::int4 / $7::int4 <> $8::int4 or s not between $4 - $6 * $9::int4 and $4 - $6 * $10::int4
       order by id, s`,
      [ids, series, endS - DAYS * DAY_S, endS, everyS, DAY_S, HOUR_S, GAPS.hour, GAPS.from, GAPS.to],
    )
    const same = (value: number) => ids.map(() => value)
    const bounds = [same(endS - DAYS * DAY_S), same(endS - 1)]
    await db.query('select note_added($1::int4[], $2::int2[], $3::float8[], $4::float8[])', [
      ids,
      same(series),
      ...bounds,
    ])
  }
  while (await refreshRollups(db));
  await compress(db)
  await db.query('vacuum (analyze)')
  return history
}

/** Four samples of an hour, whose values depend on the round. */
const hour = (series: number, fromS: number, round: number): SampleColumns => ({
  source: 0,
  seriesId: series,
  timeMs: Float64Array.from({ length: 4 }, (_, n) => (fromS + n * 900) * 1000),
  value: Float64Array.from({ length: 4 }, (_, n) => 100 + round + n),
  zoneMin: new Int16Array(4).fill(60),
  lastsS: null,
  zoneTaken: null,
  origins: null,
})
