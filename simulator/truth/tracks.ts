import { between, normal, type Random, random, round, whole } from '../random.ts'
import type { Person } from './person.ts'
import type { Workout } from './workouts.ts'

/** What a device records of a workout, of each second from its start on; NaN: not recorded. */
export interface Track {
  readonly seconds: number
  /** Whether the person moves, or waits at a light. */
  readonly moving: Uint8Array
  readonly movingSeconds: number
  /** Beats per minute. */
  readonly heartRate: Float64Array
  /** Metres per second, and from the start; null where distance is not measured. */
  readonly speed: Float64Array | null
  readonly distance: Float64Array | null
  /** Metres above the sea; null where climbs are not measured. */
  readonly altitude: Float64Array | null
  /** Degrees; null without satellites. */
  readonly latitude: Float64Array | null
  readonly longitude: Float64Array | null
  /** Steps or revolutions a minute; null where there are none. */
  readonly cadence: Float64Array | null
  /** Of bicycles. */
  readonly watts: Float64Array | null
  readonly celsius: Float64Array
}

/** Where people move, not who is at which place: degrees of the middle of a city in the zone. */
const PLACES: Readonly<Record<string, readonly [latitude: number, longitude: number]>> = {
  ...{ 'Europe/Berlin': [52.52, 13.405], 'Asia/Tokyo': [35.677, 139.65], 'Asia/Kathmandu': [27.717, 85.324] },
  ...{ 'Europe/London': [51.507, -0.128], 'America/Chicago': [41.878, -87.63], 'Europe/Athens': [37.984, 23.728] },
  ...{ 'America/New_York': [40.713, -74.006], 'Asia/Kolkata': [22.573, 88.364] },
  ...{ 'Australia/Sydney': [-33.869, 151.209], 'America/Sao_Paulo': [-23.551, -46.633] },
  ...{ 'Europe/Helsinki': [60.17, 24.938], 'Africa/Nairobi': [-1.292, 36.822], 'America/Denver': [39.739, -104.99] },
  ...{ 'Pacific/Auckland': [-36.849, 174.763], 'Europe/Lisbon': [38.722, -9.139], 'Asia/Seoul': [37.567, 126.978] },
  ...{ 'America/Santiago': [-33.449, -70.669], 'Africa/Cairo': [30.044, 31.236] },
}
const METRES_PER_DEGREE = 111_320

/** The track of a workout; its means and sums are those of the workout. It is made whenever it is asked for. */
export function trackOf(person: Person, workout: Workout): Track {
  const sport = workout.versions.at(-1)?.sport
  const next = random(`${person.seed}/track/${workout.key}`)
  const seconds = (workout.endMs - workout.startMs) / 1000
  const { distanceM } = workout
  const moving = pauses(next, seconds, distanceM !== null)
  const movingSeconds = moving.reduce((sum, value) => sum + value, 0)
  const speed = distanceM === null ? null : speeds(next, moving, distanceM)
  const distance = speed && sums(speed)
  const altitude = distance && workout.climbedM !== null ? heights(next, workout, distance) : null
  const route = distance && sport !== 'swimming' ? path(next, workout.zone, distance) : null
  const warm = between(next, 4, 26)
  return {
    ...{ seconds, moving, movingSeconds, speed, distance, altitude },
    heartRate: beats(next, workout.heartRate),
    latitude: route?.latitude ?? null,
    longitude: route?.longitude ?? null,
    cadence: cadences(next, workout, sport === 'cycling', moving),
    watts: sport === 'cycling' ? powers(next, moving, (workout.kcal * 1000) / movingSeconds) : null,
    celsius: Float64Array.from({ length: seconds }, (_, second) => Math.round(warm + second / 1800)),
  }
}

/** Means and extremes of a track; null where it has nothing of it. Means are those of the time that was moved. */
export interface TrackSummary {
  readonly movingSeconds: number
  readonly maxSpeed: number | null
  readonly highest: number | null
  readonly lowest: number | null
  readonly averageCadence: number | null
  readonly averageWatts: number | null
  readonly maxWatts: number | null
  readonly averageCelsius: number
  readonly start: readonly [latitude: number, longitude: number] | null
  readonly end: readonly [latitude: number, longitude: number] | null
}

const summaries = new WeakMap<Workout, TrackSummary>()

export function summaryOf(person: Person, workout: Workout): TrackSummary {
  const known = summaries.get(workout)
  if (known) return known
  const track = trackOf(person, workout)
  const { movingSeconds, speed, altitude, cadence, watts, celsius } = track
  const most = (values: Float64Array | null) => values?.reduce((best, value) => Math.max(best, value)) ?? null
  const mean = (values: Float64Array | null) => values && values.reduce((sum, value) => sum + value, 0) / movingSeconds
  const place = (index: number): TrackSummary['start'] =>
    track.latitude && track.longitude ? [track.latitude.at(index) ?? 0, track.longitude.at(index) ?? 0] : null
  const summary = {
    ...{ movingSeconds, maxSpeed: most(speed), highest: most(altitude), maxWatts: most(watts) },
    lowest: altitude?.reduce((best, value) => Math.min(best, value)) ?? null,
    ...{ averageCadence: mean(cadence), averageWatts: mean(watts) },
    averageCelsius: celsius.reduce((sum, value) => sum + value, 0) / celsius.length,
    ...{ start: place(0), end: place(-1) },
  }
  summaries.set(workout, summary)
  return summary
}

/** A few stops on the way, of those who are on their way. */
function pauses(next: Random, seconds: number, onTheWay: boolean): Uint8Array {
  const moving = new Uint8Array(seconds).fill(1)
  if (!onTheWay) return moving
  for (let count = whole(next, 0, 3); count > 0; count--) {
    const start = whole(next, 120, seconds - 240)
    moving.fill(0, start, start + whole(next, 15, 90))
  }
  return moving
}

/** Around the value of the minute, whose mean stays; now and then the strap slips. */
function beats(next: Random, minutes: Uint8Array): Float64Array {
  const most = Math.max(...minutes)
  const values = new Float64Array(minutes.length * 60)
  minutes.forEach((value, minute) => {
    const wave = value + 2 > most ? 0 : 2
    for (let second = 0; second < 60; second++)
      values[minute * 60 + second] = value + Math.trunc(wave * Math.sin((second / 30) * 2 * Math.PI))
  })
  if (next() < 0.4) {
    const start = whole(next, 60, values.length - 60)
    values.fill(Number.NaN, start, start + whole(next, 3, 25))
  }
  return values
}

/** To 0.001 m/s, so that their sum is the distance within a few metres. */
function speeds(next: Random, moving: Uint8Array, distanceM: number): Float64Array {
  const waves = [whole(next, 40, 90), whole(next, 200, 700)]
  const shape = Float64Array.from(moving, (on, second) => {
    const wave = Math.sin((second / (waves[0] ?? 1)) * 6) * 0.12 + Math.sin((second / (waves[1] ?? 1)) * 6) * 0.15
    return on * (1 + wave)
  })
  const sum = shape.reduce((total, value) => total + value, 0)
  return Float64Array.from(shape, (value) => round((value * distanceM) / sum, 3))
}

function sums(speed: Float64Array): Float64Array {
  let sum = 0
  return Float64Array.from(speed, (value) => {
    sum += value
    return round(sum, 1)
  })
}

/** Up and down by the distance covered, so that all climbs together are as high as the workout says. */
function heights(next: Random, workout: Workout, distance: Float64Array): Float64Array {
  const climbed = workout.climbedM ?? 0
  const change = Math.min(workout.altitudeChangeM ?? 0, climbed)
  const hills = Math.max(1, Math.min(6, Math.floor(climbed / 8)))
  const start = between(next, 3, 900)
  const total = distance.at(-1) || 1
  const lengths = Array.from({ length: hills }, () => between(next, 0.7, 1.3))
  const all = lengths.reduce((sum, length) => sum + length, 0)
  return Float64Array.from(distance, (metres) => {
    let left = (metres / total) * all
    let height = start
    for (const length of lengths) {
      const part = Math.min(1, left / length)
      const up = Math.min(1, part * 2)
      const down = Math.max(0, part * 2 - 1)
      height += (up * climbed - down * (climbed - change)) / hills
      left -= Math.max(0, part) * length
      if (part < 1) break
    }
    return round(height, 1)
  })
}

/** A round that turns slowly, from a place some way from the middle of the city. */
function path(next: Random, zone: string, distance: Float64Array) {
  const [lat, lng] = PLACES[zone] ?? [0.5, 0.5]
  let [y, x] = [lat + normal(next) * 0.02, lng + normal(next) * 0.02]
  let heading = between(next, 0, 2 * Math.PI)
  const turn = (2 * Math.PI) / (distance.at(-1) || 1)
  const latitude = new Float64Array(distance.length)
  const longitude = new Float64Array(distance.length)
  let before = 0
  distance.forEach((metres, second) => {
    const step = metres - before
    before = metres
    heading += step * turn + Math.sin(second / 40) * 0.02
    y += (Math.cos(heading) * step) / METRES_PER_DEGREE
    x += (Math.sin(heading) * step) / (METRES_PER_DEGREE * Math.cos((y * Math.PI) / 180))
    latitude[second] = round(y, 6)
    longitude[second] = round(x, 6)
  })
  return { latitude, longitude }
}

function cadences(next: Random, { cadence }: Workout, byBike: boolean, moving: Uint8Array): Float64Array | null {
  const usual = byBike ? 84 : cadence
  if (usual === 0) return null
  return Float64Array.from(moving, (on) => on * (usual + Math.floor(next() * 5) * 2 - 4))
}

/** Around a mean, without which legs are still. */
function powers(next: Random, moving: Uint8Array, mean: number): Float64Array {
  const shape = Float64Array.from(
    moving,
    (on, second) => on * Math.max(0, 1 + Math.sin(second / 25) * 0.3 + normal(next) * 0.2),
  )
  const average = shape.reduce((sum, value) => sum + value, 0) / moving.reduce((sum, on) => sum + on, 0)
  return Float64Array.from(shape, (value) => Math.round((value * mean) / average))
}
