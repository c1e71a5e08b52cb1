import { numberOf, random, round } from '../random.ts'
import { currentWeight, type Person } from '../truth/person.ts'
import type { Sport } from '../truth/personas.ts'
import { summaryOf, type Track, type TrackSummary, trackOf } from '../truth/tracks.ts'
import { type Workout, type WorkoutView, workoutAt } from '../truth/workouts.ts'
import { HOUR_MS, MINUTE_MS, offsetAt, offsetText } from '../zones.ts'

export type Row = Record<string, unknown>

/** The number of an account. */
export function accountOf(person: Person): number {
  return 10_000_000 + (numberOf(`strava/account/${person.seed}`) % 150_000_000)
}

/** Beyond 32 bits. */
export function activityId(person: Person, { day }: Workout): number {
  return 10_000_000_000 + (accountOf(person) % 1_000_000) * 100_000 + day
}

export function summaryAthlete(person: Person): Row {
  const { key, firstName, lastName, sex } = person
  return {
    id: accountOf(person),
    username: key,
    resource_state: 2,
    ...{ firstname: firstName, lastname: lastName, sex: sex === 'female' ? 'F' : 'M' },
  }
}

/** The weight is that of the last weighing. */
export function detailedAthlete(person: Person, nowMs: number): Row {
  const weight = currentWeight(person, nowMs)
  return { ...summaryAthlete(person), resource_state: 3, weight, measurement_preference: 'meters', ftp: null }
}

export function zones({ maxHr }: Person): Row {
  const limits = [0, 0.6, 0.7, 0.8, 0.9].map((share) => Math.round(share * maxHr))
  return {
    heart_rate: { custom_zones: false, zones: limits.map((min, i) => ({ min, max: limits[i + 1] ?? -1 })) },
  }
}

type Kind = readonly [sportType: string, type: string, title: string]

/** What the app calls sports, newly and formerly; `Floorball` stands in no list. */
const SPORTS: Record<Sport, Kind> = {
  running: ['Run', 'Run', 'Run'],
  'trail running': ['TrailRun', 'Run', 'Trail Run'],
  walking: ['Walk', 'Walk', 'Walk'],
  hiking: ['Hike', 'Hike', 'Hike'],
  cycling: ['Ride', 'Ride', 'Ride'],
  swimming: ['Swim', 'Swim', 'Swim'],
  rowing: ['Rowing', 'Rowing', 'Row'],
  strength: ['WeightTraining', 'WeightTraining', 'Weight Training'],
  yoga: ['Yoga', 'Yoga', 'Yoga'],
  hiit: ['HighIntensityIntervalTraining', 'Workout', 'HIIT'],
  tennis: ['Tennis', 'Workout', 'Tennis'],
  floorball: ['Floorball', 'Workout', 'Floorball'],
  unknown: ['Workout', 'Workout', 'Workout'],
}
const INDOORS: Kind = ['VirtualRide', 'VirtualRide', 'Virtual Ride']
const FEET: readonly Sport[] = ['running', 'trail running', 'walking', 'hiking']

/** When only its owner may see an activity: from the start, from some time on, until some time, or never. */
export function hiddenSpan(person: Person, workout: Workout): { readonly fromMs: number; readonly toMs: number } {
  const next = random(`${person.seed}/strava/privacy/${workout.key}`)
  const madeMs = workout.versions[0]?.atMs ?? 0
  const dice = next()
  const changeMs = madeMs + (2 + Math.floor(next() * 30)) * HOUR_MS
  if (dice < 0.06) return { fromMs: 0, toMs: Number.POSITIVE_INFINITY }
  if (dice < 0.1) return { fromMs: changeMs, toMs: Number.POSITIVE_INFINITY }
  return dice < 0.14 ? { fromMs: 0, toMs: changeMs } : { fromMs: 0, toMs: 0 }
}

export function isHidden(person: Person, workout: Workout, nowMs: number): boolean {
  const { fromMs, toMs } = hiddenSpan(person, workout)
  return nowMs >= fromMs && nowMs < toMs
}

/** An activity as an athlete sees it; null when it is not there (yet, any more), or hidden from the caller. */
export function seen(person: Person, workout: Workout, nowMs: number, all: boolean): WorkoutView | null {
  const view = workoutAt(workout, nowMs)
  return view && !view.deleted && (all || !isHidden(person, workout, nowMs)) ? view : null
}

function isIndoors({ workout, sport }: WorkoutView): boolean {
  return sport === 'cycling' && workout.distanceM === null
}

export function kindOf(view: WorkoutView): Kind {
  return isIndoors(view) ? INDOORS : SPORTS[view.sport]
}

/** `Morning Run`. */
export function titleOf(view: WorkoutView): string {
  const { startMs, zone } = view.workout
  const hour = new Date(startMs + offsetAt(zone, startMs) * MINUTE_MS).getUTCHours()
  return `${hour < 12 ? 'Morning' : hour < 17 ? 'Afternoon' : 'Evening'} ${kindOf(view)[2]}`
}

/** Times to the second; distances and heights to 0.1 m, speeds to 0.001 m/s, heart rate to 0.1. */
export function summaryActivity(person: Person, view: WorkoutView, nowMs: number): Row {
  const { workout } = view
  const [sport_type, type] = kindOf(view)
  const hidden = isHidden(person, workout, nowMs)
  const track = workout.manual ? null : summaryOf(person, workout)
  const elapsed = (workout.endMs - workout.startMs) / 1000
  return {
    ...{ resource_state: 2, athlete: { id: accountOf(person), resource_state: 1 } },
    ...{ id: activityId(person, workout), name: titleOf(view), sport_type, type },
    ...times(view),
    ...{ elapsed_time: elapsed, moving_time: track?.movingSeconds ?? elapsed },
    distance: round(workout.distanceM ?? 0, 1),
    total_elevation_gain: round(workout.climbedM ?? 0, 1),
    ...speeds(workout, track, elapsed),
    ...(track && measured(person, view, track)),
    has_heartrate: track !== null,
    ...{ trainer: isIndoors(view), commute: false, manual: workout.manual, private: hidden },
    visibility: hidden ? 'only_me' : person.phoneAway ? 'followers_only' : 'everyone',
    ...{ gear_id: null, external_id: null, upload_id: null },
    ...(track && { external_id: `garmin_ping_${activityId(person, workout) * 3}` }),
    ...(track && { upload_id: activityId(person, workout) + 1_000_000_000 }),
  }
}

/** Trainers know no zone. */
function times(view: WorkoutView): Row {
  const { startMs, zone, day } = view.workout
  const nowhere = isIndoors(view) && day % 2 === 0
  const minutes = nowhere ? 0 : offsetAt(zone, startMs)
  const utc = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`
  return {
    start_date: utc(startMs),
    start_date_local: utc(startMs + minutes * MINUTE_MS),
    timezone: nowhere ? '(GMT+00:00) GMT' : `(GMT${offsetText(minutes)}) ${zone}`,
    utc_offset: minutes * 60,
  }
}

function speeds({ distanceM }: Workout, track: TrackSummary | null, elapsed: number): Row {
  const average = round((distanceM ?? 0) / (track?.movingSeconds ?? elapsed), 3)
  return { average_speed: average, max_speed: track ? (track.maxSpeed ?? 0) : average }
}

/** Cadence is that of one foot. */
function measured(person: Person, view: WorkoutView, track: TrackSummary): Row {
  const perFoot = FEET.includes(view.sport) ? 2 : 1
  const { averageCadence, averageWatts } = track
  return {
    ...{ average_heartrate: round(view.averageHeartRate, 1), max_heartrate: view.maxHeartRate },
    ...(averageCadence !== null && { average_cadence: round(averageCadence / perFoot, 1) }),
    average_temp: Math.round(track.averageCelsius),
    ...(track.highest !== null && { elev_high: track.highest, elev_low: track.lowest }),
    ...(track.start && { start_latlng: track.start, end_latlng: track.end }),
    ...(averageWatts !== null && {
      ...{ average_watts: round(averageWatts, 1), weighted_average_watts: Math.round(averageWatts * 1.04) },
      ...{ max_watts: track.maxWatts, device_watts: person.ring !== 'gen3' },
      kilojoules: round((averageWatts * track.movingSeconds) / 1000, 1),
    }),
  }
}

/** Only here stand energy, in kcal, and the device. */
export function detailedActivity(person: Person, view: WorkoutView, nowMs: number): Row {
  const { manual, kcal } = view.workout
  return {
    ...summaryActivity(person, view, nowMs),
    resource_state: 3,
    description: null,
    calories: round(kcal, 1),
    device_name: manual ? null : deviceOf(person),
    gear: null,
  }
}

export function deviceOf({ strap }: Person): string {
  return strap > 3 ? 'Garmin Forerunner 965' : 'Wahoo ELEMNT'
}

/** Every stream there is, by its name, of the seconds in which the person moved. */
export function streamsOf(person: Person, view: WorkoutView): Map<string, unknown[]> {
  const track = trackOf(person, view.workout)
  const time: number[] = []
  track.moving.forEach((on, second) => {
    if (on === 1 || second === 0 || second === track.seconds - 1) time.push(second)
  })
  const perFoot = FEET.includes(view.sport) ? 2 : 1
  const of = (values: Float64Array) =>
    time.map((second) => {
      const value = values[second] ?? Number.NaN
      return Number.isNaN(value) ? null : value
    })
  const all: [string, unknown[] | null][] = [
    ['time', time],
    ['heartrate', of(track.heartRate)],
    ['temp', of(track.celsius)],
    ['moving', time.map((second) => track.moving[second] === 1)],
    ['distance', track.distance && of(track.distance)],
    ['velocity_smooth', track.speed && of(track.speed)],
    ['altitude', track.altitude && of(track.altitude)],
    ['grade_smooth', track.altitude && grades(track, time)],
    ['cadence', track.cadence && of(track.cadence.map((value) => value / perFoot))],
    ['watts', track.watts && of(track.watts)],
    ['latlng', places(track, time)],
  ]
  return new Map(all.filter((one): one is [string, unknown[]] => one[1] !== null))
}

/** Percent, over the metres since the second before. */
function grades({ altitude, distance }: Track, time: readonly number[]): number[] {
  return time.map((second) => {
    const [from, to] = [Math.max(0, second - 10), second]
    const metres = (distance?.[to] ?? 0) - (distance?.[from] ?? 0)
    return metres < 1 ? 0 : round((((altitude?.[to] ?? 0) - (altitude?.[from] ?? 0)) / metres) * 100, 1)
  })
}

function places({ latitude, longitude }: Track, time: readonly number[]): unknown[] | null {
  return latitude && longitude && time.map((second) => [latitude[second], longitude[second]])
}
