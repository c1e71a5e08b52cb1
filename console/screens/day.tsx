import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { readActivity, readSamples, readSleep, readWorkouts } from '../api/reads.ts'
import { Bars } from '../charts/bars.tsx'
import { type Lane, Lanes, type Mark } from '../charts/lanes.tsx'
import { Line } from '../charts/line.tsx'
import { Ribbon } from '../charts/ribbon.tsx'
import { folded } from '../charts/same.ts'
import { nearest, offsetsIn, offsetsOf, type Point, pointsOf, reachOf, scaleOf, sums } from '../charts/samples.ts'
import { asleepMinutes, type Night, nightOf, partText, stageName } from '../charts/sleep.ts'
import {
  clock,
  DAY_MS,
  dateOf,
  HOUR_MS,
  hourTicks,
  localMs,
  midnight,
  offsetText,
  rangeOfDay,
  span,
} from '../charts/time.ts'
import { Call } from '../ui/call.tsx'
import { Shown } from '../ui/states.tsx'
import { AsTable } from '../ui/table.tsx'
import { Why } from '../ui/why.tsx'
import { count } from '../ui/words.ts'
import { DayEvents } from './day-events.tsx'
import { DaySources } from './day-sources.tsx'
import { useYear, YearStrip } from './day-strip.tsx'
import { PersonPage } from './person.tsx'
import { workoutName } from './workout.tsx'

const BAR_MS = HOUR_MS / 4
const RESOLUTION = '1min'
const TYPES = ['heart_rate', 'steps'] as const

/** Everything of a local day. */
interface DayData {
  date: string
  heart: Point[]
  steps: Point[]
  nights: Night[]
  workouts: Schemas['Workout'][]
  activity: Schemas['ActivitySummary'] | undefined
}

/** A local day of a person: heart rate, steps, sleep and workouts over one axis. */
export function Day({ id, date }: { id: string; date: string }) {
  return (
    <PersonPage id={id} date={date} view="day">
      {(user) => <WithYear key={id} user={user} date={date} />}
    </PersonPage>
  )
}

interface Shows {
  user: Schemas['UserDetail']
  date: string
}

/** A day, and once it is there its year, which stays from day to day. */
function WithYear({ user, date }: Shows) {
  const [isReady, ready] = useState(false)
  const year = useYear(user.id, date, isReady)
  const strip = year && <YearStrip id={user.id} date={date} year={year} />
  return <Loaded key={date} user={user} date={date} ready={() => ready(true)} strip={strip} />
}

interface LoadedProps extends Shows {
  strip: ComponentChildren
  /** Called once it is known what there is. */
  ready(): void
}

function Loaded({ user, date, ready, strip }: LoadedProps) {
  const day = useQuery(`day ${user.id} ${date}`, (signal) => readDay(user.id, date, signal))
  useEffect(() => {
    if (day.state !== 'loading') ready()
  }, [day.state])
  return (
    <Shown query={day} what="the day">
      {(data) =>
        isEmpty(data) ? (
          <>
            <Why user={user} date={date} what="Nothing is stored for this day." />
            {strip}
          </>
        ) : (
          <Filled user={user} data={data} strip={strip} />
        )
      }
    </Shown>
  )
}

async function readDay(id: string, date: string, signal: AbortSignal): Promise<DayData> {
  const [samples, sleep, workouts, activity] = await Promise.all([
    readSamples(id, { ...rangeOfDay(date), types: [...TYPES], resolution: RESOLUTION }, signal),
    readSleep(id, date, signal),
    readWorkouts(id, date, signal),
    readActivity(id, date, signal),
  ])
  const [from, until] = [midnight(date), midnight(date) + DAY_MS]
  const within = (start: number, end: number) => start < until && end > from
  return {
    date,
    heart: pointsOf(samples, 'heart_rate', [from, until]),
    steps: pointsOf(samples, 'steps', [from, until]),
    nights: sleep
      .map((session) => nightOf(session, offsetsIn(samples)))
      .filter((night) => within(night.from, night.until)),
    workouts: workouts.filter((one) =>
      within(localMs(one.start_time, one.zone_offset), localMs(one.end_time, one.zone_offset)),
    ),
    activity,
  }
}

const isEmpty = ({ heart, steps, nights, workouts, activity }: DayData) =>
  heart.length + steps.length + nights.length + workouts.length === 0 && !activity

interface FilledProps {
  user: Schemas['UserDetail']
  data: DayData
  strip: ComponentChildren
}

function Filled({ user, data, strip }: FilledProps) {
  const { date, heart, steps, nights, workouts } = data
  const from = midnight(date)
  const until = from + DAY_MS
  const marks: Mark[] = [
    ...nights.map((night): Mark => ({ kind: 'sleep', from: night.from, until: night.until })),
    ...folded(
      workouts,
      data.activity?.sources?.map(({ source }) => source),
    ).map(({ workout }) => markOf(workout)),
  ]
  const narrow = matchMedia('(max-width: 640px)').matches
  const lanes = [heartLane(data, narrow ? 130 : 180), stepsLane(data, narrow ? 52 : 64), sleepLane(data)]
  const zones = [...new Set([...offsetsOf(heart), ...offsetsOf(steps)])]
  return (
    <>
      <Lanes
        name="Day"
        lanes={lanes}
        marks={marks}
        from={from}
        until={until}
        ticks={hourTicks(from, until, (narrow ? 6 : 3) * HOUR_MS)}
        points={heart.length + steps.length}
        resolution={RESOLUTION}
      />
      <p class="quiet">
        Local time{zones.length > 0 && `, ${zones.map(offsetText).join(' → ')}`} · by the minute,{' '}
        {heart.length + steps.length} values
      </p>
      {strip}
      {heart.length === 0 && <Why user={user} date={date} type="heart_rate" what="No heart rates are there." />}
      <Remainder data={data} />
      <DayEvents {...data} />
      <DaySources id={user.id} activity={data.activity} />
      <Hours data={data} />
      <Call
        {...{ id: user.id, types: TYPES, from, until, resolution: RESOLUTION }}
        offsets={[zones[0] ?? 0, zones.at(-1) ?? 0]}
      />
    </>
  )
}

/** Why the bars of the steps add up to something else than the figure beside them. */
function Remainder({ data: { steps, activity } }: { data: DayData }) {
  const counted = steps.reduce((sum, { value }) => sum + value, 0)
  if (activity?.steps == null || Math.abs(activity.steps - counted) <= 1) return null
  return (
    <p class="quiet">
      The bars add up to {count(counted)} steps, of one source. The figure of the day counts daily totals and other
      sources as well, each quarter of an hour once.
    </p>
  )
}

function markOf(workout: Schemas['Workout']): Mark {
  const at = (instant: string) => localMs(instant, workout.zone_offset)
  const name = workoutName(workout)
  return { kind: 'workout', from: at(workout.start_time), until: at(workout.end_time), name }
}

function heartLane({ date, heart, activity }: DayData, height: number): Lane {
  const from = midnight(date)
  const { low, high, ticks } = scaleOf(reachOf(heart))
  const day = activity?.heart_rate
  return {
    name: 'Heart rate',
    unit: 'bpm',
    kind: 'heart',
    height,
    plot: <Line points={heart} from={from} until={from + DAY_MS} low={low} high={high} />,
    ticks: ticks.map((value) => ({ at: (value - low) / (high - low), text: String(value) })),
    figure(local) {
      if (local === undefined) return day ? `${day.min_bpm}–${day.max_bpm}` : '–'
      const point = nearest(heart, local)
      return point ? `${count(point.value)} at ${clock(point.local)}` : 'no data'
    },
  }
}

function stepsLane({ date, steps, activity }: DayData, height: number): Lane {
  const from = midnight(date)
  const bars = sums(steps, from, BAR_MS, DAY_MS / BAR_MS)
  const high = Math.max(...bars.map((value) => value ?? 0), 1)
  return {
    name: 'Steps',
    unit: 'in 15 min',
    kind: 'steps',
    height,
    plot: <Bars values={bars} high={high} />,
    figure(local) {
      if (local === undefined) return activity?.steps == null ? '–' : count(activity.steps)
      const index = Math.floor((local - from) / BAR_MS)
      const value = bars[index]
      return value == null ? 'no data' : `${count(value)} from ${clock(from + index * BAR_MS)}`
    },
  }
}

function sleepLane({ date, nights }: DayData): Lane {
  const from = midnight(date)
  const woken = nights.filter(({ session }) => dateOf(localMs(session.end_time, session.zone_offset)) === date)
  return {
    name: 'Sleep',
    unit: '',
    kind: 'sleep',
    height: 20,
    plot: <Ribbon nights={nights} from={from} until={from + DAY_MS} />,
    figure(local) {
      if (local === undefined) {
        return woken.length > 0 ? span(woken.reduce((sum, night) => sum + asleepMinutes(night), 0)) : '–'
      }
      const part = nights.flatMap((night) => night.parts).find((one) => one.from <= local && local < one.until)
      return part ? stageName(part.stage) : 'awake, or no data'
    },
  }
}

/** The day as a table, by the hour. */
function Hours({ data: { date, heart, steps, nights } }: { data: DayData }) {
  const from = midnight(date)
  const rows = () =>
    sums(steps, from, HOUR_MS, 24).map((walked, hour) => {
      const start = from + hour * HOUR_MS
      const values = heart.filter(({ local }) => local >= start && local < start + HOUR_MS).map(({ value }) => value)
      const rates = values.length > 0 ? [Math.min(...values), Math.max(...values)] : [null, null]
      return [clock(start), ...rates, walked]
    })
  return (
    <AsTable name={`day-${date}`} head={['Hour', 'Heart rate, lowest minute', 'Highest', 'Steps']} rows={rows}>
      <ul>
        {nights.flatMap((night) =>
          night.parts.map((part) => <li key={`${night.id} ${part.stage} ${part.from}`}>{partText(part)}</li>),
        )}
      </ul>
    </AsTable>
  )
}
