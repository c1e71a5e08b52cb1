import { round } from '../random.ts'
import { SLEEPING, TRAINING } from '../truth/minutes.ts'
import { type Day, type Person, sumsOf } from '../truth/person.ts'
import { sleepAt } from '../truth/sleep.ts'
import { TENSION_MINUTES, tensionOf } from '../truth/stress.ts'
import { workoutAt } from '../truth/workouts.ts'
import { dateOf, MINUTE_MS } from '../zones.ts'
import { type Item, knownMinutes, offsetSeconds, type Row, type Style, seconds, summaryId } from './items.ts'

/** What is known of a local day, from midnight on. */
interface Known {
  readonly startMs: number
  readonly minutes: number
  readonly head: Row
}

function knownOf(person: Person, day: Day, nowMs: number): Known | null {
  const minutes = knownMinutes(person, day, nowMs)
  const { startMs } = person.minutes(day.day)
  if (minutes === 0) return null
  const head = {
    calendarDate: dateOf(day.day),
    ...{ startTimeInSeconds: seconds(startMs), startTimeOffsetInSeconds: offsetSeconds(day.zone, startMs) },
    durationInSeconds: minutes * 60,
  }
  return { startMs, minutes, head }
}

/** The sums of a local day so far, whole kcal, metres to 0.1: one id from the first to the last time. */
export function dailies(person: Person, day: Day, nowMs: number, style: Style): Item[] {
  const known = knownOf(person, day, nowMs)
  if (!known) return []
  const { startMs, minutes, head } = known
  const row = () => {
    const sums = sumsOf(person, startMs, startMs + minutes * MINUTE_MS)
    const night = day.night && sleepAt(day.night, nowMs)
    const workout = day.workout && workoutAt(day.workout, nowMs)
    const climbed = workout && !workout.deleted ? (workout.workout.climbedM ?? 0) : 0
    return {
      ...{ summaryId: summaryId(person, startMs, '15180'), ...head, activityType: 'WALKING' },
      ...{ steps: sums.steps, pushes: 0, distanceInMeters: round(sums.distanceM, 1), pushDistanceInMeters: 0 },
      activeTimeInSeconds: sums.highSeconds + sums.mediumSeconds + sums.lowSeconds,
      ...{ activeKilocalories: Math.round(sums.activeKcal), bmrKilocalories: Math.round(sums.basalKcal) },
      moderateIntensityDurationInSeconds: sums.mediumSeconds,
      vigorousIntensityDurationInSeconds: sums.highSeconds,
      floorsClimbed: Math.floor(climbed / 3),
      ...heartRates(person, day, { minutes, everySeconds: style.heartRateSeconds }),
      ...(night && !night.deleted && { restingHeartRateInBeatsPerMinute: night.lowestHeartRate }),
      ...stressSums(person, day, minutes),
      ...{ stepsGoal: 8000, floorsClimbedGoal: 10, intensityDurationGoalInSeconds: 9000 },
    }
  }
  return [{ startMs, endMs: startMs + minutes * MINUTE_MS, row }]
}

/** Where nothing was measured there is no entry; the average, as at Garmin, is not that of the day. */
function heartRates(
  person: Person,
  { day }: Day,
  { minutes, everySeconds }: { minutes: number; everySeconds: number },
) {
  const { heartRate } = person.minutes(day)
  const samples: Record<string, number> = {}
  let [least, most] = [Number.POSITIVE_INFINITY, 0]
  for (let second = 0; second < minutes * 60; second += everySeconds) {
    const beats = heartRate[Math.floor(second / 60)] ?? 0
    if (beats === 0) continue
    samples[second] = beats
    least = Math.min(least, beats)
    most = Math.max(most, beats)
  }
  if (most === 0) return {}
  return {
    ...{ minHeartRateInBeatsPerMinute: least, maxHeartRateInBeatsPerMinute: most },
    averageHeartRateInBeatsPerMinute: person.restingHr + 14,
    timeOffsetHeartRateSamples: samples,
  }
}

const QUALIFIERS = ['calm', 'balanced', 'stressful', 'very_stressful']

function stressSums(person: Person, { day }: Day, minutes: number): Row {
  const { stress, battery } = tensionOf(person, day)
  const known = stress.subarray(0, Math.floor(minutes / TENSION_MINUTES))
  const measured = known.filter((value) => value > 0)
  const lasted = (wanted: (value: number) => boolean) => known.filter(wanted).length * TENSION_MINUTES * 60
  const average = averageStress(measured)
  let [charged, drained] = [0, 0]
  for (let i = 1; i < known.length; i++) {
    const change = (battery[i] ?? 0) - (battery[i - 1] ?? 0)
    if (battery[i] === 0 || battery[i - 1] === 0) continue
    if (change > 0) charged += change
    else drained -= change
  }
  return {
    averageStressLevel: average,
    maxStressLevel: measured.length > 0 ? Math.max(...measured) : -1,
    stressDurationInSeconds: lasted((value) => value > 25),
    restStressDurationInSeconds: lasted((value) => value > 0 && value <= 25),
    activityStressDurationInSeconds: lasted((value) => value === -2),
    lowStressDurationInSeconds: lasted((value) => value > 25 && value <= 50),
    mediumStressDurationInSeconds: lasted((value) => value > 50 && value <= 75),
    highStressDurationInSeconds: lasted((value) => value > 75),
    ...(average > 0 && { stressQualifier: QUALIFIERS[Math.min(3, Math.floor(average / 20))] }),
    ...{ bodyBatteryChargedValue: charged, bodyBatteryDrainedValue: drained },
  }
}

/** Whole; −1: too little was measured. */
function averageStress(measured: Int8Array): number {
  return measured.length > 0 ? Math.round(measured.reduce((sum, value) => sum + value, 0) / measured.length) : -1
}

/** Each three minutes of the day so far. */
export function stressDetails(person: Person, day: Day, nowMs: number): Item[] {
  const known = knownOf(person, day, nowMs)
  if (!known) return []
  const { startMs, minutes, head } = known
  const row = () => {
    const { stress, battery } = tensionOf(person, day.day)
    const levels: Record<string, number> = {}
    const charges: Record<string, number> = {}
    for (let i = 0; i < Math.floor(minutes / TENSION_MINUTES); i++) {
      levels[i * TENSION_MINUTES * 60] = stress[i] ?? -3
      if (battery[i]) charges[i * TENSION_MINUTES * 60] = battery[i] ?? 0
    }
    return {
      ...{ summaryId: summaryId(person, startMs, ''), ...head },
      ...{ timeOffsetStressLevelValues: levels, timeOffsetBodyBatteryValues: charges },
    }
  }
  return [{ startMs, endMs: startMs + minutes * MINUTE_MS, row }]
}

const SLOT_MINUTES = 15
/** The number of a type of movement in ids of epochs. */
const MOVEMENTS = { RUNNING: 1, WALKING: 6, SEDENTARY: 8 } as const

/** Each quarter of an hour that is known, once for each type of movement in it; steps of all are those of the slot. */
export function epochs(person: Person, day: Day, nowMs: number): Item[] {
  const { startMs } = person.minutes(day.day)
  const slots = Math.floor(knownMinutes(person, day, nowMs) / SLOT_MINUTES)
  return Array.from({ length: slots }, (_, slot) => slot * SLOT_MINUTES).flatMap((first) => {
    const slotMs = startMs + first * MINUTE_MS
    return (Object.keys(MOVEMENTS) as (keyof typeof MOVEMENTS)[]).flatMap((type): Item[] => {
      const parts = minutesOf(person, day, { first, type })
      const row = () => epoch(person, day, { slotMs, type, parts })
      return parts.length > 0 ? [{ startMs: slotMs, endMs: slotMs + SLOT_MINUTES * MINUTE_MS, row }] : []
    })
  })
}

function minutesOf(person: Person, { day }: Day, { first, type }: { first: number; type: string }): number[] {
  const { met, during } = person.minutes(day)
  const found: number[] = []
  for (let minute = first; minute < first + SLOT_MINUTES; minute++) {
    const level = met[minute] ?? 0
    if (level === 0) continue
    const movement = level < 15 ? 'SEDENTARY' : during[minute] === TRAINING && level >= 80 ? 'RUNNING' : 'WALKING'
    if (movement === type) found.push(minute)
  }
  return found
}

interface Slot {
  readonly slotMs: number
  readonly type: keyof typeof MOVEMENTS
  readonly parts: readonly number[]
}

function epoch(person: Person, { day, zone }: Day, { slotMs, type, parts }: Slot): Row {
  const { steps, met, heartRate } = person.minutes(day)
  const sum = (value: (minute: number) => number) => parts.reduce((total, minute) => total + value(minute), 0)
  const walked = sum((minute) => steps[minute] ?? 0)
  const beating = parts.filter((minute) => (heartRate[minute] ?? 0) > 0)
  const kcal = sum((minute) => Math.max(0, (met[minute] ?? 0) >= 15 ? (met[minute] ?? 0) - 10 : 0))
  const beats = beating.reduce((total, minute) => total + (heartRate[minute] ?? 0), 0)
  return {
    ...{ summaryId: summaryId(person, slotMs, String(MOVEMENTS[type])), activityType: type },
    ...{ startTimeInSeconds: seconds(slotMs), startTimeOffsetInSeconds: offsetSeconds(zone, slotMs) },
    ...{ durationInSeconds: SLOT_MINUTES * 60, activeTimeInSeconds: parts.length * 60 },
    ...{ steps: walked, distanceInMeters: round(walked * person.heightCm * 0.00414, 1) },
    activeKilocalories: Math.round((kcal / 10) * (person.weightKg / 60)),
    met: round(sum((minute) => met[minute] ?? 0) / parts.length / 10, 1),
    intensity: type === 'SEDENTARY' ? 'SEDENTARY' : type === 'RUNNING' ? 'HIGHLY_ACTIVE' : 'ACTIVE',
    ...{ meanMotionIntensity: type === 'SEDENTARY' ? 0.4 : 3.6, maxMotionIntensity: type === 'SEDENTARY' ? 1 : 6 },
    ...(beating.length > 0 && { meanHeartRateInBeatsPerMinute: Math.round(beats / beating.length) }),
  }
}

/** Each minute asleep of each quarter of an hour, to 0.1; other minutes have 0: nothing measured. */
export function respiration(person: Person, day: Day, nowMs: number): Item[] {
  const { startMs, during } = person.minutes(day.day)
  const sleeps = [day.night, day.nap, person.day(day.day + 1).night].filter((sleep) => sleep !== null)
  const slots = Math.floor(knownMinutes(person, day, nowMs) / SLOT_MINUTES)
  return Array.from({ length: slots }, (_, slot) => slot * SLOT_MINUTES).flatMap((first): Item[] => {
    if (!during.subarray(first, first + SLOT_MINUTES).includes(SLEEPING)) return []
    const slotMs = startMs + first * MINUTE_MS
    const row = () => {
      const values = Array.from({ length: SLOT_MINUTES }, (_, minute) => {
        const ms = slotMs + minute * MINUTE_MS
        const sleep = sleeps.find((one) => one.startMs <= ms && ms + MINUTE_MS <= one.endMs)
        return [minute * 60, sleep ? round(sleep.breaths, 1) : 0]
      })
      return {
        summaryId: summaryId(person, slotMs, 'respiration'),
        ...{ startTimeInSeconds: seconds(slotMs), startTimeOffsetInSeconds: offsetSeconds(day.zone, slotMs) },
        ...{ durationInSeconds: SLOT_MINUTES * 60, timeOffsetEpochToBreaths: Object.fromEntries(values) },
      }
    }
    return [{ startMs: slotMs, endMs: slotMs + SLOT_MINUTES * MINUTE_MS, row }]
  })
}

/** Once a day is over. */
export function userMetrics(person: Person, day: Day, nowMs: number): Item[] {
  const { startMs, met } = person.minutes(day.day)
  if (knownMinutes(person, day, nowMs) < met.length) return []
  const bikes = person.sports.includes('cycling')
  const row = () => ({
    ...{ summaryId: summaryId(person, startMs, 'um'), calendarDate: dateOf(day.day), vo2Max: day.vo2Max },
    ...(bikes && { vo2MaxCycling: day.vo2Max - 2 }),
    ...{ enhanced: true, fitnessAge: day.vascularAge },
  })
  return [{ startMs, endMs: startMs + met.length * MINUTE_MS, row }]
}
