import type { Context } from 'koa'
import { type Static, Type } from 'typebox'
import { seriesByName } from '../../catalogue/series.ts'
import type { Database } from '../../db/database.ts'
import type { Dependencies } from '../../dependencies.ts'
import { errors } from '../../errors.ts'
import { readCursor, writeCursor } from '../../http/cursors.ts'
import { parseDateInput } from '../../http/dates.ts'
import { etagOf, heldTags } from '../../http/etag.ts'
import { Reply } from '../../http/reply.ts'
import { route } from '../../http/route.ts'
import {
  Cursor,
  CursorPage,
  DateInput,
  Enum,
  Instant,
  Limit,
  List,
  Nullable,
  Provider,
  Series,
  SourceMetadata,
  UserPath,
  Uuid,
} from '../../http/schema.ts'
import type { Share } from '../../limits.ts'
import { oncePerRevision, rememberedView, type Stored, type UserView, userView } from '../../sources/user-view.ts'
import { COLUMNS_JSON, columnarForms } from './columns.ts'
import {
  BUCKET_MS,
  markOf,
  type Position,
  positionOf,
  type Rows,
  readCounted,
  readRows,
  type Selection,
} from './page.ts'
import { priorityRanges } from './priority.ts'
import { columnsJson, columnsMsgpack, csv, type Envelope, envelopeJson } from './render.ts'

const FORMATS = ['application/json', COLUMNS_JSON, 'application/msgpack', 'text/csv'] as const

/** Maximum of points in an answer in the formats for charts and notebooks. */
const COLUMNS_LIMIT = 200_000

const Sample = Type.Object(
  {
    timestamp: Instant(),
    zone_offset: Nullable(Type.String()),
    type: Type.String(),
    value: Type.Number(),
    unit: Type.String(),
    source: SourceMetadata,
    is_daily_total: Nullable(Type.Boolean()),
    implausible: Type.Optional(
      Type.Literal(true, {
        description: 'The value is implausible. Present only on such samples, which no aggregate counts.',
      }),
    ),
    min: Type.Optional(Type.Number({ description: 'With include=extremes: the lowest sample of the bucket' })),
    max: Type.Optional(Type.Number({ description: 'With include=extremes: the highest sample of the bucket' })),
    count: Type.Optional(Type.Integer({ description: 'With include=extremes: how many samples the bucket has' })),
  },
  { title: 'Sample' },
)

const query = (maxLimit: number) =>
  Type.Object({
    start_time: DateInput('First instant of the range. ISO 8601, date (00:00 UTC) or Unix seconds.'),
    end_time: DateInput('End of the range, exclusive; a date alone includes that day.'),
    types: Type.Optional(
      List(Series(), { maxItems: 200, description: 'Series types, all by default. Repeat it, or separate by commas.' }),
    ),
    resolution: Enum(Object.keys(BUCKET_MS), {
      title: 'Resolution',
      default: 'raw',
      description: 'Bucket width. Buckets start at multiples of it since 1970 UTC and never mix sources.',
    }),
    cursor: Cursor(),
    limit: Limit(maxLimit),
    provider: Type.Optional(Provider()),
    source: Type.Optional(Type.String({ description: 'Exact writer app' })),
    device_model: Type.Optional(Type.String({ description: 'Exact device model' })),
    data_source_id: Type.Optional(Uuid()),
    include: Type.Optional(
      List(Enum(['extremes']), {
        description: 'Of buckets: `min`, `max` and `count` of the samples in each; not with resolution=raw',
      }),
    ),
    filter_by_priority: Type.Boolean({
      default: false,
      description: 'For each local day and series type, only the best source',
    }),
  })

/** Maximum of points in a page of JSON. */
const PAGE_LIMIT = 1000

const Query = query(PAGE_LIMIT)

const example = {
  data: [
    {
      timestamp: '2026-02-24T08:30:00Z',
      zone_offset: '+01:00',
      type: 'heart_rate',
      value: 62,
      unit: 'bpm',
      source: {
        provider: 'garmin',
        source: 'garmin_connect_api',
        device: 'Forerunner 255',
        device_type: 'watch',
        device_name: 'Forerunner 255',
      },
      is_daily_total: null,
    },
  ],
  pagination: {
    next_cursor: 'MjAyNi0wMi0yNFQwODozMDowMFp8MS4xfDkwMjEwfEFCQ0RFRg==',
    previous_cursor: null,
    has_more: true,
    total_count: 90210,
  },
  metadata: { resolution: null, sample_count: 1, start_time: '2026-02-24T00:00:00Z', end_time: '2026-02-25T00:00:00Z' },
}

/** Samples of a user in time order, raw or in buckets (contract 5.1). */
export const getTimeseries = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/timeseries',
    operationId: 'getTimeseries',
    summary: 'Samples of a user',
    description: `Cursor-paged. With Accept ${FORMATS.slice(1).join(', ')} the page is returned as columns, msgpack or CSV, up to ${COLUMNS_LIMIT} points. The ETag changes when the user's data does.`,
    tag: 'Timeseries',
    guard: 'key',
    shareOf,
    fromReplicas: true,
    params: UserPath,
    query: Query,
    queryVariant: { applies: (ctx) => formatOf(ctx) !== 'application/json', schema: query(COLUMNS_LIMIT) },
    revalidated: true,
    response: CursorPage(Sample),
    example,
    alsoProduces: columnarForms,
    headers: {
      'X-Total-Count': 'Of CSV: the number of samples on all pages',
      'X-Next-Cursor': 'Of CSV: `cursor` of the next page; absent on the last one',
      'X-Previous-Cursor': 'Of CSV: `cursor` of the previous page; absent on the first one',
    },
    errors: { 400: 'Bad date or cursor' },
  },
  async ({ params, query, ctx }, deps) => {
    const asked: Asked = { ...params, query, format: formatOf(ctx), held: heldTags(ctx) }
    // The page statement itself checks whether the remembered view of the user is still valid: one statement instead of
    // two.
    const known = query.resolution === 'raw' && !query.filter_by_priority && !asked.held[0]
    const remembered = known ? rememberedView(deps.db, params.user_id) : undefined
    const reply = remembered && (await replyFrom(remembered, asked, deps, true))
    return reply ?? replyFrom(await userView(deps.db, params.user_id), asked, deps, false)
  },
)

/** A first page of buckets counts them all, and finding the best sources of a range reads all of it. */
function shareOf({ limit, resolution, filter_by_priority, cursor }: Static<typeof Query>): Share {
  if (limit > PAGE_LIMIT) return 'bulk'
  return filter_by_priority || (resolution !== 'raw' && cursor === undefined) ? 'report' : 'read'
}

/** A request for a page. */
interface Asked {
  user_id: string
  query: Static<typeof Query>
  format: (typeof FORMATS)[number]
  /** ETags the client has. */
  held: string[]
}

/** Answers from the view of the user; undefined if that view was cached and may be outdated. */
async function replyFrom(
  view: UserView,
  { user_id, query, format, held }: Asked,
  { db, keys }: Dependencies,
  remembered: boolean,
): Promise<Reply | undefined> {
  const extremes = query.include?.includes('extremes') === true
  if (extremes && query.resolution === 'raw')
    throw errors.badRequest('include=extremes takes a resolution other than raw.')
  const startMs = parseDateInput(query.start_time)
  const endMs = parseDateInput(query.end_time, 'whole day')
  const { cursor: _, limit, ...narrowing } = query
  const filters = JSON.stringify({ ...narrowing, start_time: startMs, end_time: endMs })
  const scope = `timeseries ${user_id} ${filters}`
  const position = query.cursor === undefined ? undefined : positionOf(readCursor(keys.cursor, scope, query.cursor))
  const etag = etagOf(view.revision, format, limit, query.cursor ?? '', scope)
  const headers: Record<string, string> = { ETag: etag, Vary: 'Accept', 'Cache-Control': 'private, no-cache' }
  if (held.includes(etag)) return new Reply(304, format, null, headers)

  const stored = startMs < endMs ? matching(view, query) : []
  const ranges = query.filter_by_priority
    ? await oncePerRevision(view, `ranges ${filters}`, () => priorityRanges(db, stored, startMs, endMs))
    : undefined
  const selection: Selection = { stored, startMs, endMs, bucketMs: BUCKET_MS[query.resolution], ranges, extremes }
  const page = await readPage(db, view, { selection, filters, position, limit, remembered })
  const { rows, total } = page
  const count = rows.times.length
  if (remembered && count === 0) return undefined
  const cursor = (row: number, backward: boolean) => {
    const mark = markOf(rows, row, selection)
    return mark ? writeCursor(keys.cursor, scope, { ...mark, backward, total }) : null
  }
  const envelope: Envelope = {
    stored,
    nextCursor: page.more ? cursor(count - 1, false) : null,
    previousCursor: page.before ? cursor(0, true) : null,
    hasMore: page.more,
    totalCount: total,
    resolution: query.resolution === 'raw' ? null : query.resolution,
    startMs,
    endMs,
    extremes,
  }
  return answer(format, rows, envelope, headers)
}

function formatOf(ctx: Context): (typeof FORMATS)[number] {
  const { accept } = ctx.req.headers
  if (accept === undefined || accept === '*/*') return 'application/json'
  const accepted = ctx.accepts(...FORMATS)
  return FORMATS.find((format) => format === accepted) ?? 'application/json'
}

interface Filters {
  types?: string[]
  resolution: string
  filter_by_priority: boolean
  provider?: string
  source?: string
  device_model?: string
  data_source_id?: string
}

/**
 * The stored series that pass the filters. Daily totals are separate samples, never part of a bucket; implausible values
 * are left out of everything computed or chosen.
 */
function matching({ stored: plausible, implausible }: UserView, filters: Filters): Stored[] {
  const everything = filters.resolution === 'raw' && !filters.filter_by_priority
  const stored = everything ? [...plausible, ...implausible] : plausible
  const wanted = filters.types?.length ? new Set(filters.types.map((name) => seriesByName.get(name)?.id)) : undefined
  return stored.filter(
    ({ source, series, isDailyTotal }) =>
      (!wanted || wanted.has(series.id)) &&
      (filters.resolution === 'raw' || !isDailyTotal) &&
      (filters.provider === undefined || source.provider === filters.provider) &&
      (filters.source === undefined || source.source === filters.source) &&
      (filters.device_model === undefined || source.deviceModel === filters.device_model) &&
      (filters.data_source_id === undefined || source.uid === filters.data_source_id),
  )
}

interface Page {
  rows: Rows
  /** Whether rows follow, and whether rows precede. */
  more: boolean
  before: boolean
  total: number
}

interface PageAsked {
  selection: Selection
  filters: string
  position: Position | undefined
  limit: number
  /** Whether the view was cached: then nothing is read if it is outdated. */
  remembered: boolean
}

async function readPage(
  db: Database,
  view: UserView,
  { selection, filters, position, limit, remembered }: PageAsked,
): Promise<Page> {
  if (selection.stored.length === 0) return { rows: NO_ROWS, more: false, before: false, total: 0 }
  const asOf = remembered ? view : undefined
  const question = `count ${filters}`
  // A later page has the total in its cursor.
  const known = position?.total ?? view.answers.get(question)
  const { rows, total: counted } =
    known === undefined
      ? await readCounted(db, selection, { limit: limit + 1, asOf })
      : { rows: await readRows(db, selection, { position, limit: limit + 1, asOf }), total: known as number }
  const count = rows.times.length
  // All earlier rows have been deleted meanwhile: a page with nothing before it is the first.
  if (position?.backward && count === 0 && !remembered)
    return readPage(db, view, { selection, filters, position: undefined, limit, remembered })
  const further = count > limit
  if (further) changeEach(rows, (column) => column.pop())
  // A first page that contains everything needs no count.
  const total = position?.total ?? (further ? await oncePerRevision(view, question, async () => counted) : count)
  if (!position?.backward) return { rows, more: further, before: position !== undefined, total }
  // The row of the cursor lies on the other side of the page.
  changeEach(rows, (column) => column.reverse())
  return { rows, more: true, before: further, total }
}

const NO_ROWS: Rows = { times: [], values: [], places: [], zones: [] }

function changeEach({ extremes, ...columns }: Rows, change: (column: unknown[]) => unknown): void {
  for (const column of [...Object.values(columns), ...Object.values(extremes ?? {})]) change(column)
}

async function answer(format: string, rows: Rows, envelope: Envelope, headers: Record<string, string>): Promise<Reply> {
  switch (format) {
    case COLUMNS_JSON:
      return new Reply(200, COLUMNS_JSON, await columnsJson(rows, envelope), headers)
    case 'application/msgpack':
      return new Reply(200, 'application/msgpack', await columnsMsgpack(rows, envelope), headers)
    case 'text/csv':
      if (envelope.nextCursor) headers['X-Next-Cursor'] = envelope.nextCursor
      if (envelope.previousCursor) headers['X-Previous-Cursor'] = envelope.previousCursor
      headers['X-Total-Count'] = String(envelope.totalCount)
      return new Reply(200, 'text/csv; charset=utf-8', await csv(rows, envelope), headers)
    default:
      return new Reply(200, 'application/json', envelopeJson(rows, envelope), headers)
  }
}
