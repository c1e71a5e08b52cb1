import { zoneText } from '../../time.ts'
import { textAt, valueAt } from '../answers.ts'
import { zoneName } from '../local-time.ts'

/** No clock is further from UTC: 18 hours. */
const MAX_ZONE_MS = 18 * 3_600_000

/** The zone of a profile: its name, else its offset; null: it says neither. */
export function zoneIn(profile: unknown): string | null {
  const name = zoneName(textAt(profile, 'user', 'timezone'))
  if (name !== null) return name
  const ms = valueAt(profile, 'user', 'offsetFromUTCMillis')
  return typeof ms === 'number' && Math.abs(ms) <= MAX_ZONE_MS ? zoneText(Math.trunc(ms / 60_000)) : null
}
