import { json, type Reply } from '../http.ts'
import { kept } from '../kept.ts'
import type { ApiCall } from '../provider.ts'
import { SLEEPING, TRAINING } from '../truth/minutes.ts'
import { type Day, daysBetween, type Person } from '../truth/person.ts'
import { knownUntil } from '../truth/personas.ts'
import { MEANS_SECONDS, type Sleep } from '../truth/sleep.ts'
import { DAY_MS, MINUTE_MS } from '../zones.ts'
import { pageOf } from './pages.ts'

/** Longest range of one request. */
const MAX_DAYS = 30
/** Rows of a page are small: so many times as on other pages. */
const ROWS = 20
/** Awake, every fifth minute has a row, at this second. */
const SECOND = 21

interface Row {
  readonly atMs: number
  readonly bpm: number
  readonly source: string
}

/** `heartrate`: rows in UTC, without ids, from start to end, both included. */
export function heartRate(call: ApiCall): Reply {
  const { query, person, nowMs, settings } = call
  for (const name of ['start_datetime', 'end_datetime']) {
    const value = query.get(name)
    if (value !== null && Number.isNaN(instant(value))) return invalid(name, value)
  }
  const [start, end] = [query.get('start_datetime'), query.get('end_datetime')]
  const toMs = end === null ? nowMs : instant(end)
  const fromMs = start === null ? toMs - DAY_MS : instant(start)
  if (fromMs > toMs) return json(400, { detail: 'Start date is greater than end date' })
  if (toMs - fromMs > MAX_DAYS * DAY_MS) return json(400, { detail: `The range may have at most ${MAX_DAYS} days` })
  const rows = remembered(person, fromMs, Math.min(toMs, knownUntil(person, nowMs)))
  const wanted = query.get('latest') === 'true' ? rows.slice(-1) : rows
  return pageOf({ ...call, settings: { ...settings, page_size: settings.page_size * ROWS } }, wanted, show)
}

/** UTC where no offset is given. */
function instant(value: string): number {
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/.test(value)) return Number.NaN
  return Date.parse(/T.*(Z|[+-]\d\d:?\d\d)$/.test(value) ? value : `${value.includes('T') ? value : `${value}T00:00`}Z`)
}

function invalid(name: string, input: string): Reply {
  const detail = { loc: ['query', name], msg: 'Input should be a valid datetime', type: 'datetime_parsing', input }
  return json(422, { detail: [detail] })
}

function show({ atMs, bpm, source }: Row) {
  return { bpm, source, timestamp: `${new Date(atMs).toISOString().slice(0, 19)}+00:00`, timestamp_unix: atMs }
}

/** Rows of the last requests, so that each page does not make all of them again. */
const recent = new Map<string, Row[]>()
const RECENT = 20

function remembered(person: Person, fromMs: number, toMs: number): Row[] {
  const key = `${person.seed} ${person.span.firstDay} ${fromMs} ${toMs}`
  if (recent.size >= RECENT && !recent.has(key)) recent.delete([...recent.keys()][0] ?? '')
  return kept(recent, key, () => rowsOf(person, fromMs, toMs))
}

/** Every five minutes: asleep from the start of the sleep on, as `sleep` has them; each minute of a workout. */
function rowsOf(person: Person, fromMs: number, toMs: number): Row[] {
  const days = daysBetween(person, fromMs, toMs)
  const rows = days.flatMap((day) => {
    const sleeps = [day.night, day.nap].filter((sleep) => sleep !== null)
    return [...awakeRows(person, day), ...sleeps.flatMap(asleepRows)]
  })
  return rows.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs).sort((a, b) => a.atMs - b.atMs)
}

function asleepRows({ startMs, heartRate: means }: Sleep): Row[] {
  const rows: Row[] = []
  means.forEach((bpm, i) => {
    if (bpm > 0) rows.push({ atMs: startMs + i * MEANS_SECONDS * 1000, bpm, source: 'sleep' })
  })
  return rows
}

function awakeRows(person: Person, { day, rest }: Day): Row[] {
  const { startMs, heartRate: beats, during } = person.minutes(day)
  const rows: Row[] = []
  beats.forEach((bpm, minute) => {
    const training = during[minute] === TRAINING
    if (bpm === 0 || during[minute] === SLEEPING || (minute % 5 !== 0 && !training)) return
    const atMs = startMs + minute * MINUTE_MS + SECOND * 1000
    const resting = rest !== null && atMs >= rest.startMs && atMs < rest.endMs
    rows.push({ atMs, bpm, source: training ? 'workout' : resting ? 'rest' : 'awake' })
  })
  return rows
}
