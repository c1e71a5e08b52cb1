import { Type } from 'typebox'
import { violatedConstraint } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Uuid } from '../../http/schema.ts'
import { requireUser } from '../users/exists.ts'

/**
 * Imports a stored upload again with the mapping of today: a new batch over the same stored body. What did not change
 * is not touched; where a later upload said otherwise, this one now has the last word.
 */
export const importBatch = route(
  {
    method: 'POST',
    path: '/api/v1/sdk/users/{user_id}/sync/batches/{batch_id}/import',
    operationId: 'importSdkBatch',
    summary: 'Import a stored upload again',
    description:
      'Creates a new batch over the stored body. Values that a later upload changed are set back to this one.',
    tag: 'SDK',
    guard: 'key',
    params: Type.Object({ user_id: Uuid(), batch_id: Uuid() }),
    status: 202,
    response: Type.Object({ batch_id: Uuid(), run_id: Type.String() }),
    example: { batch_id: '5a0e4c1b-3c58-4c5e-8f3c-0d9f0f6f2c77', run_id: '5a0e4c1b-3c58-4c5e-8f3c-0d9f0f6f2c77' },
  },
  async ({ params }, { db }) => {
    const imported = db.query<{ batch_id: string; run_id: string }>(
      `select a.batch_id, a.run_key as run_id
       from upload u
       cross join lateral gen_random_uuid() again
       cross join lateral accept_upload(again, u.user_id, u.provider, u.sha256, null, 0, u.received, null,
                                        u.sync_session_id, u.sync_type, u.sdk_version, again::text) a
       where u.id = $1 and u.user_id = $2`,
      [params.batch_id, params.user_id],
    )
    const [batch] = await imported.catch((error) => {
      // Deleted in this moment, with its body.
      if (violatedConstraint(error) === 'upload_body_fkey') return []
      throw error
    })
    if (!batch) {
      await requireUser(db, params.user_id)
      throw errors.notFound('Batch', params.batch_id)
    }
    return { batch_id: batch.batch_id, run_id: batch.run_id }
  },
)
