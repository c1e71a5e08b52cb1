import { DAY_MS } from '../../time.ts'
import type { At, Item, Part } from '../part.ts'

/** Our name of the source, beside its device. */
export const APP = 'Garmin'

/** No clock is further from UTC: 18 hours. */
const MAX_ZONE_MIN = 1_080

/** Minutes east of UTC of a field that has seconds; null when there is none, or it cannot be. */
export function zoneIn(item: Item, ...fields: readonly string[]): number | null {
  const seconds = fields.map((field) => item.numeric(field)).find((one) => one !== undefined)
  const minutes = Math.trunc((seconds ?? Number.NaN) / 60)
  return Math.abs(minutes) <= MAX_ZONE_MIN ? minutes : null
}

/** The instant of a field of epoch seconds; undefined, and rejected, when it is missing or cannot be. */
export function instantOf(item: Item, { atMs }: Part, field: string): number | undefined {
  const seconds = item.numeric(field)
  const ms = Math.round((seconds ?? Number.NaN) * 1000)
  if (ms >= DAY_MS && ms <= atMs + DAY_MS) return ms
  item.reject(seconds === undefined ? 'missing' : 'implausible_value', field)
  return undefined
}

/** When a summary began. */
export function startOf(item: Item, part: Part): At | undefined {
  const ms = instantOf(item, part, 'startTimeInSeconds')
  return ms === undefined
    ? undefined
    : { ms, zoneMin: zoneIn(item, 'startTimeOffsetInSeconds', 'offsetStartTimeInSeconds') }
}

/** When something was measured. */
export function measuredAt(item: Item, part: Part): At | undefined {
  const ms = instantOf(item, part, 'measurementTimeInSeconds')
  return ms === undefined ? undefined : { ms, zoneMin: zoneIn(item, 'measurementTimeOffsetInSeconds') }
}

/** Values by the seconds since `start`; some offsets lie a little beyond the end. */
export function byOffset(item: Item, field: string, start: At): (readonly [at: At, value: number])[] {
  const found: (readonly [at: At, value: number])[] = []
  for (const [name, value] of item.figures(field)) {
    if (OFFSET.test(name))
      found.push([{ ms: start.ms + Math.round(Number(name) * 1000), zoneMin: start.zoneMin }, value])
    else item.reject('implausible_value', field, name)
  }
  return found
}

const OFFSET = /^\d{1,7}(?:\.\d{1,6})?$/

/** A number above zero: where nothing was measured Garmin writes zero, or less. */
export function positive(item: Item, ...path: readonly string[]): number | undefined {
  const value = item.numeric(...path)
  return value !== undefined && value > 0 ? value : undefined
}

/** A number that may be zero. */
export function counted(item: Item, ...path: readonly string[]): number | undefined {
  const value = item.numeric(...path)
  return value !== undefined && value >= 0 ? value : undefined
}

/** The date by the person's clock that a summary is of: as it says, else that of its start. */
export function dateOf(item: Item, { ms, zoneMin }: At): string {
  const said = /^\d{4}-\d\d-\d\d$/.exec(item.text('calendarDate') ?? '')?.[0]
  return said ?? new Date(ms + (zoneMin ?? 0) * 60_000).toISOString().slice(0, 10)
}
