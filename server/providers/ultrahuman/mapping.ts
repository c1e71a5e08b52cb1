import type { SeriesName } from '../../catalogue/series.ts'
import { DAY_MS } from '../../time.ts'
import { listAt, textAt, valueAt } from '../answers.ts'
import { mapStreams } from '../map-streams.ts'
import type { At, Item, Out, Part } from '../part.ts'
import { zoneOffsetOf } from '../zone-offset.ts'
import { type Day, figure } from './day.ts'
import { sleep } from './sleep.ts'

const APP = 'Ultrahuman'
const RING = 'Ultrahuman Ring'
const GLUCOSE_SENSOR = 'Ultrahuman M1'

/** The metrics of a day, or of several by their dates (docs/providers.md). */
function metrics(out: Out, part: Part): void {
  const days = valueAt(part.body, 'data', 'metrics')
  const isDated = typeof days === 'object' && days !== null && !Array.isArray(days)
  // An older form, which does not say of what day it is.
  const asked = textAt(part.args, 'date') ?? ''
  const known = isDated
    ? Object.keys(days).map((date) => [date, ['metrics', date]] as const)
    : [[asked, ['metric_data']] as const]
  for (const [date, path] of known) {
    const ms = dayMs(date)
    if (ms === undefined) out.ignore('a day without a date')
    else add(out, part, { date, ms, path: ['data', ...path] })
  }
}

function dayMs(date: string): number | undefined {
  const ms = /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(date) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

interface Place {
  readonly date: string
  readonly ms: number
  /** Where its entries are. */
  readonly path: readonly string[]
}

function add(out: Out, part: Part, { date, ms, path }: Place): void {
  const entries = new Map<string, Item[]>()
  for (const entry of out.entries(...path)) {
    const [type, object] = [(entry.text('type') ?? '').toLowerCase(), entry.object('object')]
    if (object) entries.set(type, [...(entries.get(type) ?? []), object])
  }
  const at: At = { ms, zoneMin: null, isDate: true }
  const day: Day = { date, at, entries, zoneMin: zoneOf(part, { date, ms, path }) }
  out.source(RING, APP)
  for (const [type, series] of inTime) addValues(out, day, type, series)
  oxygen(out, day, part)
  steps(out, day)
  ofDay(out, day)
  sleep(out, day)
  out.source(GLUCOSE_SENSOR, APP)
  addValues(out, day, 'glucose', 'blood_glucose')
}

/**
 * The zone of a day: it began so long before or after UTC's. The latest zone of the person knows of changes of the clock,
 * but is only right where that day began as it says: they may have travelled since.
 */
function zoneOf({ body }: Part, { ms: dayMs, path }: Place): Day['zoneMin'] {
  const latest = textAt(body, 'data', 'latest_time_zone')
  if (latest === undefined) return () => null
  const began = listAt(body, ...path)
    .map((entry) => valueAt(entry, 'object', 'day_start_timestamp'))
    .find((one) => typeof one === 'number')
  const minutes = typeof began === 'number' ? dayMs / 60_000 - began / 60 : Number.NaN
  const isZone = minutes % 15 === 0 && Math.abs(minutes) <= 14 * 60
  const isLatest = !isZone || zoneOffsetOf(latest, dayMs - minutes * 60_000) === minutes
  return (ms) => (isLatest ? zoneOffsetOf(latest, ms) : minutes)
}

const inTime: readonly (readonly [type: string, series: SeriesName])[] = [
  ['hr', 'heart_rate'],
  ['hrv', 'heart_rate_variability_rmssd'],
  ['temp', 'skin_temperature'],
]

/** The values of an entry with their instants; zero is nothing measured. */
function* valuesOf({ entries, zoneMin }: Day, type: string): Iterable<readonly [at: At, value: number]> {
  for (const entry of entries.get(type) ?? []) {
    for (const one of entry.objects('values')) {
      const [value, seconds] = [one.numeric('value'), one.numeric('timestamp')]
      if (seconds === undefined) one.reject('missing', 'timestamp')
      else if (value !== undefined && value > 0) yield [{ ms: seconds * 1000, zoneMin: zoneMin(seconds * 1000) }, value]
    }
  }
}

function addValues(out: Out, day: Day, type: string, series: SeriesName): number {
  let added = 0
  for (const [at, value] of valuesOf(day, type)) {
    out.sample(series, at, value)
    added += 1
  }
  return added
}

/** After so long nothing more is measured of a day. */
const OVER_MS = 3 * DAY_MS

/** The mean of a day that is over, where there is nothing else. */
function oxygen(out: Out, day: Day, { atMs }: Part): void {
  const added = addValues(out, day, 'spo2', 'oxygen_saturation')
  if (added === 0 && atMs - day.at.ms > OVER_MS)
    out.sample('oxygen_saturation', day.at, figure(day, 'spo2', 'avg') || undefined)
}

/** Steps are counted for so long. */
const STEPS_MS = 5 * 60_000

/** Values that add up to more than that, of the total, are of another kind. */
const TOO_MANY = 1.05

function steps(out: Out, day: Day): void {
  const total = figure(day, 'steps', 'total')
  const values = [...valuesOf(day, 'steps')]
  const sum = values.reduce((all, [, value]) => all + value, 0)
  const isPlausible = total === undefined || sum <= total * TOO_MANY
  for (const [at, value] of isPlausible ? values : []) out.sample('steps', { ...at, endMs: at.ms + STEPS_MS }, value)
  out.total('steps', day.at, total, `ultrahuman:day:${day.date}`)
}

/** What there is once a day. */
function ofDay(out: Out, day: Day): void {
  const { at, date } = day
  out.total('active_time', at, figure(day, 'active_minutes', 'value'), `ultrahuman:day:${date}`)
  const resting = figure(day, 'sleep_rhr', 'value') || figure(day, 'night_rhr', 'avg')
  out.sample('resting_heart_rate', at, resting || undefined)
  out.sample('vo2_max', at, figure(day, 'vo2_max', 'value') || undefined)
  const deviation =
    figure(day, 'sleep', 'temperature_deviation', 'celsius') ?? figure(day, 'sleep', 'temperature_deviation', 'value')
  out.sample('skin_temperature_deviation', at, deviation ?? figure(day, 'temperature_deviation', 'value'))
  for (const [category, value] of [
    ['recovery', figure(day, 'recovery_index', 'value')],
    ['activity', figure(day, 'movement_index', 'value')],
    ['sleep', figure(day, 'sleep_score', 'value') ?? figure(day, 'sleep', 'sleep_score', 'score')],
  ] as const) {
    if (value !== undefined) out.score({ category, externalId: `ultrahuman:${category}:${date}`, at, value })
  }
}

/** Adds what a part of Ultrahuman's holds: docs/providers.md. */
export const map = mapStreams(APP, { metrics })
