import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { Limit, UserPath } from '../../http/schema.ts'
import { requireUser } from '../users/exists.ts'
import { Batch, batchExample, LISTED_BATCH_COLUMNS } from './batch.ts'

/** The uploads of a user, newest first (sdk-payload 5.2). */
export const listBatches = route(
  {
    method: 'GET',
    path: '/api/v1/sdk/users/{user_id}/sync/batches',
    operationId: 'listSdkBatches',
    summary: 'Uploads of a user and the results of their imports',
    tag: 'SDK',
    guard: 'sdk or key',
    params: UserPath,
    query: Type.Object({ limit: Limit(200, 20) }),
    response: Type.Array(Batch),
    example: [batchExample],
  },
  async ({ params, query }, { db }) => {
    await requireUser(db, params.user_id)
    return db.query(
      `select ${LISTED_BATCH_COLUMNS} from upload where user_id = $1 and channel = 'sdk' order by seq desc limit $2`,
      [params.user_id, query.limit],
    )
  },
)
