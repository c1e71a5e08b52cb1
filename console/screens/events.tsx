import { useState } from 'preact/hooks'
import { answered, api, type Schemas } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { folded, nameOfSource } from '../charts/same.ts'
import { clock, dateOf, daysLater, isDate, localMs, rangeOfDay, shortDate, span, today } from '../charts/time.ts'
import { address, go, query } from '../router.ts'
import { Confirm } from '../ui/act.tsx'
import { Pager } from '../ui/pager.tsx'
import { Empty, Reveal, Shown } from '../ui/states.tsx'
import { count, words } from '../ui/words.ts'
import { PersonPage } from './person.tsx'
import { Workout, workoutName } from './workout.tsx'

const PAGE = 50
/** How many days are shown where the address says nothing else. */
const DAYS = 90

/** An event of any kind: those of one kind have some of these fields. */
type Event = { id: string; source: Schemas['SourceMetadata'] } & Partial<
  Omit<Schemas['Workout'], 'source' | 'id'> & Schemas['SleepSession'] & Schemas['Meal'] & Schemas['MenstrualCycle']
>

interface Kind {
  /** In the addresses of the API. */
  kind: 'workouts' | 'sleep' | 'meals' | 'menstrual-cycles'
  name: string
  /** One of them, in words. */
  say(event: Event): string
  /** What goes with one, and whether it comes back. */
  warning: string
}

const joined = (...parts: (string | false | null | undefined)[]) => parts.filter(Boolean).join(', ')
const whole = (value: number | null | undefined, unit: string) => value != null && `${count(value)} ${unit}`

const BACK =
  'It stays deleted when a phone sends it again, changed or not, unless it has no id there; a cloud provider brings it back if it says that it was changed after the deletion.'

const KINDS: readonly Kind[] = [
  {
    ...{ kind: 'workouts', name: 'Workouts' },
    say: (one) =>
      joined(
        workoutName(one as Schemas['Workout']),
        whole(one.avg_heart_rate_bpm, 'bpm on average'),
        whole(one.calories_kcal, 'kcal'),
      ),
    warning: `The samples that came with it go along; what was measured at the same time stays. ${BACK}`,
  },
  {
    ...{ kind: 'sleep', name: 'Sleep' },
    say: (one) =>
      joined(
        one.is_nap ? 'Nap' : 'Sleep',
        one.sleep_duration_seconds != null && `${span(one.sleep_duration_seconds / 60)} asleep`,
      ),
    warning: `Its stages, its scores and the samples that came with it go along. ${BACK}`,
  },
  {
    ...{ kind: 'meals', name: 'Meals' },
    say: (one) =>
      joined(
        one.name ?? words(one.meal_type ?? 'meal'),
        whole(one.calories_kcal, 'kcal'),
        whole(one.water_ml, 'ml of water'),
      ),
    warning: 'Its nutrients go along. It stays deleted when it is sent again, changed or not.',
  },
  {
    ...{ kind: 'menstrual-cycles', name: 'Cycles' },
    say: (one) =>
      joined(
        one.is_predicted_cycle ? 'Present cycle' : 'Cycle',
        whole(one.cycle_length, one.is_predicted_cycle ? 'days expected' : 'days'),
        whole(one.period_length, 'days of bleeding'),
      ),
    warning: `All that was observed in it goes along, and the other cycles are made anew from the rest. It comes back when a phone sends the observations again.`,
  },
]

/** The filters, as the address holds them. */
function filtersOf(params: URLSearchParams) {
  const date = (name: string, otherwise: string) => {
    const text = params.get(name) ?? ''
    return isDate(text) ? text : otherwise
  }
  const until = date('to', today())
  const kind = KINDS.find((one) => one.kind === params.get('kind')) ?? KINDS[0]
  return { kind: kind as Kind, from: date('from', daysLater(until, 1 - DAYS)), until }
}

type Filters = ReturnType<typeof filtersOf>

/** The workouts, nights, meals and cycles of a person, by kind and dates. */
export function Events({ id }: { id: string }) {
  const filters = filtersOf(query.value)
  const show = (changed: Record<string, string>) => {
    const { kind, from, until } = filtersOf(query.value)
    go(`${address.value}?${new URLSearchParams({ kind: kind.kind, from, to: until, ...changed })}`, true)
  }
  const date = (name: 'from' | 'to', label: string, value: string) => (
    <label>
      {label}{' '}
      <input
        type="date"
        value={value}
        onChange={(event) => isDate(event.currentTarget.value) && show({ [name]: event.currentTarget.value })}
      />
    </label>
  )
  return (
    <PersonPage id={id} view="events">
      {(user) => (
        <>
          <div class="bar filters">
            <div class="buttons">
              {KINDS.map(({ kind, name }) => (
                <button
                  key={kind}
                  type="button"
                  aria-pressed={kind === filters.kind.kind}
                  onClick={() => show({ kind })}
                >
                  {name}
                </button>
              ))}
            </div>
            {date('from', 'From', filters.from)}
            {date('to', 'To', filters.until)}
          </div>
          <List key={`${query.value}`} user={user} filters={filters} />
        </>
      )}
    </PersonPage>
  )
}

const PATH = '/api/v1/users/{user_id}/events/'

/** The local date on which an event starts. */
const dateOfEvent = (one: Event) => dateOf(localMs(one.start_time ?? one.timestamp ?? '', one.zone_offset ?? null))

/**
 * A page of those that start on the local dates, wherever the person was. The range of the API is wider: pages on which
 * nothing is of these dates are passed.
 */
async function readPage(user: string, { kind, from, until }: Filters, start: string | undefined, signal: AbortSignal) {
  const path = `${PATH}${kind.kind}` as `${typeof PATH}meals`
  const range = { start_date: rangeOfDay(from).start, end_date: rangeOfDay(until).end, limit: PAGE }
  let cursor = start
  for (;;) {
    const query = { ...range, ...(cursor && { cursor }) }
    const page = await answered(api.GET(path, { params: { path: { user_id: user }, query }, signal }))
    const next = page.pagination.next_cursor
    const rows = (page.data as Event[]).filter((one) => from <= dateOfEvent(one) && dateOfEvent(one) <= until)
    if (rows.length > 0 || !next) return { rows, next }
    cursor = next
  }
}

function List({ user, filters }: { user: Schemas['UserDetail']; filters: Filters }) {
  const { kind, from, until } = filters
  const [pages, show] = useState<(string | undefined)[]>([undefined])
  const cursor = pages.at(-1)
  const events = useQuery(`events ${user.id} ${kind.kind} ${from} ${until} ${cursor}`, (signal) =>
    readPage(user.id, filters, cursor, signal),
  )
  return (
    <Shown query={events} what="the events">
      {({ rows, next }) => {
        const also = othersOf(kind.kind === 'workouts' ? (rows as Schemas['Workout'][]) : [])
        return (
          <>
            <ul class="items">
              {rows.map((one) => (
                <Row key={one.id} {...{ user, one, kind }} also={also.get(one.id) ?? []} changed={events.again} />
              ))}
            </ul>
            {rows.length === 0 && (
              <Empty>
                There are no {pages.length > 1 && 'further '}
                {kind.name.toLowerCase()} from {shortDate(from)} to {shortDate(until)}.
              </Empty>
            )}
            <Pager {...{ pages, next, show }} />
          </>
        )
      }}
    </Shown>
  )
}

/** Who else recorded each workout of a list, by its id. */
function othersOf(workouts: readonly Schemas['Workout'][]): Map<string, string[]> {
  const groups = folded(workouts).map(({ workout, others }) => [workout, ...others])
  const namesBut = (group: readonly Schemas['Workout'][], own: string) =>
    group.filter(({ id }) => id !== own).map(({ source }) => nameOfSource(source))
  return new Map(groups.flatMap((group) => group.map(({ id }) => [id, namesBut(group, id)])))
}

interface RowProps {
  user: Schemas['UserDetail']
  one: Event
  kind: Kind
  also: readonly string[]
  changed(): void
}

function Row({ user, one, kind, also, changed }: RowProps) {
  const zone = one.zone_offset ?? null
  const from = localMs(one.start_time ?? one.timestamp ?? '', zone)
  const date = dateOf(from)
  const until = one.end_time && localMs(one.end_time, zone)
  const isLong = kind.kind === 'menstrual-cycles'
  const when = isLong
    ? one.is_predicted_cycle
      ? `Since ${shortDate(date)}`
      : `${shortDate(date)}${until ? ` – ${shortDate(dateOf(until))}` : ''}`
    : `${shortDate(date)} ${clock(from)}${until ? `–${clock(until)}` : ''}`
  const view = kind.kind === 'sleep' && until ? `night/${dateOf(until)}` : `day/${date}`
  const remove = async () => {
    const path = `${PATH}${kind.kind}/{workout_id}` as `${typeof PATH}workouts/{workout_id}`
    await answered(api.DELETE(path, { params: { path: { user_id: user.id, workout_id: one.id } } }))
    changed()
  }
  return (
    <li>
      <div>
        <a href={`/console/people/${user.id}/${view}`}>{when}</a> <strong dir="auto">{kind.say(one)}</strong>
        <div class="quiet" dir="auto">
          {nameOfSource(one.source)}
          {also.length > 0 && `; the same as of ${also.join('; ')}`}
        </div>
      </div>
      <Confirm button="Delete" title={`Delete: ${when}`} work={remove}>
        <p>{kind.warning}</p>
      </Confirm>
      {kind.kind === 'workouts' && (
        <Reveal summary="Heart rate, zones, laps and way">
          {() => <Workout user={user.id} workout={one as Schemas['Workout']} />}
        </Reveal>
      )}
    </li>
  )
}
