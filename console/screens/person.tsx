import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { lastDay, readPerson } from '../api/reads.ts'
import { dateOf, daysLater, isDate, longDate, monthName, shortDate, today } from '../charts/time.ts'
import { go, match } from '../router.ts'
import { nameOf } from '../ui/person.ts'
import { Shown } from '../ui/states.tsx'
import { useTitle } from '../ui/title.ts'
import { NotFound } from './not-found.tsx'

/** A person without a date: leads to the newest day with data. */
export function Person({ id }: { id: string }) {
  useTitle('Person')
  const newest = useQuery(`last day ${id}`, (signal) => lastDay(id, signal))
  return (
    <Shown query={newest} what="the newest day">
      {(date) => <Lead path={`/people/${id}/day/${date ?? today()}`} />}
    </Shown>
  )
}

function Lead({ path }: { path: string }) {
  useEffect(() => go(path, true), [path])
  return null
}

/** A view of a person: its name in the address and on the screen, and its key. */
interface View {
  view: string
  name: string
  key: string
  /** What one step back or forth means; absent where the view has no date. */
  step?: 'day' | 'month' | 'year'
}

const VIEWS: readonly View[] = [
  { view: 'day', name: 'Day', key: 'd', step: 'day' },
  { view: 'night', name: 'Night', key: 'n', step: 'day' },
  { view: 'month', name: 'Month', key: 'm', step: 'month' },
  { view: 'year', name: 'Year', key: 'y', step: 'year' },
  { view: 'explore', name: 'Explore', key: 'x' },
  { view: 'data', name: 'Data', key: 'c' },
  { view: 'sources', name: 'Sources', key: 's' },
  { view: 'events', name: 'Events', key: 'e' },
  { view: 'connections', name: 'Connections', key: 'o' },
]

/** The date that was last looked at: views without a date lead back to it. */
const lastDate = signal<{ id: string; date: string } | undefined>(undefined)

function pathOf(id: string, view: View, date: string | undefined): string {
  const known = date ?? (lastDate.value?.id === id ? lastDate.value.date : today())
  return `/people/${id}/${view.view}${view.step ? `/${known}` : ''}`
}

/** The date some steps of a view later, or earlier; a month or a year leads to the day of the same number, or its last. */
function stepped({ step }: View, date: string, steps: number): string {
  if (step === 'day') return daysLater(date, steps)
  const months = steps * (step === 'year' ? 12 : 1)
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number)
  const last = new Date(Date.UTC(year, month + months, 0)).getUTCDate()
  return dateOf(Date.UTC(year, month - 1 + months, Math.min(day, last)))
}

interface PersonPageProps {
  id: string
  view: string
  /** The local date of a view that has one. */
  date?: string
  children: (user: Schemas['UserDetail']) => ComponentChildren
}

/** The page of a person: who, which date, and which view of it. */
export function PersonPage({ id, view, date, children }: PersonPageProps) {
  const shown = VIEWS.find((one) => one.view === view)
  useTitle([shown?.name, date].filter(Boolean).join(' '))
  const person = useQuery(`person ${id}`, (signal) => readPerson(id, signal))
  const valid = date === undefined || isDate(date)
  useEffect(() => {
    if (valid && date) lastDate.value = { id, date }
  }, [id, date, valid])
  // On a phone the views do not fit beside each other.
  useEffect(() => {
    document.querySelector('.tabs [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [view, person.state])
  const isUnknown = person.failure !== undefined && [404, 422].includes(person.failure.status)
  if (!valid || !shown || isUnknown) return <NotFound />
  return (
    <>
      <header class="bar">
        <h1 class="clamped" dir="auto">
          {person.data ? nameOf(person.data) : '\u00a0'}
        </h1>
        {date && <Steps id={id} view={shown} date={date} />}
        <nav class="tabs" aria-label="Views">
          {VIEWS.map((one) => (
            <a
              key={one.view}
              href={`/console${pathOf(id, one, date)}`}
              aria-current={one === shown ? 'page' : undefined}
              aria-keyshortcuts={one.key}
            >
              {one.name}
            </a>
          ))}
        </nav>
      </header>
      <Shown query={person} what="the person">
        {children}
      </Shown>
    </>
  )
}

function Steps({ id, view, date }: { id: string; view: View; date: string }) {
  const link = (steps: number) => `/console${pathOf(id, view, stepped(view, date, steps))}${location.search}`
  const unit = view.step ?? 'day'
  return (
    <nav class="steps-of-days" aria-label="Dates">
      <a class="button" href={link(-1)} aria-label={`The ${unit} before`} aria-keyshortcuts="[">
        ‹
      </a>
      <time dateTime={date} title={longDate(date)}>
        {unit === 'day' ? shortDate(date) : unit === 'month' ? monthName(date) : `Year to ${monthName(date)}`}
      </time>
      <a class="button" href={link(1)} aria-label={`The ${unit} after`} aria-keyshortcuts="]">
        ›
      </a>
    </nav>
  )
}

/**
 * What a key does on the page of a person: `[` and `]` go to the neighbouring dates, `t` to today, letters to the views:
 * of the address as it is, since keys may come faster than pages are drawn.
 */
export function personKey(key: string, path: string): string | undefined {
  const { id, view: name, date } = match('/people/:id/:view/:date', path) ?? match('/people/:id/:view', path) ?? {}
  const view = VIEWS.find((one) => one.view === name)
  if (!id || !view) return undefined
  const wanted = VIEWS.find((one) => one.key === key)
  if (wanted) return pathOf(id, wanted, date)
  if (!date || !isDate(date)) return undefined
  const to = key === 't' ? today() : key === '[' || key === ']' ? stepped(view, date, key === '[' ? -1 : 1) : undefined
  return to && pathOf(id, view, to) + location.search
}

/** The keys of a person's page, and what each does. */
export const personKeys: readonly [key: string, what: string][] = [
  ['[ ]', 'the date before, the date after'],
  ['t', 'today'],
  ...VIEWS.map(({ key, name }): [string, string] => [key, name]),
]
