import { round, uuidOf } from '../random.ts'
import { drinksOf, type Meal, mealsOf } from '../truth/meals.ts'
import { type Day, type Person, sleepsOf, workoutsOf } from '../truth/person.ts'
import type { Sport } from '../truth/personas.ts'
import type { SleepView, Stage } from '../truth/sleep.ts'
import { summaryOf } from '../truth/tracks.ts'
import type { WorkoutView } from '../truth/workouts.ts'
import { instant, offsetText, type Point, type Row } from './points.ts'

/** Minutes as text. */
function minutes(seconds: number): string {
  return String(Math.round(seconds / 60))
}

export function sleepId(person: Person, { sleep }: SleepView): string {
  return uuidOf(`google/${person.seed}/${sleep.key}`)
}

const STAGES: Record<Stage, string> = { awake: 'AWAKE', light: 'LIGHT', deep: 'DEEP', rem: 'REM' }

/** What cannot be scored has no stages but asleep and awake; a first version is not processed yet. */
export function sleeps(person: Person, days: readonly Day[], nowMs: number): Point[] {
  const views = sleepsOf(days, nowMs).filter(({ deleted, sleep }) => !deleted && sleep.day >= person.span.firstDay)
  return views.map((view) => {
    const { sleep, startMs, endMs, seconds, runs } = view
    const name = (stage: Stage) => (sleep.unscorable && stage !== 'awake' ? 'ASLEEP' : STAGES[stage])
    const latency = runs[0]?.stage === 'awake' ? runs[0].seconds : 0
    const total = (endMs - startMs) / 1000
    const value = {
      type: sleep.unscorable ? 'CLASSIC' : 'STAGES',
      metadata: {
        ...{ externalId: String(Math.floor(sleep.startMs / 1000)), mainSleep: !sleep.nap, nap: sleep.nap },
        ...{ manuallyEdited: view.edited, processed: endMs === sleep.endMs },
        stagesStatus: sleep.unscorable ? 'REJECTED_COVERAGE' : 'SUCCEEDED',
      },
      stages: stagesOf(view, name),
      summary: {
        ...{ minutesInSleepPeriod: minutes(total), minutesAsleep: minutes(total - seconds.awake) },
        ...{ minutesAwake: minutes(seconds.awake), minutesToFallAsleep: minutes(latency), minutesAfterWakeUp: '0' },
        stagesSummary: stagesSummary(view, name),
      },
      ...{ createTime: instant(view.createdMs), updateTime: instant(view.updatedMs) },
    }
    return { startMs, endMs, zone: sleep.zone, value, source: 'watch', id: sleepId(person, view) }
  })
}

function stagesOf({ startMs, runs, sleep }: SleepView, name: (stage: Stage) => string): Row[] {
  let at = startMs
  return runs.map((run) => {
    const from = at
    at += run.seconds * 1000
    const offsets = { startUtcOffset: offsetText(sleep.zone, from), endUtcOffset: offsetText(sleep.zone, at) }
    return { type: name(run.stage), startTime: instant(from), endTime: instant(at), ...offsets }
  })
}

function stagesSummary({ runs }: SleepView, name: (stage: Stage) => string): Row[] {
  const types = [...new Set(runs.map(({ stage }) => name(stage)))]
  return types.map((type) => {
    const own = runs.filter(({ stage }) => name(stage) === type)
    const total = own.reduce((sum, { seconds }) => sum + seconds, 0)
    return { type, minutes: minutes(total), count: String(own.length) }
  })
}

const SPORTS: Record<Sport, string> = {
  ...{ running: 'RUNNING', 'trail running': 'TRAIL_RUN', walking: 'WALKING', hiking: 'HIKING', cycling: 'BIKING' },
  ...{ swimming: 'SWIMMING_POOL', rowing: 'ROWING', strength: 'WEIGHTLIFTING', yoga: 'YOGA', hiit: 'HIIT' },
  ...{ tennis: 'TENNIS', floorball: 'SPORT', unknown: 'WORKOUT' },
}
const INDOORS: Partial<Record<Sport, string>> = { cycling: 'STATIONARY_BIKE', rowing: 'ROWING_MACHINE' }

export function exerciseId(person: Person, { workout }: WorkoutView): string {
  return uuidOf(`google/${person.seed}/${workout.key}`)
}

/** Whole beats, millimetres; what was entered by hand has nothing measured. */
export function exercises(person: Person, days: readonly Day[], nowMs: number): Point[] {
  const views = workoutsOf(days, nowMs).filter(({ deleted }) => !deleted)
  return views.map((view) => {
    const { workout, sport } = view
    const { startMs, endMs, distanceM, manual, climbedM, zone } = workout
    const track = manual ? null : summaryOf(person, workout)
    const seconds = track?.movingSeconds ?? (endMs - startMs) / 1000
    const hasRoute = distanceM !== null && sport !== 'swimming' && !manual
    const value = {
      exerciseType: (distanceM === null ? INDOORS[sport] : undefined) ?? SPORTS[sport],
      ...{ displayName: sport === 'unknown' ? 'Workout' : sport, activeDuration: `${seconds}s` },
      metricsSummary: {
        caloriesKcal: round(workout.kcal, 1),
        ...(distanceM !== null && {
          distanceMillimeters: Math.round(distanceM * 1000),
          averageSpeedMillimetersPerSecond: round((distanceM * 1000) / seconds, 1),
        }),
        ...(!manual && {
          averageHeartRateBeatsPerMinute: String(Math.round(view.averageHeartRate)),
          ...(workout.cadence > 0 && { steps: String(Math.round((workout.cadence * (endMs - startMs)) / 60_000)) }),
          ...(climbedM !== null && { elevationGainMillimeters: Math.round(climbedM * 1000) }),
        }),
      },
      exerciseMetadata: { hasGps: hasRoute },
      ...{ createTime: instant(view.createdMs), updateTime: instant(view.updatedMs) },
    }
    return { startMs, endMs, zone, value, source: manual ? 'app' : 'watch', id: exerciseId(person, view) }
  })
}

/** Eaten at one instant. */
export function nutrition(person: Person, days: readonly Day[], nowMs: number): Point[] {
  return days.flatMap(({ day, zone }) =>
    mealsOf(person, day)
      .filter(({ knownMs }) => knownMs <= nowMs)
      .map((meal) => ({
        ...{ startMs: meal.atMs, endMs: meal.atMs, zone, value: mealValue(meal), source: 'app' as const },
        id: uuidOf(`google/${person.seed}/${meal.key}`),
      })),
  )
}

function mealValue({ name, type, kcal, carbohydrates, fat, protein, fiber, sugar }: Meal): Row {
  const grams = (nutrient: string, amount: number) => ({ nutrient, quantity: { grams: amount } })
  return {
    ...{ foodDisplayName: name, mealType: type === 'snack' ? 'ANYTIME' : type.toUpperCase(), energy: { kcal } },
    ...{ totalCarbohydrate: { grams: carbohydrates }, totalFat: { grams: fat } },
    nutrients: [grams('PROTEIN', protein), grams('DIETARY_FIBER', fiber), grams('SUGAR', sugar)],
  }
}

export function hydration(person: Person, days: readonly Day[], nowMs: number): Point[] {
  return days.flatMap(({ day, zone }) =>
    drinksOf(person, day)
      .filter(({ knownMs }) => knownMs <= nowMs)
      .map(({ atMs, key, millilitres }) => ({
        ...{ startMs: atMs, endMs: atMs, zone, value: { amountConsumed: { milliliters: millilitres } } },
        ...{ source: 'app' as const, id: uuidOf(`google/${person.seed}/${key}`) },
      })),
  )
}
