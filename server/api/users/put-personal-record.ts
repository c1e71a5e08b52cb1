import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { UserPath } from '../../http/schema.ts'
import { PersonalRecord, PersonalRecordFields, personalRecordExample } from './personal-record.ts'

/**
 * Replaces the personal record of a user (contract 3.12) and increments the user's revision, since summaries depend on
 * it.
 */
export const putPersonalRecord = route(
  {
    method: 'PUT',
    path: '/api/v1/users/{user_id}/personal-record',
    operationId: 'putPersonalRecord',
    summary: 'Replace the personal record of a user',
    tag: 'Users',
    guard: 'key',
    params: UserPath,
    body: PersonalRecordFields,
    bodyExample: { birth_date: '1990-12-10', gender: 'female', sex: 'female' },
    response: PersonalRecord,
    example: personalRecordExample,
    errors: { 400: 'birth_date cannot be in the future' },
  },
  async ({ params, body }, { db }) => {
    const today = new Date().toISOString().slice(0, 10)
    if (body.birth_date && body.birth_date > today) throw errors.badRequest('birth_date cannot be in the future')
    const [row] = await db.query(
      `with owner as (
         update app_user set revision = revision + 1 where id = $1 returning id
       )
       insert into personal_record as r (user_id, birth_date, gender, sex)
       select id, $2, $3, $4 from owner
       on conflict (user_id) do update
       set birth_date = excluded.birth_date, gender = excluded.gender, sex = excluded.sex
       returning r.user_id, r.birth_date, r.gender, r.sex`,
      [params.user_id, body.birth_date ?? null, body.gender ?? null, body.sex ?? null],
    )
    if (!row) throw errors.notFound('User', params.user_id)
    return row
  },
)
