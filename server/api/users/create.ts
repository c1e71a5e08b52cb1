import { route } from '../../http/route.ts'
import {
  duplicateUser,
  foldUsers,
  USER_COLUMNS,
  User,
  type UserConnectionRow,
  UserFields,
  userExample,
  usersWithConnections,
} from './user.ts'

/** Creates a user; every field is optional (contract 3.3). */
export const createUser = route(
  {
    method: 'POST',
    path: '/api/v1/users',
    operationId: 'createUser',
    summary: 'Create a user',
    tag: 'Users',
    guard: 'key',
    body: UserFields,
    bodyExample: { first_name: 'Ada', email: 'ada@example.org' },
    status: 201,
    response: User,
    example: { ...userExample, last_synced_at: null, last_synced_provider: null, has_active_connection: false },
    errors: { 409: 'The email address or external_user_id belongs to another user' },
  },
  async ({ body }, { db }) => {
    try {
      const rows = await db.query<UserConnectionRow>(
        `with created as (
           insert into app_user (first_name, last_name, email, external_user_id)
           values ($1, $2, $3, $4)
           returning ${USER_COLUMNS}
         )
         ${usersWithConnections('created')}`,
        [body.first_name ?? null, body.last_name ?? null, body.email ?? null, body.external_user_id || null],
      )
      return foldUsers(rows)[0]
    } catch (error) {
      throw duplicateUser(error)
    }
  },
)
