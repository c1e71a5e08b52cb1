import { route } from '../../http/route.ts'
import { DEVELOPER_COLUMNS, Developer, developerExample, developerOf } from './developer.ts'

/** The developer who owns the token (contract 11). */
export const me = route(
  {
    method: 'GET',
    path: '/api/v1/auth/me',
    operationId: 'getMe',
    summary: 'The logged-in developer',
    tag: 'Auth',
    guard: 'developer',
    response: Developer,
    example: developerExample,
  },
  async ({ auth }, { db }) => db.one(`select ${DEVELOPER_COLUMNS} from developer where id = $1`, [developerOf(auth)]),
)
