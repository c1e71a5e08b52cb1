import type { Schemas } from '../api/client.ts'
import { folded, nameOfSource } from '../charts/same.ts'
import { asleepMinutes, type Night } from '../charts/sleep.ts'
import { clock, dateOf, localMs, span, weekday } from '../charts/time.ts'
import { workoutName } from './workout.tsx'

interface EventsProps {
  date: string
  nights: readonly Night[]
  workouts: readonly Schemas['Workout'][]
  activity: Schemas['ActivitySummary'] | undefined
}

/** What there was on a day, whole nights at its ends included. */
export function DayEvents({ date, nights, workouts, activity }: EventsProps) {
  const nightPath = location.pathname.replace('/day/', '/night/')
  if (workouts.length + nights.length === 0) return null
  // A time of another day says so.
  const at = (local: number) => (dateOf(local) === date ? '' : `${weekday(local)} `) + clock(local)
  return (
    <section>
      <h2>Events</h2>
      <ul class="events">
        {nights.map((night) => (
          <li key={night.id}>
            {at(night.from)}–{at(night.until)} {night.isNap ? 'Nap' : 'Sleep'}, {span(asleepMinutes(night))}{' '}
            {dateOf(night.until) === date && !night.isNap && <a href={nightPath}>stages</a>}
          </li>
        ))}
        {folded(
          workouts,
          activity?.sources?.map(({ source }) => source),
        ).map(({ workout, others }) => (
          <li key={workout.id}>
            {at(localMs(workout.start_time, workout.zone_offset))}–{at(localMs(workout.end_time, workout.zone_offset))}{' '}
            <span dir="auto">{workoutName(workout)}</span>
            {workout.avg_heart_rate_bpm !== null && `, ${workout.avg_heart_rate_bpm} bpm on average`}
            {others.length > 0 && (
              <span class="quiet">
                {' '}
                of <bdi>{nameOfSource(workout.source)}</bdi>, also recorded by{' '}
                <bdi>{others.map(({ source }) => nameOfSource(source)).join('; ')}</bdi>
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
