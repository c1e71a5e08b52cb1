import { useState } from 'preact/hooks'
import type { Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { readSamples, readSleep, readSleepDays, readSleepScores } from '../api/reads.ts'
import { Hypnogram } from '../charts/hypnogram.tsx'
import { type Lane, Lanes } from '../charts/lanes.tsx'
import { Line } from '../charts/line.tsx'
import { clockOf, nearest, type Point, pointsOf, scaleOf } from '../charts/samples.ts'
import { asleepMinutes, type Night as NightData, nightOf, partText, stageMinutes } from '../charts/sleep.ts'
import { clock, dateOf, daysLater, HOUR_MS, hourTicks, MINUTE_MS, offsetMinutes, span } from '../charts/time.ts'
import { Shown } from '../ui/states.tsx'
import { Why } from '../ui/why.tsx'
import { words } from '../ui/words.ts'
import { PersonPage } from './person.tsx'

const AROUND_MS = 30 * MINUTE_MS

/** What is measured at night, and how it is drawn; only what there is. */
const MEASURES = [
  { type: 'heart_rate', mean: 'avg_heart_rate_bpm', name: 'Heart rate', unit: 'bpm', kind: 'heart', digits: 0 },
  {
    type: 'heart_rate_variability_sdnn',
    mean: 'avg_hrv_sdnn_ms',
    name: 'HRV (SDNN)',
    unit: 'ms',
    kind: 'hrv',
    digits: 0,
  },
  {
    type: 'heart_rate_variability_rmssd',
    mean: 'avg_hrv_rmssd_ms',
    name: 'HRV (RMSSD)',
    unit: 'ms',
    kind: 'hrv',
    digits: 0,
  },
  { type: 'oxygen_saturation', mean: 'avg_spo2_percent', name: 'SpO₂', unit: '%', kind: 'oxygen', digits: 0 },
  { type: 'respiratory_rate', mean: 'avg_respiratory_rate', name: 'Breath', unit: '/ min', kind: 'breath', digits: 1 },
  { type: 'skin_temperature', mean: undefined, name: 'Skin temperature', unit: '°C', kind: 'body', digits: 1 },
] as const

/** A night, by the local date of waking. */
export function Night({ id, date }: { id: string; date: string }) {
  return (
    <PersonPage id={id} date={date} view="night">
      {(user) => <Loaded key={`${id} ${date}`} user={user} date={date} />}
    </PersonPage>
  )
}

function Loaded({ user, date }: { user: Schemas['UserDetail']; date: string }) {
  const sleep = useQuery(`night ${user.id} ${date}`, async (signal) => {
    const nights = (await readSleep(user.id, date, signal)).map((session) => nightOf(session))
    return nights.filter(({ until }) => dateOf(until) === date)
  })
  return (
    <Shown query={sleep} what="the night">
      {(nights) =>
        nights.length > 0 ? (
          <Sessions user={user} date={date} nights={nights} />
        ) : (
          <Why user={user} date={date} type="sleep" what="No sleep ended on this day." />
        )
      }
    </Shown>
  )
}

function Sessions({ user, date, nights }: { user: Schemas['UserDetail']; date: string; nights: NightData[] }) {
  const longest = nights.reduce((best, one) => (one.until - one.from > best.until - best.from ? one : best))
  const [chosen, choose] = useState(longest.id)
  const night = nights.find(({ id }) => id === chosen) ?? longest
  const days = useQuery(`nights ${user.id} ${date}`, (signal) =>
    readSleepDays(user.id, [daysLater(date, -30), date], signal),
  )
  const summary = days.data?.find((day) => day.date === date)
  const samples = useQuery(`samples ${user.id} ${night.id}`, (signal) => readMeasures(user.id, night, signal))
  const axis = [night.from - AROUND_MS, night.until + AROUND_MS] as const
  // Its axis runs on when the clocks change in a night: from there on they said something else.
  const say = samples.data ? clockOf(samples.data, offsetMinutes(night.session.zone_offset)) : clock
  return (
    <>
      {nights.length > 1 && (
        <nav class="buttons" aria-label="Sessions">
          {nights.map((one) => (
            <button key={one.id} type="button" aria-pressed={one === night} onClick={() => choose(one.id)}>
              {one.isNap ? 'Nap' : 'Sleep'} {say(one.from)}–{say(one.until)}
            </button>
          ))}
        </nav>
      )}
      <Hypnogram key={night.id} night={night} say={say} from={axis[0]} until={axis[1]} />
      <Shown query={samples} what="measurements of the night">
        {(page) => <Measures {...{ night, page, say, axis }} summary={night.isNap ? undefined : summary} />}
      </Shown>
      <Totals user={user} date={date} night={night} days={days.data ?? []} />
      <details>
        <summary>As a table</summary>
        <ul>
          {night.parts.map((part) => (
            <li key={`${part.stage} ${part.from}`}>{partText(part, say)}</li>
          ))}
        </ul>
      </details>
    </>
  )
}

/** The 10th and the 90th percentile. */
function usual(values: readonly number[]): [number, number] | undefined {
  if (values.length < 7) return undefined
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] ?? 0
  return [at(0.1), at(0.9)]
}

type StageField = keyof NonNullable<Schemas['SleepSummary']['stages']>

interface TotalsProps {
  user: Schemas['UserDetail']
  date: string
  night: NightData
  /** The summaries of the date and the 30 days before. */
  days: readonly Schemas['SleepSummary'][]
}

function Totals({ user, date, night, days }: TotalsProps) {
  const scores = useQuery(`scores ${user.id} ${date}`, (signal) => readSleepScores(user.id, date, signal))
  const of = (pick: (day: Schemas['SleepSummary']) => number | null | undefined) =>
    night.isNap ? undefined : usual(days.flatMap((day) => (day.date < date ? (pick(day) ?? []) : [])))
  const stage = (name: StageField) => of((day) => day.stages?.[name])
  const minutes = stageMinutes(night)
  const { session } = night
  const own = (scores.data ?? []).filter((one) => one.event_record_id === night.id && one.value !== null)
  const inBed = session.time_in_bed_seconds
  const rows: [string, number | null, [number, number] | undefined][] = [
    ['Asleep', asleepMinutes(night), of((day) => day.duration_minutes)],
    ['In bed', inBed === null ? null : inBed / 60, of((day) => day.time_in_bed_minutes)],
    ['Awake', minutes.awake, stage('awake_minutes')],
    ['REM', minutes.rem, stage('rem_minutes')],
    ['Light', minutes.light, stage('light_minutes')],
    ['Deep', minutes.deep, stage('deep_minutes')],
  ]
  return (
    <dl class="totals">
      {rows.map(([name, value, range]) => (
        <div key={name}>
          <dt class={name.toLowerCase()}>{name}</dt>
          <dd>
            {value === null ? '–' : span(Math.floor(value))}
            {range && <span class="quiet"> usually {[...new Set(range.map(span))].join('–')}</span>}
          </dd>
        </div>
      ))}
      {session.efficiency_percent !== null && (
        <div>
          <dt>Efficiency</dt>
          <dd>{session.efficiency_percent.toFixed(0)} %</dd>
        </div>
      )}
      {own.map(({ id, provider, value }) => (
        <div key={id}>
          <dt>Score of {provider === 'internal' ? 'Pulsebase' : words(provider)}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Everything that is measured at night, of a session and around it. */
function readMeasures(id: string, { session }: NightData, signal: AbortSignal) {
  const at = (instant: string, byMs: number) => new Date(Date.parse(instant) + byMs).toISOString()
  const range = { start: at(session.start_time, -AROUND_MS), end: at(session.end_time, AROUND_MS) }
  return readSamples(id, { ...range, types: MEASURES.map(({ type }) => type), resolution: 'raw' }, signal)
}

interface MeasuresProps {
  night: NightData
  page: Schemas['ColumnarSamplePage']
  say(local: number): string
  axis: readonly [number, number]
  /** The summary whose means are those of this night. */
  summary: Schemas['SleepSummary'] | undefined
}

function Measures({ night, page, say, axis, summary }: MeasuresProps) {
  const [from, until] = axis
  const offset = offsetMinutes(night.session.zone_offset)
  const found = MEASURES.map((measure) => ({ measure, points: pointsOf(page, measure.type, axis, offset) })).filter(
    ({ points }) => points.length > 0,
  )
  if (found.length === 0) return <p class="quiet">Nothing else was measured during this session.</p>
  return (
    <Lanes
      name="Night"
      lanes={found.map(({ measure, points }) =>
        laneOf(measure, points, axis, { say, mean: nightMean(measure.mean, points, { night, summary }) }),
      )}
      marks={[{ kind: 'sleep', from: night.from, until: night.until }]}
      from={from}
      until={until}
      ticks={hourTicks(from, until, 2 * HOUR_MS).map(({ at }) => ({ at, text: say(at) }))}
      points={found.reduce((sum, { points }) => sum + points.length, 0)}
      resolution="raw"
      say={say}
    />
  )
}

const meanOf = (points: readonly Point[]): number | null =>
  points.length > 0 ? points.reduce((sum, { value }) => sum + value, 0) / points.length : null

/**
 * The mean of a night alone, though its lane shows what was before and after: that of the summary where it has one. A
 * value of a whole night may come at its end.
 */
function nightMean(
  field: (typeof MEASURES)[number]['mean'],
  points: readonly Point[],
  { night, summary }: Pick<MeasuresProps, 'night' | 'summary'>,
) {
  const within = points.filter(({ local }) => local >= night.from && local < night.until)
  return (field && summary?.[field]) ?? meanOf(within) ?? meanOf(points)
}

/** What is measured, and how it is drawn. */
export interface Measure {
  name: string
  unit: string
  kind: string
  digits: number
}

/** The lane of a measure between two local times. */
export function laneOf(
  { name, unit, kind, digits }: Measure,
  points: readonly Point[],
  [from, until]: readonly [number, number],
  { mean = meanOf(points), say = clock } = {},
): Lane {
  const height = kind === 'heart' ? 120 : 52
  const { low, high, ticks } = scaleOf(points.map(({ value }) => value))
  return {
    name,
    unit,
    kind,
    height,
    plot: <Line points={points} from={from} until={until} low={low} high={high} />,
    ticks: ticks.map((value) => ({ at: (value - low) / (high - low), text: String(+value.toFixed(2)) })),
    figure(local) {
      if (local === undefined) return mean === null ? '–' : `${points.length > 1 ? 'mean ' : ''}${mean.toFixed(digits)}`
      const point = nearest(points, local)
      return point ? `${point.value.toFixed(digits)} at ${say(point.local)}` : 'no data'
    },
  }
}
