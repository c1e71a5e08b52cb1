import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Uuid } from '../../http/schema.ts'
import { deleteCycle } from '../../store/cycles.ts'
import { hide } from '../../store/hidden.ts'
import { changeEvents } from './change-events.ts'

/** Deletes a menstrual cycle and its observations (contract 5.7). */
export const deleteMenstrualCycle = route(
  {
    method: 'DELETE',
    path: '/api/v1/users/{user_id}/events/menstrual-cycles/{cycle_id}',
    operationId: 'deleteMenstrualCycle',
    summary: 'Delete a menstrual cycle',
    description:
      'Also deletes everything observed in it; the other cycles are rebuilt from what is left. It comes back if the observations are uploaded again; a cycle that a provider gave as a whole stays deleted, unless the provider changes it afterwards.',
    tag: 'Events',
    guard: 'key',
    params: Type.Object({ user_id: Uuid(), cycle_id: Uuid() }),
    status: 204,
    errors: { 404: 'Unknown user or menstrual cycle' },
  },
  async ({ params: { user_id, cycle_id } }, deps) =>
    changeEvents(deps, user_id, async (tx) => {
      const deleted = await deleteCycle(tx, user_id, cycle_id)
      if (!deleted) throw errors.missing('Menstrual cycle record not found')
      const { provider, externalId, announced } = deleted
      if (externalId !== null) await hide(tx, { userId: user_id, provider }, 'menstrual_cycle', [externalId])
      return { type: 'menstrual_cycle', announced }
    }),
)
