import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Uuid } from '../../http/schema.ts'
import { deleteSamples } from '../../store/origins/delete-samples.ts'
import { changeEvents } from './change-events.ts'

/** Deletes a workout and its samples (contract 5.7). */
export const deleteWorkout = route(
  {
    method: 'DELETE',
    path: '/api/v1/users/{user_id}/events/workouts/{workout_id}',
    operationId: 'deleteWorkout',
    summary: 'Delete a workout',
    description:
      'Also deletes the samples that came with it, if the platform gave it an id; what was measured at the same time stays. It comes back if it is uploaded again.',
    tag: 'Events',
    guard: 'key',
    params: Type.Object({ user_id: Uuid(), workout_id: Uuid() }),
    status: 204,
    errors: { 404: 'Unknown user or workout' },
  },
  async ({ params: { user_id, workout_id } }, deps) =>
    changeEvents(deps, user_id, async (tx) => {
      const [workout] = await tx.query<{ provider: string; external_id: string | null }>(
        `delete from workout w using data_source d
         where w.id = $1 and w.user_id = $2 and d.id = w.source_id
         returning d.provider, w.external_id`,
        [workout_id, user_id],
      )
      if (!workout) throw errors.missing('Workout not found')
      const { provider, external_id } = workout
      // Without an id nothing distinguishes its samples from others of that time.
      if (external_id === null) return undefined
      await deleteSamples(tx, { userId: user_id, provider, sourceIds: [] }, [
        { externalId: external_id, seriesId: null },
      ])
      return undefined
    }),
)
