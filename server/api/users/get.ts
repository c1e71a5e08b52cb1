import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { UserPath } from '../../http/schema.ts'
import {
  connectionsExample,
  foldUsers,
  USER_COLUMNS,
  type UserConnectionRow,
  UserDetail,
  UserInclude,
  userExample,
  usersWithConnections,
} from './user.ts'

const HAS_CYCLES_SQL = 'select exists (select from menstrual_cycle where user_id = $1) as found'

const ONE_USER = `(select ${USER_COLUMNS} from app_user where id = $1)`

/** One user in detail (contract 3.4). */
export const getUser = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}',
    operationId: 'getUser',
    summary: 'Get a user',
    tag: 'Users',
    guard: 'key',
    params: UserPath,
    query: Type.Object({ include: UserInclude() }),
    response: UserDetail,
    example: { ...userExample, connections: connectionsExample, has_womens_health_data: false },
  },
  async ({ params, query }, { db }) => {
    const rows = await db.query<UserConnectionRow>(usersWithConnections(ONE_USER), [params.user_id])
    const [user] = foldUsers(rows, query.include?.includes('connections'))
    if (!user) throw errors.notFound('User', params.user_id)
    const { found } = await db.one<{ found: boolean }>(HAS_CYCLES_SQL, [params.user_id])
    return { ...user, has_womens_health_data: found }
  },
)
