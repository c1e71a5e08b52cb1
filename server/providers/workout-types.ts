import type { WorkoutType } from '../catalogue/workouts.ts'

// Our type, then the SDKs' names for it, in lower case: sdk-types 8.5. One table for all of them, since two platforms
// mean the same by the same name.
const wireNames: readonly (readonly [type: WorkoutType, ...names: string[]])[] = [
  ['walking', 'walking', 'wheelchair_walk'],
  ['running', 'running', 'wheelchair_run', 'track_and_field'],
  ['treadmill', 'running_treadmill'],
  ['cycling', 'cycling', 'hand_cycling'],
  ['indoor_cycling', 'cycling_stationary'],
  ['hiking', 'hiking'],
  ['elliptical', 'elliptical'],
  ['stair_climbing', 'stair_climbing', 'stairs', 'stair_climbing_machine'],
  ['rowing', 'rowing'],
  ['rowing_machine', 'rowing_machine'],
  [
    'cardio_training',
    'jump_rope',
    'cross_training',
    'mixed_cardio',
    'hiit',
    'mixed_metabolic_cardio_training',
    'boot_camp',
    'exercise_class',
  ],
  [
    'strength_training',
    'core_training',
    'functional_strength_training',
    'strength_training',
    'calisthenics',
    'weightlifting',
  ],
  ['fitness_equipment', 'gymnastics'],
  ['aerobics', 'step_training', 'barre'],
  ['dance', 'cardio_dance', 'social_dance', 'dance', 'dance_inspired_training', 'dancing'],
  ['stretching', 'preparation_and_recovery', 'flexibility', 'cooldown', 'mind_and_body', 'stretching'],
  ['yoga', 'yoga'],
  ['pilates', 'pilates'],
  ['meditation', 'guided_breathing'],
  ['gaming', 'fitness_gaming'],
  ['play', 'play'],
  ['wheelchair', 'wheelchair'],

  ['swimming', 'swimming', 'water_fitness'],
  ['pool_swimming', 'swimming_pool'],
  ['open_water_swimming', 'swimming_open_water'],
  ['triathlon', 'swim_bike_run'],
  ['transition', 'transition'],
  ['diving', 'underwater_diving', 'scuba_diving'],
  ['paddling', 'paddle_sports', 'paddling'],
  ['sailing', 'sailing'],
  ['surfing', 'surfing'],
  ['water_polo', 'water_polo'],
  ['water_sports', 'water_sports'],

  ['american_football', 'american_football', 'football_american'],
  ['football', 'australian_football', 'football_australian'],
  ['baseball', 'baseball', 'softball'],
  ['basketball', 'basketball'],
  ['cricket', 'cricket'],
  ['disc_sports', 'disc_sports', 'frisbee_disc'],
  ['handball', 'handball'],
  ['hockey', 'hockey', 'ice_hockey', 'roller_hockey'],
  ['lacrosse', 'lacrosse'],
  ['rugby', 'rugby'],
  ['soccer', 'soccer'],
  ['volleyball', 'volleyball'],
  ['badminton', 'badminton'],
  ['pickleball', 'pickleball'],
  ['racquetball', 'racquetball'],
  ['squash', 'squash'],
  ['table_tennis', 'table_tennis'],
  ['tennis', 'tennis'],

  ['boxing', 'boxing', 'kickboxing'],
  ['martial_arts', 'martial_arts', 'tai_chi', 'wrestling'],
  ['fencing', 'fencing'],
  ['archery', 'archery'],
  ['bowling', 'bowling'],
  ['golf', 'golf'],
  ['fishing', 'fishing'],
  ['hunting', 'hunting'],
  ['horseback_riding', 'equestrian'],
  ['rock_climbing', 'climbing', 'rock_climbing'],
  ['paragliding', 'paragliding'],

  ['cross_country_skiing', 'cross_country_skiing'],
  ['alpine_skiing', 'downhill_skiing', 'skiing'],
  ['snow_sports', 'snow_sports'],
  ['snowboarding', 'snowboarding'],
  ['snowshoeing', 'snowshoeing'],
  ['ice_skating', 'skating', 'ice_skating'],
  ['curling', 'curling'],

  ['generic', 'other'],
]

/** Our type of a workout by an SDK's lower-case name (sdk-types 8.5). */
export const wireWorkoutTypes: ReadonlyMap<string, WorkoutType> = new Map(
  wireNames.flatMap(([type, ...names]) => names.map((name) => [name, type] as const)),
)

/**
 * Our type of a workout from an SDK, case-insensitive; `other` when it has none or an unknown one (sdk-types 8.1, 8.5).
 */
export function wireWorkoutType(wire: string | null): WorkoutType {
  return wireWorkoutTypes.get(wire?.trim().toLowerCase() ?? '') ?? 'other'
}
