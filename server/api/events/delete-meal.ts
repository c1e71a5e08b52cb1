import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Uuid } from '../../http/schema.ts'
import { hide } from '../../store/hidden.ts'
import { deleteMeal as deleteStored } from '../../store/meals.ts'
import { changeEvents } from './change-events.ts'

/** Deletes a meal and its nutrients (contract 5.7). */
export const deleteMeal = route(
  {
    method: 'DELETE',
    path: '/api/v1/users/{user_id}/events/meals/{meal_id}',
    operationId: 'deleteMeal',
    summary: 'Delete a meal',
    description: 'Also deletes its nutrients. A later upload or pull of the same id brings neither back.',
    tag: 'Events',
    guard: 'key',
    params: Type.Object({ user_id: Uuid(), meal_id: Uuid() }),
    status: 204,
    errors: { 404: 'Unknown user or meal' },
  },
  async ({ params: { user_id: userId, meal_id: mealId } }, deps) =>
    changeEvents(deps, userId, async (tx) => {
      const meal = await deleteStored(tx, userId, mealId)
      if (!meal) throw errors.missing('Meal not found')
      await hide(tx, { userId, provider: meal.provider }, 'meal', [meal.external_id])
      return undefined
    }),
)
