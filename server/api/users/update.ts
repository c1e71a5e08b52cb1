import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { UserPath } from '../../http/schema.ts'
import {
  duplicateUser,
  foldUsers,
  USER_COLUMNS,
  USER_FIELDS,
  User,
  type UserConnectionRow,
  UserFields,
  userExample,
  usersWithConnections,
} from './user.ts'

/** Changes a user: absent fields stay, null clears (contract 3.5, D-39). */
export const updateUser = route(
  {
    method: 'PATCH',
    path: '/api/v1/users/{user_id}',
    operationId: 'updateUser',
    summary: 'Change a user',
    tag: 'Users',
    guard: 'key',
    params: UserPath,
    body: UserFields,
    bodyExample: { last_name: 'Lovelace', external_user_id: null },
    response: User,
    example: { ...userExample, last_name: 'Lovelace' },
    errors: { 409: 'The email address or external_user_id belongs to another user' },
  },
  async ({ params, body }, { db }) => {
    const given = USER_FIELDS.filter((field) => body[field] !== undefined)
    const changes = given.map((field, index) => `${field} = $${index + 2}`).join(', ')
    const changed = changes
      ? `update app_user set ${changes} where id = $1 returning ${USER_COLUMNS}`
      : `select ${USER_COLUMNS} from app_user where id = $1`
    try {
      const rows = await db.query<UserConnectionRow>(
        `with changed as (${changed}) ${usersWithConnections('changed')}`,
        [
          params.user_id,
          ...given.map((field) => (field === 'external_user_id' ? body[field] || null : (body[field] ?? null))),
        ],
      )
      const [user] = foldUsers(rows)
      if (!user) throw errors.notFound('User', params.user_id)
      return user
    } catch (error) {
      throw duplicateUser(error)
    }
  },
)
