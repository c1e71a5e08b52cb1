import type { EntrySource } from '../../batch/columns.ts'
import { withoutNoise } from '../../batch/units.ts'
import type { ScoreCategory } from '../../catalogue/score-categories.ts'
import type { SeriesName } from '../../catalogue/series.ts'
import { listedBetween } from '../listed.ts'
import { mapStreams } from '../map-streams.ts'
import type { At, Item, Out, Part } from '../part.ts'
import { sleep } from './sleep.ts'
import { workoutType } from './workouts.ts'

// What Oura's documents become: docs/providers.md.

const intensities: ReadonlyMap<string, 'low' | 'moderate' | 'high'> = new Map([
  ['easy', 'low'],
  ['moderate', 'moderate'],
  ['hard', 'high'],
])

const entrySources: ReadonlyMap<string, EntrySource> = new Map([
  ['manual', 'manual'],
  ['autodetected', 'automatic'],
  ['confirmed', 'automatic'],
  ['workout_heart_rate', 'automatic'],
])

/** The totals in the document of a day, and how they are computed. */
const totals: readonly (readonly [SeriesName, (day: Item) => number | undefined])[] = [
  ['steps', (day) => day.number('steps')],
  ['energy', (day) => day.number('active_calories')],
  ['basal_energy', basalEnergy],
  ['distance_walking_running', (day) => day.number('equivalent_walking_distance')],
  ['active_time', activeMinutes],
]

function workouts(out: Out, part: Part): void {
  const starts: number[] = []
  for (const workout of out.items('data')) {
    const start = workout.instant('start_datetime')
    const end = workout.instant('end_datetime')
    const externalId = workout.id('id')
    if (!externalId) workout.reject('missing', 'id')
    if (!start) workout.reject('missing', 'start_datetime')
    if (!end) workout.reject('missing', 'end_datetime')
    if (!externalId || !start || !end) continue
    starts.push(start.ms)
    out.workout({
      externalId,
      start,
      endMs: end.ms,
      version: workout.instant('meta', 'updated_at')?.ms,
      type: workoutType(workout.text('activity') ?? ''),
      title: workout.text('label'),
      intensity: intensities.get(workout.text('intensity') ?? ''),
      entrySource: entrySources.get(workout.text('source') ?? ''),
      caloriesKcal: workout.number('calories'),
      distanceMeters: workout.number('distance'),
    })
  }
  listedBetween(out, part, starts, 'workouts')
}

function dailyActivity(out: Out, part: Part): void {
  const times: number[] = []
  for (const day of out.items('data')) {
    const at = timeOf(day)
    if (!at) continue
    times.push(at.ms)
    for (const [series, value] of totals) out.total(series, at, value(day), idOf(day, at))
    score(out, day, at, 'activity')
  }
  listedBetween(out, part, times, ...totals.map(([total]) => ({ total })), { score: 'activity' })
}

/** Total energy minus active energy; only if both are given. */
function basalEnergy(day: Item): number | undefined {
  const total = day.number('total_calories')
  const active = day.number('active_calories')
  return total === undefined || active === undefined || total < active ? undefined : total - active
}

/** Whole minutes of any activity. */
function activeMinutes(day: Item): number | undefined {
  const seconds = ['high', 'medium', 'low'].map((level) => day.number(`${level}_activity_time`))
  if (seconds.every((one) => one === undefined)) return undefined
  return Math.floor(seconds.reduce<number>((sum, one) => sum + (one ?? 0), 0) / 60)
}

function dailyReadiness(out: Out, part: Part): void {
  const times: number[] = []
  for (const day of out.items('data')) {
    const at = timeOf(day)
    if (!at) continue
    times.push(at.ms)
    out.sample('skin_temperature_deviation', at, day.number('temperature_deviation'))
    out.sample('skin_temperature_trend_deviation', at, day.number('temperature_trend_deviation'))
    score(out, day, at, 'readiness')
  }
  listedBetween(
    out,
    part,
    times,
    { series: 'skin_temperature_deviation' },
    { series: 'skin_temperature_trend_deviation' },
    { score: 'readiness' },
  )
}

function dailySleep(out: Out, part: Part): void {
  const times: number[] = []
  for (const day of out.items('data')) {
    const at = timeOf(day)
    if (!at) continue
    times.push(at.ms)
    score(out, day, at, 'sleep')
  }
  listedBetween(out, part, times, { score: 'sleep' })
}

/** Oura gives a word, without a number. */
function dailyStress(out: Out, part: Part): void {
  const times: number[] = []
  for (const day of out.items('data')) {
    const at = dayOf(day)
    if (!at) continue
    times.push(at.ms)
    const components = { stress_high: day.number('stress_high'), recovery_high: day.number('recovery_high') }
    out.score({ category: 'stress', externalId: idOf(day, at), at, qualifier: day.text('day_summary'), components })
  }
  listedBetween(out, part, times, { score: 'stress' })
}

/** As stress. */
function dailyResilience(out: Out, part: Part): void {
  const times: number[] = []
  for (const day of out.items('data')) {
    const at = dayOf(day)
    if (!at) continue
    times.push(at.ms)
    const components = contributors(day, ['sleep_recovery', 'daytime_recovery', 'stress'])
    out.score({ category: 'resilience', externalId: idOf(day, at), at, qualifier: day.text('level'), components })
  }
  listedBetween(out, part, times, { score: 'resilience' })
}

function dailySpo2(out: Out, part: Part): void {
  const times: number[] = []
  for (const day of out.items('data')) {
    const at = dayOf(day)
    if (!at) continue
    times.push(at.ms)
    // Nothing was measured: 0, as well as null.
    out.sample('oxygen_saturation', at, day.number('spo2_percentage', 'average') || undefined)
    out.sample('breathing_disturbance_index', at, day.number('breathing_disturbance_index'))
  }
  listedBetween(out, part, times, { series: 'oxygen_saturation' }, { series: 'breathing_disturbance_index' })
}

function cardiovascularAge(out: Out, part: Part): void {
  const times: number[] = []
  for (const day of out.items('data')) {
    const at = dayOf(day)
    if (!at) continue
    times.push(at.ms)
    out.sample('cardiovascular_age', at, day.number('vascular_age'))
  }
  listedBetween(out, part, times, { series: 'cardiovascular_age' })
}

function vo2Max(out: Out, part: Part): void {
  const times: number[] = []
  for (const measured of out.items('data')) {
    const at = timeOf(measured)
    if (!at) continue
    times.push(at.ms)
    out.sample('vo2_max', at, measured.number('vo2_max'))
  }
  listedBetween(out, part, times, { series: 'vo2_max' })
}

/** Rows in UTC, so without the person's zone. */
function heartRate(out: Out): void {
  for (const row of out.items('data')) {
    const at = row.instant('timestamp')
    if (at) out.sample('heart_rate', { ms: at.ms, zoneMin: null }, row.number('bpm'))
    else row.reject('missing', 'timestamp')
  }
}

function personalInfo(out: Out): void {
  for (const person of out.whole()) {
    out.current('weight', person.number('weight'))
    const metres = person.number('height')
    out.current('height', metres === undefined ? undefined : withoutNoise(metres * 100))
  }
}

/** The instant of a document, or its day. */
function timeOf(day: Item): At | undefined {
  return day.instant('timestamp') ?? dayOf(day)
}

function dayOf(day: Item): At | undefined {
  const at = day.day('day')
  if (!at) day.reject('missing', 'day')
  return at
}

/** Some documents have no id; there is one per local day. */
const idOf = (day: Item, { ms, zoneMin }: At) =>
  day.id('id') ?? day.id('day') ?? new Date(ms + (zoneMin ?? 0) * 60_000).toISOString().slice(0, 10)

function score(out: Out, day: Item, at: At, category: ScoreCategory): void {
  out.score({
    category,
    externalId: idOf(day, at),
    at,
    value: day.number('score'),
    components: contributors(day, contributorsOf[category] ?? []),
  })
}

/** Names of contributors; each is a number from 1 to 100, or null. */
const contributorsOf: Readonly<Partial<Record<ScoreCategory, readonly string[]>>> = {
  activity: [
    'meet_daily_targets',
    'move_every_hour',
    'recovery_time',
    'stay_active',
    'training_frequency',
    'training_volume',
  ],
  readiness: [
    'activity_balance',
    'body_temperature',
    'hrv_balance',
    'previous_day_activity',
    'previous_night',
    'recovery_index',
    'resting_heart_rate',
    'sleep_balance',
    'sleep_regularity',
  ],
  sleep: ['deep_sleep', 'efficiency', 'latency', 'rem_sleep', 'restfulness', 'timing', 'total_sleep'],
}

const contributors = (day: Item, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, day.number('contributors', name)]))

/** Adds the data of an answer of Oura. */
export const map = mapStreams('Oura', {
  workout: workouts,
  sleep,
  daily_sleep: dailySleep,
  daily_readiness: dailyReadiness,
  daily_activity: dailyActivity,
  daily_stress: dailyStress,
  daily_resilience: dailyResilience,
  daily_spo2: dailySpo2,
  daily_cardiovascular_age: cardiovascularAge,
  vo2_max: vo2Max,
  heartrate: heartRate,
  personal_info: personalInfo,
})
