import { round } from '../random.ts'
import type { Day, Person } from '../truth/person.ts'
import type { Sport } from '../truth/personas.ts'
import { summaryOf, type Track, trackOf } from '../truth/tracks.ts'
import { type WorkoutView, workoutAt } from '../truth/workouts.ts'
import { activityId, type Item, isNew, offsetSeconds, type Row, type Style, seconds } from './items.ts'

const SPORTS: Record<Sport, readonly [type: string, name: string]> = {
  running: ['RUNNING', 'Run'],
  'trail running': ['TRAIL_RUNNING', 'Trail Run'],
  walking: ['WALKING', 'Walk'],
  hiking: ['HIKING', 'Hike'],
  cycling: ['ROAD_BIKING', 'Ride'],
  swimming: ['LAP_SWIMMING', 'Swim'],
  rowing: ['ROWING_V2', 'Row'],
  strength: ['STRENGTH_TRAINING', 'Strength'],
  yoga: ['YOGA', 'Yoga'],
  hiit: ['HIIT', 'HIIT'],
  tennis: ['TENNIS_V2', 'Tennis'],
  floorball: ['TEAM_SPORTS', 'Floorball'],
  unknown: ['OTHER', 'Activity'],
}
const INDOORS: Partial<Record<Sport, string>> = { cycling: 'INDOOR_CYCLING', rowing: 'INDOOR_ROWING' }

/** An activity of a day as known at an instant; one that is deleted is not told any more. */
function viewOf(day: Day, nowMs: number): WorkoutView | null {
  const view = day.workout && workoutAt(day.workout, nowMs)
  return view && !view.deleted ? view : null
}

function item({ workout }: WorkoutView, row: () => Row): Item[] {
  return [{ startMs: workout.startMs, endMs: workout.endMs, row }]
}

/** Whole kcal, metres to 0.1, speed to 0.001 m/s. */
export function activities(person: Person, day: Day, nowMs: number): Item[] {
  const view = viewOf(day, nowMs)
  return view
    ? item(view, () => ({ summaryId: String(activityId(person, view.workout)), ...summary(person, view) }))
    : []
}

function summary(person: Person, view: WorkoutView): Row {
  const { workout, sport } = view
  const { startMs, endMs, zone, distanceM, manual } = workout
  const [type, name] = SPORTS[sport]
  const length = seconds(endMs - startMs)
  return {
    ...{ activityId: activityId(person, workout), activityName: `${name} in ${zone.split('/').at(-1)}` },
    activityType: (distanceM === null ? INDOORS[sport] : undefined) ?? type,
    deviceName: manual ? 'unknown' : deviceOf(person),
    ...{ startTimeInSeconds: seconds(startMs), startTimeOffsetInSeconds: offsetSeconds(zone, startMs) },
    ...{ durationInSeconds: length, activeKilocalories: Math.round(workout.kcal) },
    ...(distanceM !== null && { distanceInMeters: round(distanceM, 1) }),
    ...(distanceM !== null && { averageSpeedInMetersPerSecond: round(distanceM / length, 3) }),
    ...(!manual && measured(person, view, length)),
    ...{ isParent: false, manual, isWebUpload: false },
  }
}

function deviceOf(person: Person): string {
  return isNew(person) ? 'Forerunner 965' : 'vivoactive 4'
}

/** What the watch measured; cadence has another name for each sport. */
function measured(person: Person, view: WorkoutView, length: number): Row {
  const { workout, sport } = view
  const { maxSpeed, averageCadence, averageWatts, maxWatts, start } = summaryOf(person, workout)
  const cadence = averageCadence === null ? null : round(averageCadence, 1)
  const onFoot = workout.distanceM !== null && workout.cadence > 0
  return {
    averageHeartRateInBeatsPerMinute: Math.round(view.averageHeartRate),
    maxHeartRateInBeatsPerMinute: view.maxHeartRate,
    ...(workout.cadence > 0 && { steps: Math.round((workout.cadence * length) / 60) }),
    ...(maxSpeed !== null && { maxSpeedInMetersPerSecond: maxSpeed }),
    ...(onFoot && { averagePaceInMinutesPerKilometer: round(length / 60 / ((workout.distanceM ?? 1) / 1000), 6) }),
    ...(cadence !== null &&
      (sport === 'cycling'
        ? { averageBikeCadenceInRoundsPerMinute: cadence }
        : { averageRunCadenceInStepsPerMinute: cadence })),
    ...(averageWatts !== null && { averagePowerInWatts: Math.round(averageWatts), maxPowerInWatts: maxWatts }),
    ...(workout.climbedM !== null && {
      totalElevationGainInMeters: round(workout.climbedM, 1),
      totalElevationLossInMeters: round(workout.climbedM - (workout.altitudeChangeM ?? 0), 1),
    }),
    ...(start && { startingLatitudeInDegree: start[0], startingLongitudeInDegree: start[1] }),
  }
}

/** With what was recorded every few seconds; nothing is recorded of what was entered by hand. */
export function activityDetails(person: Person, day: Day, nowMs: number, style: Style): Item[] {
  const view = viewOf(day, nowMs)
  if (!view || view.workout.manual) return []
  const { workout } = view
  return item(view, () => ({
    ...{ summaryId: `${activityId(person, workout)}-detail`, activityId: activityId(person, workout) },
    summary: summary(person, view),
    samples: samplesOf(view, trackOf(person, workout), style.detailSeconds),
    laps: [{ startTimeInSeconds: seconds(workout.startMs) }],
  }))
}

function samplesOf({ workout, sport }: WorkoutView, track: Track, every: number): Row[] {
  const rows: Row[] = []
  let moved = 0
  for (let second = 0; second < track.seconds; second++) {
    moved += track.moving[second] ?? 0
    if (second % every !== 0) continue
    const value = (name: string, values: Float64Array | null) => {
      const found = values?.[second] ?? Number.NaN
      return Number.isNaN(found) ? {} : { [name]: found }
    }
    rows.push({
      startTimeInSeconds: seconds(workout.startMs) + second,
      ...value('latitudeInDegree', track.latitude),
      ...value('longitudeInDegree', track.longitude),
      ...value('elevationInMeters', track.altitude),
      ...value('airTemperatureCelcius', track.celsius),
      ...value('heartRate', track.heartRate),
      ...value('speedMetersPerSecond', track.speed),
      ...value(sport === 'cycling' ? 'bikeCadenceInRPM' : 'stepsPerMinute', track.cadence),
      ...value('powerInWatts', track.watts),
      ...value('totalDistanceInMeters', track.distance),
      ...{ timerDurationInSeconds: second, clockDurationInSeconds: second, movingDurationInSeconds: moved },
    })
  }
  return rows
}

/** Where the recording of an activity on the way can be fetched: the address is added when it is told. */
export function activityFiles(person: Person, day: Day, nowMs: number): Item[] {
  const view = viewOf(day, nowMs)
  if (!view || view.workout.manual || !summaryOf(person, view.workout).start) return []
  const { workout } = view
  return item(view, () => ({
    ...{ summaryId: `${activityId(person, workout)}-file`, activityId: activityId(person, workout), fileType: 'GPX' },
    ...{ startTimeInSeconds: seconds(workout.startMs), manual: false },
  }))
}

/** The recording of an activity of a day, as GPX; undefined where there is none. */
export function gpxOf(person: Person, day: Day, nowMs: number): string | undefined {
  const view = viewOf(day, nowMs)
  const track = view && trackOf(person, view.workout)
  const { latitude, longitude, altitude, heartRate } = track ?? {}
  if (!view || !track || !latitude || !longitude) return undefined
  const points: string[] = []
  for (let second = 0; second < track.seconds; second += 5) {
    const time = new Date(view.workout.startMs + second * 1000).toISOString()
    const height = altitude ? `<ele>${altitude[second]}</ele>` : ''
    const beats = heartRate?.[second] ?? Number.NaN
    const hr = Number.isNaN(beats) ? '' : `<extensions><hr>${beats}</hr></extensions>`
    points.push(
      `<trkpt lat="${latitude[second]}" lon="${longitude[second]}">${height}<time>${time}</time>${hr}</trkpt>`,
    )
  }
  return `<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="simulator" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>
${points.join('\n')}
</trkseg></trk></gpx>
`
}
