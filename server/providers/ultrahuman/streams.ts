import { DAY_MS } from '../../time.ts'
import { textAt, valueAt } from '../answers.ts'
import type { Request, Stream, StreamState, Window } from '../provider.ts'
import { zoneOffsetOf } from '../zone-offset.ts'

/** Which day was asked for; goes with the answer to the mapping. */
export interface DayArgs {
  /** By the person's clock, `YYYY-MM-DD`. */
  readonly date: string
}

const dateText = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/** The date that a clock in a zone shows; without a zone, that of UTC. */
const dateIn = (ms: number, zone: string | null) => dateText(ms + (zoneOffsetOf(zone, ms) ?? 0) * 60_000)

/** A day; `first` is the earliest one of the window. */
const day = (date: string, first: string): Request => ({
  path: '/user_data/metrics',
  query: { date },
  args: { date } satisfies DayArgs,
  memo: { first },
})

/** The last day of a window; the others follow. */
function first({ fromMs, untilMs }: Window, { zone }: Pick<StreamState, 'zone'>): Request {
  // Where the zone is not known, a day may have begun earlier; one that has not begun is not asked for.
  const isUnknown = zoneOffsetOf(zone, fromMs) === null
  return day(dateIn(untilMs - 1, zone), dateIn(isUnknown ? fromMs - DAY_MS / 2 : fromMs, zone))
}

/** The day before, also when one cannot be had. */
function dayBefore({ args, memo }: Request): Request | null {
  const [date, earliest] = [textAt(args, 'date') ?? '', textAt(memo, 'first') ?? '']
  return date <= earliest ? null : day(dateText(Date.parse(date) - DAY_MS), earliest)
}

/** The name of a zone, or its offset, in a field. */
export function zoneIn(json: unknown, ...path: readonly string[]): string | null {
  const zone = textAt(json, ...path)
  return zone !== undefined && zoneOffsetOf(zone, 0) !== null ? zone : null
}

/** Everything that is asked of Ultrahuman: a day at a time. */
export const streams: readonly Stream[] = [
  {
    ...{ name: 'metrics', family: '247', windowDays: 30, historyDays: 90, overlapHours: 48 },
    ...{ emptyOn404: true, first, next: (_, asked) => dayBefore(asked), skip: dayBefore },
    zone: ({ json }) => zoneIn(valueAt(json, 'data'), 'latest_time_zone'),
  },
]
