import { DAY_MS } from '../simulator/zones.ts'
import { startOf } from './calendar.ts'
import { type Life, lifeOf } from './days.ts'
import { itemsOf } from './events.ts'
import type { Person } from './people.ts'
import type { Item } from './records.ts'

/** Days of a year, the newest of which are sent first and as `live`. */
export const DAYS = 365
const LIVE_DAYS = 30
/** Items of one upload; a day is never divided, so that one that is there is there as a whole. */
const ITEMS = 2_000

/** One body, and the days it is about. */
export interface Upload {
  readonly person: Person
  readonly body: string
  readonly days: number
  readonly items: number
}

/** What of a person is sent. */
export interface Wanted {
  readonly person: Person
  /** The last days of the year of data, and the instant at which it ends. */
  readonly days: number
  readonly nowMs: number
  /** Days from this one on are sent although they are there already: they were not over at the last upload. */
  readonly fromDay: number
  /** Items that the service has of a day in UTC, counted from 1970-01-01. */
  readonly stored: ReadonlyMap<number, number>
  readonly syncSessionId: string
}

/** The local date at an instant, counted from 1970-01-01. */
export function dateAt(person: Person, ms: number): number {
  let day = Math.floor(ms / DAY_MS) + 1
  while (startOf(person, day).ms > ms) day--
  return day
}

/** The uploads of a person, the newest days first. */
export function* uploadsOf(wanted: Wanted): Generator<Upload> {
  const { person, days, nowMs } = wanted
  const life = lifeOf(person)
  const today = dateAt(person, nowMs)
  let held: Item[] = []
  let heldDays = 0
  const flush = (isLive: boolean): Upload => {
    const upload = { person, body: bodyOf(wanted, held, isLive), days: heldDays, items: held.length }
    held = []
    heldDays = 0
    return upload
  }
  for (let age = 0; age < days; age++) {
    const items = missingOf(wanted, life, today - age)
    const isFull = held.length > 0 && held.length + items.length > ITEMS
    // The first upload is small: somebody waits for the first chart.
    if (isFull || (age === LIVE_DAYS && held.length > 0) || (age === 1 && held.length > 0))
      yield flush(age <= LIVE_DAYS)
    held.push(...items)
    heldDays++
  }
  if (heldDays > 0) yield flush(days <= LIVE_DAYS)
}

/** The items of a day that the service should have and has not. */
function missingOf({ person, nowMs, fromDay, stored }: Wanted, life: Life, day: number): Item[] {
  const ready = itemsOf(person, life.day(day)).filter(({ readyMs }) => readyMs <= nowMs)
  const isThere = day < fromDay && (stored.get(day) ?? 0) >= ready.length / 2
  return isThere ? [] : ready
}

function bodyOf({ person, nowMs, syncSessionId }: Wanted, items: readonly Item[], isLive: boolean): string {
  const of = (list: Item['list']) => items.filter((one) => one.list === list).map(({ item }) => item)
  return JSON.stringify({
    provider: person.provider,
    sdkVersion: 'demo',
    syncTimestamp: new Date(nowMs).toISOString(),
    ...(isLive ? { syncType: 'live' } : { syncType: 'historical', syncSessionId }),
    data: { records: of('records'), sleep: of('sleep'), workouts: of('workouts') },
  })
}
