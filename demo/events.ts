import { round } from '../simulator/random.ts'
import { MINUTE_MS } from '../simulator/zones.ts'
import { SECOND_MS, utcText } from './clock.ts'
import type { Day } from './days.ts'
import { sourceOf } from './devices.ts'
import type { Sleep } from './nights.ts'
import type { Person } from './people.ts'
import type { Sport } from './plans.ts'
import { add, addRecords, type Item, type Maker, makerOf } from './records.ts'
import { TICK_S, type Workout } from './workouts.ts'

/** Minutes after which a watch has scored a sleep, and saved a workout. */
const SCORED_MINUTES = 12
const SAVED_MINUTES = 2

/** Everything that a person's phone sends of a day. */
export function itemsOf(person: Person, day: Day): Item[] {
  const maker = makerOf(person, day.day)
  addRecords(maker, day)
  for (const sleep of day.sleeps) addSleep(maker, sleep)
  for (const workout of day.workouts) addWorkout(maker, workout)
  return maker.items
}

/** Apple's phone knows the time in bed, its watch the stages; Android's stages belong to a session. */
function addSleep(maker: Maker, { inBed, stages, isNap }: Sleep): void {
  const source = sourceOf(maker.person, 'watch')
  const session = maker.newId()
  // The phone gets the stages of a night together, in the morning.
  const { endMs: upMs } = inBed
  const scoredAt = upMs + SCORED_MINUTES * MINUTE_MS
  const isApple = maker.person.provider === 'apple'
  for (const [index, { stage, startMs, endMs }] of stages.entries()) {
    const ids = isApple ? { id: maker.newId() } : { id: `${session}-s${index}`, parentId: session }
    add(maker, 'sleep', { startMs, endMs, scoredMs: scoredAt - endMs }, { ...ids, stage, source })
  }
  if (!isApple || isNap) return
  const fields = { id: maker.newId(), stage: 'in_bed', source: sourceOf(maker.person, 'phone') }
  add(maker, 'sleep', { ...inBed, scoredMs: scoredAt - upMs }, fields)
}

/** The platforms share these names. */
const TYPES: Record<Sport, string> = {
  running: 'running',
  walking: 'walking',
  yoga: 'yoga',
  strength_training: 'strength_training',
  cycling: 'cycling',
}

function addWorkout(maker: Maker, workout: Workout): void {
  const { heart, kcal, meters, steps, startMs, endMs, laps, title } = workout
  const mean = heart.reduce((sum, bpm) => sum + bpm, 0) / Math.max(1, heart.length)
  const seconds = (heart.length * TICK_S * SECOND_MS) / 1_000
  const statistic = (type: string, value: number, unit: string) => ({ type, value, unit })
  const values = [
    statistic('duration', seconds, 's'),
    statistic('activeEnergyBurned', kcal, 'kcal'),
    statistic('averageHeartRate', round(mean, 1), 'bpm'),
    statistic('minHeartRate', Math.min(...heart), 'bpm'),
    statistic('maxHeartRate', Math.max(...heart), 'bpm'),
    ...(meters > 0
      ? [statistic('distance', meters, 'm'), statistic('averageSpeed', round(meters / seconds, 3), 'm/s')]
      : []),
    ...(steps > 0 ? [statistic('stepCount', steps, 'count')] : []),
  ]
  const fields = {
    ...{ id: maker.newId(), type: TYPES[workout.sport], title, source: sourceOf(maker.person, 'watch'), values },
    ...(laps.length > 0 && {
      laps: laps.map((lap) => ({
        startDate: utcText(lap.startMs),
        endDate: utcText(lap.endMs),
        distanceM: lap.meters,
      })),
    }),
  }
  add(maker, 'workouts', { startMs, endMs, scoredMs: SAVED_MINUTES * MINUTE_MS }, fields)
}
