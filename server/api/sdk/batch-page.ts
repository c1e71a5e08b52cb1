import type { Context } from 'koa'
import { Type } from 'typebox'
import type { Dependencies } from '../../dependencies.ts'
import { readCursor, writeCursor } from '../../http/cursors.ts'
import { Cursor, Enum, Limit, List } from '../../http/schema.ts'
import { sdkProviders } from '../../providers/index.ts'
import { BATCH_STATUSES, LISTED_BATCH_COLUMNS } from './batch.ts'

/** The parameters of lists of uploads. */
export const batchParameters = {
  limit: Limit(200, 20),
  status: Type.Optional(
    List(Enum(BATCH_STATUSES, { title: 'UploadStatus' }), { description: 'Only uploads with one of these' }),
  ),
  cursor: Cursor('`X-Next-Cursor` of the previous page'),
}

/** The headers of lists of uploads. */
export const batchHeaders = { 'X-Next-Cursor': '`cursor` of the next page; absent on the last one' }

/** Which uploads, those of phones, newest first. */
interface Selection {
  /** Names the list in cursors. */
  scope: string
  /** Those of one user; null = of all. */
  userId: string | null
  provider?: string
}

interface Query {
  limit: number
  status?: string[]
  cursor?: string
}

/** The uploads of a user; an index has them in this order. */
const OF_USER_SQL = `
  select u.*
  from upload u
  where u.user_id = $5 and u.channel = 'sdk' and u.status = any($1) and u.provider = any($4)
    and u.seq < coalesce($2, 9223372036854775807)
  order by u.seq desc
  limit $3`

/** Those of all users; an index has the uploads of each status and platform in this order. */
const OF_ALL_SQL = `
  select u.*
  from unnest($1::text[]) s (status)
  cross join unnest($4::text[]) p (provider)
  cross join lateral (
    select e.*
    from upload e
    where e.status = s.status and e.provider = p.provider and e.channel = 'sdk'
      and e.seq < coalesce($2, 9223372036854775807)
    order by e.seq desc
    limit $3
  ) u
  order by u.seq desc
  limit $3`

const listed = (uploads: string) => `
  select ${LISTED_BATCH_COLUMNS}, seq
  from (${uploads}) u
  order by seq desc`

const [LIST_OF_USER_SQL, LIST_OF_ALL_SQL] = [listed(OF_USER_SQL), listed(OF_ALL_SQL)]

/** A page of uploads; the cursor of the next one is in a header. @throws AppError bad_cursor */
export async function listUploads(
  { scope, userId, provider }: Selection,
  { limit, status = [], cursor }: Query,
  ctx: Context,
  { db, keys }: Dependencies,
): Promise<object[]> {
  const statuses = [...new Set(status.length > 0 ? status : BATCH_STATUSES)].sort()
  const list = `${scope} ${userId} ${provider} ${statuses}`
  const below = cursor === undefined ? null : readCursor(keys.cursor, list, cursor).id
  const params = [statuses, below, limit + 1, provider ? [provider] : [...sdkProviders.keys()]]
  const rows = await db.query<{ seq: number; received_at: string }>(
    userId === null ? LIST_OF_ALL_SQL : LIST_OF_USER_SQL,
    userId === null ? params : [...params, userId],
  )
  const last = rows[limit - 1]
  if (last && rows.length > limit) {
    const mark = { at: last.received_at, id: String(last.seq), backward: false, total: 0 }
    ctx.set('X-Next-Cursor', writeCursor(keys.cursor, list, mark))
  }
  return rows.slice(0, limit).map(({ seq: _, ...batch }) => batch)
}
