import type { Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { readSamples } from '../api/reads.ts'
import { Lanes } from '../charts/lanes.tsx'
import { pointsOf } from '../charts/samples.ts'
import { hourTicks, localMs, MINUTE_MS, offsetMinutes } from '../charts/time.ts'
import { Shown } from '../ui/states.tsx'
import { laneOf } from './night.tsx'
import { words } from './runs.tsx'

/** What a workout is called, with its distance. */
export function workoutName({ name, type, distance_meters: metres }: Schemas['Workout']): string {
  const title = name || type.charAt(0).toUpperCase() + words(type.slice(1))
  return metres ? `${title} ${(metres / 1000).toFixed(1)} km` : title
}

const HEART = { type: 'heart_rate', name: 'Heart rate', unit: 'bpm', kind: 'heart', digits: 0 } as const

/** A workout: its heart rate. */
export function Workout({ user, workout }: { user: string; workout: Schemas['Workout'] }) {
  const { id, start_time: start, end_time: end, zone_offset: zone } = workout
  const [from, until] = [localMs(start, zone), localMs(end, zone)]
  const query = useQuery(`workout ${id}`, async (signal) => {
    const samples = await readSamples(user, { start, end, types: [HEART.type], resolution: 'raw' }, signal)
    return pointsOf(samples, HEART.type, [from, until], offsetMinutes(zone))
  })
  return (
    <Shown query={query} what="the workout">
      {(points) =>
        points.length > 0 ? (
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
        )
      }
    </Shown>
  )
}
