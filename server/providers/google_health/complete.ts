import { DAY_MS, parseInstant } from '../../time.ts'
import { listAt, textAt, valueAt } from '../answers.ts'
import { localInstant } from '../local-time.ts'
import type { Listed, Out, Part } from '../part.ts'
import { type DataType, familyOf, fieldOf, listsAll, typeNamed } from './types.ts'

// Which spans the pages of Google list completely: what else is stored there was deleted, has been replaced by what another
// device measured, or came when an operator wanted another granularity.

/** From an instant until before another, epoch milliseconds. */
export type Span = readonly [fromMs: number, untilMs: number]

/** Longer gaps between the items of a page prove nothing. */
const FAR_MS = 7 * DAY_MS

/** What a page holds: points, the newest first, or sums and means of hours or of dates, the oldest first. */
interface Page {
  /** When its items begin, in its order; NaN where that cannot be read. */
  readonly starts: readonly number[]
  readonly isNewestFirst: boolean
  /** For how long each item is all that there is; of a point nothing but its instant. */
  readonly lengthMs: number
  /** Whether Google names a further page. */
  readonly goesOn: boolean
}

const HOUR_MS = 3_600_000

function dateIn(value: unknown): number {
  const [year, month, day] = ['year', 'month', 'day'].map((name) => Number(valueAt(value, name)))
  return Date.UTC(year ?? Number.NaN, (month ?? Number.NaN) - 1, day)
}

const instantIn = (value: unknown, ...path: readonly string[]) =>
  parseInstant(textAt(value, ...path) ?? '') ?? Number.NaN

function startOf(point: unknown, { name, shape }: DataType): number {
  const value = valueAt(point, fieldOf(name))
  if (shape === 'daily') return dateIn(valueAt(value, 'date'))
  return shape === 'sample' ? instantIn(value, 'sampleTime', 'physicalTime') : instantIn(value, 'interval', 'startTime')
}

/** When the points of a page begin, in its order, epoch milliseconds; NaN where that cannot be read. */
const startsIn = (body: unknown, type: DataType): number[] =>
  listAt(body, 'dataPoints').map((point) => startOf(point, type))

/** Whether a page holds sums or means of dates; an empty one has nothing but what was asked. */
export const isOfDates = (body: unknown, args: unknown): boolean =>
  valueAt(args, 'of') === 'dates' || listAt(body, 'rollupDataPoints').some((one) => valueAt(one, 'civilStartTime'))

/** Whether the points of a page name their sources: then it is not known whose it was that is not there. */
const isBySource = (body: unknown) => listAt(body, 'dataPoints').some((one) => valueAt(one, 'dataSource'))

/** The instants of points, epoch milliseconds; null: one cannot be read. */
export function instantsOf(body: unknown, type: DataType): readonly number[] | null {
  const starts = startsIn(body, type)
  return starts.some(Number.isNaN) ? null : starts
}

function pageOf(body: unknown, type: DataType): Page {
  const goesOn = textAt(body, 'nextPageToken') !== undefined
  const sums = valueAt(body, 'rollupDataPoints')
  if (!Array.isArray(sums)) return { starts: startsIn(body, type), isNewestFirst: true, lengthMs: 0, goesOn }
  const hasDates = isOfDates(body, null)
  const starts = sums.map((one) =>
    hasDates ? dateIn(valueAt(one, 'civilStartTime', 'date')) : instantIn(one, 'startTime'),
  )
  return { starts, isNewestFirst: false, lengthMs: hasDates ? DAY_MS : HOUR_MS, goesOn }
}

const ascends = (times: readonly number[]) =>
  times.every((ms, place) => place === 0 || (times[place - 1] as number) <= ms)

/** The starts of a page, ascending; `isUsual`: in the order in which Google has them. Undefined: they are in none. */
function inOrder({ starts, isNewestFirst }: Page): { starts: readonly number[]; isUsual: boolean } | undefined {
  if (starts.some(Number.isNaN)) return undefined
  const reversed = starts.toReversed()
  const [usual, other] = isNewestFirst ? [reversed, starts] : [starts, reversed]
  if (ascends(usual)) return { starts: usual, isUsual: true }
  return ascends(other) ? { starts: other, isUsual: false } : undefined
}

/** What further pages list after a page, at least what lies next to it; undefined: it does not say. */
export function spanLeft(body: unknown, type: DataType, args: unknown): Span | undefined {
  const page = pageOf(body, type)
  const ordered = inOrder(page)
  const [first, last] = [ordered?.starts[0], ordered?.starts.at(-1)]
  if (first === undefined || last === undefined || !ordered?.isUsual) return undefined
  const [fromMs, untilMs] = spanIn(args) ?? (page.isNewestFirst ? [first, first] : [last, last])
  if (valueAt(args, 'deleted') !== true)
    return page.isNewestFirst ? [Math.min(fromMs, first - 1), first] : [last + 1, Math.max(untilMs, last + 2)]
  const left: Span = page.isNewestFirst ? [fromMs, Math.min(first, untilMs)] : [Math.max(fromMs, last + 1), untilMs]
  return left[0] < left[1] ? left : undefined
}

/** The span of a request, in its `args`. */
function spanIn(args: unknown): Span | undefined {
  const [fromMs, untilMs] = listAt(args, 'listed')
  return typeof fromMs === 'number' && typeof untilMs === 'number' && fromMs < untilMs ? [fromMs, untilMs] : undefined
}

/** The pieces of a span that a page lists completely; a deletion leaves gaps of any length. */
function piecesOf({ body, args }: Part, type: DataType): Span[] {
  const page = pageOf(body, type)
  const ordered = inOrder(page)
  const span = spanIn(args)
  const isDeletion = valueAt(args, 'deleted') === true
  if (!ordered) return []
  const { starts, isUsual } = ordered
  const [first, last] = [starts[0], starts.at(-1)]
  if (first === undefined || last === undefined) return isDeletion && span && !page.goesOn ? [span] : []
  const known = isUsual ? span : undefined
  const isFirst = !page.goesOn || !page.isNewestFirst
  const isLast = !page.goesOn || page.isNewestFirst
  const fromMs = known && isFirst ? Math.min(known[0], first) : first
  const untilMs = Math.max(known && isLast ? known[1] : 0, last + page.lengthMs)
  if (isDeletion) return span ? [[Math.max(fromMs, span[0]), Math.min(untilMs, span[1])]] : []
  return withoutFar([fromMs, untilMs], starts, page.lengthMs)
}

function withoutFar([fromMs, untilMs]: Span, starts: readonly number[], lengthMs: number): Span[] {
  const pieces: Span[] = []
  let [loMs, endMs] = [fromMs, fromMs]
  for (const ms of [...starts, untilMs]) {
    if (ms - endMs > FAR_MS) {
      pieces.push([loMs, endMs])
      loMs = ms
    }
    endMs = Math.max(endMs, Math.min(ms + lengthMs, untilMs))
  }
  return [...pieces, [loMs, endMs]]
}

/** Marks a span as complete, by days. */
export function mark(out: Out, what: readonly Listed[], [fromMs, untilMs]: Span): void {
  for (let loMs = fromMs; loMs < untilMs; loMs += DAY_MS)
    for (const one of what) out.only(one, loMs, Math.min(loMs + DAY_MS, untilMs))
}

/** Marks a span as complete whatever device the points in it are of: those of each are on the page. */
function markForAll(out: Out, what: readonly Listed[], span: Span): void {
  const ofAll = (one: Listed): Listed => (typeof one === 'object' && 'series' in one ? { ...one, devices: 'all' } : one)
  mark(out, what.map(ofAll), span)
}

/** The dates that lie in a span by the person's clock, as instants of their midnight in UTC; today, as far as it goes. */
function* datesIn([fromMs, untilMs]: Span, { zone, atMs }: Part): Iterable<number> {
  const startMs = (date: number) => localInstant(new Date(date).toISOString().slice(0, 19), zone)?.ms ?? date
  for (let date = (Math.floor(fromMs / DAY_MS) - 1) * DAY_MS; date < untilMs + DAY_MS; date += DAY_MS) {
    const [loMs, hiMs] = [startMs(date), startMs(date + DAY_MS)]
    if (fromMs <= loMs && loMs < untilMs && (hiMs <= untilMs || hiMs > atMs)) yield date
  }
}

const totalsOf = ({ listed }: DataType): Listed[] =>
  listed.flatMap((one) => (typeof one === 'object' && 'series' in one ? [{ total: one.series }] : []))

/**
 * Marks what a page of points, or of sums of hours, lists completely. Totals of the dates in it are of a time when an
 * operator wanted days.
 */
export function completePoints(out: Out, part: Part, type: DataType): void {
  if (isBySource(part.body) || !listsAll(type)) return
  for (const piece of piecesOf(part, type)) {
    mark(out, type.listed, piece)
    for (const date of type.isRolled ? datesIn(piece, part) : []) mark(out, totalsOf(type), [date, date + 1])
  }
}

/** Marks what a page of sums (`isSum`) or means of dates lists completely; a mean is stored at the midnight of its date. */
export function completeDates(out: Out, part: Part, type: DataType, isSum: boolean): void {
  for (const [fromMs, untilMs] of piecesOf(part, type))
    for (let date = Math.ceil(fromMs / DAY_MS) * DAY_MS; date < untilMs; date += DAY_MS)
      mark(out, isSum ? totalsOf(type) : type.listed, [date, date + 1])
}

/**
 * `args` of the requests for what is left of a family: which type is asked for, and the instants at which those before it
 * have points; null: there are too many.
 */
export interface FamilyArgs {
  readonly listed: readonly [fromMs: number, untilMs: number]
  readonly of: string
  readonly kept: readonly number[] | null
}

/**
 * Marks what no type of a family has any longer, on the last page of the last one: all but the instants of points. The
 * points themselves are stored as they are asked for.
 */
export function completeFamily(out: Out, { body, args }: Part, type: DataType): void {
  const { listed, of, kept } = args as unknown as FamilyArgs
  const last = typeNamed(of)
  if (!last || of !== familyOf(of).at(-1) || kept === null || textAt(body, 'nextPageToken') !== undefined) return
  const starts = instantsOf(body, last)
  if (!starts) return
  const [fromMs, untilMs] = listed
  let loMs = fromMs
  for (const ms of [...new Set([...kept, ...starts, untilMs])].filter((one) => one >= fromMs).sort((a, b) => a - b)) {
    markForAll(out, type.listed, [loMs, Math.min(ms, untilMs)])
    loMs = ms + 1
  }
}

/** Marks what is left of a span in which something was deleted: whatever else is stored there goes. */
export function completeDeletion(out: Out, part: Part, type: DataType): void {
  // A night that is not ready is not on the page as it is stored.
  const isPartial = listAt(part.body, 'dataPoints').some(
    (one) => valueAt(one, 'sleep', 'metadata', 'processed') === false,
  )
  if (isPartial) return
  for (const piece of piecesOf(part, type)) markForAll(out, type.listed, piece)
}
