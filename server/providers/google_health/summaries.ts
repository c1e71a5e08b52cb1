import { withoutNoise } from '../../batch/units.ts'
import type { At, Item, Out } from '../part.ts'
import { durationSeconds } from './times.ts'
import { workoutType } from './workouts.ts'

const thousandth = (value: number | undefined) => (value === undefined ? undefined : withoutNoise(value / 1000))

/** A number above zero: zero is nothing measured. */
const positive = (value: number | undefined) => (value !== undefined && value > 0 ? value : undefined)

/** Adds a workout (docs/providers.md); false if it cannot be stored. */
export function addWorkout(
  out: Out,
  value: Item,
  { start, id, isManual }: { start: At; id: string; isManual: boolean },
): boolean {
  const end = value.instant('interval', 'endTime')
  if (!end) {
    value.reject('missing', 'interval', 'endTime')
    return false
  }
  const metric = (...path: readonly string[]) => positive(value.numeric('metricsSummary', ...path))
  const zones = ['lightTime', 'moderateTime', 'vigorousTime', 'peakTime'].map((name) =>
    durationSeconds(value.text('metricsSummary', 'heartRateZoneDurations', name)),
  )
  return out.workout({
    ...{ externalId: id, start, endMs: end.ms, type: workoutType(value.text('exerciseType')) },
    version: value.instant('updateTime')?.ms,
    title: value.text('displayName'),
    entrySource: isManual ? 'manual' : undefined,
    movingSeconds: durationSeconds(value.text('activeDuration')),
    caloriesKcal: metric('caloriesKcal'),
    distanceMeters: thousandth(metric('distanceMillimeters')),
    steps: metric('steps'),
    heartRateAvg: metric('averageHeartRateBeatsPerMinute'),
    averageSpeed: thousandth(metric('averageSpeedMillimetersPerSecond')),
    averageCadence: metric('mobilityMetrics', 'avgCadenceStepsPerMinute'),
    elevationGainMeters: thousandth(metric('elevationGainMillimeters')),
    ...(zones.some((seconds) => seconds !== undefined) && { zoneSeconds: zones }),
  })
}
