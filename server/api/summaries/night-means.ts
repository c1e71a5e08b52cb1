import { providers } from '../../catalogue/providers.ts'
import { seriesByName } from '../../catalogue/series.ts'
import type { Database } from '../../db/database.ts'
import { bySourceRank, type Source } from '../../sources/source.ts'
import type { Stored } from '../../sources/user-view.ts'

// What was measured during nights (contract 12.4): of each series what one source measured, the source of the night, else the best
// of its provider, else the best of all (decision D-27). What was entered by hand counts only where none of them measured anything.
// At the end of a night its own source says what it measured in all of it: for that source alone the end is included, unless further
// sleep begins there. What a cloud provider reports of a date, such as Oura's oxygen saturation, belongs to the night of that date,
// wherever its person was: it is alone in the first quarter hour of the date in UTC, without an offset. No provider reports a date's
// heart rate.

/** The samples of a series during a night. */
export interface Measured {
  stored: Stored
  n: number
  total: number
}

/** A night by its local day: whose it is, and its spans in epoch seconds. */
interface Sleep {
  day: number
  source: Source
  counting: readonly { start: number; end: number }[]
}

const HEART_RATE = seriesByName.get('heart_rate')?.id as number
const DAY_S = 86_400
const QUARTER_S = 900

/** Who may report dates: phones say when they measured. */
const CLOUDS = new Set<string>(providers.filter(({ hasCloudApi }) => hasCloudApi).map(({ provider }) => provider))

/**
 * What series add up to in each span, and what they have in quarter hours, with their start. $5 is the source for which the end of a
 * span is included, or 0.
 */
const MEASURED_SQL = `
  select k.place::int4, v.place::int4, null::float8, v.n, v.total
  from (
    select o.id, array_agg(to_timestamp(t.lo) order by t.place) as los,
           array_agg(to_timestamp(t.hi) + (t.owner = o.id)::int4 * interval '1 microsecond' order by t.place) as his
    from (select distinct unnest($1::int4[]) as id) o
    cross join unnest($3::float8[], $4::float8[], $5::int4[]) with ordinality t (lo, hi, owner, place)
    group by o.id
  ) a
  join unnest($1::int4[], $2::int2[]) with ordinality k (source_id, series_id, place) on k.source_id = a.id
  cross join lateral sums_in_spans(k.source_id, k.series_id, a.los, a.his) v
  where v.n > 0
  union all
  select k.place::int4, null, date_part('epoch', q.bucket), q.n, q.total
  from unnest($6::int4[], $7::int2[]) with ordinality k (source_id, series_id, place)
  cross join (select range_agg(tstzrange(to_timestamp(m), to_timestamp(m + ${QUARTER_S}))) as ranges from unnest($8::float8[]) m) m
  cross join lateral quarter_hours_within(k.source_id, k.series_id, m.ranges) q
  where q.n = 1 and q.last_zone is null`

/** A night while its sums are made. */
interface Asleep {
  day: number
  spans: { start: number; end: number; owner: number }[]
  sums: Map<Stored, Measured>
}

/** For each night what counts of each type, in one statement; none without a series or a night. */
export async function measuredAsleep(
  db: Database,
  stored: readonly Stored[],
  nights: readonly Sleep[],
): Promise<Measured[][]> {
  if (stored.length === 0 || nights.length === 0) return []
  const asleep = nights.map((night): Asleep => ({ day: night.day, spans: spansOf(night), sums: new Map() }))
  const spans = asleep.flatMap((night) => night.spans.map((span) => ({ ...span, night })))
  const dated = stored.filter(({ source, series }) => CLOUDS.has(source.provider) && series.id !== HEART_RATE)
  const near = dated.length > 0 ? nightsByDate(asleep) : new Map<number, Set<Asleep>>()
  const [series, places, quarters, counts, totals] = await db.columns<
    [number[], (number | null)[], (number | null)[], number[], number[]]
  >(MEASURED_SQL, [
    stored.map(({ source }) => source.id),
    stored.map(({ seriesId }) => seriesId),
    spans.map(({ start }) => start),
    spans.map(({ end }) => end),
    spans.map(({ owner }) => owner),
    dated.map(({ source }) => source.id),
    dated.map(({ seriesId }) => seriesId),
    [...near.keys()].map((date) => date * DAY_S),
  ])
  for (const [at, place] of places.entries()) {
    const [nth, n, total] = [(series[at] as number) - 1, counts[at] as number, totals[at] as number]
    const span = spans[(place ?? 0) - 1]
    if (span) add(span.night, { stored: stored[nth] as Stored, n, total })
    else addDated(near, quarters[at] as number, { stored: dated[nth] as Stored, n, total })
  }
  return asleep.map(({ sums }, place) => bestOfTypes((nights[place] as Sleep).source, [...sums.values()]))
}

/** By date in UTC the nights that belong to it or reach into it. */
function nightsByDate(nights: readonly Asleep[]): Map<number, Set<Asleep>> {
  const near = new Map<number, Set<Asleep>>()
  const note = (date: number, night: Asleep) => near.set(date, (near.get(date) ?? new Set<Asleep>()).add(night))
  for (const night of nights) {
    note(night.day, night)
    for (const { start, end } of night.spans)
      for (let date = Math.floor(start / DAY_S); date <= Math.floor(end / DAY_S); date += 1) note(date, night)
  }
  return near
}

function add({ sums }: Asleep, { stored, n, total }: Measured): void {
  const sum = sums.get(stored)
  if (sum) {
    sum.n += n
    sum.total += total
  } else sums.set(stored, { stored, n, total })
}

/** What is of this date and not in the night is added, and what is in the night and of another date is taken away. */
function addDated(near: Map<number, Set<Asleep>>, quarter: number, { stored, n, total }: Measured): void {
  const date = quarter / DAY_S
  for (const night of near.get(date) ?? []) {
    const included = night.spans.some((span) => holds(span, stored.source, quarter))
    if (included !== (night.day === date))
      add(night, { stored, n: included ? -n : n, total: included ? -total : total })
  }
}

/** The spans of a night, each with the source for which its end is included, or 0. */
function spansOf({ source, counting }: Sleep): Asleep['spans'] {
  // A phone decides how many there are: to compare each with all of 20,000 held up everybody for two seconds.
  const starts = new Set(counting.map(({ start }) => start))
  return counting.map(({ start, end }) => ({ start, end, owner: starts.has(end) ? 0 : source.id }))
}

const holds = ({ start, end, owner }: Asleep['spans'][number], { id }: Source, at: number) =>
  start <= at && (at < end || (at === end && owner === id))

/** Of each type what one source measured. */
function bestOfTypes(source: Source, sums: readonly Measured[]): Measured[] {
  const best = new Map<number, Measured>()
  for (const sum of sums) {
    const { id } = sum.stored.series
    const rival = best.get(id)
    if (sum.n > 0 && (!rival || order(source, sum, rival) < 0)) best.set(id, sum)
  }
  return [...best.values()]
}

const order = (own: Source, a: Measured, b: Measured) =>
  Number(a.stored.isManual) - Number(b.stored.isManual) ||
  Number(a.stored.source.id !== own.id) - Number(b.stored.source.id !== own.id) ||
  Number(a.stored.source.provider !== own.provider) - Number(b.stored.source.provider !== own.provider) ||
  a.stored.source.rank - b.stored.source.rank ||
  b.n - a.n ||
  bySourceRank(a.stored.source, b.stored.source)
