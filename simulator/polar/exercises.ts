import { createHash } from 'node:crypto'
import { numberOf, random, round, whole } from '../random.ts'
import type { Person } from '../truth/person.ts'
import type { Sport } from '../truth/personas.ts'
import { type Track, trackOf } from '../truth/tracks.ts'
import type { Workout, WorkoutView } from '../truth/workouts.ts'
import { dateOf, offsetAt } from '../zones.ts'
import { deviceDuration, durationText, localText } from './times.ts'

export type Row = Record<string, unknown>

/** The number of an account. */
export function accountOf(person: Person): number {
  return 10_000 + (numberOf(`polar/account/${person.seed}`) % 60_000_000)
}

export function userUrl(person: Person): string {
  return `https://www.polaraccesslink.com/v3/users/${accountOf(person)}`
}

export function deviceId(person: Person): string {
  return hash(`device/${person.seed}`, 8)
}

/** Whether the device measures what only newer ones do: SleepWise, temperature, oxygen; heart rate each minute. */
export function isNew({ ring }: Person): boolean {
  return ring !== 'gen3'
}

export function exerciseId(person: Person, { key }: Workout): string {
  return hash(`${person.seed}/${key}`, 10)
}

function hash(name: string, length: number): string {
  return createHash('sha256').update(`polar/${name}`).digest('hex').slice(0, length).toUpperCase()
}

/** What Flow calls sports, in general and in detail. */
const SPORTS: Record<Sport, readonly [sport: string, detail: string | null]> = {
  running: ['RUNNING', 'RUNNING'],
  'trail running': ['RUNNING', 'TRAIL_RUNNING'],
  walking: ['WALKING', 'WALKING'],
  hiking: ['HIKING', 'HIKING'],
  cycling: ['CYCLING', 'ROAD_BIKING'],
  swimming: ['SWIMMING', 'POOL_SWIMMING'],
  rowing: ['ROWING', 'WATERSPORTS_ROWING'],
  strength: ['STRENGTH_TRAINING', 'STRENGTH_TRAINING'],
  yoga: ['OTHER', 'YOGA'],
  hiit: ['OTHER', 'HIIT'],
  tennis: ['TENNIS', 'TENNIS'],
  floorball: ['OTHER', 'FLOORBALL'],
  unknown: ['OTHER', null],
}

/** What a request asks for besides. */
export interface Extras {
  readonly samples: boolean
  readonly zones: boolean
  readonly route: boolean
}

/** Times of the device without a zone; energy in whole kcal, distance to 0.1 m. */
export function exercise(person: Person, view: WorkoutView, extras: Extras): Row {
  const { workout } = view
  const { startMs, endMs, zone, day, distanceM } = workout
  const [sport, detail] = view.sport === 'cycling' && distanceM === null ? INDOORS : SPORTS[view.sport]
  const next = random(`${person.seed}/polar/${workout.key}`)
  const hasRoute = distanceM !== null && view.sport !== 'swimming'
  const track = extras.samples || (extras.route && hasRoute) ? trackOf(person, workout) : null
  const rate = recordingRate(person)
  const [fat, protein] = [whole(next, 15, 50), whole(next, 3, 8)]
  return {
    ...{ id: exerciseId(person, workout), upload_time: new Date(view.createdMs).toISOString() },
    ...{ polar_user: userUrl(person), device: deviceOf(person), device_id: deviceId(person) },
    ...{ start_time: localText(zone, startMs), start_time_utc_offset: offsetAt(zone, startMs) },
    duration: deviceDuration((endMs - startMs) / 1000, day),
    calories: Math.round(workout.kcal),
    ...(distanceM !== null && { distance: round(distanceM, 1) }),
    heart_rate: { average: Math.round(view.averageHeartRate), maximum: view.maxHeartRate },
    training_load: round(workout.kcal / 4, 1),
    ...{ sport, detailed_sport_info: detail, has_route: hasRoute },
    ...{ fat_percentage: fat, carbohydrate_percentage: 100 - fat - protein, protein_percentage: protein },
    ...(sport === 'RUNNING' && { 'running-index': whole(next, 38, 62) }),
    ...(extras.zones && { heart_rate_zones: zonesOf(person, workout) }),
    ...(extras.samples && track && { samples: samplesOf(view, track, rate) }),
    ...(extras.route && hasRoute && track && { route: routeOf(track, rate) }),
    training_load_pro: loadOf(workout),
  }
}

const INDOORS = ['INDOOR_CYCLING', 'INDOOR_CYCLING'] as const

function deviceOf(person: Person): string {
  return isNew(person) ? 'Polar Vantage V3' : 'Polar M430'
}

/** Seconds between samples. */
function recordingRate(person: Person): number {
  return isNew(person) ? 1 : 5
}

/** Minutes of each tenth of the highest heart rate from the half on. */
function zonesOf({ maxHr }: Person, { heartRate }: Workout): Row[] {
  return [0, 1, 2, 3, 4].map((zone) => {
    const [lower, upper] = [Math.round((0.5 + zone / 10) * maxHr), Math.round((0.6 + zone / 10) * maxHr)]
    const minutes = heartRate.filter((beats) => beats >= lower && (beats < upper || zone === 4)).length
    return { index: zone + 1, 'lower-limit': lower, 'upper-limit': upper, 'in-zone': durationText(minutes * 60) }
  })
}

/** Lists of text: nothing between two commas is a value that was not measured. */
function samplesOf({ sport }: WorkoutView, track: Track, rate: number): Row[] {
  const text = (values: Float64Array, show: (value: number) => number = (value) => value) => {
    const parts: string[] = []
    for (let second = 0; second < values.length; second += rate) {
      const value = values[second] ?? Number.NaN
      parts.push(Number.isNaN(value) ? '' : String(show(value)))
    }
    return parts.join(',')
  }
  const km = (speed: number) => round(speed * 3.6, 2)
  const found: [number, string | null][] = [
    [0, text(track.heartRate)],
    [1, track.speed && text(track.speed, km)],
    [sport === 'cycling' ? 2 : 8, track.cadence && text(track.cadence)],
    [3, track.altitude && text(track.altitude)],
    [4, track.watts && text(track.watts)],
    [9, text(track.celsius)],
    [10, track.distance && text(track.distance)],
    [11, beatsOf(track)],
  ]
  return found.flatMap(([type, data]) =>
    data === null ? [] : [{ 'recording-rate': rate, 'sample-type': String(type), data }],
  )
}

/** Milliseconds from beat to beat of the first minute: so many as there were, whatever the rate says. */
function beatsOf({ heartRate }: Track): string {
  const gaps: number[] = []
  for (let ms = 0; ms < 60_000; ) {
    const beats = heartRate[Math.floor(ms / 1000)] || 60
    gaps.push(Math.round(60_000 / beats))
    ms += 60_000 / beats
  }
  return gaps.join(',')
}

function routeOf({ latitude, longitude, seconds }: Track, rate: number): Row[] {
  const points: Row[] = []
  for (let second = 0; second < seconds; second += rate)
    points.push({
      ...{ latitude: latitude?.[second], longitude: longitude?.[second], time: `PT${second}.0S` },
      ...{ satellites: 9, fix: 1 },
    })
  return points
}

function loadOf({ day, kcal, met }: Workout): Row {
  const level = kcal < 250 ? 'LOW' : kcal < 550 ? 'MEDIUM' : 'HIGH'
  return {
    date: dateOf(day),
    ...{ 'cardio-load': round(kcal / 6, 1), 'muscle-load': round(kcal / 10, 1), 'perceived-load': round(kcal / 2, 1) },
    ...{ 'cardio-load-interpretation': level, 'muscle-load-interpretation': 'LOW' },
    ...{ 'perceived-load-interpretation': level, 'user-rpe': met > 8 ? 'RPE_HARD' : 'RPE_MODERATE' },
  }
}
