import { answered, api, type Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { readSamples } from '../api/reads.ts'
import { Lanes } from '../charts/lanes.tsx'
import { pointsOf } from '../charts/samples.ts'
import { clock, hourTicks, localMs, MINUTE_MS, offsetMinutes, span } from '../charts/time.ts'
import { Shown } from '../ui/states.tsx'
import { Table } from '../ui/table.tsx'
import { words } from '../ui/words.ts'
import { laneOf } from './night.tsx'

type Detail = Schemas['WorkoutDetail']

/** What a workout is called, with its distance. */
export function workoutName({ name, type, distance_meters: metres }: Schemas['Workout']): string {
  const title = name || words(type)
  return metres ? `${title} ${(metres / 1000).toFixed(1)} km` : title
}

const HEART = { type: 'heart_rate', name: 'Heart rate', unit: 'bpm', kind: 'heart', digits: 0 } as const

type Page = Schemas['ColumnarSamplePage']

/** How near a source is to that of a workout: the same one, the same device, or another. */
function nearness(source: Schemas['SourceMetadata'], own: Schemas['SourceMetadata']): number {
  if (source.provider !== own.provider || source.device !== own.device) return 0
  return source.source === own.source ? 2 : own.device === null ? 0 : 1
}

/**
 * The heart rates of a workout, of one source: the workout's own, else its device, else the one that measured most; and
 * the name of a source that is not the workout's own.
 */
function heartOf(page: Page, { source: own, zone_offset: zone }: Schemas['Workout'], range: [number, number]) {
  const [best] = page.series
    .map((only, index) => {
      // Daily totals are no measurements of the workout.
      const series = page.series.map((one, at) => (at === index ? one : { ...one, implausible: true as const }))
      const points = only.is_daily_total ? [] : pointsOf({ ...page, series }, HEART.type, range, offsetMinutes(zone))
      return { points, source: only.source, near: nearness(only.source, own) }
    })
    .filter(({ points }) => points.length > 0)
    .sort((a, b) => b.near - a.near || b.points.length - a.points.length)
  if (!best) return { points: [], other: undefined }
  const name = best.source.device_name ?? best.source.source ?? best.source.provider
  return { points: best.points, other: best.near === 2 ? undefined : name }
}

/** A workout: its heart rate, the zones of it, its laps, and its way as a line. */
export function Workout({ user, workout }: { user: string; workout: Schemas['Workout'] }) {
  const { id, start_time: start, end_time: end, zone_offset: zone } = workout
  const [from, until] = [localMs(start, zone), localMs(end, zone)]
  const query = useQuery(`workout ${id}`, async (signal) => {
    const params = { path: { user_id: user, workout_id: id } }
    const [samples, detail] = await Promise.all([
      readSamples(user, { start, end, types: [HEART.type], resolution: 'raw', filter_by_priority: false }, signal),
      answered(api.GET('/api/v1/users/{user_id}/events/workouts/{workout_id}', { params, signal })),
    ])
    return { ...heartOf(samples, workout, [from, until]), detail }
  })
  return (
    <Shown query={query} what="the workout">
      {({ points, other, detail }) => (
        <>
          {points.length > 0 ? (
            <Lanes
              name="Workout"
              lanes={[laneOf(HEART, points, [from, until])]}
              marks={[]}
              from={from}
              until={until}
              ticks={hourTicks(from, until, (until - from > 90 * MINUTE_MS ? 30 : 10) * MINUTE_MS)}
              points={points.length}
              resolution="raw"
            />
          ) : (
            <p class="quiet">No heart rate was measured during it.</p>
          )}
          {other && (
            <p class="quiet">
              Measured by <bdi>{other}</bdi>.
            </p>
          )}
          <Zones detail={detail} />
          <Laps laps={detail.laps ?? []} zone={zone} />
          <Way route={detail.route ?? []} />
        </>
      )}
    </Shown>
  )
}

/** How long the heart was in each zone, where a provider says so. */
function Zones({ detail }: { detail: Detail }) {
  const { zones = [] } = (detail.hr_zones ?? {}) as { zones?: { zone: number; seconds: number }[] }
  if (zones.length === 0) return null
  return (
    <p>
      {zones.map(({ zone, seconds }) => (
        <span key={zone} class="tag">
          Zone {zone}: {span(seconds / 60)}
        </span>
      ))}
    </p>
  )
}

function Laps({ laps, zone }: { laps: readonly Schemas['WorkoutLap'][]; zone: string | null }) {
  if (laps.length === 0) return null
  const time = (lap: Schemas['WorkoutLap']) =>
    lap.duration_seconds ?? (Date.parse(lap.end_time) - Date.parse(lap.start_time)) / 1000
  const rows = laps.map((lap, at) => [
    String(at + 1),
    clock(localMs(lap.start_time, zone)),
    minutesText(time(lap)),
    lap.distance_meters === null ? null : (lap.distance_meters / 1000).toFixed(2),
  ])
  return <Table name="Laps" head={['Lap', 'From', 'Time', 'km']} rows={rows} />
}

/** As runners read it, such as 5:12. */
function minutesText(seconds: number): string {
  const whole = Math.round(seconds)
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`
}

/** More points than a line of this size can show. */
const MOST = 500

/** Where it went, as a line without a map: nobody else learns of it. */
function Way({ route }: { route: readonly Schemas['RoutePoint'][] }) {
  if (route.length < 2) return null
  const step = Math.ceil(route.length / MOST)
  const scale = Math.cos(((route[0]?.latitude ?? 0) * Math.PI) / 180)
  const points = route.filter((_, at) => at % step === 0 || at === route.length - 1)
  // A way over the line where the dates change goes on, it does not come back around the world.
  const turn = ((route[0]?.longitude ?? 0) + 540) % 360
  const place = points.map(({ latitude, longitude }): [number, number] => [
    ((longitude - turn + 720) % 360) * scale,
    -latitude,
  ])
  const [xs, ys] = [place.map(([x]) => x), place.map(([, y]) => y)]
  const [left, top] = [Math.min(...xs), Math.min(...ys)]
  const size = Math.max(Math.max(...xs) - left, Math.max(...ys) - top) || 1
  const at = ([x, y]: [number, number]) =>
    `${(((x - left) / size) * 200).toFixed(1)} ${(((y - top) / size) * 200).toFixed(1)}`
  return (
    <svg class="way" viewBox="-6 -6 212 212" role="img">
      <title>The way, north at the top, without a map: {route.length} points, the dot is the start</title>
      <path d={`M${place.map(at).join('L')}`} />
      <circle r="5" transform={`translate(${at(place[0] ?? [0, 0])})`} />
    </svg>
  )
}
