// A model of what must be stored and answered after any writes, deletions, compressions and refreshes, and these steps.
import fc from 'fast-check'
import type { Test } from 'tap'
import type { SampleColumns } from '../../server/batch/columns.ts'
import { compressChunks } from '../../server/db/compress.ts'
import { type Database, openDatabase } from '../../server/db/database.ts'
import { type ArchivalSettings, archive, floors } from '../../server/rollups/archive.ts'
import { refreshContinuous } from '../../server/rollups/continuous.ts'
import { applyStrategy, type Strategy } from '../../server/rollups/strategy.ts'
import { thinRollups } from '../../server/rollups/thin.ts'
import { withoutArchived } from '../../server/store/archived.ts'
import { writeSamples } from '../../server/store/samples.ts'
import { createTestDatabase } from '../support/app.ts'
import { eachEngine } from '../support/sdk.ts'
import type { Engine } from '../support/servers.ts'

export const SEED = 20_261_122
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** Ends about today: rollups of minutes, and refreshes for all users, cover only the last days. */
const DAYS = 100
const BASE = (Math.floor(Date.now() / DAY_MS) - DAYS + 1) * DAY_MS
const SERIES = [1, 80, 10_082]

export interface Sample {
  ms: number
  value: number
  zone: number
}

export type Step =
  | { kind: 'write'; source: number; series: number; samples: Sample[] }
  | { kind: 'delete'; source: number; series: number; startMs: number; lengthMs: number }
  | { kind: 'refresh'; span: string; workers: number }
  | { kind: 'compress' }
  | { kind: 'thin' }
  | { kind: 'archive'; archiveDays: number | null; deleteDays: number | null }

// Many on the edges of buckets; writes are dense or spread over weeks, and meet each other often.
const sample = fc.record({
  ms: fc
    .tuple(fc.nat(DAYS * 96 - 1), fc.constantFrom(0, 0, 1, 899_999, 450_000), fc.nat(3))
    .map(([quarter, rest, shift]) => BASE + quarter * 15 * MINUTE_MS + Math.min(rest + shift * 1000, 899_999)),
  value: fc.oneof(fc.integer({ min: -50, max: 4000 }), fc.double({ min: -1e6, max: 1e6, noNaN: true })),
  zone: fc.constantFrom(0, 60, -330, 840),
})
/** Samples of one write. */
export const samples = fc.oneof(
  fc.array(sample, { minLength: 1, maxLength: 200, size: 'max' }),
  fc
    .tuple(fc.nat(DAYS * DAY_MS), fc.integer({ min: 1, max: 400 }), fc.nat(999))
    .map(([start, count, value]) =>
      Array.from({ length: count }, (_, n) => ({ ms: BASE + start + n * 20_000, value: value + n / 8, zone: 60 })),
    ),
)
/** The series that is written. */
export const place = { source: fc.nat(1), series: fc.constantFrom(...SERIES) }
/** Random changes of the data. */
export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('write' as const), ...place, samples }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('delete' as const),
      ...place,
      startMs: fc.nat(DAYS * DAY_MS).map((ms) => BASE + ms),
      lengthMs: fc.constantFrom(0, 15 * MINUTE_MS, DAY_MS, 20 * DAY_MS),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('refresh' as const),
      span: fc.constantFrom('1 day', '3 days', '120 days'),
      workers: fc.constantFrom(1, 1, 3),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'compress' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'thin' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('archive' as const),
      archiveDays: fc.constantFrom(null, 400, 75, 40, 5),
      deleteDays: fc.constantFrom(null, null, null, 80, 45),
    }),
  },
)

function columns({ series, samples }: Extract<Step, { kind: 'write' }>): SampleColumns {
  const last = new Map(samples.map((one) => [one.ms, one]))
  const sorted = [...last.values()].sort((a, b) => a.ms - b.ms)
  return {
    source: 0,
    seriesId: series,
    timeMs: Float64Array.from(sorted, ({ ms }) => ms),
    value: Float64Array.from(sorted, ({ value }) => value),
    zoneMin: Int16Array.from(sorted, ({ zone }) => zone),
    lastsS: null,
    zoneTaken: null,
    origins: null,
  }
}

/** A database under test, and its expected contents. */
export interface Bench {
  url: string
  db: Database
  strategy: Strategy
  sources: number[]
  /** The samples that must be stored, by source and series. */
  model: Map<string, Map<number, Sample>>
  /** By source and series: quarter hours (numbers since 1970) that are archived, and by which run. */
  archived: Map<string, Map<number, number>>
  /** By source and series: local days that changed after a part of them was archived, whose minutes nobody knows any more. */
  changed: Map<string, Set<number>>
  /** Nothing before it is kept (epoch ms); and where that began earlier. */
  floor: { ms: number; earlier: number[]; runs: number }
}

/** Connections with a separate name; other sessions may end them. */
export function connect(t: Test, url: string, name: string): Database {
  const db = openDatabase({ url, name, maxConnections: 6, statementTimeoutMs: 30_000, onError: () => {} })
  // A long test closes each of many databases as soon as it is done with it.
  t.teardown(() => db.pool.ending || db.end())
  return db
}

/** A database with two sources and this rollup strategy; months of series of both are sparse only without `rivals`. */
export async function open(t: Test, engine: Engine, strategy: Strategy, rivals = false): Promise<Bench> {
  const url = await createTestDatabase(t, engine)
  await applyStrategy(url, strategy, () => {})
  const db = connect(t, url, 'pulsebase test')
  if (!rivals) {
    await db.query(`create or replace function has_rival(the_source int4, the_series int2) returns boolean
                    language plpgsql as 'begin return false; end'`)
  }
  if (strategy === 'continuous') {
    // The test refreshes 60 days of all users at once (REACH), the service two (RECENT in continuous.ts).
    await db.query(`create or replace function months_over() returns timestamptz language sql stable
                    return month_of(now() - interval '61 days')`)
  }
  const sources = await db.rows<[number]>(
    `with someone as (insert into app_user default values returning id)
     insert into data_source (user_id, provider, source) select id, 'apple', name from someone, unnest(array['a', 'b']) name
     returning id`,
  )
  return {
    ...{ url, db, strategy, sources: sources.map(([id]) => id) },
    ...{ model: new Map(), archived: new Map(), changed: new Map() },
    ...{ floor: { ms: Number.NEGATIVE_INFINITY, earlier: [], runs: 0 } },
  }
}

const keyOf = (source: number, series: number) => `${source} ${series}`

/** Days that a refresh for all users reaches back, instead of the time that a refresh of one series covers. */
const REACH: Record<string, string> = { '1 day': '2 days', '3 days': '15 days', '120 days': '60 days' }

/** Applies a step to the database and to its model. */
export async function apply(bench: Bench, step: Step): Promise<void> {
  const { db, strategy, model, archived } = bench
  if (step.kind === 'compress') {
    await compressChunks(db, '0')
    return
  }
  if (step.kind === 'thin') {
    await thinRollups(db)
    return
  }
  if (step.kind === 'archive') {
    const settings = { archive_after_days: step.archiveDays, delete_after_days: step.deleteDays }
    await db.query('update archival set archive_after_days = $1, delete_after_days = $2', Object.values(settings))
    while (await archive(db, Date.now()));
    archiveModel(bench, settings)
    return
  }
  if (step.kind === 'refresh') {
    const one = async () => {
      if (strategy === 'continuous') return void (await refreshContinuous(db, 10_000, REACH[step.span]))
      await db.query(`call refresh_due_series($1, 100, 'infinity', null)`, [step.span])
    }
    await Promise.all(Array.from({ length: step.workers }, one))
    return
  }
  const key = keyOf(step.source, step.series)
  const held = model.get(key) ?? new Map<number, Sample>()
  model.set(key, held)
  const final = archived.get(key) ?? new Map<number, number>()
  archived.set(key, final)
  const before = localDays(held, step.series)
  if (step.kind === 'write') await write(bench, step, held, final)
  else await remove(bench, step, held, final)
  noteChanged(bench, key, before, localDays(held, step.series))
}

/** Notes the partly archived days that have more or fewer samples than before. */
function noteChanged({ archived, changed }: Bench, key: string, before: HeldDay[], after: HeldDay[]): void {
  const final = archived.get(key) as Map<number, number>
  const counts = new Map(after.map(({ day, n }) => [day, n]))
  const days = before.filter(({ day, n, quarters }) => counts.get(day) !== n && quarters.some((one) => final.has(one)))
  changed.set(key, new Set([...(changed.get(key) ?? []), ...days.map(({ day }) => day)]))
}

/** Deletes the samples within a span, other than archived ones. */
async function remove(
  { db, sources }: Bench,
  step: Extract<Step, { kind: 'delete' }>,
  held: Map<number, Sample>,
  final: Map<number, number>,
): Promise<void> {
  const source = sources[step.source] as number
  const endMs = step.startMs + step.lengthMs
  // Also archived samples, which stay, and an instant without a sample.
  const meant = [...new Set([step.startMs - 1, ...held.keys()])].filter((ms) => ms >= step.startMs - 1 && ms <= endMs)
  const points = await db.rows<[place: number]>('select place from delete_sample_points($1, $2, $3)', [
    meant.map(() => source),
    meant.map(() => step.series),
    meant.map((ms) => ms / 1000),
  ])
  const gone = points.map(([place]) => meant[place - 1] as number).sort((a, b) => a - b)
  const expected = meant.filter((ms) => held.has(ms) && !final.has(quarterOf(ms))).sort((a, b) => a - b)
  if (String(gone) !== String(expected)) throw new Error(`${gone} were deleted, not ${expected}`)
  for (const ms of gone) held.delete(ms)
}

const quarterOf = (ms: number) => Math.floor(ms / (15 * MINUTE_MS))

/** Like an import: refuses archived data and data older than anything kept, and nothing else. */
async function write(
  { db, sources, floor }: Bench,
  step: Extract<Step, { kind: 'write' }>,
  held: Map<number, Sample>,
  final: Map<number, number>,
): Promise<void> {
  const batch = [columns(step)]
  const ids = [sources[step.source] as number]
  const sifted = await db.transaction(async (tx) => {
    const sifted = await withoutArchived(tx, batch, ids)
    await writeSamples(tx, sifted.kept, ids)
    return sifted
  })
  const times = (some: readonly SampleColumns[]) => some.flatMap(({ timeMs }) => [...timeMs])
  const kindOf = (ms: number) => (ms < floor.ms ? 'expired' : final.has(quarterOf(ms)) ? 'archived' : 'kept')
  for (const kind of ['kept', 'archived', 'expired'] as const) {
    const expected = times(batch).filter((ms) => kindOf(ms) === kind)
    if (times(sifted[kind]).join() !== expected.join()) {
      throw new Error(`${kind}: ${times(sifted[kind])} instead of ${expected}`.slice(0, 3000))
    }
  }
  for (const one of step.samples) if (kindOf(one.ms) === 'kept') held.set(one.ms, one)
}

/** The state after an undisturbed archive run. */
function archiveModel({ model, archived, floor }: Bench, settings: ArchivalSettings): void {
  const { rawMs, rollupMs } = floors(settings, Date.now())
  floor.ms = rollupMs ?? Number.NEGATIVE_INFINITY
  floor.earlier.push(floor.ms)
  floor.runs += 1
  for (const [key, held] of model) {
    const final = archived.get(key) as Map<number, number>
    for (const ms of [...held.keys()]) {
      if (ms < floor.ms) held.delete(ms)
      else if (rawMs !== null && rawMs !== rollupMs && ms < rawMs && !final.has(quarterOf(ms)))
        final.set(quarterOf(ms), floor.runs)
    }
    for (const quarter of [...final.keys()]) if (quarter < quarterOf(floor.ms)) final.delete(quarter)
  }
}

interface Bucket {
  ms: number
  n: number
  total: number
  lowest: number
  highest: number
  last: number
  zone: number
}

/** The archived part of a bucket that the window cuts counts as a whole, and archived time has no narrow buckets. */
function visible(
  { startMs, endMs }: Pick<Read, 'startMs' | 'endMs'>,
  widthMs: number,
  final: ReadonlyMap<number, number>,
): (sample: Sample) => boolean {
  return ({ ms }) => {
    if (!final.has(quarterOf(ms))) return ms >= startMs && ms < endMs
    const bucket = Math.floor(ms / widthMs) * widthMs
    return widthMs >= 15 * MINUTE_MS && bucket + widthMs > startMs && bucket < endMs
  }
}

function recompute(samples: Iterable<Sample>, widthMs: number, startMs: number, endMs: number): Bucket[] {
  const buckets = new Map<number, Sample[]>()
  for (const one of samples) {
    if (one.ms < startMs || one.ms >= endMs) continue
    const ms = Math.floor(one.ms / widthMs) * widthMs
    buckets.set(ms, [...(buckets.get(ms) ?? []), one])
  }
  return [...buckets]
    .sort(([a], [b]) => a - b)
    .map(([ms, members]) => {
      const last = members.reduce((a, b) => (b.ms > a.ms ? b : a))
      const values = members.map(({ value }) => value)
      return {
        ms,
        n: members.length,
        total: values.reduce((a, b) => a + b, 0),
        lowest: Math.min(...values),
        highest: Math.max(...values),
        last: last.value,
        zone: last.zone,
      }
    })
}

/** Exact counts; sums to 1e-9 of the sum of magnitudes, since they are added in another order. */
function same(found: Partial<Bucket>[], expected: Bucket[], magnitude: number): boolean {
  if (found.length !== expected.length) return false
  return found.every((bucket, index) =>
    Object.entries(bucket).every(([field, value]) => {
      const wanted = (expected[index] as Bucket)[field as keyof Bucket]
      return field === 'total' ? Math.abs(value - wanted) <= 1e-9 * magnitude : value === wanted
    }),
  )
}

const WIDTHS: [interval: string, ms: number, table: string][] = [
  ['1 minute', MINUTE_MS, 'rollup_1min'],
  ['5 minutes', 5 * MINUTE_MS, 'rollup_5min'],
  ['15 minutes', 15 * MINUTE_MS, 'rollup_15min'],
  ['1 hour', 60 * MINUTE_MS, 'rollup_1hour'],
  ['1 day', DAY_MS, 'rollup_1day'],
]

export interface Read {
  startMs: number
  endMs: number
  width: string
  most: number
  backward: boolean
}

/** A requested window. */
export const read = fc.record({
  startMs: fc.integer({ min: -DAY_MS, max: DAYS * DAY_MS }).map((ms) => BASE + ms),
  endMs: fc.integer({ min: 0, max: (DAYS + 2) * DAY_MS }).map((ms) => BASE + ms),
  width: fc.constantFrom('1 minute', '5 minutes', '15 minutes', '1 hour'),
  most: fc.constantFrom(1, 7, 10_000),
  backward: fc.boolean(),
})

/** Reads a window of every series and compares it with the model. */
export async function checkReads({ db, sources, model, archived }: Bench, asked: Read): Promise<void> {
  if (asked.startMs >= asked.endMs) return
  for (const [key, held] of model) {
    const [source = 0, series = 0] = key.split(' ').map(Number)
    const bounds = [sources[source] as number, series, asked.startMs / 1000, asked.endMs / 1000]
    const widthMs = (Number.parseInt(asked.width, 10) * MINUTE_MS * (asked.width === '1 hour' ? 60 : 1)) as number
    const final = archived.get(key) as Map<number, number>
    const shown = [...held.values()].filter(visible(asked, widthMs, final))
    const all = recompute(shown, widthMs, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)
    const rows = await db.rows<[number, number, number, number, number]>(
      `select date_part('epoch', bucket) * 1000, n, total, highest, last_zone
       from bucket_page($1, $2::int2, to_timestamp($3), to_timestamp($4), $5::interval, $6, $7, null)`,
      [...bounds, asked.width, asked.most, asked.backward],
    )
    const found = rows.map(([ms, n, total, highest, zone]) => ({ ms, n, total, highest, zone }))
    const expected = asked.backward ? all.slice(-asked.most).reverse() : all.slice(0, asked.most)
    const counts = await db.one<{ samples: number; buckets: number }>(
      `select sample_count($1, $2::int2, to_timestamp($3), to_timestamp($4)) as samples,
              bucket_count($1, $2::int2, to_timestamp($3), to_timestamp($4), $5::interval, null) as buckets`,
      [...bounds, asked.width],
    )
    const samples = shown.filter(({ ms }) => !final.has(quarterOf(ms))).length
    const right = counts.samples === samples && counts.buckets === all.length
    if (!right || !same(found, expected, magnitude(held))) {
      const exact = { samples, buckets: all.length }
      throw new Error(`${key} ${JSON.stringify({ asked, counts, exact, found, expected })}`.slice(0, 3000))
    }
  }
}

const OF_SERIES_SQL = `
  select (select json_build_array(n, total) from span_sums(k.source_id, k.series_id, $3, $4)),
         (select json_build_array(n, total) from sums_in_spans(k.source_id, k.series_id, array[$3], array[$4])),
         (select json_build_array(round(date_part('epoch', ts) * 1000), value) from latest_sample(k.source_id, k.series_id, $4)),
         (select string_agg(encode(pairs, 'hex'), '') from daily_counts(array[k.source_id], array[k.series_id], $3, $4))
  from unnest($1::int4[], $2::int2[]) with ordinality k (source_id, series_id, place)
  order by k.place`

/** Twelve spans of a window, apart or overlapping, added up at once and each by itself: those that differ by more than $6. */
const SPANS_SQL = `
  with span as materialized (
    select n + 1 as place, $3::timestamptz + ($4::timestamptz - $3) * n / 12 as lo,
           $3::timestamptz + ($4::timestamptz - $3) * (n + case when $5 then 1.5 else 0.7 end) / 12 as hi
    from generate_series(0, 11) n
  )
  select k.series_id, t.place, s.n as one, s.total as one_total, v.n as several, v.total as several_total
  from unnest($1::int4[], $2::int2[]) k (source_id, series_id)
  cross join span t
  cross join lateral span_sums(k.source_id, k.series_id, t.lo, t.hi) s
  left join lateral (
    select v.*
    from (select array_agg(lo order by place) as los, array_agg(hi order by place) as his from span) a
    cross join lateral sums_in_spans(k.source_id, k.series_id, a.los, a.his) v
    where v.place = t.place
  ) v on true
  where s.n <> coalesce(v.n, 0) or abs(s.total - coalesce(v.total, 0)) > $6`

type OfSeries = [span: number[], spans: number[] | null, latest: number[] | null, days: string | null]

/** The result of `OF_SERIES_SQL` for a series, without sums. */
function ofSeries(held: Map<number, Sample>, final: ReadonlyMap<number, number>, asked: Read): unknown[] {
  const all = [...held.values()].sort((a, b) => a.ms - b.ms)
  const n = all.filter(visible(asked, 15 * MINUTE_MS, final)).length
  const toldMs = ({ ms }: Sample) => (final.has(quarterOf(ms)) ? quarterOf(ms) * 15 * MINUTE_MS : ms)
  const latest = all.findLast((one) => toldMs(one) < asked.endMs)
  const days = grouped(all.filter(visible(asked, DAY_MS, final)), ({ ms }) => Math.floor(ms / DAY_MS))
  return [n, n, latest ? [toldMs(latest), latest.value] : null, [...days].map(([day, some]) => [day, some.length])]
}

function foundOfSeries([span, spans, latest, days]: OfSeries): unknown[] {
  const bytes = Buffer.from(days ?? '', 'hex')
  const pairs = Array.from({ length: bytes.length / 8 }, (_, n) => [
    bytes.readInt32BE(n * 8),
    bytes.readInt32BE(n * 8 + 4),
  ])
  return [span[0], spans?.[0] ?? 0, latest, pairs.sort(([a = 0], [b = 0]) => a - b)]
}

/**
 * Everything that is read from samples themselves, and their counts, within a window: pages, days, sums, the latest sample of
 * each series before its end, and the total number.
 */
export async function checkSamples({ db, sources, model, archived }: Bench, asked: Read): Promise<void> {
  if (asked.startMs >= asked.endMs) return
  const found: unknown[] = []
  const expected: unknown[] = []
  const raw: number[][] = []
  const totals = { live: 0, archived: 0 }
  const keys = [...model.keys()].map((key) => key.split(' ').map(Number) as [source: number, series: number])
  const ids = [keys.map(([source]) => sources[source] as number), keys.map(([, series]) => series)] as const
  const bounds = [new Date(asked.startMs), new Date(asked.endMs)]
  const rows = await db.rows<OfSeries>(OF_SERIES_SQL, [...ids, ...bounds])
  const most = Math.max(...[...model.values()].map(magnitude))
  found.push(await db.query(SPANS_SQL, [...ids, ...bounds, asked.backward, 1e-9 * most]))
  expected.push([])
  for (const [place, [key, held]] of [...model].entries()) {
    const final = archived.get(key) as Map<number, number>
    found.push(foundOfSeries(rows[place] as OfSeries))
    expected.push(ofSeries(held, final, asked))
    const shown = [...held.values()].filter(visible(asked, 15 * MINUTE_MS, final))
    const sum = shown.reduce((total, { value }) => total + value, 0)
    const [span, spans] = rows[place] as OfSeries
    for (const total of [span[1], spans?.[1] ?? 0]) {
      found.push(Math.abs((total as number) - sum) <= 1e-9 * magnitude(held) ? sum : total)
      expected.push(sum)
    }
    const live = [...held.values()].filter(({ ms }) => !final.has(quarterOf(ms)))
    totals.live += live.length
    totals.archived += held.size - live.length
    for (const { ms, value, zone } of live.filter(({ ms }) => ms >= asked.startMs && ms < asked.endMs))
      raw.push([ms, value, ids[0][place] as number, ids[1][place] as number, zone])
  }
  const page = await db.rows<[number, number, number, number, number]>(
    'select round(at * 1000), value, source_id, series_id, zone_offset_min from sample_page($1, $2::int2[], $3, $4, $5, $6, $7, $8)',
    [
      ...[...ids, keys.map(() => asked.startMs / 1000), keys.map(() => asked.endMs / 1000)],
      ...[asked.startMs / 1000, asked.endMs / 1000, asked.most, asked.backward],
    ],
  )
  raw.sort(([a = 0, , b = 0, c = 0], [d = 0, , e = 0, f = 0]) => a - d || c - f || b - e)
  found.push(page, await db.one('select live, archived from stored_samples()'))
  expected.push(asked.backward ? raw.slice(-asked.most).reverse() : raw.slice(0, asked.most), totals)
  for (const [place, one] of found.entries()) {
    if (JSON.stringify(one) !== JSON.stringify(expected[place]))
      throw new Error(`${place} ${JSON.stringify({ asked, found: one, expected: expected[place] })}`.slice(0, 3000))
  }
}

function grouped<T>(items: Iterable<T>, keyOf: (item: T) => number): Map<number, T[]> {
  const groups = new Map<number, T[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}

interface LocalDay {
  day: number
  n: number
  total: number
  lowest: number
  highest: number
  /** Null if it need not be known. */
  minutes: number[] | null
}

/** Whether the minute reached the value of a place: 50 or more, more than 50, 51 or more, and so on; or any and 30 steps. */
function reaches(series: number, values: number[], place: number): boolean {
  const total = values.reduce((sum, value) => sum + value, 0)
  if (series === 80) return place === 1 || total >= 30
  const bound = 50 + Math.floor((place - 1) / 2)
  return place % 2 === 1 ? total / values.length >= bound : total / values.length > bound + 1e-9
}

function minutesOf(series: number, samples: Sample[]): number[] {
  const minutes = grouped(samples, ({ ms }) => Math.floor(ms / MINUTE_MS))
  const values = [...minutes.values()].map((group) => group.map(({ value }) => value))
  const counts = Array.from(
    { length: series === 80 ? 2 : 236 },
    (_, at) => values.filter((one) => reaches(series, one, at + 1)).length,
  )
  return counts.slice(0, counts.findLastIndex((count) => count > 0) + 1)
}

/** A local day with the numbers of its quarter hours. */
type HeldDay = LocalDay & { quarters: number[] }

/** Local days, each quarter hour on that of its latest sample. */
function localDays(held: Map<number, Sample>, series: number): HeldDay[] {
  const quarterMs = 15 * MINUTE_MS
  const sorted = [...held.values()].sort((a, b) => a.ms - b.ms)
  const quarters = [...grouped(sorted, ({ ms }) => Math.floor(ms / quarterMs) * quarterMs)]
  const dayOf = ([ms, samples]: [number, Sample[]]) =>
    Math.floor((ms + (samples.at(-1) as Sample).zone * MINUTE_MS) / DAY_MS)
  return [...grouped(quarters, dayOf)]
    .sort(([a], [b]) => a - b)
    .map(([day, quarters]) => {
      const samples = quarters.flatMap(([, some]) => some)
      const values = samples.map(({ value }) => value)
      return {
        day,
        n: samples.length,
        total: values.reduce((sum, value) => sum + value, 0),
        lowest: Math.min(...values),
        highest: Math.max(...values),
        minutes: series === 1 || series === 80 ? minutesOf(series, samples) : null,
        quarters: quarters.map(([ms]) => ms / quarterMs),
      }
    })
}

/** Local days of every series, with minutes: archived days have them unless they were archived, changed or removed in parts. */
export async function checkLocalDays({ db, sources, model, archived, changed, floor }: Bench): Promise<number> {
  let compared = 0
  for (const [key, held] of model) {
    const [source = 0, series = 0] = key.split(' ').map(Number)
    const rows = await db.rows<[number, number, number, number, number, number[] | null]>(
      'select * from local_days($1, $2::int2, $3, $4, true) order by day',
      [sources[source] as number, series, Math.floor(BASE / DAY_MS) - 3, Math.floor(BASE / DAY_MS) + DAYS + 3],
    )
    const found = rows.map(([day, n, total, lowest, highest, minutes]) => ({ day, n, total, lowest, highest, minutes }))
    const final = archived.get(key) as Map<number, number>
    const expected = localDays(held, series).map(({ quarters, ...day }, place) => {
      const runs = new Set(quarters.map((quarter) => final.get(quarter)))
      const starts = day.day * DAY_MS - 18 * 60 * MINUTE_MS
      const cut =
        runs.size > 1 ||
        changed.get(key)?.has(day.day) ||
        (final.has(quarters[0] as number) && floor.earlier.some((ms) => ms > starts && ms < starts + 2.5 * DAY_MS))
      return cut && found[place]?.minutes === null ? { ...day, minutes: null } : day
    })
    const right =
      found.length === expected.length &&
      found.every((one, place) => {
        const { total, ...rest } = expected[place] as LocalDay
        const { total: sum, ...others } = one
        return Math.abs(sum - total) <= 1e-9 * magnitude(held) && JSON.stringify(others) === JSON.stringify(rest)
      })
    if (!right) throw new Error(`${key} ${JSON.stringify({ floor, found, expected })}`.slice(0, 6000))
    compared += found.length
  }
  return compared
}

const magnitude = (held: Map<number, Sample>) => [...held.values()].reduce((sum, { value }) => sum + Math.abs(value), 1)

/** Every row of every rollup, if nothing is dirty. */
export async function checkStored({ db, sources, model }: Bench): Promise<number> {
  let rows = 0
  for (const [width, widthMs, table] of WIDTHS) {
    const { from } = await db.one<{ from: number }>(`select date_part('epoch', rollup_from($1)) * 1000 as from`, [
      width,
    ])
    if (from === Number.POSITIVE_INFINITY) continue
    for (const [key, held] of model) {
      const [source = 0, series = 0] = key.split(' ').map(Number)
      const stored = await db.rows<[number, number, number, number, number, number, number]>(
        `select date_part('epoch', bucket) * 1000, n, total, lowest, highest, last_value, last_zone
         from ${table} where source_id = $1 and series_id = $2 and bucket >= rollup_from($3) order by bucket`,
        [sources[source] as number, series, width],
      )
      const found = stored.map(([ms, n, total, lowest, highest, last, zone]) => ({
        ...{ ms, n, total, lowest, highest, last, zone },
      }))
      const isSparse = table === 'rollup_15min' ? await sparseTime(db, sources[source] as number, series) : () => false
      if (found.some(({ ms }) => isSparse(ms))) throw new Error(`${key} has quarter hours in sparse time`)
      const kept = [...held.values()].filter(({ ms }) => !isSparse(ms))
      const expected = recompute(kept, widthMs, from, Number.POSITIVE_INFINITY)
      if (!same(found, expected, magnitude(held))) {
        throw new Error(`${table} ${key} ${JSON.stringify({ found, expected })}`.slice(0, 3000))
      }
      rows += found.length
    }
  }
  return rows
}

/** Whether an instant is in time of which no quarter hours are kept. */
async function sparseTime(db: Database, source: number, series: number): Promise<(ms: number) => boolean> {
  const ranges = await db.rows<[number, number]>(
    `select date_part('epoch', lower(r)) * 1000, date_part('epoch', upper(r)) * 1000
     from sparse_time cross join lateral unnest(months) r where source_id = $1 and series_id = $2`,
    [source, series],
  )
  return (ms) => ranges.some(([from, until]) => ms >= from && ms < until)
}

/** Runs `test` for every rollup strategy of every engine. */
export function eachStrategy(
  t: Test,
  name: string,
  test: (t: Test, engine: Engine, strategy: Strategy) => Promise<void>,
): void {
  eachEngine(t, name, async (t, engine) => {
    await t.test('per series', (t) => test(t, engine, 'per_series'))
    if (engine.name === 'timescale') await t.test('continuous', (t) => test(t, engine, 'continuous'))
  })
}
