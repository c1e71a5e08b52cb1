import type { Context } from 'koa'
import type { Database } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import type { EventRow } from '../../events/row.ts'
import { etagOf, heldTags } from '../../http/etag.ts'
import { Reply } from '../../http/reply.ts'
import { SOURCE_COLUMNS, type SourceMetadata, type SourceRow, sourceOf } from '../../sources/source.ts'

/** A kind of event, and the text of the error if there is none. */
interface Kind {
  table: string
  /** Columns of `e` beside those of EventRow. */
  columns: string
  missing: string
}

interface Asked {
  userId: string
  id: string
  ctx: Context
}

/**
 * Answers with one event of a user, in two statements besides those of `itemOf`.
 * @throws AppError not_found for an unknown user, missing for an event that the user does not have
 */
export async function answerEvent<Row extends EventRow>(
  db: Database,
  { table, columns, missing }: Kind,
  { userId, id, ctx }: Asked,
  itemOf: (row: Row, source: SourceMetadata) => object | Promise<object>,
): Promise<Reply> {
  const [row] = await db.query<(Row | { id: null; source_id: null }) & { revision: number }>(
    `select u.revision, e.id, e.start_at, e.end_at, e.source_id, e.zone_offset_min, ${columns}
     from app_user u
     left join ${table} e on e.user_id = u.id and e.id = $2
     where u.id = $1`,
    [userId, id],
  )
  if (!row) throw errors.notFound('User', userId)
  if (row.id === null) throw errors.missing(missing)
  const { revision, ...event } = row
  const etag = etagOf(revision, table, userId, id)
  const headers = { ETag: etag, 'Cache-Control': 'private, no-cache' }
  if (heldTags(ctx).includes(etag)) return new Reply(304, 'application/json', null, headers)
  const source = await db.one<SourceRow>(`select ${SOURCE_COLUMNS} from data_source d where d.id = $1`, [row.source_id])
  const item = await itemOf(event as unknown as Row, sourceOf(source).metadata)
  return new Reply(200, 'application/json', JSON.stringify(item), headers)
}
