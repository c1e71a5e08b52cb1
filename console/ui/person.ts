import { signal } from '@preact/signals'
import type { Schemas } from '../api/client.ts'

/** How the data of a person who was created a moment ago will come in: their connections begin with that. */
export const inviting = signal<'phone' | 'curl' | undefined>(undefined)

/** What a person is called: the name, else the id of the other system or the email address, else the start of the id. */
export function nameOf(user: Schemas['User'] | Schemas['UserDetail']): string {
  const name = [user.first_name, user.last_name].filter(Boolean).join(' ')
  return name || user.external_user_id || user.email || user.id.slice(0, 8)
}

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const STEPS: readonly [unit: Intl.RelativeTimeFormatUnit, ms: number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]

/** How long ago an instant is, such as "3 hours ago". */
export function ago(instant: string, nowMs = Date.now()): string {
  const elapsed = nowMs - Date.parse(instant)
  const [unit, ms] = STEPS.find(([, step]) => Math.abs(elapsed) >= step) ?? ['minute', 60_000]
  return relative.format(-Math.round(elapsed / ms), unit)
}
