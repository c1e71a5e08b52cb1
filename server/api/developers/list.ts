import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { DEVELOPER_COLUMNS, Developer, developerExample } from '../auth/developer.ts'

/** Every developer of the instance, oldest first (contract 11). */
export const listDevelopers = route(
  {
    method: 'GET',
    path: '/api/v1/developers',
    operationId: 'listDevelopers',
    summary: 'List the developers',
    tag: 'Developers',
    guard: 'developer',
    response: Type.Array(Developer),
    example: [developerExample],
  },
  async (_, { db }) => db.query(`select ${DEVELOPER_COLUMNS} from developer order by created_at, id`),
)
