import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { developerOf } from '../auth/developer.ts'
import { ApplicationPath } from './application.ts'

/** Deletes an application of the caller, and with it the session of every phone that it let in (contract 11). */
export const deleteApplication = route(
  {
    method: 'DELETE',
    path: '/api/v1/applications/{app_id}',
    operationId: 'deleteApplication',
    summary: 'Delete an application and sign out its phones',
    tag: 'Applications',
    guard: 'developer',
    params: ApplicationPath,
    status: 204,
    errors: { 404: 'Application not found, or of another developer' },
  },
  async ({ auth, params }, { db }) => {
    const [row] = await db.query('delete from application where app_id = $1 and developer_id = $2 returning id', [
      params.app_id,
      developerOf(auth),
    ])
    if (!row) throw errors.missing('Application not found')
  },
)
