import type { Span, WholeCycle } from '../server/batch/columns.ts'
import { DAILY_TOTAL_OFFSET, type SeriesName, type SeriesType, seriesByName } from '../server/catalogue/series.ts'
import type { At, CyclePart, Listed } from '../server/providers/part.ts'
import { DAY_MS } from '../server/time.ts'

// What mappings give to `Out`, in the form of columns.

/** Id of a series. */
export const idOf = (series: SeriesName) => (seriesByName.get(series) as SeriesType).id

function idOfListed(what: Listed): Span['what'] {
  if (typeof what === 'string' || 'score' in what) return what
  return 'series' in what ? idOf(what.series) : idOf(what.total) + DAILY_TOTAL_OFFSET
}

/** What a span lists, and of which devices if it is not the source's own. */
export function listedOf(what: Listed): Pick<Span, 'what' | 'devices'> {
  const devices = typeof what === 'object' && 'devices' in what ? what.devices : undefined
  return { what: idOfListed(what), ...(devices && { devices }) }
}

/** Farthest from UTC that a clock is. */
const MAX_ZONE_MS = 18 * 3_600_000

/** Where samples of a date, at 00:00 UTC, may be that were placed by another zone than this one, in minutes east of UTC. */
export const placedSpan = (date: At, zoneMin: number) => ({
  ...{ loMs: date.ms - MAX_ZONE_MS, hiMs: date.ms + DAY_MS + MAX_ZONE_MS },
  placed: { day: date.ms / DAY_MS, zoneMin },
})

/** A whole number, or null. */
export const floor = (value: number | null) => (value === null ? null : Math.floor(value))

/** The time of a sample; most have an instant, which is both start and end. */
export const spanOf = ({ ms, zoneMin, endMs = ms }: At) => ({
  startMs: Math.round(ms),
  endMs: Math.round(endMs),
  zoneMin,
})

/** Fields of a cycle that count days, or phases, of which there are fewer. */
export type CycleDays = {
  [Field in keyof WholeCycle]: WholeCycle[Field] extends number | null ? Field : never
}[keyof WholeCycle] &
  keyof CyclePart
