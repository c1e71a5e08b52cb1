import type { WorkoutType } from '../../catalogue/workouts.ts'

/** Our type, then Fitbit's names, in lower case (docs/providers.md). */
export const sports: readonly (readonly [type: WorkoutType, ...names: string[]])[] = [
  ['running', 'run', 'running'],
  ['swimming', 'swimming', 'swim'],
  ['basketball', 'basketball'],
  ['yoga', 'yoga'],
  ['rowing', 'rowing'],
  ['treadmill', 'treadmill'],
  ['pilates', 'pilates'],
  ['elliptical', 'elliptical'],
  ['walking', 'walk', 'walking', 'indoor walk', 'power walking'],
  ['hiking', 'hike', 'hiking'],
  ['stair_climbing', 'stair climbing', 'stairclimber'],
  ['golf', 'golf'],
  ['cycling', 'bike', 'cycling', 'outdoor bike'],
  ['strength_training', 'strength training', 'weights'],
  ['dance', 'dance', 'dancing'],
  ['stretching', 'stretching'],
  ['indoor_cycling', 'indoor cycling', 'spinning'],
  ['tennis', 'tennis'],
  ['soccer', 'soccer'],
  ['mountain_biking', 'mountain biking', 'mountain bike'],
  ['trail_running', 'trail run'],
  [
    'cardio_training',
    'interval workout',
    'interval training',
    'hiit',
    'circuit training',
    'bootcamp',
    'crossfit',
    'cardio workout',
  ],
  ['aerobics', 'aerobic workout', 'aerobics'],
  ['boxing', 'kickboxing', 'boxing'],
  ['martial_arts', 'martial arts'],
  ['rowing_machine', 'rowing machine'],
  ['open_water_swimming', 'open water swim', 'open water swimming'],
  ['pool_swimming', 'pool swim'],
  ['alpine_skiing', 'skiing'],
  ['cross_country_skiing', 'cross country skiing'],
  ['snowboarding', 'snowboarding'],
  ['ice_skating', 'ice skating'],
  ['inline_skating', 'skating', 'roller skating'],
  ['skateboarding', 'skateboarding'],
  ['stand_up_paddleboarding', 'paddleboarding'],
  ['canoeing', 'canoeing'],
  ['kayaking', 'kayaking'],
  ['surfing', 'surfing'],
  ['rock_climbing', 'climbing', 'rock climbing', 'indoor climbing'],
  ['meditation', 'meditating', 'meditation'],
  ['volleyball', 'volleyball'],
  ['american_football', 'football', 'american football'],
  ['baseball', 'baseball'],
  ['badminton', 'badminton'],
  ['table_tennis', 'table tennis'],
  ['hockey', 'hockey'],
  ['sport', 'sport'],
  ['generic', 'workout', 'structured workout'],
  ['chores', 'gardening', 'yard work'],
]

const byName: ReadonlyMap<string, WorkoutType> = new Map(
  sports.flatMap(([type, ...names]) => names.map((name) => [name, type] as const)),
)

/** Ids of activities, of which Fitbit's pages confirm two, 90009 and 90013: names count first. */
const byId: ReadonlyMap<number, WorkoutType> = new Map([
  [90009, 'running'],
  [90024, 'indoor_cycling'],
  [15, 'soccer'],
  [2131, 'running'],
  [82, 'swimming'],
  [16, 'basketball'],
  [91, 'treadmill'],
  [3000, 'strength_training'],
  [27, 'tennis'],
  [90013, 'walking'],
  [52001, 'yoga'],
  [90019, 'other'],
  [90001, 'cycling'],
  [1071, 'hiking'],
])

/** Our type of an activity by its name, in any case, else by its id; `other` for unknown ones. */
export const workoutType = (name: string | undefined, id: number | undefined): WorkoutType =>
  byName.get(name?.trim().toLowerCase() ?? '') ?? byId.get(id ?? Number.NaN) ?? 'other'
