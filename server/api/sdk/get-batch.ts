import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Uuid } from '../../http/schema.ts'
import { requireUser } from '../users/exists.ts'
import { BATCH_COLUMNS, Batch, batchExample } from './batch.ts'

/** One upload and the result for each of its items (sdk-payload 5.2). */
export const getBatch = route(
  {
    method: 'GET',
    path: '/api/v1/sdk/users/{user_id}/sync/batches/{batch_id}',
    operationId: 'getSdkBatch',
    summary: 'One upload and the result of its import',
    tag: 'SDK',
    guard: 'sdk or key',
    params: Type.Object({ user_id: Uuid(), batch_id: Uuid() }),
    response: Batch,
    example: batchExample,
    errors: { 404: 'Unknown user or batch' },
  },
  async ({ params }, { db }) => {
    const [batch] = await db.query(`select ${BATCH_COLUMNS} from upload where id = $1 and user_id = $2`, [
      params.batch_id,
      params.user_id,
    ])
    if (!batch) {
      await requireUser(db, params.user_id)
      throw errors.notFound('Batch', params.batch_id)
    }
    return batch
  },
)
