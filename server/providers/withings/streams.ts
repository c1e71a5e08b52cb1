import { DAY_MS } from '../../time.ts'
import { listAt, textAt, valueAt } from '../answers.ts'
import { listing } from '../listed.ts'
import type { Json } from '../part.ts'
import type { Answer, Form, ObjectKind, Provider, Request, Stream, StreamState, Window, Wish } from '../provider.ts'
import { type Night, nightOf, whyNot } from './night.ts'

/** Whether what watches measure all day is wanted: WITHINGS_INTRADAY. */
export const INTRADAY = 'INTRADAY'

/** What was measured, by type (docs/providers.md). */
const TYPES = '1,4,5,6,8,9,10,11,12,54,71,73,76,119,123,155'

// Without these names the figures are missing from the answers.
const FIELDS = {
  getactivity: 'steps,distance,elevation,soft,moderate,intense,active,calories,totalcalories',
  getworkouts:
    'calories,manual_distance,manual_calories,hr_average,hr_min,hr_max,pause_duration,algo_pause_duration,steps,distance,elevation,pool_laps,pool_length',
  getsummary:
    'total_timeinbed,total_sleep_time,asleepduration,lightsleepduration,remsleepduration,deepsleepduration,sleep_efficiency,wakeupduration,hr_min,rr_average,breathing_disturbances_intensity,sleep_score,apnea_hypopnea_index',
  get: 'hr,sdnn_1,rmssd,hrv_quality',
  getintradayactivity: 'heart_rate,spo2_auto,rmssd,sdnn1,hrv_quality,core_body_temperature,rr',
} as const

/** Everything is a form sent to one of a few addresses. */
const rpc = (path: string, action: string, fields: Form, args?: Json): Request => ({
  ...{ path, method: 'POST', form: { action, ...fields } },
  ...(args !== undefined && { args }),
})

const seconds = (ms: number) => String(Math.floor(ms / 1000))

const changedSince = ({ fromMs }: Window): Form => ({ lastupdate: seconds(fromMs) })

const between = ({ fromMs, untilMs }: Window): Form => ({
  startdate: seconds(fromMs),
  enddate: String(Math.ceil(untilMs / 1000)),
})

/** Dates of the person's clock, wherever they were: a day more on each side. */
function dates({ fromMs, untilMs }: Window): Form {
  const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)
  return { startdateymd: dateOf(fromMs - DAY_MS), enddateymd: dateOf(untilMs - 1 + DAY_MS) }
}

/** The next page, which is not all that is listed. */
function next({ json }: Answer, asked: Request): Request | null {
  const [more, offset] = [valueAt(json, 'body', 'more'), valueAt(json, 'body', 'offset')]
  if (!(more === true || more === 1) || !Number.isSafeInteger(offset)) return null
  const { args: _, ...request } = asked
  return { ...request, form: { ...asked.form, offset: String(offset) } }
}

/** What a request of measurements passes to its mapping: all that there is in a span (`listing`). */
export interface MeasureArgs {
  readonly listed: Json
  /** Temperatures come from measurements only. */
  readonly temperatures: boolean
}

/**
 * Measurements that are new or changed, or those of a span. If a notice named it and it is short, what is not there any more
 * was deleted; otherwise nothing may be listed since the account's membership has ended.
 */
function measures(window: Window, { isPull, isNotice, settings }: StreamState): Request {
  const wanted = { meastypes: TYPES, category: '1' }
  if (isPull) return rpc('/measure', 'getmeas', { ...wanted, ...changedSince(window) })
  const range = { ...wanted, ...between(window) }
  if (!isNotice || window.untilMs - window.fromMs > DAY_MS) return rpc('/measure', 'getmeas', range)
  const temperatures = settings?.[INTRADAY] !== 'true'
  return rpc('/measure', 'getmeas', range, { ...listing(window.fromMs, window.untilMs), temperatures })
}

/** What is asked for by its change, and otherwise by dates. */
const dated = (path: string, action: keyof typeof FIELDS) => (window: Window, state: Pick<StreamState, 'isPull'>) =>
  rpc(path, action, { ...(state.isPull ? changedSince(window) : dates(window)), data_fields: FIELDS[action] })

/** Names of places of the IANA time zone database, which is what Withings writes. */
const zoneIn = (json: unknown, ...path: readonly string[]): string | null => {
  const zone = textAt(json, ...path) ?? ''
  return /^[\w+-]{1,30}(\/[\w+-]{1,30}){0,2}$/.test(zone) ? zone : null
}

/** So far back before the consent the past has nights with their stages; and of one page so many have them. */
const DETAIL_DAYS = 30
const MAX_NIGHTS = 500

/** The stages of the nights of a page, each asked for by itself. */
function details({ json }: Answer, _: Request, { isHistory, grantedMs }: StreamState): Wish[] {
  const fromMs = isHistory ? grantedMs - DETAIL_DAYS * DAY_MS : 0
  const listed = listAt(json, 'body', 'series').slice(-MAX_NIGHTS)
  return listed.flatMap((summary) => {
    const night = nightOf(summary)
    if (night === undefined || night.enddate * 1000 < fromMs || whyNot(summary, night) !== undefined) return []
    return [{ kind: 'object', object: 'night', key: night.id, args: { night: { ...night } } }]
  })
}

/** A night whose stages are asked for; goes with the answer to the mapping. */
export interface NightArgs {
  readonly night: Night
}

const DAY_S = 86_400

const night: ObjectKind = {
  stream: 'stages',
  request(args) {
    // As it was stored with the wish.
    const known = nightOf(valueAt(args, 'night'))
    if (known === undefined) return null
    const end = Math.min(known.enddate, known.startdate + DAY_S)
    const range = { startdate: String(Math.floor(known.startdate)), enddate: String(Math.ceil(end)) }
    return rpc('/v2/sleep', 'get', { ...range, data_fields: FIELDS.get }, { night: { ...known } })
  },
}

/** What is asked for by itself. */
export const objects = { night }

/** That nothing is new; with `args`, that nothing is there. Of measurements it has the time of the answer. */
const isEmpty = ({ json }: Answer, { args }: Request): boolean =>
  args === undefined &&
  ['measuregrps', 'activities', 'series'].some((list) => {
    const rows = valueAt(json, 'body', list)
    return Array.isArray(rows) && rows.length === 0
  })

const pages = { windowDays: 30, historyDays: null, overlapHours: 1, byChange: true, next, isEmpty } as const

/** Everything that is asked of Withings. */
export const streams: readonly Stream[] = [
  {
    ...{ ...pages, name: 'measures', family: '247', scope: 'user.metrics', first: measures },
    zone: ({ json }) => zoneIn(json, 'body', 'timezone'),
  },
  { ...pages, name: 'activity', family: '247', scope: 'user.activity', first: dated('/v2/measure', 'getactivity') },
  {
    ...pages,
    name: 'workouts',
    family: 'workouts',
    scope: 'user.activity',
    first: dated('/v2/measure', 'getworkouts'),
  },
  {
    ...{ ...pages, name: 'sleep', family: '247', scope: 'user.activity', first: dated('/v2/sleep', 'getsummary') },
    follow: details,
  },
  // By themselves, so that nights come even where this is not permitted.
  {
    ...{ name: 'stages', family: '247', scope: 'user.activity', windowDays: 1, historyDays: 0, overlapHours: 0 },
    ...{ noticesOnly: true, first: () => null },
  },
  {
    ...{ name: 'intraday', family: '247', scope: 'user.activity', windowDays: 1, historyDays: 30, overlapHours: 24 },
    first: (window, { settings }) =>
      settings?.[INTRADAY] === 'true'
        ? rpc('/v2/measure', 'getintradayactivity', { ...between(window), data_fields: FIELDS.getintradayactivity })
        : null,
  },
]

/** Workouts as Withings lists them; a single one cannot be asked for. */
export const workouts: NonNullable<Provider['workouts']> = {
  list({ window, options }) {
    const request = dated('/v2/measure', 'getworkouts')(window, {})
    const offset = Number(options.offset) || 0
    return offset > 0 ? { ...request, form: { ...request.form, offset: String(offset) } } : request
  },
}
