import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { UserPath } from '../../http/schema.ts'
import { PersonalRecord, personalRecordExample } from './personal-record.ts'

/** Birth date, gender and sex of a user, all null when nothing is stored (contract 3.12). */
export const getPersonalRecord = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/personal-record',
    operationId: 'getPersonalRecord',
    summary: 'Get the personal record of a user',
    tag: 'Users',
    guard: 'key',
    params: UserPath,
    response: PersonalRecord,
    example: personalRecordExample,
  },
  async ({ params }, { db }) => {
    const [row] = await db.query(
      `select u.id as user_id, r.birth_date, r.gender, r.sex
       from app_user u
       left join personal_record r on r.user_id = u.id
       where u.id = $1`,
      [params.user_id],
    )
    if (!row) throw errors.notFound('User', params.user_id)
    return row
  },
)
