import type { Context } from 'koa'
import type { Dependencies } from '../../dependencies.ts'
import { type Mark, readCursor, writeCursor } from '../../http/cursors.ts'
import { parseDateInput } from '../../http/dates.ts'
import { etagOf, heldTags } from '../../http/etag.ts'
import { Reply } from '../../http/reply.ts'
import { Cursor, DateInput, Limit } from '../../http/schema.ts'
import type { UserView } from '../../sources/user-view.ts'
import { DAY_MS, isoInstant, parseZoneOffset } from '../../time.ts'

/** Query parameters of every summary that has a row per local day (contract 4.1 to 4.3). */
export const dayQuery = {
  start_date: DateInput('First local day; of an instant the day it lies on, in its own zone.'),
  end_date: DateInput('Last local day, included; of an instant the day it lies on, but midnight excludes its day.'),
  cursor: Cursor(),
  limit: Limit(),
}

/** Local days as numbers since 1970-01-01: which page of which range. */
export interface DaysAsked {
  firstDay: number
  /** Exclusive. */
  endDay: number
  most: number
  backward: boolean
}

/** A row of a page. */
interface DayRow {
  date: string
  source: { provider: string }
}

interface DayQuery {
  start_date: string
  end_date: string
  cursor?: string
  limit: number
  sort_order?: string
}

interface Asked {
  view: UserView
  ctx: Context
  /** Name of the summary. */
  name: string
  query: DayQuery
}

/** Local days, the end excluded. */
type Days = Pick<DaysAsked, 'firstDay' | 'endDay'>

type Read<Row> = (asked: DaysAsked, startDay: number) => Promise<Row[]>

/**
 * Answers with a page of rows that have a local day each, by day; `read` returns rows of those asked for, nearest first.
 * The cursor is that of a day, so that pages are the same in both directions (contract 1.4).
 * @throws AppError bad_datetime, bad_cursor
 */
export async function dayPage<Row extends DayRow>(
  { view, ctx, name, query }: Asked,
  { keys }: Dependencies,
  read: Read<Row>,
): Promise<Reply> {
  const startMs = parseDateInput(query.start_date)
  const endMs = parseDateInput(query.end_date, 'whole day')
  const days = daysOf(query, startMs, endMs)
  const { cursor, limit, ...rest } = query
  const scope = `${name} ${view.userId} ${JSON.stringify({ ...rest, start_date: startMs, end_date: endMs, ...days })}`
  const mark = cursor === undefined ? undefined : readCursor(keys.cursor, scope, cursor)
  const headers = { ETag: etagOf(view.revision, limit, cursor ?? '', scope), 'Cache-Control': 'private, no-cache' }
  if (heldTags(ctx).includes(headers.ETag)) return new Reply(304, 'application/json', null, headers)

  const page = await readPage(days, query, mark, read)
  const token = (row: Row | undefined, back: boolean) =>
    row ? writeCursor(keys.cursor, scope, { at: row.date, id: row.source.provider, backward: back, total: 0 }) : null
  const envelope = {
    data: page.rows,
    pagination: {
      next_cursor: page.more ? token(page.rows.at(-1), false) : null,
      previous_cursor: page.before ? token(page.rows[0], true) : null,
      has_more: page.more,
      total_count: null,
    },
    metadata: {
      resolution: null,
      sample_count: page.rows.length,
      start_time: isoInstant(startMs),
      end_time: isoInstant(endMs),
    },
  }
  return new Reply(200, 'application/json', JSON.stringify(envelope), headers)
}

interface Page<Row> {
  rows: Row[]
  /** Whether rows follow, and whether rows precede. */
  more: boolean
  before: boolean
}

async function readPage<Row>(days: Days, query: DayQuery, mark: Mark | undefined, read: Read<Row>): Promise<Page<Row>> {
  const { limit, sort_order } = query
  const backward = (sort_order === 'desc') !== (mark?.backward === true)
  const asked = { ...beyond(days, mark, backward), most: limit + 1, backward }
  const rows = asked.firstDay < asked.endDay ? await read(asked, days.firstDay) : []
  // What lay before was deleted meanwhile: the page that has nothing before it is the first.
  if (mark?.backward && rows.length === 0) return readPage(days, query, undefined, read)
  const further = rows.length > limit
  if (further) rows.pop()
  // The row a cursor points at lies on the other side of the page.
  if (mark?.backward) return { rows: rows.reverse(), more: true, before: further }
  return { rows, more: further, before: mark !== undefined }
}

/** The local days that a range of instants touches, in the zones of its texts; none for one that is empty. */
function daysOf({ start_date, end_date }: DayQuery, startMs: number, endMs: number): Days {
  const firstDay = Math.floor(wallMs(start_date, startMs) / DAY_MS)
  return { firstDay, endDay: startMs < endMs ? Math.ceil(wallMs(end_date, endMs) / DAY_MS) : firstDay }
}

/** The days of the range that lie beyond the cursor's. */
function beyond(range: Days, mark: Mark | undefined, backward: boolean): Days {
  if (!mark) return range
  const day = Date.parse(mark.at) / DAY_MS
  return backward ? { ...range, endDay: day } : { ...range, firstDay: day + 1 }
}

/** The local clock time at an instant, in the zone of its text: summaries have local days (D-06). */
function wallMs(text: string, ms: number): number {
  const [, zone = ''] = /:\d{2}(?:[.,]\d+)?\s*([+ -]\d{2}:?\d{2})$/.exec(text.trim()) ?? []
  return ms + (parseZoneOffset(zone.replace(' ', '+')) ?? 0) * 60_000
}

/** `YYYY-MM-DD` of a local day. */
export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)
