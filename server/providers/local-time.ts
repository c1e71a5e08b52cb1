import { parseInstant } from '../time.ts'
import type { At } from './part.ts'
import { zoneOffsetOf } from './zone-offset.ts'

// Times of a clock whose zone is known by its name or offset, for providers that write none.

const MIN_MS = 60_000

/** The name of a zone as a provider writes it; null for what can be none. */
export const zoneName = (text: string | undefined): string | null =>
  text !== undefined && /^[\w+:/-]{1,60}$/.test(text) ? text : null

/** Minutes east of UTC in a zone, an IANA name or an offset, at an instant (epoch ms); null: not known. */
export const zoneMinAt = (zone: string | null, ms: number): number | null => zoneOffsetOf(zone, ms)

/**
 * The instant at which the clock of a zone shows a date and time without an offset, such as `2026-03-07T23:41:00.000`;
 * without a zone it is UTC, and its offset is not known. What the clock skips in spring is read as if it had not yet been
 * put forward; of what it shows twice in autumn the first is meant. Undefined: no such date and time.
 */
export function localInstant(text: string, zone: string | null): At | undefined {
  const shownMs = parseInstant(text)
  if (shownMs === undefined) return undefined
  // The larger offset is the earlier instant: that of before the clock was put back.
  const offsets = [shownMs - 14 * 60 * MIN_MS, shownMs + 12 * 60 * MIN_MS].map((ms) => zoneMinAt(zone, ms))
  const [before, after] = offsets
  if (before === null || before === undefined || after === null || after === undefined)
    return { ms: shownMs, zoneMin: null }
  const zoneMin = [before, after].find((minutes) => zoneMinAt(zone, shownMs - minutes * MIN_MS) === minutes) ?? before
  return { ms: shownMs - zoneMin * MIN_MS, zoneMin }
}

/** The date that the clock of a zone shows at an instant; without a zone, that of UTC. */
export const localDate = (ms: number, zone: string | null): string =>
  new Date(ms + (zoneMinAt(zone, ms) ?? 0) * MIN_MS).toISOString().slice(0, 10)
