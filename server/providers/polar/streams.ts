import { DAY_MS, parseInstant, parseZoneOffset, zoneText } from '../../time.ts'
import { listAt, textAt, valueAt } from '../answers.ts'
import { listing } from '../listed.ts'
import type { Json } from '../part.ts'
import type { Answer, Form, ObjectKind, Provider, Request, Stream, StreamState, Window } from '../provider.ts'
import { type NightArgs, nightsIn, nightsOf } from './nights.ts'

const DAY_S = 86_400

/** Days of the longest range that Polar accepts, both ends included: 28 dates. */
const RANGE_DAYS = 27
/** What was before is refused: a year, less a day for the zones between us. */
const YEAR_DAYS = 364

/** Dates of the person's clock, as far as it is known, both included. */
function dates({ fromMs, untilMs }: Window, zone: string | null): Form {
  const zoneMs = (parseZoneOffset(zone ?? '') ?? 0) * 60_000
  const dateOf = (ms: number) => new Date(ms + zoneMs).toISOString().slice(0, 10)
  return { from: dateOf(fromMs), to: dateOf(untilMs - 1) }
}

/** What is listed without a range, as far back as Polar has it. */
const listed = (path: string, historyDays: number) => ({
  ...{ family: '247' as const, windowDays: 365, historyDays, overlapHours: 72, emptyOn404: true as const },
  first: (): Request | null => ({ path }),
})

/** What is asked for by dates. */
const dated = (path: string, historyDays = YEAR_DAYS) => ({
  ...{ family: '247' as const, windowDays: RANGE_DAYS, historyDays, overlapHours: 72, emptyOn404: true as const },
  first: (window: Window, { zone }: StreamState): Request | null => ({ path, query: dates(window, zone) }),
})

const NIGHTS = '/v3/users/sleep'

/** The request for the nights, and then `request`, which goes with them. */
const afterNights = ({ path, query = {} }: Request): Request => ({
  path: NIGHTS,
  args: { of: 'nights', nights: {} } satisfies NightArgs,
  memo: { path, query },
})

function nextAfterNights(answer: Answer, { args, memo }: Request): Request | null {
  if (valueAt(args, 'of') !== 'nights') return null
  const { path, query } = memo as unknown as Required<Pick<Request, 'path' | 'query'>>
  return { path, query, args: { of: 'data', nights: nightsOf(answer) } satisfies NightArgs }
}

/** Polar lists what was uploaded since the person was registered. Whole days, so that `args` change daily. */
const exercisesListed = ({ untilMs }: Window, { grantedMs }: StreamState): Json =>
  listing(grantedMs, Math.floor(untilMs / DAY_MS) * DAY_MS)

/** What of a workout is asked for beside its summary (contract 7.1). */
const flags = ({ options }: Pick<StreamState, 'options'>): Form =>
  Object.fromEntries(['samples', 'zones', 'route'].map((name) => [name, String(options[name] === true)]))

/** The offset that the newest of these says. */
function newest<Item>(
  items: readonly Item[],
  instantOf: (item: Item) => number | undefined,
  offset: (item: Item) => string | undefined,
) {
  const [latest] = items.toSorted((a, b) => (instantOf(b) ?? 0) - (instantOf(a) ?? 0))
  return (latest === undefined ? undefined : offset(latest)) ?? null
}

const zoneOfNights = (answer: Answer) =>
  newest(
    Object.values(nightsOf(answer)),
    ([, endMs]) => endMs,
    ([, , zoneMin]) => (zoneMin === null ? undefined : zoneText(zoneMin)),
  )

const zoneOfExercises = ({ json }: Answer) =>
  newest(
    listAt(json),
    (exercise) => parseInstant(textAt(exercise, 'start_time') ?? textAt(exercise, 'start-time') ?? ''),
    (exercise) => {
      const minutes = valueAt(exercise, 'start_time_utc_offset') ?? valueAt(exercise, 'start-time-utc-offset')
      return Number.isInteger(minutes) && Math.abs(minutes as number) <= 1_080 ? zoneText(minutes as number) : undefined
    },
  )

/** Everything that is asked of Polar. */
export const streams: readonly Stream[] = [
  {
    ...listed('/v3/exercises', 30),
    name: 'exercises',
    family: 'workouts',
    first: (window, state) => ({ path: '/v3/exercises', query: flags(state), args: exercisesListed(window, state) }),
    zone: zoneOfExercises,
  },
  { ...listed(NIGHTS, 28), name: 'sleep', zone: zoneOfNights },
  {
    ...listed('/v3/users/nightly-recharge', 28),
    name: 'nightly_recharge',
    first: () => afterNights({ path: '/v3/users/nightly-recharge' }),
    next: nextAfterNights,
  },
  { ...dated('/v3/users/activities'), name: 'activities' },
  {
    ...dated('/v3/users/continuous-heart-rate'),
    name: 'continuous_heart_rate',
    // Seven dates: 28 weigh 16 MB.
    windowDays: 6,
    first: (window, { zone }) => afterNights({ path: '/v3/users/continuous-heart-rate', query: dates(window, zone) }),
    next: nextAfterNights,
  },
  { ...dated('/v3/users/cardio-load/date', 180), name: 'cardio_load', pollSeconds: DAY_S },
  { ...dated('/v3/users/sleepwise/alertness/date'), name: 'alertness', pollSeconds: DAY_S },
  { ...dated('/v3/users/biosensing/bodytemperature'), name: 'body_temperature', pollSeconds: DAY_S },
  { ...dated('/v3/users/biosensing/skintemperature'), name: 'skin_temperature', pollSeconds: DAY_S },
  { ...dated('/v3/users/biosensing/spo2'), name: 'spo2', pollSeconds: DAY_S },
  { ...dated('/v3/users/biosensing/ecg'), name: 'ecg', pollSeconds: DAY_S },
  // As it is now.
  { ...listed('/v3/users/physical-info', 0), name: 'physical_info', overlapHours: 0, pollSeconds: DAY_S },
]

const exercise: ObjectKind = {
  stream: 'exercises',
  request(args, state) {
    const id = textAt(args, 'id') ?? ''
    return /^[A-Za-z0-9]{1,100}$/.test(id) ? { path: `/v3/exercises/${id}`, query: flags(state) } : null
  },
}

const dateIn = (args: Json) => /^\d{4}-\d\d-\d\d$/.exec(textAt(args, 'date') ?? '')?.[0]

const night: ObjectKind = {
  stream: 'sleep',
  request(args) {
    const date = dateIn(args)
    return date === undefined ? null : { path: `${NIGHTS}/${date}` }
  },
  // It has no notice of its own.
  follow(answer) {
    const nights = nightsOf(answer)
    return Object.keys(nights).map((date) => ({
      kind: 'object',
      object: 'recharge',
      key: `recharge:${date}`,
      args: { date, nights },
    }))
  },
}

const recharge: ObjectKind = {
  stream: 'nightly_recharge',
  emptyOn404: true,
  request(args) {
    const date = dateIn(args)
    if (date === undefined) return null
    return {
      path: `/v3/users/nightly-recharge/${date}`,
      args: { of: 'data', nights: nightsIn(args) } satisfies NightArgs,
    }
  },
}

/** What is asked for by itself. */
export const objects = { exercise, night, recharge }

/** Workouts as Polar lists them, of the last 30 days. */
export const workouts: NonNullable<Provider['workouts']> = {
  list: ({ options }) => ({ path: '/v3/exercises', query: flags({ options }) }),
  one: (id, { options }) => ({ path: `/v3/exercises/${encodeURIComponent(id)}`, query: flags({ options }) }),
}
