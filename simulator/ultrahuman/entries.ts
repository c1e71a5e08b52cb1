import { round } from '../random.ts'
import { glucoseOf } from '../truth/measurements.ts'
import { daysBetween, eachMinute, type Person, sleepsOf, sumsOf } from '../truth/person.ts'
import { knownMs, knownUntil } from '../truth/personas.ts'
import { MEANS_SECONDS, type SleepView } from '../truth/sleep.ts'
import { DAY_MS, MINUTE_MS } from '../zones.ts'
import { sleepObject } from './sleep.ts'

export type Row = Record<string, unknown>

/** A date by the clock of where somebody is now; epoch ms, the end left out. */
export interface Date {
  readonly day: number
  readonly startMs: number
  readonly endMs: number
}

interface Value {
  readonly value: number | null
  readonly timestamp: number
}

const STEP_MINUTES = 5

/** What the ring measured on a date, as known by now. */
export function entriesOf(person: Person, date: Date, { nowMs, glucose }: { nowMs: number; glucose: boolean }): Row[] {
  const untilMs = Math.min(date.endMs, knownUntil(person, nowMs))
  if (untilMs <= date.startMs) return []
  const start = Math.floor(date.startMs / 1000)
  const entry = (type: string, object: Row) => ({ type, object: { day_start_timestamp: start, ...object } })
  const night = nightOf(person, date, nowMs)
  return [
    ...ofDay(person, [date.startMs, untilMs], entry),
    ...(night ? ofNight(night, entry) : []),
    ...scores(person, date, { untilMs, nowMs, entry }),
    ...(night ? [{ type: 'sleep', object: sleepObject(night) }] : []),
    ...(glucose ? ofSensor(person, date, { nowMs, entry }) : []),
    // Others have to be passed over.
    ...[null, { type: 'motion', object: { sleep_graph: { title: 'Motion', data: [] } } }],
  ] as Row[]
}

type Entry = (type: string, object: Row) => Row

/** The main sleep that ends on a date. */
function nightOf(person: Person, { startMs, endMs }: Date, nowMs: number): SleepView | undefined {
  const views = sleepsOf(daysBetween(person, startMs - DAY_MS, endMs + DAY_MS), nowMs)
  return views.findLast(({ sleep, deleted, ...view }) => {
    const isThen = view.endMs >= startMs && view.endMs < endMs && sleep.day >= person.span.firstDay
    return !sleep.nap && !deleted && isThen
  })
}

/** Heart rate of each fifth minute, or nothing; steps of five minutes, zeros too. */
function ofDay(person: Person, [fromMs, untilMs]: readonly [number, number], entry: Entry): Row[] {
  const beats: Value[] = []
  const steps: { value: number; timestamp: number }[] = []
  eachMinute(person, fromMs, untilMs, (minutes, i) => {
    const ms = minutes.startMs + i * MINUTE_MS
    const slot = Math.floor((ms - fromMs) / MINUTE_MS / STEP_MINUTES)
    const timestamp = Math.floor((fromMs + slot * STEP_MINUTES * MINUTE_MS) / 1000)
    const part = steps[slot]
    if (part) part.value += minutes.steps[i] ?? 0
    else {
      steps[slot] = { value: minutes.steps[i] ?? 0, timestamp }
      beats.push({ value: minutes.heartRate[i] || null, timestamp: Math.floor(ms / 1000) })
    }
  })
  const total = steps.reduce((sum, { value }) => sum + value, 0)
  const last = beats.findLast(({ value }) => value !== null)?.value ?? null
  return [
    entry('hr', { title: 'Heart Rate', unit: 'BPM', last_reading: last, values: beats }),
    entry('steps', { title: 'Steps', total, avg: Math.round(total / Math.max(1, steps.length)), values: steps }),
  ]
}

/** Every five minutes of a night; oxygen and temperature every half hour. */
function ofNight({ hrv, heartRate, startMs, sleep, averageHrv, lowestHeartRate }: SleepView, entry: Entry): Row[] {
  const timestamp = (i: number) => Math.floor(startMs / 1000) + i * MEANS_SECONDS
  const list = (values: Uint8Array) =>
    Array.from(values, (value, i): Value => ({ value: value || null, timestamp: timestamp(i) }))
  const halves = (value: number) =>
    Array.from({ length: Math.ceil(hrv.length / 6) }, (_, i): Value => ({ value, timestamp: timestamp(i * 6) }))
  const oxygen = sleep.spo2 === null ? [] : halves(round(sleep.spo2, 1))
  const average = Math.round(averageHrv)
  return [
    entry('hrv', { unit: 'ms', subtitle: 'Average', avg: average, trend_direction: 'positive', values: list(hrv) }),
    entry('temp', { unit: '°C', last_reading: sleep.skinTemperature, values: halves(sleep.skinTemperature) }),
    entry('spo2', { unit: '%', avg: sleep.spo2 && round(sleep.spo2, 1), values: oxygen }),
    entry('night_rhr', { avg: lowestHeartRate, values: list(heartRate) }),
    entry('avg_sleep_hrv', { value: average }),
    entry('sleep_rhr', { value: lowestHeartRate }),
    ...(sleep.unscorable ? [] : [entry('recovery_index', { title: 'Recovery Index', value: sleep.recovery })]),
    ...(sleep.unscorable ? [] : [entry('sleep_score', { unit: '', value: sleep.quality })]),
    entry('temperature_deviation', { unit: '°C', value: sleep.temperatureDeviation }),
    entry('average_body_temperature', { unit: '°C', value: sleep.skinTemperature }),
  ]
}

/** Grow during the day; the last ones come in the evening. */
function scores(person: Person, { day, startMs, endMs }: Date, more: { untilMs: number; nowMs: number; entry: Entry }) {
  const { untilMs, nowMs, entry } = more
  const truth = person.day(day)
  const sums = sumsOf(person, startMs, untilMs)
  const active = (sums.highSeconds + sums.mediumSeconds + sums.lowSeconds) / 60
  const isEvening = knownMs(person, Math.min(endMs, startMs + 20 * 60 * MINUTE_MS)) <= nowMs
  return [
    entry('active_minutes', { title: 'Active Minutes', value: active }),
    ...(isEvening ? [entry('movement_index', { title: 'Movement Index', value: truth.activity })] : []),
    ...(isEvening ? [entry('vo2_max', { title: 'VO2 Max', value: truth.vo2Max })] : []),
    entry('metabolic_score', { value: 70 }),
  ]
}

function ofSensor(person: Person, { day, startMs, endMs }: Date, { nowMs, entry }: { nowMs: number; entry: Entry }) {
  const all = [day - 1, day, day + 1].flatMap((one) => glucoseOf(person, one))
  const found = all.filter(({ atMs, knownMs: ms }) => atMs >= startMs && atMs < endMs && ms <= nowMs)
  if (found.length === 0) return []
  const values = found.map(({ atMs, mgPerDl }): Value => ({ value: mgPerDl, timestamp: Math.floor(atMs / 1000) }))
  const average = found.reduce((sum, { mgPerDl }) => sum + mgPerDl, 0) / found.length
  return [
    entry('glucose', { title: 'Glucose', unit: 'mg/dL', values }),
    entry('average_glucose', { value: round(average, 1) }),
    entry('hba1c', { value: 5.2 }),
  ]
}
