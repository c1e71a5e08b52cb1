import type { WorkoutType } from '../../catalogue/workouts.ts'
import { wireWorkoutType } from '../workout-types.ts'

// The SDK's name of a workout, then the names and codes of Samsung Health it represents (sdk-types 8.5). The SDK
// translates them itself since 0.13; older ones send codes.
const names: readonly (readonly [wire: string, ...samsung: string[]])[] = [
  ['other', 'undefined', 'unknown', 'custom'],
  ['walking', '1001'],
  ['running', 'track_running', '1002'],
  ['running_treadmill', 'treadmill', '15005'],
  ['cycling', 'biking', 'mountain_biking', '11007', '13004'],
  ['cycling_stationary', 'stationary_biking', '15003'],
  ['hiking', '13001'],
  ['elliptical', '15006'],
  ['stair_climbing_machine', 'step_machine', '15001'],
  ['weightlifting', 'weight_machine', '15002'],
  ['rowing_machine', '14010', '15004'],
  ['hiit', 'circuit_training', '10007'],
  ['stretching', '10001'],
  ['yoga', '9002'],
  ['pilates', '9001'],
  ['dancing', 'ballroom_dancing', 'zumba', '8002', '8003'],

  ['swimming_pool', 'pool_swimming', '14001'],
  ['swimming_open_water', 'open_water_swimming'],
  ['paddling', 'canoeing', 'kayaking', '14003', '14007'],
  ['sailing', '14004'],
  ['scuba_diving', '14005'],

  ['baseball', '2001'],
  ['softball', '2002'],
  ['cricket', '2003'],
  ['rugby', '4002'],
  ['basketball', '4003'],
  ['soccer', '4004'],
  ['handball', '4005'],
  ['football_american', 'american_football', '4006'],
  ['volleyball', '5001', '5002'],
  ['squash', '6001'],
  ['tennis', '6002'],
  ['badminton', '6003'],
  ['table_tennis', '6004'],
  ['racquetball', '6005'],

  ['golf', '3001'],
  ['martial_arts', '7001', '7003'],
  ['boxing', '7002'],
  ['paragliding', '11002'],
  ['frisbee_disc', 'flying_disc', '11008'],
  ['rock_climbing', '13002'],
  ['skating', 'inline_skating', 'roller_skating', '11001', '11009'],

  ['skiing', 'cross_country_skiing', 'alpine_skiing', '16001', '16002', '16008'],
  ['snowboarding', '16007'],
  ['snowshoeing', '16009'],
  ['ice_skating', '16004'],
  ['ice_hockey', '16006'],
]

const wireNames: ReadonlyMap<string, string> = new Map(
  names.flatMap(([wire, ...samsung]) => samsung.map((name) => [name, wire] as const)),
)

/** Our type of a workout by the Android SDK's name, or by Samsung Health's name or code (sdk-types 8.5). */
export function samsungWorkoutType(wire: string | null): WorkoutType {
  const name = wire?.trim().toLowerCase() ?? ''
  const known = wireNames.get(name) ?? (/^\d+$/.test(name) ? 'other' : name)
  return wireWorkoutType(known)
}
