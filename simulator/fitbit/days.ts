import { round } from '../random.ts'
import { compositionOf, temperatureOf } from '../truth/measurements.ts'
import { type Day, type Person, type Sums, sleepsOf, sumsOf } from '../truth/person.ts'
import { knownUntil } from '../truth/personas.ts'
import type { SleepView } from '../truth/sleep.ts'
import { dateOf, MINUTE_MS } from '../zones.ts'
import { localText, type Row } from './times.ts'

/** The sums of a date that are known; null before it has begun. */
export function sumsOn(person: Person, { day }: Day, nowMs: number): Sums | null {
  const { startMs, met } = person.minutes(day)
  const untilMs = Math.min(startMs + met.length * MINUTE_MS, knownUntil(person, nowMs))
  return untilMs > startMs ? sumsOf(person, startMs, untilMs) : null
}

/** Numbers of a date: kilometres to 0.00001, whole kcal and minutes; energy includes what somebody burns at rest. */
export const resources: Readonly<Record<string, (sums: Sums) => number>> = {
  steps: ({ steps }) => steps,
  distance: ({ distanceM }) => round(distanceM / 1000, 5),
  floors: ({ floors }) => floors,
  elevation: ({ floors }) => round(floors * 3.048, 3),
  calories: ({ activeKcal, basalKcal }) => Math.round(activeKcal) + Math.round(basalKcal),
  caloriesBMR: ({ basalKcal }) => Math.round(basalKcal),
  activityCalories: ({ activeKcal, basalKcal }) => Math.round(activeKcal + basalKcal * 0.2),
  minutesSedentary: ({ sedentarySeconds }) => sedentarySeconds / 60,
  minutesLightlyActive: ({ lowSeconds }) => lowSeconds / 60,
  minutesFairlyActive: ({ mediumSeconds }) => mediumSeconds / 60,
  minutesVeryActive: ({ highSeconds }) => highSeconds / 60,
}

/** Of each date, as text; 0 where nothing is known. */
export function series(person: Person, days: readonly Day[], resource: string, nowMs: number): Row[] {
  return days.map((day) => {
    const sums = sumsOn(person, day, nowMs)
    return { dateTime: dateOf(day.day), value: String(sums ? (resources[resource]?.(sums) ?? 0) : 0) }
  })
}

export function daySummary(person: Person, day: Day, nowMs: number): Row {
  const sums = sumsOn(person, day, nowMs)
  const value = (name: string) => (sums ? (resources[name]?.(sums) ?? 0) : 0)
  const summary = {
    ...{ steps: value('steps'), floors: value('floors'), elevation: value('elevation') },
    ...{ caloriesOut: value('calories'), caloriesBMR: value('caloriesBMR') },
    ...{ activityCalories: value('activityCalories'), marginalCalories: 0 },
    ...{ sedentaryMinutes: value('minutesSedentary'), lightlyActiveMinutes: value('minutesLightlyActive') },
    ...{ fairlyActiveMinutes: value('minutesFairlyActive'), veryActiveMinutes: value('minutesVeryActive') },
    distances: [{ activity: 'total', distance: value('distance') }],
    ...restingOf(nightOf(person, day, nowMs)),
  }
  return { summary, goals: {}, activities: [] }
}

/** The main sleep that ends on a date. */
export function nightOf(person: Person, day: Day, nowMs: number): SleepView | undefined {
  if (day.day < person.span.firstDay) return undefined
  return sleepsOf([day], nowMs).find(({ sleep, deleted }) => !sleep.nap && !deleted)
}

/** The lowest heart rate of the night is that at rest. */
function restingOf(night: SleepView | undefined): Row {
  return night ? { restingHeartRate: night.lowestHeartRate } : {}
}

/** Of each date; without a night there is no heart rate at rest. */
export function heart(person: Person, days: readonly Day[], nowMs: number): Row[] {
  return days.map((day) => {
    const zone = { name: 'Fat Burn', min: Math.round(person.maxHr * 0.5), max: Math.round(person.maxHr * 0.7) }
    const zones = { customHeartRateZones: [], heartRateZones: [{ ...zone, minutes: 30, caloriesOut: 200.5 }] }
    return { dateTime: dateOf(day.day), value: { ...zones, ...restingOf(nightOf(person, day, nowMs)) } }
  })
}

/** Each minute with something, as time of day. */
export function intraday(person: Person, { day, zone }: Day, resource: string, nowMs: number): Row {
  const minutes = person.minutes(day)
  const until = Math.floor((knownUntil(person, nowMs) - minutes.startMs) / MINUTE_MS)
  const values = resource === 'heart' ? minutes.heartRate : minutes.steps
  const dataset: Row[] = []
  for (let i = 0; i < Math.min(until, values.length); i++) {
    const value = values[i] ?? 0
    if (value === 0 && resource === 'heart') continue
    dataset.push({ time: localText(zone, minutes.startMs + i * MINUTE_MS).slice(11, 19), value })
  }
  return { dataset, datasetInterval: 1, datasetType: 'minute' }
}

type OfNight = (view: SleepView, person: Person) => unknown

/** What is said after a night; dates without are left out. */
export const ofNights: Readonly<Record<string, readonly [list: string, value: OfNight]>> = {
  hrv: ['hrv', ({ averageHrv }) => ({ dailyRmssd: round(averageHrv, 3), deepRmssd: round(averageHrv * 0.9, 3) })],
  br: ['br', ({ sleep }) => ({ breathingRate: round(sleep.breaths, 1) })],
  'temp/skin': ['tempSkin', ({ sleep }) => ({ nightlyRelative: sleep.temperatureDeviation })],
  spo2: [
    '',
    ({ sleep }) =>
      sleep.spo2 === null
        ? null
        : { avg: round(sleep.spo2, 1), min: round(sleep.spo2 - 3, 1), max: Math.min(100, round(sleep.spo2 + 2, 1)) },
  ],
}

export function nightly(person: Person, days: readonly Day[], kind: string, nowMs: number): Row[] {
  const [, make] = ofNights[kind] ?? []
  return days.flatMap((day) => {
    const view = nightOf(person, day, nowMs)
    const value = view && make ? make(view, person) : null
    if (value === null) return []
    const logType = kind === 'temp/skin' ? { logType: 'dedicated_temp_sensor' } : {}
    return [{ dateTime: dateOf(day.day), ...logType, value }]
  })
}

/** A range for who runs without GPS, else a number as text. */
export function cardio(person: Person, days: readonly Day[], nowMs: number): Row[] {
  const known = days.filter((day) => sumsOn(person, day, nowMs) !== null && day.day >= person.span.firstDay)
  return known.map(({ day, vo2Max }) => ({
    ...{ dateTime: dateOf(day) },
    value: { vo2Max: person.strap === 3 ? String(vo2Max) : `${vo2Max - 2}-${vo2Max + 2}` },
  }))
}

export function coreTemperatures(person: Person, days: readonly Day[], nowMs: number): Row[] {
  return days.flatMap(({ day, zone }) => {
    const found = day < person.span.firstDay ? null : temperatureOf(person, day)
    return found && found.knownMs <= nowMs
      ? [{ dateTime: localText(zone, found.atMs).slice(0, 19), value: round(found.celsius, 1) }]
      : []
  })
}

/** Weighings as one log or the other. */
export function weighings(person: Person, days: readonly Day[], kind: 'weight' | 'fat', nowMs: number): Row[] {
  return days.flatMap(({ day, zone, weighing }) => {
    if (!weighing || weighing.knownMs > nowMs || day < person.span.firstDay) return []
    const [date, time] = localText(zone, weighing.atMs).slice(0, 19).split('T')
    const fat = compositionOf(person, weighing).fatPercent
    const metres = person.heightCm / 100
    const weight = { weight: weighing.kg, bmi: round(weighing.kg / metres ** 2, 2) }
    return [{ logId: weighing.atMs, date, time, ...(kind === 'weight' && weight), fat, source: 'Aria' }]
  })
}
