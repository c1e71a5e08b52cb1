import { Type } from 'typebox'
import { violatedConstraint } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Uuid } from '../../http/schema.ts'
import { requireUser } from '../users/exists.ts'

/**
 * Imports a stored upload again by the current rules: a new batch with the same stored body. Unchanged rows are not
 * touched, and derived ones only where something changed; where a later upload differs, this one now wins.
 */
export const importBatch = route(
  {
    method: 'POST',
    path: '/api/v1/sdk/users/{user_id}/sync/batches/{batch_id}/import',
    operationId: 'importSdkBatch',
    summary: 'Import a stored upload again',
    description:
      'Creates a new batch from the stored body. Values that a later upload changed are set back to those of this one. ' +
      'Sleep sessions and menstrual cycles are rebuilt by the current rules, even if their items are unchanged.',
    tag: 'SDK',
    guard: 'key',
    params: Type.Object({ user_id: Uuid(), batch_id: Uuid() }),
    status: 202,
    response: Type.Object({ batch_id: Uuid(), run_id: Type.String() }),
    errors: { 404: 'Unknown user or batch', 409: 'The body is no longer kept' },
    example: { batch_id: '5a0e4c1b-3c58-4c5e-8f3c-0d9f0f6f2c77', run_id: '5a0e4c1b-3c58-4c5e-8f3c-0d9f0f6f2c77' },
  },
  async ({ params }, { db }) => {
    const [upload] = await db.query('select 1 from upload where id = $1 and user_id = $2', [
      params.batch_id,
      params.user_id,
    ])
    if (!upload) {
      await requireUser(db, params.user_id)
      throw errors.notFound('Batch', params.batch_id)
    }
    const [batch] = await db
      .query<{ batch_id: string; run_id: string }>('select batch_id, run_key as run_id from replay_upload($1)', [
        params.batch_id,
      ])
      .catch((error) => {
        // Removed at this moment.
        if (violatedConstraint(error) === 'upload_body_fkey') return []
        throw error
      })
    if (!batch) throw errors.conflict('The body of this upload is no longer kept.')
    return batch
  },
)
