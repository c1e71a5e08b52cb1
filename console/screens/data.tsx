import { useEffect, useRef } from 'preact/hooks'
import type { Schemas } from '../api/client.ts'
import { readCoverage } from '../api/coverage.ts'
import { useQuery } from '../api/query.ts'
import { Calendar } from '../charts/calendar.tsx'
import {
  ARCHIVED,
  type Coverage,
  emptyText,
  type Finding,
  isArchived,
  joined,
  kindOf,
  typesOn,
  USUAL_DAYS,
  usualTypes,
  whyEmpty,
} from '../charts/coverage.ts'
import { daysBetween, timeTicks } from '../charts/days.ts'
import { type Lane, Lanes } from '../charts/lanes.tsx'
import { DAY_MS, dateOf, daysLater, isDate, longDate, midnight, shortDate, today } from '../charts/time.ts'
import { ask, query } from '../router.ts'
import { Shown } from '../ui/states.tsx'
import { AsTable, Table } from '../ui/table.tsx'
import { Next } from '../ui/why.tsx'
import { count, reasonName, words } from '../ui/words.ts'
import { PersonPage } from './person.tsx'

/** Days of the calendar; one answer has a day more. */
const DAYS = 365

const SAID = {
  all: 'everything that is usual is there',
  some: 'some of what is usual is there',
  touched: 'something came, but nothing is there',
  silent: 'nothing came',
}

/** What arrived of a person, day by day, and why a day is empty. */
export function Data({ id }: { id: string }) {
  return (
    <PersonPage id={id} view="data">
      {(user) => <Loaded key={id} user={user} />}
    </PersonPage>
  )
}

const dateIn = (name: string): string | undefined => {
  const text = query.value.get(name) ?? ''
  return isDate(text) ? text : undefined
}

const datesFrom = (first: string) => Array.from({ length: DAYS }, (_, index) => daysLater(first, index))

const pick = (date: string) => ask({ day: date })

/** A year, with the days before it that say what is usual at its beginning. */
async function readYear(id: string, [first, last]: readonly [string, string], signal: AbortSignal): Promise<Coverage> {
  const [before, year] = await Promise.all([
    readCoverage(id, [daysLater(first, -2 * USUAL_DAYS), daysLater(first, -1)], signal),
    readCoverage(id, [first, last], signal),
  ])
  return joined(before, year)
}

function Loaded({ user }: { user: Schemas['UserDetail'] }) {
  const day = dateIn('day')
  const until = dateIn('to') ?? today()
  // A day that is asked for is shown, whatever year it is in.
  const last = day && daysBetween(day, until) >= DAYS ? daysLater(day, 90) : until
  const first = daysLater(last, 1 - DAYS)
  const coverage = useQuery(`coverage ${user.id} ${first}`, (signal) => readYear(user.id, [first, last], signal))
  const move = (days: number) => () => ask({ to: daysLater(last, days), day: null })
  return (
    <>
      <div class="buttons">
        <button type="button" onClick={move(-DAYS)}>
          ‹ A year earlier
        </button>
        <button type="button" disabled={last >= today()} onClick={move(DAYS)}>
          A year later ›
        </button>
      </div>
      <Shown query={coverage} what="what arrived">
        {(known) => (
          <>
            <Year known={known} first={first} last={last} day={day} />
            {day && <DayOf user={user} known={known} date={day} />}
            <Types known={known} first={first} last={last} />
          </>
        )}
      </Shown>
    </>
  )
}

interface YearProps {
  known: Coverage
  first: string
  last: string
  day: string | undefined
}

function Year({ known, first, last, day }: YearProps) {
  const cells = new Map(datesFrom(first).map((date) => [date, cellOf(known, date)]))
  return (
    <>
      <Calendar
        name="Coverage"
        first={first}
        last={last}
        cellOf={(date) => cells.get(date) ?? { kind: 'silent', text: '' }}
        pick={pick}
        chosen={day}
      />
      <p class="quiet">
        Filled: {SAID.all}. Half filled: {SAID.some}. A dot: {SAID.touched}. Outline: {SAID.silent}. A corner: something
        could not be stored. Hatched: archived. Open a day to see why.
      </p>
    </>
  )
}

/** A row for each type: the days that have it. */
function Types({ known, first, last }: Omit<YearProps, 'day'>) {
  const dates = datesFrom(first)
  const [from, until] = [midnight(first), midnight(last) + DAY_MS]
  const narrow = matchMedia('(max-width: 640px)').matches
  const rows = known.answer.days.filter(({ day }) => day >= first)
  const types = [...new Set(rows.map(({ type }) => type))].sort()
  return (
    <>
      <Lanes
        name="Types"
        lanes={types.map((type) => laneOf(known, type, dates))}
        marks={[]}
        from={from}
        until={until}
        ticks={timeTicks(from, until, narrow ? 6 : 13)}
        points={rows.length}
        resolution="1day"
        stepMs={DAY_MS}
        say={(local) => shortDate(dateOf(local))}
        pick={(local) => pick(dateOf(local))}
      />
      <AsTable
        name={`coverage-${last}`}
        head={['Date', 'Provider', 'Type', 'Received', 'Stored', 'Not stored', 'Cannot be true']}
        rows={() =>
          rows.map((row) => [row.day, row.provider, row.type, row.received, row.stored, row.rejected, row.implausible])
        }
      />
    </>
  )
}

function cellOf(known: Coverage, date: string) {
  const kind = kindOf(known, date)
  const rejected = (known.days.get(date) ?? []).reduce((sum, row) => sum + row.rejected, 0)
  const archived = kind !== 'silent' && isArchived(known, date)
  const isEmpty = kind === 'touched' || kind === 'silent'
  const notes = [
    isEmpty ? emptyText(known, date) : SAID[kind],
    archived && 'archived',
    !isEmpty && rejected > 0 && `${count(rejected)} could not be stored`,
  ]
  return {
    kind: [kind, archived && 'archived', rejected > 0 && 'rejected'].filter(Boolean).join(' '),
    text: notes.filter(Boolean).join(', '),
  }
}

/** A row of a type: the days that have it. */
function laneOf(known: Coverage, type: string, dates: readonly string[]): Lane {
  const there = dates.map((date) => typesOn(known, date).has(type))
  return {
    name: words(type),
    unit: '',
    kind: 'accent',
    height: 12,
    plot: (
      <svg class="present" viewBox={`0 0 ${DAYS} 1`} preserveAspectRatio="none" aria-hidden="true">
        <path d={there.map((has, index) => (has ? `M${index} 0h1v1h-1z` : '')).join('')} />
      </svg>
    ),
    figure(local) {
      if (local === undefined) return `${there.filter(Boolean).length} days`
      const rows = (known.days.get(dateOf(local)) ?? []).filter((row) => row.type === type)
      return rows.length > 0 ? `${count(rows.reduce((sum, row) => sum + row.stored, 0))} stored` : '–'
    },
  }
}

interface FindingsProps {
  user: Schemas['UserDetail']
  known: Coverage
  date: string
  /** What is missing; undefined for everything. */
  types: readonly (string | undefined)[]
}

/** Why types are missing, those of one reason together. */
function Findings({ user, known, date, types }: FindingsProps) {
  const findings = new Map<string, { finding: Finding; named: string[] }>()
  for (const type of types) {
    const finding = whyEmpty(known, { user, date, ...(type && { type }) })
    const named = findings.get(finding.text)?.named ?? []
    findings.set(finding.text, { finding, named: type ? [...named, words(type)] : named })
  }
  return (
    <>
      {findings.size === 0 && <p>{isArchived(known, date) ? ARCHIVED : 'Everything that is usual is there.'}</p>}
      {[...findings].map(([text, { finding, named }]) => (
        <p key={text} data-finding={finding.kind} dir="auto">
          {named.length > 0 && <strong>{named.join(', ')}: </strong>}
          {text} <Next user={user} date={date} finding={finding} />
        </p>
      ))}
    </>
  )
}

/** Why a day is empty, or lacks what is usual, and what arrived of it. */
function DayOf({ user, known, date }: { user: Schemas['UserDetail']; known: Coverage; date: string }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [date])
  const rows = known.days.get(date) ?? []
  const there = typesOn(known, date)
  const missing = [...new Set([...usualTypes(known, date), ...rows.map(({ type }) => type)])].filter(
    (type) => !there.has(type),
  )
  return (
    <section>
      <h2 ref={heading} tabIndex={-1}>
        {longDate(date)}
      </h2>
      <Findings user={user} known={known} date={date} types={there.size === 0 ? [undefined] : missing} />
      <p>
        <a href={`/console/people/${user.id}/day/${date}`}>The day</a> ·{' '}
        <a href={`/console/people/${user.id}/night/${date}`}>The night</a>
      </p>
      {rows.length > 0 && (
        <Table
          name="By type"
          head={['Type', 'From', 'Received', 'Stored', 'Not stored']}
          rows={rows.map((row) => [
            words(row.type),
            words(row.provider),
            row.received,
            row.stored,
            row.reasons.map(({ reason, items }) => `${count(items)}: ${reasonName(reason)}`).join(', ') || null,
          ])}
        />
      )}
      <Uploads known={known} date={date} />
    </section>
  )
}

function Uploads({ known, date }: { known: Coverage; date: string }) {
  const uploads = known.arrivals.get(date) ?? []
  if (uploads.length === 0) return <p class="quiet">No upload came on this day.</p>
  return (
    <>
      <h3>Uploads of this day</h3>
      <Table
        name="Uploads"
        head={['From', 'Uploads', 'Waiting', 'Failed', 'Received', 'Not stored', 'Ignored']}
        rows={uploads.map((one) => [
          words(one.provider),
          one.uploads,
          one.queued,
          one.failed,
          one.received,
          one.rejected,
          one.ignored,
        ])}
      />
      <ul dir="auto">
        {uploads.flatMap(({ provider, unstored }) =>
          unstored.map(({ type, reason, items, likely }) => (
            <li key={`${provider} ${type} ${reason}`}>
              {count(items)} of {type ?? 'other types'}: {reasonName(reason)}
              {likely && `; ${words(provider)} calls it ${likely}`}
            </li>
          )),
        )}
      </ul>
    </>
  )
}
