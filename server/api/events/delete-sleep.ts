import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Uuid } from '../../http/schema.ts'
import { deleteWith } from '../../store/deletions.ts'
import { hide } from '../../store/hidden.ts'
import { deleteNightSession } from '../../store/sleep/nights.ts'
import { deleteSession } from '../../store/sleep/sleep.ts'
import { changeEvents } from './change-events.ts'

/** Deletes a sleep session, its stages and its score (contract 5.7). */
export const deleteSleepSession = route(
  {
    method: 'DELETE',
    path: '/api/v1/users/{user_id}/events/sleep/{sleep_id}',
    operationId: 'deleteSleepSession',
    summary: 'Delete a sleep session',
    description:
      'Also deletes its stages, its scores, the samples that came with it, and the time in bed that only another source reported. A later upload or pull of the same ids does not bring it back, unless the provider changed it after the deletion; what has no id comes back.',
    tag: 'Events',
    guard: 'key',
    params: Type.Object({ user_id: Uuid(), sleep_id: Uuid() }),
    status: 204,
    errors: { 404: 'Unknown user or sleep session' },
  },
  async ({ params: { user_id, sleep_id } }, deps) =>
    changeEvents(deps, user_id, async (tx) => {
      const [row] = await tx.query<{
        source_id: number
        session: string
        provider: string
        start_ms: number
        end_ms: number
      }>(
        `select s.source_id, s.session, d.provider, round(date_part('epoch', s.start_at) * 1000) as start_ms,
                round(date_part('epoch', s.end_at) * 1000) as end_ms
         from sleep s
         join data_source d on d.id = s.source_id
         where s.id = $1 and s.user_id = $2`,
        [sleep_id, user_id],
      )
      if (!row) throw errors.missing('Sleep session not found')
      const { source_id: sourceId, session, start_ms: startMs, end_ms: endMs } = row
      const target = { userId: user_id, provider: row.provider, scope: null, sourceIds: [] }
      const given = await deleteNightSession(tx, target, sleep_id)
      if (given) await deleteWith(tx, target, given.externalIds)
      const { externalIds, announced } =
        given ?? (await deleteSession(tx, target, { id: sleep_id, sourceId, session, startMs, endMs }))
      await hide(tx, target, 'sleep', externalIds)
      return { type: 'sleep', announced }
    }),
)
