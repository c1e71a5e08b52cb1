/** Largest civil offset from UTC, in minutes (18 hours, as java.time has it). */
const MAX_OFFSET_MIN = 18 * 60

const UTC = /^(?:Z|UTC?|GMT|Etc\/(?:UTC|GMT))$/i

/**
 * `+02:00`, and unambiguous variants: `+0200`, `+02`, `UTC+2`, `GMT+02:00`, also with seconds and a true minus sign.
 */
const OFFSET = /^(?:UTC?|GMT)?([+\-\u2212])(\d\d?)(?::([0-5]\d)(?::00)?|(?<=\d\d)([0-5]\d))?$/i

/** A name of the IANA time zone database, such as Europe/Berlin. */
const PLACE = /^[A-Za-z_]+(?:\/[A-Za-z0-9_+-]+){1,2}$/
const MAX_LENGTH = 50

/**
 * Minutes east of UTC of a sender's zone offset, or of the zone of a place at an instant (epoch ms); null for
 * everything else. A bare number is ambiguous: hours, minutes or seconds.
 */
export function zoneOffsetOf(value: unknown, ms: number): number | null {
  if (typeof value !== 'string' || value.length > MAX_LENGTH) return null
  const text = value.trim()
  if (UTC.test(text)) return 0
  const match = OFFSET.exec(text)
  if (!match) return PLACE.test(text) ? offsetOfPlace(text, ms) : null
  const minutes = Number(match[2]) * 60 + Number(match[3] ?? match[4] ?? 0)
  if (minutes > MAX_OFFSET_MIN) return null
  return match[1] === '+' ? minutes : 0 - minutes
}

/** Looking up the offset of a zone takes microseconds, and records come in runs of one zone and time. */
const QUARTER_MS = 900_000
let lastPlace = ''
let lastQuarter = Number.NaN
let lastOffset: number | null = null

function offsetOfPlace(place: string, ms: number): number | null {
  const quarter = Math.floor(ms / QUARTER_MS)
  if (place !== lastPlace || quarter !== lastQuarter) {
    lastPlace = place
    lastQuarter = quarter
    const offset = clockOf(place)
      ?.formatToParts(quarter * QUARTER_MS)
      .find(({ type }) => type === 'timeZoneName')?.value
    lastOffset = offset === undefined ? null : zoneOffsetOf(offset, ms)
  }
  return lastOffset
}

/** Known zones, case-insensitive, and names that turned out not to be zones. */
const CLOCKS_KEPT = 1_000
const clocks = new Map<string, Intl.DateTimeFormat | null>()

/** Formats the offset of a zone as `GMT+02:00`; null for an unknown zone. */
function clockOf(place: string): Intl.DateTimeFormat | null {
  let clock = clocks.get(place)
  if (clock === undefined) {
    try {
      clock = new Intl.DateTimeFormat('en', { timeZone: place, timeZoneName: 'longOffset' })
    } catch {
      clock = null
    }
    if (clocks.size >= CLOCKS_KEPT) clocks.clear()
    clocks.set(place, clock)
  }
  return clock
}
