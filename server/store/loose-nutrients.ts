import { type Removed, withoutRemoved } from '../batch/changes.ts'
import { NO_ZONE, type SampleColumns } from '../batch/columns.ts'
import type { Transaction } from '../db/database.ts'
import { planned } from '../db/planned.ts'
import type { EventTarget } from './event-items.ts'

// Until its meal arrives, a nutrient is also a sample (sdk-types 6). Several of one source, series and instant add up in
// that sample, so none is lost and the order does not matter. A sample that was uploaded as a sample takes precedence at
// its instant.

/** The key of a sample: key of the source, id of the series, epoch milliseconds. */
interface Instant {
  source_id: number
  series_id: number
  ts_ms: number
}

/** The sum of the loose nutrients of an instant. */
interface LooseSum extends Instant {
  value: number
  zone_offset_min: number | null
}

/** Samples to write; their sources are positions in `sourceIds`. */
export interface Loose {
  samples: SampleColumns[]
  sourceIds: number[]
}

/**
 * The sums of loose nutrients at the instants of these meals or ids, and at `instants`. Call this before any of them
 * changes.
 */
export async function looseSums(
  tx: Transaction,
  { userId, provider }: Pick<EventTarget, 'userId' | 'provider'>,
  where: { meals: readonly string[]; items: readonly string[]; instants: readonly Instant[] },
): Promise<LooseSum[]> {
  const { meals, items, instants } = where
  return planned<LooseSum>(tx, SUMS_SQL, [...arrays(instants), userId, provider, meals, items])
}

/**
 * Removes the samples of sums that have changed, and returns the samples to write: for the instants of `before` and `after`
 * the sum of their loose nutrients, unless another sample has the instant.
 */
export async function settleLoose(
  tx: Transaction,
  target: Pick<EventTarget, 'changes'>,
  before: readonly LooseSum[],
  after: readonly Instant[],
): Promise<Loose> {
  if (before.length > 0) {
    const values = before.map(({ value }) => value)
    const zones = before.map(({ zone_offset_min }) => zone_offset_min)
    const removed = await planned<Removed>(tx, TAKE_BACK_SQL, [...arrays(before), ...bounds(before), values, zones])
    target.changes?.splice(0, target.changes.length, ...withoutRemoved(target.changes, removed))
  }
  const instants = [...before, ...after]
  if (instants.length === 0) return { samples: [], sourceIds: [] }
  return columnsOf(await planned<LooseSum>(tx, LOOSE_SQL, [...arrays(instants), ...bounds(instants)]))
}

/** Samples from sums in order of source, series and time. */
function columnsOf(sums: readonly LooseSum[]): Loose {
  const sourceIds = [...new Set(sums.map(({ source_id }) => source_id))]
  const series = new Map<string, LooseSum[]>()
  for (const sum of sums) {
    const key = `${sum.source_id} ${sum.series_id}`
    const group = series.get(key)
    if (group) group.push(sum)
    else series.set(key, [sum])
  }
  const samples = [...series.values()].map((group) => ({
    source: sourceIds.indexOf(group[0]?.source_id as number),
    seriesId: group[0]?.series_id as number,
    timeMs: Float64Array.from(group, ({ ts_ms }) => ts_ms),
    value: Float64Array.from(group, ({ value }) => value),
    zoneMin: Int16Array.from(group, ({ zone_offset_min }) => zone_offset_min ?? NO_ZONE),
    lastsS: null,
    zoneTaken: null,
    // The sum identifies them.
    origins: null,
  }))
  return { samples, sourceIds }
}

/** Parameters 1 to 3 of a statement. */
const arrays = (instants: readonly Instant[]) => [
  instants.map(({ source_id }) => source_id),
  instants.map(({ series_id }) => series_id),
  instants.map(({ ts_ms }) => ts_ms),
]

/** Parameters 4 and 5: the first and the last instant, so the database can skip everything outside of them. */
function bounds(instants: readonly Instant[]): [firstMs: number, lastMs: number] {
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const { ts_ms } of instants) {
    first = Math.min(first, ts_ms)
    last = Math.max(last, ts_ms)
  }
  return [first, last]
}

// Of each instant, for the reason meals.ts gives. As numeric, as meals do; the zone is that of the first by name.
const SUM = `
  cross join lateral (
    select sum(n.value::numeric)::float8 as value,
           (array_agg(n.zone_offset_min order by n.meal, n.item))[1] as zone_offset_min
    from meal_nutrient n
    where n.source_id = i.source_id and n.series_id = i.series_id and n.ts = i.ts and n.loose
  ) n`

const INSTANTS = `
  select distinct i.source_id, i.series_id, to_timestamp(i.ts_ms / 1000) as ts
  from unnest($1::int4[], $2::int2[], $3::float8[]) as i (source_id, series_id, ts_ms)`

const SAMPLE = `
  select s.value, s.zone_offset_min
  from sample s
  where s.source_id = i.source_id and s.series_id = i.series_id and s.ts = i.ts
    and s.ts >= to_timestamp($4::float8 / 1000) and s.ts <= to_timestamp($5::float8 / 1000)
  limit 1`

const SUMS_SQL = `
  with asked as (
    select n.source_id, n.series_id, n.ts
    from meal_nutrient n
    where n.user_id = $4 and n.provider = $5 and n.loose and n.meal = any ($6)
    union
    select n.source_id, n.series_id, n.ts
    from meal_nutrient n
    where n.user_id = $4 and n.provider = $5 and n.loose and n.item = any ($7)
    union
    ${INSTANTS}
  )
  select i.source_id, i.series_id, round(date_part('epoch', i.ts) * 1000) as ts_ms, n.value, n.zone_offset_min
  from asked i
  ${SUM}
  where n.value is not null`

// Only samples with the written value: any other was uploaded as a sample.
const TAKE_BACK_SQL = `
  with instants as (
    select i.source_id, i.series_id, to_timestamp(i.ts_ms / 1000) as ts, i.value, i.zone_offset_min
    from unnest($1::int4[], $2::int2[], $3::float8[], $6::float8[], $7::int2[])
      as i (source_id, series_id, ts_ms, value, zone_offset_min)
  )
  select gone.source_ids[d.place] as "sourceId", gone.series_ids[d.place] as "seriesId",
         round(gone.ats[d.place] * 1000) as "timeMs"
  from (
    select array_agg(i.source_id) as source_ids, array_agg(i.series_id) as series_ids,
           array_agg(date_part('epoch', i.ts)) as ats
    from instants i
    cross join lateral (${SAMPLE}) s
    ${SUM}
    where s.value = i.value and s.zone_offset_min is not distinct from i.zone_offset_min
      and (n.value, n.zone_offset_min) is distinct from (i.value, i.zone_offset_min)
  ) gone
  cross join lateral delete_sample_points(gone.source_ids, gone.series_ids, gone.ats) d`

const LOOSE_SQL = `
  with instants as (${INSTANTS})
  select i.source_id, i.series_id, round(date_part('epoch', i.ts) * 1000) as ts_ms, n.value, n.zone_offset_min
  from instants i
  ${SUM}
  left join lateral (${SAMPLE}) s on true
  where n.value is not null and s.value is null
  order by i.source_id, i.series_id, i.ts`
