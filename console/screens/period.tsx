import type { Schemas } from '../api/client.ts'
import { type Days, readPeriod } from '../api/period.ts'
import { useQuery } from '../api/query.ts'
import { Calendar } from '../charts/calendar.tsx'
import { type Daily, daysBetween, meanOf, stepsOf, timeTicks, usualRanges, weekMeans } from '../charts/days.ts'
import { type Lane, Lanes } from '../charts/lanes.tsx'
import { scaleOf } from '../charts/samples.ts'
import { type Night, regularityOf } from '../charts/sleep.ts'
import { clock, DAY_MS, dateOf, daysLater, localMs, midnight, shortDate, span } from '../charts/time.ts'
import { Nights, Trend } from '../charts/trend.tsx'
import { ask, go, query } from '../router.ts'
import { Empty, Shown } from '../ui/states.tsx'
import { AsTable } from '../ui/table.tsx'
import { count } from '../ui/words.ts'
import { PersonPage } from './person.tsx'

const tenth = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })

/** What is drawn of days, where there is any: its name in the answer, on the screen, its unit and colour. */
const MEASURES: readonly [id: string, name: string, unit: string, kind: string, text: (value: number) => string][] = [
  ['steps', 'Steps', '', 'steps', count],
  ['active', 'Active', 'min', 'steps', count],
  ['asleep', 'Asleep', '', 'accent', span],
  ['score', 'Sleep score', 'of 100', 'accent', count],
  ['resting', 'Resting heart rate', 'bpm', 'heart', count],
  ['sdnn', 'HRV (SDNN)', 'ms', 'hrv', count],
  ['rmssd', 'HRV (RMSSD)', 'ms', 'hrv', count],
  ['weight', 'Weight', 'kg', 'body', tenth.format],
  ['blood_pressure_systolic', 'Blood pressure, upper', 'mmHg', 'heart', count],
  ['blood_pressure_diastolic', 'Blood pressure, lower', 'mmHg', 'heart', count],
  ['body_temperature', 'Temperature', '°C', 'body', tenth.format],
]

type Cycle = Schemas['MenstrualCycle']

/** Days before the first one that say what is usual on it. */
const USUAL_DAYS = 28

/** The days of a view, with those that come before them. */
interface Span {
  first: string
  last: string
  days: number
  /** The first day of the period before. */
  earlier: string
  isYear: boolean
}

/** The calendar month of a date, or the twelve months that end with it. */
function spanOf(date: string, isYear: boolean): Span {
  const [year = 0, month = 1] = date.split('-').map(Number)
  const start = (months: number) => dateOf(Date.UTC(year, month - 1 + months, 1))
  const length = isYear ? 12 : 1
  const [first, last] = [start(1 - length), daysLater(start(1), -1)]
  return { first, last, days: daysBetween(first, last) + 1, earlier: start(1 - 2 * length), isYear }
}

interface PeriodProps {
  id: string
  date: string
  view: 'month' | 'year'
}

/** A calendar month of a person, or the twelve months that end with that of a date: a row for each measure, over one axis. */
export function Period({ id, date, view }: PeriodProps) {
  return (
    <PersonPage id={id} date={date} view={view}>
      {(user) => <Loaded key={`${id} ${view} ${date}`} user={user} shown={spanOf(date, view === 'year')} />}
    </PersonPage>
  )
}

interface Shows {
  user: Schemas['UserDetail']
  shown: Span
}

function Loaded({ user, shown }: Shows) {
  const compare = query.value.has('compare')
  const since = daysLater(compare ? shown.earlier : shown.first, -USUAL_DAYS)
  const days = useQuery(`days ${user.id} ${since} ${shown.last}`, (signal) =>
    readPeriod(user, { since, ...shown }, signal),
  )
  return (
    <Shown query={days} what={shown.isYear ? 'the year' : 'the month'}>
      {(period) => {
        const rows = rowsOf(period, since, shown)
        return rows.length + period.nights.length + period.cycles.length > 0 ? (
          <Filled user={user} shown={shown} period={period} rows={rows} />
        ) : (
          <Empty>
            <strong>Nothing is stored for these days.</strong>
          </Empty>
        )
      }}
    </Shown>
  )
}

/** A measure with its values: a place for each day that is shown. */
interface Row {
  measure: (typeof MEASURES)[number]
  values: Daily
  means: Daily
  usual: readonly ([number, number] | null)[]
  /** The same days of the period before. */
  before: Daily
  meansBefore: Daily
}

function rowsOf({ values }: Days, since: string, { first, earlier, days }: Span): Row[] {
  const lead = daysBetween(since, first)
  return MEASURES.flatMap((measure) => {
    const known = values.get(measure[0])
    const all = Array.from({ length: lead + days }, (_, index) => known?.get(daysLater(since, index)) ?? null)
    const means = weekMeans(all)
    // Nothing is said of days after the last value.
    const end = all.findLastIndex((value) => value !== null)
    const own = <T,>(daily: readonly T[]) =>
      daily.slice(lead).map((value, index) => (lead + index > end ? null : value))
    const past = (daily: Daily) => {
      const start = daysBetween(since, earlier)
      return start < 0 ? [] : daily.slice(start, Math.min(start + days, lead))
    }
    const row = { measure, values: own(all), means: own(means), usual: own(usualRanges(all)) }
    const isEmpty = row.values.every((value) => value === null)
    return isEmpty ? [] : [{ ...row, before: past(all), meansBefore: past(means) }]
  })
}

function Filled({ user, shown, period, rows }: Shows & { period: Days; rows: Row[] }) {
  const { first, last, days, isYear } = shown
  const [from, until] = [midnight(first), midnight(last) + DAY_MS]
  const narrow = matchMedia('(max-width: 640px)').matches
  const lanes = [...rows.map(laneOf(shown)), ...nightsLane(period, shown), ...cyclesLane(period, shown)]
  const open = (date: string) => go(`/people/${user.id}/day/${date}`)
  const compare = query.value.has('compare')
  return (
    <>
      <button type="button" aria-pressed={compare} onClick={() => ask({ compare: compare ? null : '1' })}>
        Compare with the {isYear ? 'twelve months' : 'month'} before
      </button>
      <Lanes
        name={isYear ? 'Year' : 'Month'}
        lanes={lanes}
        marks={[]}
        from={from}
        until={until}
        ticks={timeTicks(from, until, narrow ? 6 : 13)}
        points={rows.reduce((sum, { values }) => sum + values.filter((value) => value !== null).length, 0)}
        resolution="1day"
        stepMs={DAY_MS}
        say={(local) => shortDate(dateOf(local))}
        pick={(local) => open(dateOf(local))}
      />
      <p class="quiet">
        Dots are days, the line is the mean of seven, and the band behind it is what was usual in the 28 days before.
        {compare && ' The dashed line is the period before.'} A click on a day opens it.
      </p>
      <Values rows={rows} shown={shown} open={open} />
      <AsTable
        name={`${isYear ? 'year' : 'month'}-${last}`}
        head={['Date', ...rows.map(({ measure: [, name, unit] }) => [name, unit].filter(Boolean).join(', '))]}
        rows={() =>
          Array.from({ length: days }, (_, index) => [
            daysLater(first, index),
            ...rows.map(({ values }) => values[index] ?? null),
          ])
        }
      />
    </>
  )
}

const laneOf =
  ({ first }: Span) =>
  ({ measure: [, name, unit, kind, text], values, means, usual, before, meansBefore }: Row): Lane => {
    const drawn = [...values, ...means, ...meansBefore].filter((value) => value !== null)
    // Minutes have round numbers of hours.
    const unitSize = text === span ? 60 : 1
    const { low, high, ticks } = scaleOf(drawn.map((value) => value / unitSize))
    const said = (value: number | null | undefined) => (value == null ? 'no data' : text(value))
    return {
      name,
      unit,
      kind,
      height: 56,
      plot: (
        <Trend
          values={values}
          means={means}
          usual={usual}
          before={meansBefore}
          low={low * unitSize}
          high={high * unitSize}
        />
      ),
      ticks: ticks.map((value) => ({
        at: (value - low) / (high - low),
        text: text(value * unitSize)
          .replace(/ h 0 min$/, ' h')
          .replace(/ h (\d+) min$/, ':$1'),
      })),
      figure(local) {
        const index = local === undefined ? undefined : daysBetween(first, dateOf(local))
        const [now, then] =
          index === undefined ? [meanOf(values), meanOf(before)] : [values[index], before[index] ?? undefined]
        const range = index === undefined ? null : usual[index]
        return [
          index === undefined ? `mean ${said(now)}` : said(now),
          then != null && `before ${said(then)}`,
          range && `usually ${[...new Set(range.map(text))].join('–')}`,
        ]
          .filter(Boolean)
          .join(' · ')
      },
    }
  }

function nightsLane({ nights }: Days, { first, days }: Span): Lane[] {
  if (nights.length === 0) return []
  const regularity = regularityOf(nights)
  const level = (hour: number, text: string) => ({ at: 1 - hour / 24, text })
  return [
    {
      name: 'Nights',
      unit: 'noon to noon',
      kind: 'sleep',
      height: 120,
      plot: <Nights nights={nights} from={midnight(first)} days={days} />,
      ticks: [level(6, '18:00'), level(12, '00:00'), level(18, '06:00')],
      figure(local) {
        if (local === undefined) return regularity === undefined ? '' : `regularity ${count(regularity)} of 100`
        const found = nights.filter(({ isNap, until }) => !isNap && dateOf(until) === dateOf(local))
        const said = ({ from, until }: Night) => `${clock(from)}–${clock(until)}, middle ${clock((from + until) / 2)}`
        return found.map(said).join(', ') || 'no data'
      },
    },
  ]
}

/** Where a cycle ends in local time; the present one, where it is expected to. */
const endOfCycle = ({ start_time, end_time, zone_offset, is_predicted_cycle, cycle_length }: Cycle): number =>
  is_predicted_cycle && cycle_length
    ? localMs(start_time, zone_offset) + cycle_length * DAY_MS
    : localMs(end_time, zone_offset)

function cyclesLane({ cycles }: Days, { first, last, days }: Span): Lane[] {
  const own = cycles.map((cycle) => ({
    cycle,
    start: Math.round((localMs(cycle.start_time, cycle.zone_offset) - midnight(first)) / DAY_MS),
    end: Math.round((endOfCycle(cycle) - midnight(first)) / DAY_MS),
  }))
  if (own.length === 0) return []
  return [
    {
      name: 'Cycle',
      unit: 'period filled',
      kind: 'body',
      height: 20,
      plot: (
        <svg class="cycles" viewBox={`0 0 ${days} 20`} preserveAspectRatio="none" aria-hidden="true">
          {own.map(({ cycle, start, end }) => (
            <g key={cycle.id}>
              <rect
                x={start}
                y={2}
                width={Math.max(0, end - start)}
                height={16}
                class={cycle.is_predicted_cycle ? 'guess' : ''}
              />
              <rect x={start} y={2} width={cycle.period_length ?? 0} height={16} class="period" />
            </g>
          ))}
        </svg>
      ),
      figure(local) {
        if (local === undefined) return ''
        const day = daysBetween(first, dateOf(local))
        const found = own.find(({ start, end }) => day >= start && day < end)
        if (!found || dateOf(local) > last) return 'no data'
        const isPeriod = day - found.start < (found.cycle.period_length ?? 0)
        return `day ${day - found.start + 1}${isPeriod ? ', period' : ''}${found.cycle.is_predicted_cycle ? ', expected' : ''}`
      },
    },
  ]
}

/** The days of one measure as a calendar, in six steps of the person's own values. */
function Values({ rows, shown, open }: { rows: Row[]; shown: Span; open(date: string): void }) {
  const row = rows.find(({ measure }) => measure[0] === query.value.get('value')) ?? rows[0]
  if (!row) return null
  const [id, name, unit, , text] = row.measure
  const steps = stepsOf(row.values)
  const cellOf = (date: string) => {
    const index = daysBetween(shown.first, date)
    const value = row.values[index]
    return { kind: value == null ? '' : `v${steps[index]}`, text: value == null ? 'no data' : `${text(value)} ${unit}` }
  }
  return (
    <section>
      <h2>Calendar</h2>
      <label>
        Value{' '}
        <select value={id} onChange={(event) => ask({ value: event.currentTarget.value })}>
          {rows.map(({ measure }) => (
            <option key={measure[0]} value={measure[0]}>
              {measure[1]}
            </option>
          ))}
        </select>
      </label>
      <Calendar name={`Calendar of ${name}`} first={shown.first} last={shown.last} cellOf={cellOf} pick={open} />
      <p class="quiet">
        The more a day stands out, the higher it is among this person’s own; an outline is a day without a value.
      </p>
    </section>
  )
}
