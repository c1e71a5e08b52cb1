import { useSignal } from '@preact/signals'
import type { Window } from '../api/explore.ts'
import { useQuery } from '../api/query.ts'
import { readSamples } from '../api/reads.ts'
import { stepsOf, timeTicks } from '../charts/days.ts'
import { Lanes } from '../charts/lanes.tsx'
import { type Point, pointsOf } from '../charts/samples.ts'
import { DAY_MS, dateOf, daysLater, HOUR_MS, midnight, rangeOfDay, shortDate, today } from '../charts/time.ts'
import { Zoom } from '../charts/zoom.tsx'
import { address, go } from '../router.ts'
import { count } from '../ui/words.ts'

const DAYS = 365
/** With fewer, a year has nothing to show. */
const LEAST_HOURS = 48

/** The last day of the year that a date is shown in: today, or the end of a calendar year of the past. */
function endOf(date: string): string {
  const now = today()
  if (date > now) return date
  return date > daysLater(now, -DAYS) ? now : `${date.slice(0, 4)}-12-31`
}

/** Heart rates of a year by the hour, in local time [from, until). */
export interface YearOfHours {
  from: number
  until: number
  points: Point[]
}

/** Reads the year around a date of a person, once it is wanted; stays from day to day. */
export function useYear(id: string, date: string, isWanted: boolean): YearOfHours | undefined {
  const last = endOf(date)
  const first = daysLater(last, 1 - DAYS)
  const range = [midnight(first), midnight(last) + DAY_MS] as const
  const year = useQuery(`year of hours ${id} ${last} ${isWanted}`, async (signal) => {
    if (!isWanted) return []
    const ends = { start: rangeOfDay(first).start, end: rangeOfDay(last).end }
    const asked = { ...ends, types: ['heart_rate' as const], resolution: '1hour' as const, isBare: true }
    return pointsOf(await readSamples(id, asked, signal), 'heart_rate', range)
  })
  const points = year.data ?? []
  return points.length >= LEAST_HOURS ? { from: range[0], until: range[1], points } : undefined
}

interface StripProps {
  id: string
  date: string
  year: YearOfHours
}

/** A year, an hour a cell: a click opens a day, a drag leads to a range in Explore. */
export function YearStrip({ id, date, year: { from, until, points } }: StripProps) {
  const cursor = useSignal<number | undefined>(undefined)
  const marked = useSignal<Window | undefined>(undefined)
  const person = `/people/${id}`
  const explore = (range: Window) => {
    const at = (local: number) => new Date(local).toISOString().slice(0, 16)
    go(`${person}/explore?types=heart_rate&from=${at(range.from)}&to=${at(range.until)}`)
  }
  // What ends a drag is a click as well.
  const pick = (local: number) => address.value.includes('/day/') && go(`${person}/day/${dateOf(local)}`)
  const narrow = matchMedia('(max-width: 640px)').matches
  return (
    <Zoom
      window={{ from, until }}
      whole={{ from, until }}
      cursor={cursor}
      marked={marked}
      show={explore}
      back={() => {}}
    >
      <Lanes
        name="Year strip"
        lanes={[
          {
            name: 'Year',
            unit: 'by the hour',
            kind: 'heart',
            height: 72,
            plot: <Cells points={points} from={from} date={date} />,
            ticks: [6, 12, 18].map((hour) => ({ at: 1 - hour / 24, text: `${String(hour).padStart(2, '0')}:00` })),
            figure: (local) => figureOf(points, local),
          },
        ]}
        marks={marked.value ? [{ kind: 'chosen', ...marked.value }] : []}
        from={from}
        until={until}
        ticks={timeTicks(from, until, narrow ? 6 : 13)}
        points={points.length}
        resolution="1hour"
        stepMs={DAY_MS}
        say={(local) => shortDate(dateOf(local))}
        pick={pick}
        cursor={cursor}
      />
    </Zoom>
  )
}

/** The means of the hours of a day, lowest and highest. */
function figureOf(points: readonly Point[], local: number | undefined): string {
  if (local === undefined) return 'heart rate'
  const start = midnight(dateOf(local))
  const values = points.filter((one) => one.local >= start && one.local < start + DAY_MS).map(({ value }) => value)
  return values.length > 0 ? [Math.min(...values), Math.max(...values)].map(count).join('–') : 'no data'
}

/** A column for each day and a cell for each hour, in six steps between this person's own lowest and highest hours. */
function Cells({ points, from, date }: { points: readonly Point[]; from: number; date: string }) {
  const steps = stepsOf(points.map(({ value }) => value))
  const paths = Array.from({ length: 6 }, () => '')
  for (const [index, { local }] of points.entries()) {
    const [day, hour] = [Math.floor((local - from) / DAY_MS), Math.floor((local % DAY_MS) / HOUR_MS)]
    const step = steps[index] ?? 0
    paths[step] += `M${day} ${hour}h1v1h-1z`
  }
  return (
    <svg class="strip" viewBox={`0 0 ${DAYS} 24`} preserveAspectRatio="none" aria-hidden="true">
      {paths.map((path, step) => (
        <path key={step} class={`v${step}`} d={path} />
      ))}
      <path class="shown" d={`M${(midnight(date) - from) / DAY_MS} 0h1v24h-1z`} />
    </svg>
  )
}
