import type { Span, WholeCycle } from '../server/batch/columns.ts'
import { DAILY_TOTAL_OFFSET, type SeriesName, type SeriesType, seriesByName } from '../server/catalogue/series.ts'
import type { At, CyclePart, Listed } from '../server/providers/part.ts'

// What mappings give to `Out`, in the form of columns.

/** Id of a series. */
export const idOf = (series: SeriesName) => (seriesByName.get(series) as SeriesType).id

/** What a span lists. */
export function idOfListed(what: Listed): Span['what'] {
  if (typeof what === 'string' || 'score' in what) return what
  return 'series' in what ? idOf(what.series) : idOf(what.total) + DAILY_TOTAL_OFFSET
}

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
