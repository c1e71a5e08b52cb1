import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Uuid } from '../../http/schema.ts'
import { deleteWith } from '../../store/deletions.ts'
import { hide } from '../../store/hidden.ts'
import { deleteWorkout as deleteStored } from '../../store/workouts.ts'
import { changeEvents } from './change-events.ts'

/** Deletes a workout and its samples (contract 5.7). */
export const deleteWorkout = route(
  {
    method: 'DELETE',
    path: '/api/v1/users/{user_id}/events/workouts/{workout_id}',
    operationId: 'deleteWorkout',
    summary: 'Delete a workout',
    description:
      'Also deletes the samples that came with it, if the platform gave it an id; what was measured at the same time stays. A later upload or pull of the same id does not bring it back, unless the provider changed it after the deletion; without an id it comes back.',
    tag: 'Events',
    guard: 'key',
    params: Type.Object({ user_id: Uuid(), workout_id: Uuid() }),
    status: 204,
    errors: { 404: 'Unknown user or workout' },
  },
  async ({ params: { user_id, workout_id } }, deps) =>
    changeEvents(deps, user_id, async (tx) => {
      const workout = await deleteStored(tx, user_id, workout_id)
      if (!workout) throw errors.missing('Workout not found')
      // Without an id nothing distinguishes its samples from others of that time.
      const { provider, ids } = workout
      await deleteWith(tx, { userId: user_id, provider, scope: null, sourceIds: [] }, ids)
      await hide(tx, { userId: user_id, provider }, 'workout', ids)
      return undefined
    }),
)
