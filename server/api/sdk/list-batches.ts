import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { UserPath } from '../../http/schema.ts'
import { requireUser } from '../users/exists.ts'
import { Batch, batchExample } from './batch.ts'
import { batchHeaders, batchParameters, listUploads } from './batch-page.ts'

/** The uploads of a user, newest first (sdk-payload 5.2). */
export const listBatches = route(
  {
    method: 'GET',
    path: '/api/v1/sdk/users/{user_id}/sync/batches',
    operationId: 'listSdkBatches',
    summary: 'Uploads of a user and the results of their imports',
    description: 'Newest first.',
    tag: 'SDK',
    guard: 'sdk or key',
    params: UserPath,
    query: Type.Object(batchParameters),
    response: Type.Array(Batch),
    headers: batchHeaders,
    example: [batchExample],
    errors: { 400: 'Bad cursor' },
  },
  async ({ params, query, ctx }, deps) => {
    await requireUser(deps.db, params.user_id)
    return listUploads({ scope: 'batches', userId: params.user_id }, query, ctx, deps)
  },
)
