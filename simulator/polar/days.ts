import { random, round, whole } from '../random.ts'
import { SLEEPING, TRAINING } from '../truth/minutes.ts'
import { currentWeight, type Day, level, type Person, sumsOf } from '../truth/person.ts'
import { knownUntil } from '../truth/personas.ts'
import { DAY_MS, dateOf, MINUTE_MS } from '../zones.ts'
import { isNew, type Row, userUrl } from './exercises.ts'
import { durationText, localText } from './times.ts'

/** What a request asks for besides. */
export interface DayExtras {
  readonly steps: boolean
  readonly zones: boolean
  readonly stamps: boolean
  /** Whether to write as the specification has it, not as devices do. */
  readonly asSpecified: boolean
}

/** Minutes of a local day that are known; 0: the day has not begun. */
function knownMinutes(person: Person, { day }: Day, nowMs: number): number {
  const { startMs, met } = person.minutes(day)
  return Math.max(0, Math.min(met.length, Math.floor((knownUntil(person, nowMs) - startMs) / MINUTE_MS)))
}

/** From midnight to midnight by the watch; null before. Whole steps and kcal, distance to 0.1 m. */
export function activity(person: Person, day: Day, nowMs: number, extras: DayExtras): Row | null {
  const minutes = knownMinutes(person, day, nowMs)
  if (minutes === 0) return null
  const { startMs, met } = person.minutes(day.day)
  const sums = sumsOf(person, startMs, startMs + minutes * MINUTE_MS)
  const active = Math.round(sums.activeKcal)
  const date = dateOf(day.day)
  const still = sums.sedentarySeconds + sums.restingSeconds
  return {
    start_time: `${date}T00:00${extras.asSpecified ? ':00' : ''}`,
    end_time: extras.asSpecified
      ? `${date}T23:59:59`
      : `${date}T${minutes === met.length ? '23:59' : endOf(day, minutes)}`,
    active_duration: durationText(sums.highSeconds + sums.mediumSeconds + sums.lowSeconds),
    inactive_duration: durationText(still),
    daily_activity: round(day.activity * 1.1, 1),
    ...{ calories: active + Math.round(sums.basalKcal), active_calories: active, steps: sums.steps },
    inactivity_alert_count: stamps(person, day, minutes).length,
    distance_from_steps: round(sums.distanceM, 1),
    ...((extras.steps || extras.zones || extras.stamps) && { samples: activitySamples(person, day, nowMs, extras) }),
  }

  function endOf({ zone }: Day, known: number): string {
    return localText(zone, startMs + known * MINUTE_MS).slice(11, 16)
  }
}

/** Steps of each minute, unless they are those of the minute before; zones where they change. */
export function activitySamples(person: Person, day: Day, nowMs: number, extras: DayExtras): Row | null {
  const count = knownMinutes(person, day, nowMs)
  if (count === 0) return null
  const { startMs, steps, met, during } = person.minutes(day.day)
  const time = (minute: number) => localText(day.zone, startMs + minute * MINUTE_MS)
  const changes = <Value>(of: (minute: number) => Value) =>
    Array.from({ length: count }, (_, minute) => minute).filter(
      (minute) => minute === 0 || of(minute) !== of(minute - 1),
    )
  const walked = changes((minute) => steps[minute]).map((minute) => ({
    steps: steps[minute],
    timestamp: time(minute).slice(0, 16),
  }))
  const zone = (minute: number) => zoneOf(met[minute] ?? 0, during[minute] === SLEEPING)
  const zones = changes(zone).map((minute) => ({ zone: zone(minute), timestamp: time(minute) }))
  const alerts = stamps(person, day, count).map((minute) => ({ stamp: time(minute) }))
  const total = steps.subarray(0, count).reduce((sum, value) => sum + value, 0)
  return {
    ...(extras.asSpecified && { date: dateOf(day.day) }),
    ...(extras.steps && { steps: { interval_ms: 60_000, total_steps: total, samples: walked } }),
    ...(extras.zones && { activity_zones: { samples: zones } }),
    ...(extras.stamps && { inactivity_stamps: extras.asSpecified ? alerts : { samples: alerts } }),
  }
}

function zoneOf(met: number, sleeping: boolean): string {
  if (met === 0) return 'NON_WEAR'
  if (sleeping) return 'SLEEP'
  return { high: 'VIGOROUS', medium: 'MODERATE', low: 'LIGHT', sedentary: 'SEDENTARY' }[level(met)]
}

/** Minutes of the day at which somebody had been sitting for 55. */
function stamps(person: Person, { day }: Day, count: number): number[] {
  const { met, during } = person.minutes(day)
  const found: number[] = []
  let sitting = 0
  for (let minute = 0; minute < count; minute++) {
    const still = zoneOf(met[minute] ?? 0, during[minute] === SLEEPING) === 'SEDENTARY'
    sitting = still ? sitting + 1 : 0
    if (sitting > 0 && sitting % 55 === 0) found.push(minute)
  }
  return found
}

/** Old devices measure every fifth minute; heart rates of exercises are none of it. Times are those of the watch. */
const SECOND = 8

export function heartRates(person: Person, day: Day, nowMs: number): Row | null {
  const count = knownMinutes(person, day, nowMs)
  const { startMs, heartRate, during } = person.minutes(day.day)
  const every = isNew(person) ? 1 : 5
  const samples: Row[] = []
  for (let minute = 0; minute < count; minute += every) {
    const beats = heartRate[minute] ?? 0
    if (beats === 0 || during[minute] === TRAINING) continue
    const time = localText(day.zone, startMs + minute * MINUTE_MS + SECOND * 1000).slice(11)
    samples.push({ heart_rate: beats, sample_time: time })
  }
  if (samples.length === 0) return null
  return { polar_user: userUrl(person), date: dateOf(day.day), heart_rate_samples: samples }
}

const STATUSES = ['DETRAINING', 'MAINTAINING', 'PRODUCTIVE', 'OVERREACHING']

/** Once a day has begun; the first weeks have no status. */
export function cardioLoad(person: Person, day: Day, nowMs: number): Row | null {
  if (knownMinutes(person, day, nowMs) === 0) return null
  const next = random(`${person.seed}/polar/load/${day.day}`)
  const { workout } = day
  const known = workout?.versions[0] && workout.versions[0].atMs <= nowMs ? workout.kcal / 6 : 0
  const early = day.day < person.span.firstDay + 7
  const [strain, tolerance] = [round(30 + known / 2 + next() * 20, 1), round(50 + next() * 20, 1)]
  return {
    date: dateOf(day.day),
    cardio_load_status: early ? 'LOAD_STATUS_NOT_AVAILABLE' : STATUSES[whole(next, 0, 3)],
    cardio_load: early ? -1 : round(known, 1),
    ...{ strain, tolerance, cardio_load_ratio: round(strain / tolerance, 2) },
    cardio_load_level: { very_low: 20, low: 45, medium: 80, high: 120, 'very-high': 170 },
  }
}

export function physical(person: Person, nowMs: number): Row {
  const { birthYear, sex, heightCm, maxHr, restingHr } = person
  const today = Math.floor(nowMs / DAY_MS)
  const weighed = Array.from({ length: 60 }, (_, i) => person.day(today + 1 - i).weighing)
  const last = weighed.find((weighing) => weighing && weighing.knownMs <= nowMs)
  const createdMs = person.span.firstDay * DAY_MS
  const changedMs = last?.knownMs ?? createdMs
  const utc = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`
  return {
    ...{ weight: currentWeight(person, nowMs), height: heightCm },
    ...{ created: utc(createdMs), modified: utc(changedMs), birthday: `${birthYear}-01-01` },
    ...{ gender: sex.toUpperCase(), maximum_heart_rate: maxHr, resting_heart_rate: restingHr },
    ...{ aerobic_threshold: Math.round(maxHr * 0.75), anaerobic_threshold: Math.round(maxHr * 0.9) },
    // Whenever it is asked for, the same facts of the same moment.
    ...{
      vo2_max: Math.round(person.day(Math.floor(changedMs / DAY_MS)).vo2Max),
      weight_source: last ? 'SOURCE_MEASURED' : 'SOURCE_DEFAULT',
    },
    ...{ training_background: 'REGULAR', typical_day: 'MOSTLY_SITTING', sleep_goal: 'PT8H' },
  }
}
