import { withoutNoise } from '../../batch/units.ts'
import type { SeriesName } from '../../catalogue/series.ts'
import { DAY_MS, parseInstant } from '../../time.ts'
import { textAt, valueAt } from '../answers.ts'
import { mapStreams } from '../map-streams.ts'
import type { At, Item, Out, Part } from '../part.ts'
import { millisOf } from './streams.ts'
import { workoutType } from './workouts.ts'

// What Sensor Bio's records become: docs/providers.md. Nothing says in which zone they were.

const APP = 'Sensor Bio'

/** A number above zero: zero is nothing measured. */
function positive(item: Item, ...path: readonly string[]): number | undefined {
  const value = item.numeric(...path)
  return value !== undefined && value > 0 ? value : undefined
}

/** Parts of one, or per cent. */
const percent = (value: number | undefined) => (value !== undefined && value <= 1 ? withoutNoise(value * 100) : value)

/** An instant in seconds or milliseconds; rejected where it is missing, or impossible. */
function instantAt(item: Item, part: Part, field: string): number | undefined {
  const ms = millisOf(item.numeric(field))
  if (ms === undefined) item.reject('missing', field)
  else if (ms >= DAY_MS && ms <= part.atMs + DAY_MS) return Math.round(ms)
  else item.reject('implausible_value', field)
  return undefined
}

/** Workouts: each row may have several, and its own name is that of those that have none. */
function activities(out: Out, part: Part): void {
  for (const row of out.items('data'))
    for (const activity of row.objects('activities')) addWorkout(out, part, activity, row.text('name'))
}

function addWorkout(out: Out, part: Part, activity: Item, rowName: string | undefined): void {
  const startMs = instantAt(activity, part, 'start_time')
  if (startMs === undefined) return
  const seconds = positive(activity, 'duration')
  const endMs = activity.numeric('end_time') === undefined ? undefined : instantAt(activity, part, 'end_time')
  if (endMs === undefined && seconds === undefined) {
    activity.reject('missing', 'end_time')
    return
  }
  const name = activity.text('likely_name') ?? rowName
  out.workout({
    externalId: activity.id('id') ?? `activity:${startMs}`,
    start: { ms: startMs, zoneMin: null },
    endMs: endMs ?? Math.round(startMs + (seconds ?? 0) * 1000),
    type: workoutType(name),
    title: name,
    durationSeconds: seconds,
    movingSeconds: positive(activity, 'active_time'),
    caloriesKcal: positive(activity, 'calories'),
    distanceMeters: positive(activity, 'distance'),
    heartRateMin: positive(activity, 'cardio_metrics', 'min_bpm'),
    heartRateAvg: positive(activity, 'cardio_metrics', 'avg_bpm'),
    heartRateMax: positive(activity, 'cardio_metrics', 'max_bpm'),
  })
}

const measured: readonly (readonly [field: string, series: SeriesName])[] = [
  ['bpm', 'heart_rate'],
  ['hrv', 'heart_rate_variability_rmssd'],
  ['spo2', 'oxygen_saturation'],
  ['brpm', 'respiratory_rate'],
]

/** What a date has one value of, which is stored at its midnight: nothing else is. */
const ofDates = new Set(['hrv', 'spo2'])

/** What a band measures all day. */
function biometrics(out: Out, part: Part): void {
  for (const row of out.items('data')) {
    const ms = instantAt(row, part, 'timestamp')
    if (ms === undefined) continue
    for (const [field, series] of measured) {
      if (ofDates.has(field) && ms % DAY_MS === 0) continue
      const value = positive(row, field)
      out.sample(series, { ms, zoneMin: null }, field === 'spo2' ? percent(value) : value)
    }
  }
}

/** Nights, of which there are totals only; naps are not distinguished. */
function sleep(out: Out, part: Part): void {
  if (isNothing(part)) return
  for (const night of out.items('data')) {
    const [startMs, endMs] = ['start_timestamp', 'end_timestamp'].map((field) => instantAt(night, part, field))
    if (startMs === undefined || endMs === undefined) continue
    const seconds = (field: string) => {
      const minutes = night.numeric(field)
      return minutes === undefined || minutes < 0 ? undefined : minutes * 60
    }
    const [deep, light, rem] = ['deep', 'light', 'rem'].map((stage) => seconds(`${stage}_sleep_mins`))
    const isStaged = deep !== undefined || light !== undefined || rem !== undefined
    const asleep = isStaged ? (deep ?? 0) + (light ?? 0) + (rem ?? 0) : seconds('total_sleep_mins')
    const lengthS = (endMs - startMs) / 1000
    const efficiency = asleep === undefined ? undefined : Math.round((asleep / lengthS) * 10_000) / 100
    out.night({
      externalId: night.id('id') ?? String(Math.round(startMs / 1000)),
      ...{ start: { ms: startMs, zoneMin: null }, endMs, isNap: false },
      asleepSeconds: asleep,
      awakeSeconds: seconds('awake_time_mins'),
      lightSeconds: light,
      deepSeconds: deep,
      remSeconds: rem,
      efficiencyPercent: efficiency !== undefined && efficiency <= 100 ? efficiency : undefined,
    })
  }
}

/** A day without anything has no list. */
const isNothing = ({ body }: Part) =>
  typeof body === 'object' && !Array.isArray(body) && (valueAt(body, 'data') ?? null) === null

/** The date that an answer is of: the one it names, else the one that was asked for. */
function dateOf(item: Item, { args }: Part): { at: At; date: string } | undefined {
  const date = item.text('date')?.slice(0, 10) ?? textAt(args, 'date') ?? ''
  const ms = parseInstant(`${date}T00:00:00Z`)
  if (ms !== undefined) return { at: { ms, zoneMin: null, isDate: true }, date }
  item.reject('missing', 'date')
  return undefined
}

/** Scores of a day, and what was measured at rest in its night. */
function scores(out: Out, part: Part): void {
  for (const whole of isNothing(part) ? [] : out.whole()) {
    const day = whole.object('data')
    const known = day && dateOf(day, part)
    if (!day || !known) continue
    const { at, date } = known
    const rest = (field: string) => positive(day, 'sleep', 'biometrics', field)
    out.sample('resting_heart_rate', at, rest('resting_bpm'))
    out.sample('heart_rate_variability_rmssd', at, rest('resting_hrv') ?? rest('hrv'))
    out.sample('oxygen_saturation', at, percent(rest('spo2')))
    for (const category of ['recovery', 'sleep', 'activity'] as const) {
      const value = scoreIn(day, category)
      if (value === undefined) continue
      const qualifier = category === 'recovery' ? day.text('recovery', 'stage') : undefined
      out.score({ category, externalId: `sensorbio:${category}:${date}`, at, value, qualifier })
    }
  }
}

/** From 0 to 100; anything else is rejected. */
function scoreIn(day: Item, name: string): number | undefined {
  const path = day.numeric(name, 'value') === undefined ? [name, 'score', 'value'] : [name, 'value']
  const value = day.numeric(...path)
  if (value === undefined || (value >= 0 && value <= 100)) return value
  day.reject('implausible_value', ...path)
  return undefined
}

/** Metres of units of length, in lower case. */
const metres: ReadonlyMap<string, number> = new Map([
  ['km', 1000],
  ['mi', 1609.344],
  ['m', 1],
])

/** Totals of a day. */
function steps(out: Out, part: Part): void {
  for (const day of out.whole()) {
    const known = day.objects('metrics').length > 0 ? dateOf(day, part) : undefined
    if (!known) continue
    const record = `sensorbio:steps:${known.date}`
    for (const metric of day.objects('metrics')) {
      const [name, value] = [(metric.text('name') ?? metric.text('type') ?? '').toLowerCase(), metric.numeric('value')]
      if (value === undefined || value < 0 || metric.boolean('value_is_an_avg')) continue
      // Where the person is, the date may have yet to begin.
      if (value === 0 && Date.parse(known.date) > part.atMs) continue
      if (name === 'steps') out.total('steps', known.at, Math.floor(value), record)
      else if (name === 'calories') out.total('energy', known.at, value, record)
      else if (name === 'distance') out.total('distance_walking_running', known.at, lengthOf(metric, value), record)
    }
  }
}

function lengthOf(metric: Item, value: number): number | undefined {
  const factor = metres.get((metric.text('unit') ?? '').trim().toLowerCase())
  if (factor === undefined) metric.reject('enum', 'unit')
  return factor === undefined ? undefined : withoutNoise(value * factor)
}

/** Adds what a part of Sensor Bio's holds. */
export const map = mapStreams(APP, { activities, biometrics, sleep, scores, steps })
