import { MINUTE_MS, offsetAt } from '../zones.ts'

export type Row = Record<string, unknown>

/** Local time without a zone, by an offset in minutes: `2026-03-06T23:41:00.000`. */
export function wallText(ms: number, offset: number): string {
  return new Date(ms + offset * MINUTE_MS).toISOString().slice(0, 23)
}

/** The same in a zone. */
export function localText(zone: string, ms: number): string {
  return wallText(ms, offsetAt(zone, ms))
}
