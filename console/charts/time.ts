/** Local days: a date is text such as 2026-11-20, and local times are epoch ms as if the person lived in UTC. */

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** Midnight of a local date, in local epoch ms. */
export const midnight = (date: string): number => Date.parse(`${date}T00:00:00Z`)

/** The date of a local time. */
export const dateOf = (localMs: number): string => new Date(localMs).toISOString().slice(0, 10)

/** The date some days later, or earlier. */
export const daysLater = (date: string, days: number): string => dateOf(midnight(date) + days * DAY_MS)

/** Nothing can be stored of days before, or after. */
const [FIRST, LAST] = ['1970-01-02', '2100-01-01']

/** Whether a text is a date that exists, and of which something may be stored. */
export const isDate = (text: string): boolean =>
  text >= FIRST && text <= LAST && /^\d{4}-\d\d-\d\d$/.test(text) && isDay(text)

const isDay = (text: string) => !Number.isNaN(midnight(text)) && dateOf(midnight(text)) === text

/** Local times within which something may be stored. */
export const EVER: readonly [number, number] = [midnight(FIRST), midnight(LAST)]

/** Today where the browser is. */
export function today(): string {
  const now = new Date()
  return dateOf(now.getTime() - now.getTimezoneOffset() * MINUTE_MS)
}

/** Before this hour a day has little to show. */
const NOON = 12

/** The newest of some dates; in the morning of that day the one before it, if that is among them. Undefined without any. */
export function newestFull(dates: readonly string[], now: Date): string | undefined {
  const newest = dates.toSorted().at(-1)
  const before = newest && daysLater(newest, -1)
  const isToday = newest !== undefined && newest >= dateOf(now.getTime() - now.getTimezoneOffset() * MINUTE_MS)
  return isToday && now.getHours() < NOON && dates.includes(before ?? '') ? before : newest
}

/** Minutes east of UTC of an offset such as +05:30; none counts as UTC. */
export function offsetMinutes(text: string | null): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)$/.exec(text ?? '') ?? []
  return sign ? (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) : 0
}

/** An offset as text, such as +05:30. */
export function offsetText(minutes: number): string {
  const size = Math.abs(minutes)
  const part = (value: number) => String(value).padStart(2, '0')
  return `${minutes < 0 ? '−' : '+'}${part(Math.floor(size / 60))}:${part(size % 60)}`
}

/** The local time of an instant with its offset. */
export const localMs = (instant: string, offset: string | null): number =>
  Date.parse(instant) + offsetMinutes(offset) * MINUTE_MS

/** The time of day of a local time, such as 07:05. */
export const clock = (local: number): string => new Date(local).toISOString().slice(11, 16)

/** A time span in words, such as 7 h 12 min. */
export function span(minutes: number): string {
  const whole = Math.round(minutes)
  const hours = Math.floor(whole / 60)
  return hours > 0 ? `${hours} h ${whole % 60} min` : `${whole} min`
}

const LONG = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone: 'UTC' })
const SHORT = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' })

/** A date in words. */
export const longDate = (date: string): string => LONG.format(midnight(date))

/** A date in few words, with its year if that is not the present one. */
export function shortDate(date: string): string {
  const year = date.slice(0, 4)
  const text = SHORT.format(midnight(date)).replace(',', '')
  return text + (year === today().slice(0, 4) ? '' : ` ${year}`)
}

const WEEKDAY = new Intl.DateTimeFormat('en-GB', { weekday: 'short', timeZone: 'UTC' })

/** The day of the week of a local time, such as Fri. */
export const weekday = (local: number): string => WEEKDAY.format(local)

const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** The month of a date, such as November 2026. */
export const monthName = (date: string): string => MONTH.format(midnight(date))

/**
 * The UTC range in which the local day lies, wherever the person is: from 10:00 of the day before to 14:00 of the day
 * after.
 */
export function rangeOfDay(date: string): { start: string; end: string } {
  const at = (ms: number) => new Date(ms).toISOString().replace('.000', '')
  return { start: at(midnight(date) - 14 * HOUR_MS), end: at(midnight(date) + 38 * HOUR_MS) }
}

/** A label of an axis. */
export interface Tick {
  at: number
  text: string
}

/** Labels of a day's axis, a step apart. */
export function hourTicks(from: number, until: number, stepMs: number): Tick[] {
  const first = Math.ceil(from / stepMs) * stepMs
  return Array.from({ length: Math.floor((until - first) / stepMs) + 1 }, (_, index) => {
    const at = first + index * stepMs
    return { at, text: at === until && clock(at) === '00:00' ? '24:00' : clock(at) }
  })
}
