import type { Stream, Window } from '../../providers/provider.ts'
import { DAY_MS } from '../../time.ts'

// Which span of a stream is requested. Live pulls go forward from what is stored, so that the data of a month's outage
// comes by itself. History goes back, the newest days first.

const HOUR_MS = 3_600_000

/** Watches may not sync for days, so the first pull of a day reaches back a week, and the first of a week 28 days. */
const REACHES = [
  { days: 28, everyMs: 7 * DAY_MS },
  { days: 7, everyMs: DAY_MS },
] as const

/** Whether a stream has a past that can be asked for; others have only what is now, or come with notices. */
export const hasPast = ({ historyDays }: Pick<Stream, 'historyDays'>): boolean => historyDays !== 0

/** How far a stream is stored; instants in epoch milliseconds. */
export interface Cursor {
  readonly begunMs: number
  readonly coveredMs: number | null
  readonly reachedWeekMs: number | null
  readonly reachedMonthMs: number | null
  readonly closedMs: number | null
}

/** A due pull of a stream: the start of its span, and how far it reaches back beyond what is usual. */
export interface DuePull {
  readonly loMs: number
  readonly reachDays: number | null
}

/**
 * The next pull of a stream of a grant (granted at `grantedMs`); undefined: none is due. The first pull begins at the
 * consent; everything before it is history.
 */
export function duePull(
  stream: Stream,
  cursor: Cursor | undefined,
  { grantedMs, nowMs }: { grantedMs: number; nowMs: number },
): DuePull | undefined {
  if (stream.noticesOnly) return undefined
  const overlapMs = stream.overlapHours * HOUR_MS
  if (!cursor || cursor.coveredMs === null) {
    if ((cursor?.closedMs ?? 0) > nowMs) return undefined
    return { loMs: Math.min(grantedMs, cursor?.begunMs ?? grantedMs) - overlapMs, reachDays: null }
  }
  const { coveredMs, begunMs } = cursor
  if ((cursor.closedMs ?? 0) > nowMs) return undefined
  // A little early, since pulls do not run to the minute.
  if (stream.pollSeconds !== undefined && nowMs - coveredMs < stream.pollSeconds * 1000 * 0.9) return undefined
  const usualMs = coveredMs - overlapMs
  if (!hasPast(stream) || stream.byChange) return { loMs: usualMs, reachDays: null }
  const reached = { 28: cursor.reachedMonthMs, 7: cursor.reachedWeekMs }
  const reach = REACHES.find(({ days, everyMs }) => nowMs - (reached[days] ?? begunMs) >= everyMs)
  if (!reach) return { loMs: usualMs, reachDays: null }
  const loMs = Math.max(nowMs - reach.days * DAY_MS, begunMs - overlapMs)
  return { loMs: Math.min(usualMs, loMs), reachDays: reach.days }
}

/** What is left of the span of a task, epoch milliseconds. */
export interface Span {
  readonly loMs: number
  readonly hiMs: number
}

/** The next window to request of the remaining span. */
export function windowOf(stream: Stream, isHistory: boolean, { loMs, hiMs }: Span): Window {
  const longestMs = stream.windowDays * DAY_MS
  if (!hasPast(stream) || hiMs - loMs <= longestMs) return { fromMs: loMs, untilMs: hiMs }
  return isHistory ? { fromMs: hiMs - longestMs, untilMs: hiMs } : { fromMs: loMs, untilMs: loMs + longestMs }
}

/** What is left of the span after a window; undefined: nothing. */
export function leftAfter(window: Window, isHistory: boolean, { loMs, hiMs }: Span): Span | undefined {
  const left = isHistory ? { loMs, hiMs: window.fromMs } : { loMs: window.untilMs, hiMs }
  return left.loMs < left.hiMs ? left : undefined
}
