import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Uuid } from '../../http/schema.ts'
import { DEVELOPER_COLUMNS, Developer, developerExample } from '../auth/developer.ts'

/** Path parameter of the routes of one developer. */
export const DeveloperPath = Type.Object({ developer_id: Uuid() })

/** One developer (contract 11). */
export const getDeveloper = route(
  {
    method: 'GET',
    path: '/api/v1/developers/{developer_id}',
    operationId: 'getDeveloper',
    summary: 'Get a developer',
    tag: 'Developers',
    guard: 'developer',
    params: DeveloperPath,
    response: Developer,
    example: developerExample,
    errors: { 404: 'Unknown developer' },
  },
  async ({ params }, { db }) => {
    const [row] = await db.query(`select ${DEVELOPER_COLUMNS} from developer where id = $1`, [params.developer_id])
    if (!row) throw errors.notFound('Developer', params.developer_id)
    return row
  },
)
