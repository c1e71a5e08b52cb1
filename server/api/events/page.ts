import type { Context } from 'koa'
import type { Database } from '../../db/database.ts'
import type { Dependencies } from '../../dependencies.ts'
import type { EventRow } from '../../events/row.ts'
import { type Mark, readCursor, writeCursor } from '../../http/cursors.ts'
import { etagOf, heldTags } from '../../http/etag.ts'
import { Reply } from '../../http/reply.ts'
import { Cursor, Limit } from '../../http/schema.ts'
import type { SourceMetadata } from '../../sources/source.ts'
import { type EventFilters, eventFilters, type Selection, selectEvents, selected, selectedParams } from './selection.ts'

/** The parameters of every list of events (contract 5.2). */
export const listParameters = {
  ...eventFilters,
  cursor: Cursor(),
  limit: Limit(),
}

/** A kind of event, and which of it. */
export interface Listing {
  /** Names the list in cursors and ETags. */
  name: string
  table: string
  /** Columns of `e` beside those of EventRow; `parts` is the number of entries in the documents of its item, if any. */
  columns: string
  /** Further conditions on `e`, each with an `and` before it; their parameters begin at $9. */
  where?: string
  params?: readonly (string | boolean | null)[]
}

type Query = EventFilters & { cursor?: string; limit: number }

interface Asked {
  params: { user_id: string }
  query: Query
  ctx: Context
}

/**
 * Answers with a page of events, the latest first (contract 1.4, 5.2), in two statements besides those of `itemsOf`.
 * `itemsOf` makes the items of the page's rows, in their order.
 * @throws AppError bad_datetime, bad_cursor, not_found for an unknown user
 */
export async function listEvents<Row extends EventRow>(
  listing: Listing,
  { params, query, ctx }: Asked,
  { db, keys }: Dependencies,
  itemsOf: (rows: readonly Row[], sourceOf: (row: Row) => SourceMetadata) => object[] | Promise<object[]>,
): Promise<Reply> {
  const selection = await selectEvents(db, params.user_id, query)
  const { revision, start, end, sources } = selection
  const { cursor, limit, ...narrowing } = query
  const scope = `${listing.name} ${params.user_id} ${JSON.stringify({ ...narrowing, start_date: start, end_date: end })}`
  const mark = cursor === undefined ? undefined : readCursor(keys.cursor, scope, cursor)
  // The order of the sources can change without the user's data.
  const etag = etagOf(revision, [...sources.keys()].join(), limit, cursor ?? '', scope)
  const headers = { ETag: etag, 'Cache-Control': 'private, no-cache' }
  if (heldTags(ctx).includes(etag)) return new Reply(304, 'application/json', null, headers)

  const page = await readPage<Row>(db, listing, selection, { mark, limit })
  const data = await itemsOf(page.rows, (row) => (sources.get(row.source_id) as { metadata: SourceMetadata }).metadata)
  const cursorAt = (row: Row | undefined, backward: boolean) =>
    row ? writeCursor(keys.cursor, scope, { at: row.start_at, id: row.id, backward, total: page.total }) : null
  const envelope = {
    data,
    pagination: {
      next_cursor: page.more ? cursorAt(page.rows.at(-1), false) : null,
      previous_cursor: page.before ? cursorAt(page.rows[0], true) : null,
      has_more: page.more,
      total_count: page.total,
    },
    metadata: { resolution: null, sample_count: data.length, start_time: start, end_time: end },
  }
  return new Reply(200, 'application/json', JSON.stringify(envelope), headers)
}

interface Page<Row> {
  rows: Row[]
  /** Whether rows follow, and whether rows precede. */
  more: boolean
  before: boolean
  /** Rows on all pages. */
  total: number
}

/** Entries of documents in an answer, some 2 MB: a phone decides how many one row has, such as stages of a night. */
const MOST_PARTS = 20_000

/** Comes before every id. */
const NO_ID = '00000000-0000-0000-0000-000000000000'

async function readPage<Row extends EventRow & { parts?: number | null }>(
  db: Database,
  listing: Listing,
  selection: Selection,
  { mark, limit }: { mark: Mark | undefined; limit: number },
): Promise<Page<Row>> {
  const rows = await db.query<Row & { total: number | null }>(pageSql(listing, mark?.backward === true), [
    ...selectedParams(selection),
    limit + 1,
    mark?.at ?? selection.end,
    mark?.id ?? NO_ID,
    mark === undefined,
    ...(listing.params ?? []),
  ])
  // What lay before was deleted meanwhile: the page that has nothing before it is the first.
  if (mark?.backward && rows.length === 0) return readPage(db, listing, selection, { mark: undefined, limit })
  const total = mark?.total ?? rows[0]?.total ?? 0
  const fitting = fittingRows(rows.slice(0, limit))
  const further = rows.length > fitting
  rows.length = fitting
  // The row a cursor points at lies on the other side of the page.
  if (mark?.backward) return { rows: rows.reverse(), more: true, before: further, total }
  return { rows, more: further, before: mark !== undefined, total }
}

/** Number of the first rows that an answer has space for; at least one. */
function fittingRows(rows: readonly { parts?: number | null }[]): number {
  let parts = 0
  const first = rows.findIndex((row, place) => {
    parts += row.parts ?? 0
    return place > 0 && parts > MOST_PARTS
  })
  return first < 0 ? rows.length : first
}

/** A page before or behind a row; with $8 each row has the number of rows on all pages, which is counted once. */
function pageSql({ table, columns, where = '' }: Listing, backward: boolean): string {
  const order = backward ? 'asc' : 'desc'
  return `
  select e.id, e.start_at, e.end_at, e.source_id, e.zone_offset_min, ${columns},
         case when $8 then (select count(*) ${selected(table)} ${where}) end as total
  ${selected(table)} ${where}
    and (e.start_at, e.id) ${backward ? '>' : '<'} ($6::timestamptz, $7::uuid)
  order by e.start_at ${order}, e.id ${order}
  limit $5`
}
