import { DAY_MS } from '../../time.ts'
import { textAt, valueAt } from '../answers.ts'
import type { Answer, ObjectKind, Request, Stream, StreamState, Window, Wish } from '../provider.ts'
import { zoneOffsetOf } from '../zone-offset.ts'

/** Which day was asked for; goes with the answer to the mapping. */
export interface DayArgs {
  /** By the person's clock, `YYYY-MM-DD`. */
  readonly date: string
  /** How many are asked for because of it: with more of them, the same answer counts as another one. */
  readonly before?: number
}

const dateText = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/** The date that a clock in a zone shows; without a zone, that of UTC. */
const dateIn = (ms: number, zone: string | null) => dateText(ms + (zoneOffsetOf(zone, ms) ?? 0) * 60_000)

const day = (date: string): Request => ({
  path: '/user_data/metrics',
  query: { date },
  args: { date } satisfies DayArgs,
})

/** The last day of a window; the others follow, each by itself: one that cannot be had keeps nothing else from coming. */
function first({ fromMs, untilMs }: Window, { zone }: Pick<StreamState, 'zone'>): Request {
  // Where the zone is not known, a day may have begun earlier; one that has not begun is not asked for.
  const isUnknown = zoneOffsetOf(zone, fromMs) === null
  const from = dateIn(isUnknown ? fromMs - DAY_MS / 2 : fromMs, zone)
  const date = dateIn(untilMs - 1, zone)
  const before = Math.round((Date.parse(date) - Date.parse(from)) / DAY_MS)
  return { ...day(date), args: { date, before } satisfies DayArgs }
}

function follow(_: Answer, { args }: Request): Wish[] {
  const lastMs = Date.parse(textAt(args, 'date') ?? '')
  const before = Number(valueAt(args, 'before') ?? 0)
  return Array.from({ length: before }, (_, place) => {
    const date = dateText(lastMs - (place + 1) * DAY_MS)
    return { kind: 'object', object: 'day', key: date, args: { date } }
  })
}

const oneDay: ObjectKind = {
  stream: 'metrics',
  request(args) {
    const date = /^\d{4}-\d\d-\d\d$/.exec(textAt(args, 'date') ?? '')?.[0]
    return date === undefined ? null : day(date)
  },
}

/** What is asked for by itself. */
export const objects = { day: oneDay }

/** The name of a zone, or its offset, in a field. */
export function zoneIn(json: unknown, ...path: readonly string[]): string | null {
  const zone = textAt(json, ...path)
  return zone !== undefined && zoneOffsetOf(zone, 0) !== null ? zone : null
}

/** Everything that is asked of Ultrahuman: a day at a time. */
export const streams: readonly Stream[] = [
  {
    ...{ name: 'metrics', family: '247', windowDays: 30, historyDays: 90, overlapHours: 48 },
    ...{ first, follow },
    zone: ({ json }) => zoneIn(valueAt(json, 'data'), 'latest_time_zone'),
  },
]
