import { type Current, NO_ZONE, type SampleColumns } from '../batch/columns.ts'
import { groupBy } from '../batch/group-by.ts'
import { IMPLAUSIBLE_OFFSET, typeIdOf } from '../catalogue/series.ts'
import type { Transaction } from '../db/database.ts'

// Values of a profile, such as its weight: they hold when the provider is asked, and are a sample only when they change.

/** Values that differ by less are the same, in the unit of their series. */
const SAME = 0.01

/** For rounding: 70.01 and 70 differ by 0.01. */
const EPSILON = 1e-9

/**
 * The current values of a batch that differ from the latest of their source and series before them, as samples. Call it
 * before samples are written.
 */
export async function changedCurrents(
  tx: Transaction,
  currents: readonly Current[],
  sourceIds: readonly number[],
): Promise<SampleColumns[]> {
  if (currents.length === 0) return []
  const series = [...groupBy(currents, ({ source, seriesId }) => `${source} ${typeIdOf(seriesId)}`).values()]
  const firsts = series.map((list) => list.reduce((first, one) => (one.timeMs < first.timeMs ? one : first)))
  const before = await latestBefore(tx, firsts, sourceIds)
  return series.flatMap((list, place) => {
    let latest = before[place] ?? null
    const changed: Current[] = []
    for (const one of list.toSorted((a, b) => a.timeMs - b.timeMs)) {
      if (latest !== null && Math.abs(one.value - latest) <= SAME + EPSILON) continue
      latest = one.value
      if (changed.at(-1)?.timeMs === one.timeMs) changed.pop()
      changed.push(one)
    }
    return [...groupBy(changed, ({ seriesId }) => seriesId).values()].map(columnsOf)
  })
}

const LATEST_SQL = `
  select k.place, l.value
  from unnest($1::int4[], $2::int2[], $3::float8[]) with ordinality k (source_id, series_id, before, place)
  cross join lateral (
    select s.value
    from unnest(array[k.series_id, (k.series_id + ${IMPLAUSIBLE_OFFSET})::int2]) one (series_id)
    join source_series y on y.source_id = k.source_id and y.series_id = one.series_id
    cross join lateral latest_sample(k.source_id, one.series_id, to_timestamp(k.before)) s
    order by s.ts desc
    limit 1
  ) l`

/** The latest value, plausible or not, up to the instant of each of these, in their order. */
async function latestBefore(
  tx: Transaction,
  currents: readonly Current[],
  sourceIds: readonly number[],
): Promise<(number | undefined)[]> {
  const rows = await tx.rows<[place: number, value: number]>(LATEST_SQL, [
    currents.map(({ source }) => sourceIds[source] as number),
    currents.map(({ seriesId }) => typeIdOf(seriesId)),
    // The sample of this very instant is included: it is what an earlier import made of the same answer.
    currents.map(({ timeMs }) => (timeMs + 1) / 1000),
  ])
  const values = new Map(rows)
  return currents.map((_, place) => values.get(place + 1))
}

function columnsOf(list: readonly Current[]): SampleColumns {
  const { source, seriesId } = list[0] as Current
  return {
    ...{ source, seriesId, lastsS: null, origins: null },
    timeMs: Float64Array.from(list, ({ timeMs }) => timeMs),
    value: Float64Array.from(list, ({ value }) => value),
    zoneMin: Int16Array.from(list, ({ zoneMin }) => zoneMin ?? NO_ZONE),
    zoneTaken: Uint8Array.from(list, ({ zoneMin }) => (zoneMin === null ? 0 : 1)),
  }
}
