import { Type } from 'typebox'
import { readCursor, writeCursor } from '../../http/cursors.ts'
import { route } from '../../http/route.ts'
import { Cursor, Limit, UserPath } from '../../http/schema.ts'
import { requireUser } from '../users/exists.ts'
import { Phone, phoneExample } from './phone.ts'

// The newest token of each session: the earlier ones are rotated.
const LIST_SQL = `
  select t.family_id as id, t.app_id, a.name as application, t.created_at as renewed_at, t.expires_at
  from refresh_token t
  left join application a on a.id = t.application_id
  where t.user_id = $1 and t.rotated_at is null and t.revoked_at is null and t.expires_at > now()
    and (t.created_at, t.family_id) < ($2::timestamptz, $3::uuid)
  order by t.created_at desc, t.family_id desc
  limit $4`

const FIRST = { at: 'infinity', id: '00000000-0000-0000-0000-000000000000' }

/** The signed-in phones of a user, the most recently renewed first. */
export const listPhones = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/phones',
    operationId: 'listPhones',
    summary: 'List the signed-in phones of a user',
    description: 'The most recently renewed first. The header `X-Next-Cursor` holds the cursor of the next page.',
    tag: 'Phones',
    guard: 'developer',
    params: UserPath,
    query: Type.Object({
      limit: Limit(250),
      cursor: Cursor('`X-Next-Cursor` of the previous page'),
    }),
    response: Type.Array(Phone),
    example: [phoneExample],
    errors: { 400: 'Bad cursor' },
  },
  async ({ params: { user_id: userId }, query: { limit, cursor }, ctx }, { db, keys }) => {
    await requireUser(db, userId)
    const scope = `phones ${userId}`
    const { at, id } = cursor === undefined ? FIRST : readCursor(keys.cursor, scope, cursor)
    const rows = await db.query<{ id: string; renewed_at: string }>(LIST_SQL, [userId, at, id, limit + 1])
    const last = rows[limit - 1]
    if (last && rows.length > limit) {
      const mark = { at: last.renewed_at, id: last.id, backward: false, total: 0 }
      ctx.set('X-Next-Cursor', writeCursor(keys.cursor, scope, mark))
    }
    return rows.slice(0, limit)
  },
)
