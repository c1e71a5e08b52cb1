import type { Context } from 'koa'
import type { Dependencies } from '../../dependencies.ts'
import { type Mark, readCursor, writeCursor } from '../../http/cursors.ts'
import { parseDateInput } from '../../http/dates.ts'
import { etagOf, heldTags } from '../../http/etag.ts'
import { Reply } from '../../http/route.ts'
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

interface Page {
  view: UserView
  ctx: Context
  /** Name of the summary. */
  name: string
  query: { start_date: string; end_date: string; cursor?: string; limit: number; sort_order?: string }
}

/**
 * Answers with a page of rows that have a local day each, by day; `read` returns rows of those asked for, nearest first.
 * The cursor is that of a day, so that pages are the same in both directions (contract 1.4).
 * @throws AppError bad_datetime, bad_cursor
 */
export async function dayPage<Row extends DayRow>(
  { view, ctx, name, query }: Page,
  { keys }: Dependencies,
  read: (asked: DaysAsked, startDay: number) => Promise<Row[]>,
): Promise<Reply> {
  const startMs = parseDateInput(query.start_date)
  const endMs = parseDateInput(query.end_date, 'whole day')
  const { cursor, limit, ...rest } = query
  const range = { firstDay: Math.floor(wallMs(query.start_date, startMs) / DAY_MS), endDay: 0 }
  range.endDay = startMs < endMs ? Math.ceil(wallMs(query.end_date, endMs) / DAY_MS) : range.firstDay
  const scope = `${name} ${view.userId} ${JSON.stringify({ ...rest, start_date: startMs, end_date: endMs, ...range })}`
  let mark = cursor === undefined ? undefined : readCursor(keys.cursor, scope, cursor)
  const headers = { ETag: etagOf(view.revision, limit, cursor ?? '', scope), 'Cache-Control': 'private, no-cache' }
  if (heldTags(ctx).includes(headers.ETag)) return new Reply(304, 'application/json', null, headers)

  const readFrom = async (place: Mark | undefined) => {
    const backward = (query.sort_order === 'desc') !== (place?.backward === true)
    const asked = { ...beyond(range, place, backward), most: limit + 1, backward }
    return asked.firstDay < asked.endDay ? read(asked, range.firstDay) : []
  }
  let rows = await readFrom(mark)
  // What lay before was deleted meanwhile: the page that has nothing before it is the first.
  if (mark?.backward && rows.length === 0) {
    mark = undefined
    rows = await readFrom(mark)
  }
  const further = rows.length > limit
  if (further) rows.pop()
  if (mark?.backward) rows.reverse()
  const token = (row: Row | undefined, back: boolean) =>
    row ? writeCursor(keys.cursor, scope, { at: row.date, id: row.source.provider, backward: back, total: 0 }) : null
  const more = mark?.backward ? true : further
  const before = mark?.backward ? further : mark !== undefined
  return new Reply(
    200,
    'application/json',
    JSON.stringify({
      data: rows,
      pagination: {
        next_cursor: more ? token(rows.at(-1), false) : null,
        previous_cursor: before ? token(rows[0], true) : null,
        has_more: more,
        total_count: null,
      },
      metadata: {
        resolution: null,
        sample_count: rows.length,
        start_time: isoInstant(startMs),
        end_time: isoInstant(endMs),
      },
    }),
    headers,
  )
}

/** The days of the range that lie beyond the cursor's. */
function beyond(range: { firstDay: number; endDay: number }, mark: Mark | undefined, backward: boolean) {
  if (!mark) return range
  const day = Date.parse(mark.at) / DAY_MS
  return backward ? { ...range, endDay: day } : { ...range, firstDay: day + 1 }
}

/** What the clock on the wall shows at an instant, whose text says in which zone: summaries have local days (D-06). */
function wallMs(text: string, ms: number): number {
  const [, zone = ''] = /:\d{2}(?:[.,]\d+)?\s*([+ -]\d{2}:?\d{2})$/.exec(text.trim()) ?? []
  return ms + (parseZoneOffset(zone.replace(' ', '+')) ?? 0) * 60_000
}

/** `YYYY-MM-DD` of a local day. */
export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)
