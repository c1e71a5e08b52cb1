// The activity summary as straight-line code over samples: contract 12.1 to 12.3. Shares nothing with the service.
import { dateText, localDay, MINUTE_MS } from './summaries.ts'

const QUARTER_MS = 15 * MINUTE_MS

/** What samples come from. */
export interface Device {
  provider: string
  /** Model; '' = none. */
  device: string
  source: string
  type: string
  /** What people call it. */
  name: string | null
}

/** SourceMetadata of contract 4. */
export const metadataOf = ({ provider, source, device, type, name }: Device) => ({
  ...{ provider, source, device: device || null, device_type: type, device_name: name },
})

/** A sample; `place` is that of its device, from the best one on. */
export interface Sample {
  place: number
  type: string
  daily: boolean
  ms: number
  value: number
  /** Day of its quarter hour, which is that of the latest sample in it. */
  day: number
}

const TYPES = [
  ...['heart_rate', 'steps', 'energy', 'basal_energy', 'flights_climbed', 'active_time', 'distance_walking_running'],
]

const quarterOf = (ms: number) => Math.floor(ms / QUARTER_MS)
const minuteOf = (ms: number) => Math.floor(ms / MINUTE_MS)

/** Samples, which ascend, with their days; `zone` is minutes east of UTC. */
export function withDays(samples: (Omit<Sample, 'day'> & { zone: number | null })[]): Sample[] {
  const days = new Map<string, number>()
  const key = ({ place, type, daily, ms }: Omit<Sample, 'day'>) => `${place} ${type} ${daily} ${quarterOf(ms)}`
  for (const one of samples) days.set(key(one), localDay(quarterOf(one.ms) * QUARTER_MS, one.zone))
  return samples.map(({ zone: _, ...one }) => ({ ...one, day: days.get(key(one)) as number }))
}

/** A workout and the local day of its end; `place` is that of its device. */
export interface Workout {
  place: number
  day: number
  ascent: number
}

/** What a user has. */
export interface Model {
  /** Best first. */
  devices: readonly Device[]
  samples: Sample[]
  workouts: Workout[]
  /** Largest heart rate. */
  highest: number
}

const sum = (values: number[]) => values.reduce((all, value) => all + value, 0)
const sumOrNull = (values: number[]) => (values.length > 0 ? sum(values) : null)

function minutesOf(samples: Sample[], value: (values: number[]) => number): number[] {
  const minutes = new Map<number, number[]>()
  for (const { ms, value } of samples) {
    minutes.set(minuteOf(ms), [...(minutes.get(minuteOf(ms)) ?? []), value])
  }
  return [...minutes.values()].map(value)
}

/** Samples of a type that count on a day when everything comes from one source. */
function ofOne(samples: Sample[], place: number, type: string): Sample[] {
  const own = samples.filter((one) => one.place === place && one.type === type)
  const totals = own.filter(({ daily }) => daily)
  return totals.length > 0 ? totals : own
}

/** The best source that has samples of a type in a quarter hour, by quarter hour. */
function bestOfQuarters(typed: Sample[]): Map<number, number> {
  const first = new Map<number, number>()
  for (const { daily, ms, place } of typed)
    if (!daily) first.set(quarterOf(ms), Math.min(place, first.get(quarterOf(ms)) ?? Number.POSITIVE_INFINITY))
  return first
}

/** The samples of one type, of all days: sources may disagree about the day of a quarter hour. */
interface Typed {
  typed: Sample[]
  first: Map<number, number>
}

function typedOf(samples: Sample[], type: string): Typed {
  const typed = samples.filter((one) => one.type === type)
  return { typed, first: bestOfQuarters(typed) }
}

/** With merge=segments. */
function ofSeveral({ typed, first }: Typed, day: number): Sample[] {
  const onDay = typed.filter((one) => one.day === day)
  const segments = onDay.filter(({ daily, ms, place }) => !daily && first.get(quarterOf(ms)) === place)
  const leader = Math.min(...onDay.map(({ place }) => place))
  const total = onDay.filter(({ daily, place }) => daily && place === leader)
  if (total.length === 0) return segments.filter(() => onDay.some(({ daily, place }) => !daily && place === leader))
  if (!onDay.some(({ daily, place }) => !daily && place === leader)) return total
  return [...total, ...segments.filter(({ place }) => place !== leader)]
}

/** What a user has, with the samples of its types and of its days. */
interface Sorted extends Model {
  types: Map<string, Typed>
  days: Map<number, Sample[]>
}

function sorted({ samples, ...rest }: Model): Sorted {
  const model = { ...rest, samples: samples.filter(({ type }) => TYPES.includes(type)) }
  const days = new Map<number, Sample[]>()
  for (const one of model.samples)
    days
      .set(one.day, days.get(one.day) ?? [])
      .get(one.day)
      ?.push(one)
  return { ...model, types: new Map(TYPES.map((type) => [type, typedOf(model.samples, type)])), days }
}

function rowOf(model: Sorted, day: number, merged: boolean): Record<string, unknown> | undefined {
  const samples = model.days.get(day) ?? []
  const best = Math.min(...samples.map(({ place }) => place))
  const all = (type: string) => model.types.get(type) as Typed
  const chosen = (type: string) => (merged ? ofSeveral(all(type), day) : ofOne(samples, best, type))
  const timed = (type: string) => {
    const own = samples.filter((one) => one.type === type && !one.daily)
    if (!merged) return own.filter(({ place }) => place === best)
    return own.filter(({ ms, place }) => all(type).first.get(quarterOf(ms)) === place)
  }
  const amount = (type: string) => sumOrNull(chosen(type).map(({ value }) => value))
  const whole = (value: number | null) => (value === null ? null : Math.round(value))
  const present = new Set(samples.map(({ place }) => place))
  const ascents = model.workouts.filter((one) => one.day === day && present.has(one.place))
  const teller = merged ? Math.min(...ascents.map(({ place }) => place)) : best
  const ascent = sumOrNull(ascents.filter(({ place }) => place === teller).map((one) => one.ascent))
  const beats = chosen('heart_rate').map(({ value }) => value)
  const stepping = minutesOf(timed('steps'), sum)
  const pulses = minutesOf(timed('heart_rate'), (values) => sum(values) / values.length)
  const share = (percent: number) => Math.floor((model.highest * percent) / 100)
  const within = (from: (bpm: number) => boolean) => pulses.filter(from).length
  const energies = [amount('energy'), amount('basal_energy')].filter((one) => one !== null)
  const device = model.devices[best]
  const stepsKnown = timed('steps').length > 0
  return {
    date: dateText(day),
    source: device && metadataOf(device),
    steps: whole(amount('steps')),
    distance_meters: amount('distance_walking_running'),
    floors_climbed: whole(amount('flights_climbed')) ?? (ascent ? Math.floor(ascent / 3) : null),
    elevation_meters: ascent,
    active_calories_kcal: amount('energy'),
    total_calories_kcal: sumOrNull(energies),
    active_minutes: whole(amount('active_time')) ?? (stepsKnown ? stepping.filter((n) => n >= 30).length : null),
    sedentary_minutes: stepsKnown ? stepping.filter((n) => n < 30).length : null,
    intensity_minutes:
      pulses.length > 0
        ? {
            light: within((bpm) => bpm >= share(50) && bpm <= share(63)),
            moderate: within((bpm) => bpm > share(63) && bpm <= share(76)),
            vigorous: within((bpm) => bpm > share(76)),
          }
        : null,
    heart_rate:
      beats.length > 0
        ? {
            avg_bpm: Math.round(sum(beats) / beats.length),
            max_bpm: Math.round(Math.max(...beats)),
            min_bpm: Math.round(Math.min(...beats)),
          }
        : null,
  }
}

/** The rows of the activity summary on the days [firstDay, endDay), by day; samples of other types count for nothing. */
export function activityRows(of: Model, firstDay: number, endDay: number, merged: boolean) {
  const model = sorted(of)
  const days = [...model.days.keys()].sort((a, b) => a - b)
  const shown = days.filter((day) => day >= firstDay && day < endDay)
  // With merge a day of which every quarter hour went to another day has no row.
  const counts = (day: number) =>
    [...model.types.values()].some((type) => ofSeveral(type, day).length > 0) ||
    model.days.get(day)?.some(({ daily }) => daily)
  return shown.filter((day) => !merged || counts(day)).map((day) => rowOf(model, day, merged))
}
