import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { Provider, Uuid } from '../../http/schema.ts'
import { Batch, batchExample } from './batch.ts'
import { batchHeaders, batchParameters, listUploads } from './batch-page.ts'

/** The uploads of all users, newest first (contract 9.1). */
export const listAllBatches = route(
  {
    method: 'GET',
    path: '/api/v1/sync/batches',
    operationId: 'listAllBatches',
    summary: 'Uploads of all users and the results of their imports',
    description: 'Newest first.',
    tag: 'SDK',
    guard: 'developer',
    query: Type.Object({ ...batchParameters, user_id: Type.Optional(Uuid()), provider: Type.Optional(Provider()) }),
    response: Type.Array(Batch),
    headers: batchHeaders,
    example: [batchExample],
    errors: { 400: 'Bad cursor' },
  },
  async ({ query: { user_id: userId = null, provider, ...query }, ctx }, deps) =>
    listUploads({ scope: 'all batches', userId, ...(provider && { provider }) }, query, ctx, deps),
)
