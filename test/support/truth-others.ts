// What Withings, Google Health, Ultrahuman, Sensor Bio and Fitbit make of the truth of a person, as lines of text (truth.ts):
// nights, workouts, and the series that are named for each.
import { round } from '../../simulator/random.ts'
import type { Json } from './simulator.ts'
import {
  type Add,
  asleepOf,
  type Lines,
  ms,
  offsetMs,
  PLAIN,
  type Span,
  sample,
  sleepLine,
  total,
  unsureDays,
  within,
  workoutLine,
} from './truth.ts'
import { daysOfJourneys } from './truth-polar.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** How a provider shows what is true. */
interface Shown {
  /** What is compared, beside nights and workouts. */
  readonly series: readonly string[]
  /** `allow`: what it may show. */
  add(add: Add, truth: Json, allow: Add): void
  /** Some workouts have no id. */
  readonly isNameless?: true
  /** Of each date one night is told, the last that ends on it by the clock of where the person is now. */
  readonly isOneADate?: true
  /** It knows no naps, so one that is within two hours of other sleep becomes one with it. */
  readonly isNapless?: true
  /** Of who has travelled: all local times are those of the present zone. */
  readonly abroad?: readonly string[]
  /** A night or workout as it is told. */
  readonly told?: (event: Json) => Json
  readonly asleep?: (seconds: number) => number
  readonly metres?: (metres: number, workout: Json) => number | null
}

const eachMinute = (truth: Json, take: (atMs: number, beats: number, steps: number) => void) => {
  for (const { start, heart_rate: beats, steps } of truth.minutes)
    for (let minute = 0; minute < beats.length; minute += 1)
      take(ms(start) + minute * MINUTE_MS, beats[minute], steps[minute])
}

const heartRates = (add: Add, truth: Json, everyMinutes: number, laterMs = 0) =>
  eachMinute(truth, (atMs, beats) => {
    if (beats > 0 && (atMs / MINUTE_MS) % everyMinutes === 0) sample(add, 'heart_rate', atMs + laterMs, beats)
  })

const dailySteps = (add: Add, truth: Json) => {
  for (const { date, steps } of truth.calendar_days) total(add, 'steps', date, steps)
}

const variability = (add: Add, sleeps: Json[]) => {
  for (const { start, hrv_rmssd_5_min: values } of sleeps)
    values.forEach((hrv: number | null, i: number) => {
      if (hrv !== null) sample(add, 'heart_rate_variability_rmssd', ms(start) + i * 5 * MINUTE_MS, hrv)
    })
}

const nightsOf = (truth: Json) => truth.sleeps.filter(({ nap }: Json) => !nap)

const weights = (add: Add, truth: Json) => {
  for (const { at, kg } of truth.weighings) sample(add, 'weight', ms(at), kg)
}

const glucose = (add: Add, truth: Json) => {
  for (const { at, mg_per_dl: value } of truth.glucose) sample(add, 'blood_glucose', ms(at), value)
}

const POOL_METRES = 25

const isShort = ({ start, end }: Json) => ms(end) - ms(start) < 3 * 60 * MINUTE_MS
const isInTheDay = ({ start, start_offset: offset }: Json) => {
  const hour = new Date(ms(start) + offsetMs(offset)).getUTCHours()
  return hour >= 9 && hour < 19
}

const SHOWN = {
  withings: {
    series: ['heart_rate_variability_rmssd', 'weight', 'steps'],
    // It does not say what is a nap: a short one in the day.
    told: (event) => ({ ...event, nap: isShort(event) && isInTheDay(event) }),
    // Lengths of a pool are counted.
    metres: (metres, { sport, manual }) =>
      sport === 'swimming' && !manual ? Math.round(metres / POOL_METRES) * POOL_METRES : Math.round(metres),
    add(add, truth) {
      dailySteps(add, truth)
      weights(add, truth)
      variability(
        add,
        truth.sleeps.filter(({ complete }: Json) => complete),
      )
    },
  },
  google_health: {
    series: ['heart_rate', 'heart_rate_variability_rmssd', 'steps', 'weight', 'blood_glucose', 'hydration'],
    // Whole minutes.
    asleep: (seconds) => Math.round(seconds / 60) * 60,
    metres: (metres) => round(metres, 3),
    add(add, truth) {
      heartRates(add, truth, 1, 5_000)
      eachMinute(truth, (atMs, _, steps) => {
        if (steps > 0) sample(add, 'steps', atMs, steps)
      })
      weights(add, truth)
      glucose(add, truth)
      variability(add, nightsOf(truth))
      for (const { at, millilitres } of truth.drinks) sample(add, 'hydration', ms(at), millilitres)
    },
  },
  ultrahuman: {
    isOneADate: true,
    told: (event) => ({ ...event, start_offset: null }),
    series: ['heart_rate', 'heart_rate_variability_rmssd', 'blood_glucose'],
    add(add, truth, allow) {
      heartRates(add, truth, 5)
      glucose(add, truth)
      for (const night of nightsOf(truth)) variability(isHidden(night, truth) ? allow : add, [night])
    },
  },
  sensorbio: {
    series: ['heart_rate', 'steps'],
    isNameless: true,
    isNapless: true,
    // It knows no zones and no naps.
    told: (event) => ({ ...event, start_offset: null, nap: false }),
    metres: (metres) => round(metres, 1),
    add(add, truth) {
      dailySteps(add, truth)
      heartRates(add, truth, 10)
    },
  },
  fitbit: {
    series: ['steps', 'weight'],
    abroad: ['workout', 'steps'],
    add(add, truth) {
      dailySteps(add, truth)
      weights(add, truth)
    },
  },
} satisfies Record<string, Shown>

type Other = keyof typeof SHOWN

/** Whether another night ends later on the same date, by a clock that the person has had: of who travels, that happens. */
function isHidden({ nap, start, end }: Json, truth: Json): boolean {
  const offsets = truth.sleeps.flatMap((one: Json) => [one.start_offset, one.end_offset])
  const dateOf = (text: string, offset: string) => Math.floor((ms(text) + offsetMs(offset)) / DAY_MS)
  return [...new Set<string>(offsets)].some((offset) =>
    nightsOf(truth).some((one: Json) => !nap && one.start > start && dateOf(one.end, offset) === dateOf(end, offset)),
  )
}

/** Sleep with what is less than two hours before or after it, as one. */
function joinedWith(sleep: Json, truth: Json): Json[] {
  const isNear = (one: Json, next: Json) => one.start < next.start && ms(next.start) - ms(one.end) <= 2 * 60 * MINUTE_MS
  return truth.sleeps.flatMap((one: Json) => {
    if (isNear(one, sleep)) return [{ ...one, end: sleep.end }]
    return isNear(sleep, one) ? [{ ...sleep, end: one.end }] : []
  })
}

/** The lines that are compared, of what a provider has. */
function linesOfOne(id: Other, truth: Json, span: Span): Lines {
  const {
    series,
    add: addSeries,
    told = (one) => one,
    asleep = (one) => one,
    metres,
    isNameless,
    isOneADate,
    isNapless,
    abroad,
  }: Shown = SHOWN[id]
  const [required, allowed, anyhow] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const [add, allow] = [within(span, required), within(span, allowed)]
  const plain = PLAIN[id]
  for (const sleep of truth.sleeps) {
    if (sleep.ids[id] === null) continue
    const line = sleepLine(told(sleep), null, plain?.asleep ? asleep(asleepOf(sleep)) : null)
    const joined = isNapless ? joinedWith(sleep, truth) : []
    for (const one of joined) allow(sleepLine(told(one), null, null), ms(one.start))
    const isSure = sleep.complete && !(isOneADate && isHidden(sleep, truth)) && joined.length === 0
    ;(isSure ? add : allow)(line, ms(sleep.start))
  }
  for (const workout of truth.workouts) {
    if (workout.ids[id] === null && !isNameless) continue
    const shown = workout.distance_m === null || !metres ? null : metres(workout.distance_m, workout)
    add(workoutLine(told(workout), '-', shown), ms(workout.start))
  }
  addSeries(add, truth, allow)
  const unsure = new Set([...unsureDays(truth), ...daysOfJourneys(truth)])
  for (const date of unsure) anyhow.add(`steps of ${date}`)
  for (const line of required) if (anyhow.has(line.slice(0, line.lastIndexOf(' ')))) required.delete(line)
  const ofDays = [...unsure].flatMap((date) => series.map((one) => `${one} ${date}`))
  const here = truth.sleeps.at(-1)?.end_offset
  const hasTravelled = truth.sleeps.some((sleep: Json) => sleep.start_offset !== here || sleep.end_offset !== here)
  const only = new Set(abroad && hasTravelled ? abroad : ['sleep', 'workout', ...series])
  for (const line of required) if (!only.has(line.slice(0, line.indexOf(' ')))) required.delete(line)
  return { required, allowed, anyhow, unsure: new Set(ofDays), only }
}

/** By provider. */
export const othersLines = Object.fromEntries(
  (Object.keys(SHOWN) as Other[]).map((id) => [id, (truth: Json, span: Span) => linesOfOne(id, truth, span)]),
) as Record<Other, (truth: Json, span: Span) => Lines>
