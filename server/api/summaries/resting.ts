import type { Database } from '../../db/database.ts'
import type { Source } from '../../sources/source.ts'
import type { Stored } from '../../sources/user-view.ts'
import type { Night, Session } from './nights.ts'

// A resting heart rate that lies in a night belongs to the date of that night, like everything else measured in it: some
// providers store it at bedtime, which is often on the day before.

/** What a series of a source adds up to on a day. */
export interface Part {
  stored: Stored
  n: number
  total: number
}

/** What the recovery summary knows of a local day; of its scores the latest comes first. */
export interface Day {
  day: number
  parts: Part[]
  scores: { value: number; source: Source }[]
}

/** How many days a night may end before or after the local day of what was measured in it. */
export const REACH = 2

const QUARTER_S = 900

/** A quarter hour with resting heart rates, their local day, and the date of the night that it reaches into. */
interface Asleep extends Part {
  day: number
  date: number
}

const QUARTERS_SQL = `
  select k.place::int4, q.*
  from unnest($1::int4[], $2::int2[]) with ordinality k (source_id, series_id, place)
  cross join (
    select range_agg(tstzrange(to_timestamp(lo), to_timestamp(hi))) as ranges from unnest($3::float8[], $4::float8[]) w (lo, hi)
  ) w
  cross join lateral (
    select date_part('epoch', h.bucket), local_day(h.bucket, h.last_zone), h.n, h.total
    from quarter_hours_within(k.source_id, k.series_id, w.ranges) h
  ) q`

/**
 * The quarter hours with resting heart rates that reach into nights; whole ones, so that archiving changes nothing. One that
 * reaches into two nights belongs to the earlier one. Reads nothing without a night or a series.
 */
export async function restingAsleep(
  db: Database,
  resting: readonly Stored[],
  nights: readonly Night[],
): Promise<Asleep[]> {
  const spans = nights
    .flatMap(({ day, counting }) => counting.map((span) => ({ startMs: span.startMs, ...quartersOf(span), day })))
    .sort((a, b) => a.startMs - b.startMs || a.day - b.day)
  if (spans.length === 0 || resting.length === 0) return []
  const rows = await db.rows<[place: number, quarter: number, day: number, n: number, total: number]>(QUARTERS_SQL, [
    resting.map(({ source }) => source.id),
    resting.map(({ seriesId }) => seriesId),
    spans.map(({ lo }) => lo),
    spans.map(({ hi }) => hi),
  ])
  return rows.flatMap(([place, quarter, day, n, total]) => {
    const date = spans.find(({ lo, hi }) => lo <= quarter && quarter < hi)?.day
    return date === undefined ? [] : [{ stored: resting[place - 1] as Stored, day, date, n, total }]
  })
}

/** The quarter hours that a span reaches into, epoch seconds. */
const quartersOf = ({ startMs, endMs }: Session) => ({
  lo: Math.floor(startMs / 1000 / QUARTER_S) * QUARTER_S,
  hi: Math.ceil(endMs / 1000 / QUARTER_S) * QUARTER_S,
})

/** Days with the resting heart rates of nights on the dates of these nights; those without any part left included. */
export function moveResting(days: readonly Day[], asleep: readonly Asleep[]): Day[] {
  const moved = new Map(days.map((day) => [day.day, { ...day, parts: [...day.parts] }]))
  const add = (day: number, { stored, n, total }: Part) => {
    const { parts } = moved.get(day) as Day
    const place = parts.findIndex((part) => part.stored === stored)
    const before = parts[place]
    // Samples may have been written since the days were read.
    if (!before) parts.push(...(n > 0 ? [{ stored, n, total }] : []))
    else if (before.n + n <= 0) parts.splice(place, 1)
    else parts[place] = { stored, n: before.n + n, total: before.total + total }
  }
  for (const { day, date, ...part } of asleep) {
    // What was measured on a day that was not read belongs to no date of the page.
    if (day === date || !moved.has(day)) continue
    if (!moved.has(date)) moved.set(date, { day: date, parts: [], scores: [] })
    add(day, { ...part, n: -part.n, total: -part.total })
    add(date, part)
  }
  return [...moved.values()]
}
