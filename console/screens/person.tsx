import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { lastDay, readPerson } from '../api/reads.ts'
import { daysLater, isDate, longDate, shortDate, today } from '../charts/time.ts'
import { address, go, match } from '../router.ts'
import { ago, nameOf } from '../ui/person.ts'
import { Empty, Shown } from '../ui/states.tsx'
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

interface DatedProps {
  id: string
  date: string
  view: 'day' | 'night'
  children: (user: Schemas['UserDetail']) => ComponentChildren
}

/** The page of a person and a date: who, which date, and which view of it. */
export function Dated({ id, date, view, children }: DatedProps) {
  useTitle(`${view === 'day' ? 'Day' : 'Night'} ${date}`)
  const person = useQuery(`person ${id}`, (signal) => readPerson(id, signal))
  const valid = isDate(date)
  useDayKeys()
  if (!valid) return <NotFound />
  const link = (to: string, other = view) => `/console/people/${id}/${other}/${to}`
  return (
    <>
      <header class="bar">
        <h1 class="clamped" dir="auto">
          {person.data ? nameOf(person.data) : ' '}
        </h1>
        <nav class="steps-of-days" aria-label="Days">
          <a class="button" href={link(daysLater(date, -1))} aria-label="Day before" aria-keyshortcuts="[">
            ‹
          </a>
          <time dateTime={date} title={longDate(date)}>
            {shortDate(date)}
          </time>
          <a class="button" href={link(daysLater(date, 1))} aria-label="Day after" aria-keyshortcuts="]">
            ›
          </a>
        </nav>
        <nav class="tabs" aria-label="Views">
          <a href={link(date, 'day')} aria-current={view === 'day' ? 'page' : undefined}>
            Day
          </a>
          <a href={link(date, 'night')} aria-current={view === 'night' ? 'page' : undefined}>
            Night
          </a>
        </nav>
      </header>
      <Shown query={person} what="the person">
        {children}
      </Shown>
    </>
  )
}

/**
 * `[` and `]` go to the neighbouring days, `t` to today, `d` and `n` to the views: of the address as it is, since keys may
 * come faster than pages are drawn.
 */
function useDayKeys(): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const typing = event.target instanceof Element && event.target.closest('input, textarea, select, dialog')
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return
      const { id, view, date = '' } = match('/people/:id/:view/:date', address.value) ?? {}
      if (!isDate(date)) return
      const to: Record<string, string> = {
        '[': `${view}/${daysLater(date, -1)}`,
        ']': `${view}/${daysLater(date, 1)}`,
        t: `${view}/${today()}`,
        d: `day/${date}`,
        n: `night/${date}`,
      }
      const target = to[event.key]
      if (target) go(`/people/${id}/${target}`)
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
}

/** Why nothing is shown for a day, and where to go. */
export function NothingThere({ user, what }: { user: Schemas['UserDetail']; what: string }) {
  return (
    <Empty>
      <p>
        <strong>{what}</strong>
      </p>
      <p>
        {user.last_synced_at
          ? `The last upload came ${ago(user.last_synced_at)}, on ${longDate(user.last_synced_at.slice(0, 10))}.`
          : 'This person has never uploaded anything.'}{' '}
        <a href={`/console/people/${user.id}`}>Newest day with data</a>
      </p>
    </Empty>
  )
}
