import { withoutNoise } from '../../batch/units.ts'
import { parseInstant, parseZoneOffset } from '../../time.ts'
import { textAt, valueAt } from '../answers.ts'
import { listedBetween } from '../listed.ts'
import type { Item, Out, Part } from '../part.ts'
import { durationSeconds } from './duration.ts'
import { type Dated, dateOf, itemsOf, minutesIn } from './items.ts'
import { nightsIn, timeOfDayMs, zoneOn } from './nights.ts'

/** The totals of days, which are those of the person's clock whatever it showed. */
export function activities(out: Out, part: Part): void {
  const times: number[] = []
  for (const day of itemsOf(out, part)) {
    const known = dateOfActivity(day)
    if (!known) continue
    times.push(known.at.ms)
    const record = `polar:activity:${known.date}`
    const [total, active] = [day.number('calories'), day.number('active_calories')]
    const seconds = durationSeconds(day.text('active_duration'))
    const rest = total === undefined || active === undefined || total < active ? undefined : total - active
    out.total('steps', known.at, day.number('steps'), record)
    out.total('energy', known.at, active, record)
    out.total('basal_energy', known.at, rest, record)
    out.total('distance_walking_running', known.at, day.number('distance_from_steps'), record)
    out.total('active_time', known.at, seconds === undefined ? undefined : withoutNoise(seconds / 60), record)
  }
  const totals = ['steps', 'energy', 'basal_energy', 'distance_walking_running', 'active_time'] as const
  if (Array.isArray(part.body)) listedBetween(out, part, times, ...totals.map((total) => ({ total })))
}

/** The first minute of a day varies, its date does not. */
function dateOfActivity(day: Item): Dated | undefined {
  if (day.text('samples', 'date') !== undefined) return dateOf(day, 'samples', 'date')
  const date = day.text('start_time')?.slice(0, 10) ?? ''
  const ms = parseInstant(`${date}T00:00:00Z`)
  if (ms !== undefined && day.instant('start_time')) return { at: { ms, zoneMin: null, isDate: true }, date }
  day.reject('missing', 'start_time')
  return undefined
}

/** Heart rates by the person's clock; the nights say in which zone that was. */
export function continuousHeartRate(out: Out, part: Part): void {
  const nights = nightsIn(part.args)
  const otherwise = parseZoneOffset(part.zone ?? '') ?? null
  for (const day of itemsOf(out, part, 'heart_rates')) {
    const known = dateOf(day, 'date')
    if (!known) continue
    const zoneMin = zoneOn(known.date, nights, otherwise)
    // Before the night was known, an earlier answer was placed by another one.
    if (zoneMin !== null) out.placed('heart_rate', known.at, zoneMin)
    for (const sample of day.objects('heart_rate_samples')) {
      const time = sample.text('sample_time')
      const ms = timeOfDayMs(time ?? '')
      if (time !== undefined && ms === undefined) sample.reject('implausible_value', 'sample_time')
      if (ms === undefined) continue
      const shown = known.at.ms + ms
      const at = zoneMin === null ? { ...known.at, ms: shown } : { ms: shown - zoneMin * 60_000, zoneMin }
      out.sample('heart_rate', at, sample.number('heart_rate') || undefined)
    }
  }
}

/** Longer than a qualifier may be. */
const shorter: ReadonlyMap<string, string> = new Map([
  ['productive_dropped_from_overreaching', 'productive_from_overreaching'],
])

/** How much training burdens the heart. */
export function cardioLoad(out: Out, part: Part): void {
  for (const day of itemsOf(out, part)) {
    const known = dateOf(day, 'date')
    const value = day.number('cardio_load')
    const status = (day.text('cardio_load_status') ?? '').toLowerCase()
    if (!known || value === undefined || value < 0 || status === 'load_status_not_available') continue
    const level = (name: string) => day.number('cardio_load_level', name)
    out.score({
      category: 'strain',
      externalId: `polar:cardio_load:${known.date}`,
      at: known.at,
      value,
      qualifier: status === '' ? undefined : (shorter.get(status) ?? status),
      components: {
        strain: day.number('strain'),
        tolerance: day.number('tolerance'),
        cardio_load_ratio: day.number('cardio_load_ratio'),
        level_very_low: level('very_low'),
        level_low: level('low'),
        level_medium: level('medium'),
        level_high: level('high'),
        level_very_high: level('very_high'),
      },
    })
  }
}

/** The word at the end of `SLEEP_INERTIA_MILD`, in lower case. */
const ending = (text: string | undefined, prefix: string) =>
  text?.startsWith(prefix) ? text.slice(prefix.length).toLowerCase() : undefined

/** How alert a person is after a night. A forecast gives way to what was computed afterwards. */
export function alertness(out: Out, part: Part): void {
  const nightOf = (one: unknown) => textAt(one, 'sleep_period_start_time') ?? textAt(one, 'period_start_time')
  const isPast = (one: unknown) => valueAt(one, 'result_type') === 'ALERTNESS_TYPE_HISTORY'
  const past = new Set((Array.isArray(part.body) ? part.body : []).filter(isPast).map(nightOf))
  const times: number[] = []
  for (const one of itemsOf(out, part)) {
    const start = one.instant('period_start_time')
    const night = one.text('sleep_period_start_time') ?? one.text('period_start_time')
    if (!start) one.reject('missing', 'period_start_time')
    if (!start || one.text('grade_type') !== 'GRADE_TYPE_PRIMARY') continue
    if (one.text('result_type') !== 'ALERTNESS_TYPE_HISTORY' && past.has(night)) continue
    const word = ending(one.text('grade_classification'), 'GRADE_CLASSIFICATION_')
    times.push(start.ms)
    out.score({
      category: 'readiness',
      externalId: `polar:alertness:${(night ?? '').slice(0, 19)}`,
      at: { ms: start.ms, zoneMin: minutesIn(one, 'sleep_timezone_offset_minutes') },
      value: one.number('grade'),
      qualifier: ['weak', 'fair', 'strong', 'excellent'].find((known) => known === word),
      components: {
        grade_validity_seconds: one.number('grade_validity_seconds'),
        sleep_inertia: ending(one.text('sleep_inertia'), 'SLEEP_INERTIA_'),
        sleep_type: ending(one.text('sleep_type'), 'SLEEP_TYPE_'),
      },
    })
  }
  // That of a night that was deleted, or begins elsewhere now.
  if (Array.isArray(part.body)) listedBetween(out, part, times, { score: 'readiness' })
}
