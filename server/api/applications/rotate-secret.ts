import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { developerOf } from '../auth/developer.ts'
import {
  APPLICATION_COLUMNS,
  ApplicationPath,
  ApplicationWithSecret,
  applicationSecretExample,
  hashAppSecret,
  newAppSecret,
} from './application.ts'

/**
 * Replaces the secret of an application of the caller; the old one stops working at once (contract 11). Phones stay
 * signed in: they never knew it.
 */
export const rotateAppSecret = route(
  {
    method: 'POST',
    path: '/api/v1/applications/{app_id}/rotate-secret',
    operationId: 'rotateAppSecret',
    summary: 'Replace the secret of an application; only this answer shows it',
    description: 'Phones stay signed in. To sign them out as well, delete the application.',
    tag: 'Applications',
    guard: 'developer',
    params: ApplicationPath,
    response: ApplicationWithSecret,
    example: applicationSecretExample,
    errors: { 404: 'Application not found, or of another developer' },
  },
  async ({ auth, params }, { db }) => {
    const secret = newAppSecret()
    const [row] = await db.query<object>(
      `update application set secret_hash = $3 where app_id = $1 and developer_id = $2 returning ${APPLICATION_COLUMNS}`,
      [params.app_id, developerOf(auth), hashAppSecret(secret)],
    )
    if (!row) throw errors.missing('Application not found')
    return { ...row, app_secret: secret }
  },
)
