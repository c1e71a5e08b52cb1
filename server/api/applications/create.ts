import { Type } from 'typebox'
import { addEntry } from '../../db/bounded.ts'
import { route } from '../../http/route.ts'
import { developerOf } from '../auth/developer.ts'
import {
  APPLICATION_COLUMNS,
  ApplicationWithSecret,
  applicationSecretExample,
  hashAppSecret,
  newAppId,
  newAppSecret,
} from './application.ts'

const APPLICATIONS = {
  name: 'applications',
  countSql: 'select count(*) as count from application where developer_id = $1',
}

/** Creates an application and shows its secret, once (contract 11). */
export const createApplication = route(
  {
    method: 'POST',
    path: '/api/v1/applications',
    operationId: 'createApplication',
    summary: 'Create an application; only this answer shows its secret',
    tag: 'Applications',
    guard: 'developer',
    body: Type.Object({ name: Type.String({ minLength: 1, maxLength: 100 }) }),
    bodyExample: { name: 'Pulse for iOS' },
    status: 201,
    response: ApplicationWithSecret,
    example: applicationSecretExample,
    errors: { 409: 'You have 1000 already' },
  },
  async ({ auth, body }, { db }) => {
    const secret = newAppSecret()
    const owner = developerOf(auth)
    const row = await addEntry(db, { ...APPLICATIONS, owner }, (tx) =>
      tx.one<object>(
        `insert into application (app_id, name, secret_hash, developer_id)
         values ($1, $2, $3, $4)
         returning ${APPLICATION_COLUMNS}`,
        [newAppId(), body.name, hashAppSecret(secret), owner],
      ),
    )
    return { ...row, app_secret: secret }
  },
)
