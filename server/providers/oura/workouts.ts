import type { WorkoutType } from '../../catalogue/workouts.ts'

/** Our type, then Oura's names for it (docs/providers.md). Oura publishes no list of them. */
export const workoutNames: readonly (readonly [type: WorkoutType, ...names: string[]])[] = [
  ['running', 'running'],
  ['trail_running', 'trail_running'],
  ['walking', 'walking', 'nordic_walking'],
  ['hiking', 'hiking'],
  ['cycling', 'cycling'],
  ['mountain_biking', 'mountain_biking'],
  ['indoor_cycling', 'indoor_cycling'],
  ['swimming', 'swimming'],
  ['rowing', 'rowing'],
  ['kayaking', 'kayaking'],
  ['stand_up_paddleboarding', 'stand_up_paddling'],
  ['surfing', 'surfing'],
  ['sailing', 'sailing'],
  ['water_polo', 'water_polo'],
  ['strength_training', 'strength_training', 'weightlifting', 'core_exercise'],
  ['cardio_training', 'functional_training', 'hiit', 'circuit_training', 'jump_rope', 'cross_training'],
  ['elliptical', 'elliptical'],
  ['stair_climbing', 'stair_climbing'],
  ['yoga', 'yoga'],
  ['pilates', 'pilates'],
  ['stretching', 'stretching'],
  ['meditation', 'meditation', 'breathwork'],
  ['alpine_skiing', 'skiing'],
  ['cross_country_skiing', 'cross_country_skiing'],
  ['snowboarding', 'snowboarding'],
  ['snowshoeing', 'snowshoeing'],
  ['ice_skating', 'ice_skating'],
  ['soccer', 'soccer'],
  ['basketball', 'basketball'],
  ['volleyball', 'volleyball'],
  ['baseball', 'baseball'],
  ['rugby', 'rugby'],
  ['cricket', 'cricket'],
  ['handball', 'handball'],
  ['lacrosse', 'lacrosse'],
  ['american_football', 'american_football'],
  ['hockey', 'ice_hockey', 'field_hockey'],
  ['tennis', 'tennis'],
  ['squash', 'squash'],
  ['badminton', 'badminton'],
  ['table_tennis', 'table_tennis'],
  ['pickleball', 'pickleball'],
  ['padel', 'padel'],
  ['boxing', 'boxing'],
  ['martial_arts', 'martial_arts'],
  ['wrestling', 'wrestling'],
  ['rock_climbing', 'rock_climbing', 'climbing'],
  ['golf', 'golf'],
  ['disc_sports', 'disc_golf'],
  ['inline_skating', 'inline_skating'],
  ['skateboarding', 'skateboarding'],
  ['horseback_riding', 'horseback_riding'],
  ['dance', 'dancing', 'dance'],
  ['group_exercise', 'group_exercise', 'aerobics'],
  ['gymnastics', 'gymnastics'],
  ['triathlon', 'triathlon'],
  ['recovery', 'rest', 'recovery'],
  ['chores', 'housework', 'house_work', 'yardwork'],
  ['generic', 'other', 'activity', 'workout'],
]

const types: ReadonlyMap<string, WorkoutType> = new Map(
  workoutNames.flatMap(([type, ...own]) => own.map((name) => [name, type] as const)),
)

/** Our type of an `activity`, which Oura writes in several ways; `other` for an unknown one. */
export function workoutType(activity: string): WorkoutType {
  const name = activity
    .trim()
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[\s-]+/g, '_')
    .toLowerCase()
  return types.get(name) ?? 'other'
}
