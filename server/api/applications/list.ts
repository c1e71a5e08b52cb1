import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { developerOf } from '../auth/developer.ts'
import { APPLICATION_COLUMNS, Application, applicationExample } from './application.ts'

/** The caller's applications, newest first, without their secrets (contract 11). */
export const listApplications = route(
  {
    method: 'GET',
    path: '/api/v1/applications',
    operationId: 'listApplications',
    summary: 'List your applications',
    tag: 'Applications',
    guard: 'developer',
    response: Type.Array(Application),
    example: [applicationExample],
  },
  async ({ auth }, { db }) =>
    db.query(`select ${APPLICATION_COLUMNS} from application where developer_id = $1 order by created_at desc, id`, [
      developerOf(auth),
    ]),
)
