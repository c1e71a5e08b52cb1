import type { WorkoutType } from '../../catalogue/workouts.ts'

/** Our type, then Sensor Bio's names (docs/providers.md). */
export const sports: readonly (readonly [type: WorkoutType, ...names: string[]])[] = [
  ['running', 'run', 'running', 'jog', 'jogging'],
  ['treadmill', 'treadmill'],
  ['walking', 'walk', 'walking'],
  ['hiking', 'hike', 'hiking'],
  ['cycling', 'bike', 'cycling', 'ride', 'bike ride'],
  ['indoor_cycling', 'indoor cycling', 'spinning'],
  ['swimming', 'swim', 'swimming'],
  ['strength_training', 'strength', 'strength training', 'weights'],
  ['yoga', 'yoga'],
  ['pilates', 'pilates'],
  ['rowing', 'rowing'],
  ['elliptical', 'elliptical'],
  ['stair_climbing', 'stair climbing'],
  ['soccer', 'soccer'],
  ['basketball', 'basketball'],
  ['tennis', 'tennis'],
  ['golf', 'golf'],
  ['dance', 'dance'],
  ['cardio_training', 'hiit', 'cardio', 'cross training'],
  ['generic', 'workout'],
]

const types: ReadonlyMap<string, WorkoutType> = new Map(
  sports.flatMap(([type, ...names]) => names.map((name) => [name, type] as const)),
)

/** Our type of a workout by its name, in any case; `other` for unknown ones. */
export const workoutType = (name: string | undefined): WorkoutType =>
  types.get(name?.trim().toLowerCase() ?? '') ?? 'other'
