import type { WorkoutType } from '../../catalogue/workouts.ts'

/** Our type, then Strava's sports (docs/providers.md). */
export const sports: readonly (readonly [type: WorkoutType, ...sports: string[]])[] = [
  ['running', 'Run', 'VirtualRun'],
  ['trail_running', 'TrailRun'],
  ['walking', 'Walk'],
  ['hiking', 'Hike'],
  ['wheelchair', 'Wheelchair'],
  ['cycling', 'Ride', 'GravelRide', 'Handcycle', 'Velomobile'],
  ['mountain_biking', 'MountainBikeRide'],
  ['e_biking', 'EBikeRide', 'EMountainBikeRide'],
  ['indoor_cycling', 'VirtualRide', 'IndoorCycling'],
  ['swimming', 'Swim'],
  ['rowing', 'Rowing'],
  ['rowing_machine', 'VirtualRow'],
  ['kayaking', 'Kayaking'],
  ['canoeing', 'Canoeing'],
  ['stand_up_paddleboarding', 'StandUpPaddling'],
  ['surfing', 'Surfing'],
  ['kitesurfing', 'Kitesurf'],
  ['windsurfing', 'Windsurf'],
  ['sailing', 'Sail'],
  ['alpine_skiing', 'AlpineSki'],
  ['backcountry_skiing', 'BackcountrySki'],
  ['cross_country_skiing', 'NordicSki', 'RollerSki'],
  ['snowboarding', 'Snowboard'],
  ['snowshoeing', 'Snowshoe'],
  ['ice_skating', 'IceSkate'],
  ['inline_skating', 'InlineSkate'],
  ['skateboarding', 'Skateboard'],
  ['strength_training', 'WeightTraining'],
  ['cardio_training', 'Crossfit', 'HighIntensityIntervalTraining'],
  ['elliptical', 'Elliptical'],
  ['stair_climbing', 'StairStepper'],
  ['yoga', 'Yoga'],
  ['pilates', 'Pilates'],
  ['dance', 'Dance'],
  ['rock_climbing', 'RockClimbing'],
  ['golf', 'Golf'],
  ['soccer', 'Soccer'],
  ['basketball', 'Basketball'],
  ['volleyball', 'Volleyball'],
  ['cricket', 'Cricket'],
  ['tennis', 'Tennis'],
  ['table_tennis', 'TableTennis'],
  ['badminton', 'Badminton'],
  ['squash', 'Squash'],
  ['racquetball', 'Racquetball'],
  ['padel', 'Padel'],
  ['pickleball', 'Pickleball'],
  ['recovery', 'PhysicalTherapy'],
  ['generic', 'Workout'],
]

const types: ReadonlyMap<string, WorkoutType> = new Map(
  sports.flatMap(([type, ...own]) => own.map((name) => [name, type] as const)),
)

/** Our type of an activity, by its `sport_type`, else by the coarser `type`; `other` for unknown ones. */
export const workoutType = (sport: string | undefined, coarse: string | undefined): WorkoutType =>
  types.get(sport ?? '') ?? types.get(coarse ?? '') ?? 'other'

/** Of these, Strava counts the steps of one foot. */
const onFoot: ReadonlySet<WorkoutType> = new Set(['running', 'trail_running', 'walking', 'hiking', 'snowshoeing'])

/** By what Strava's cadence is multiplied: it counts one foot, we count steps. */
export const cadenceFactor = (type: WorkoutType): number => (onFoot.has(type) ? 2 : 1)
