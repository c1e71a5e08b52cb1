import { Type } from 'typebox'
import { SLEEP_COLUMNS, type SleepRow, sleepItem } from '../../events/sleep.ts'
import { route } from '../../http/route.ts'
import { Uuid } from '../../http/schema.ts'
import { SleepSession, sleepExample } from './list-sleep.ts'
import { answerEvent } from './one-event.ts'

const kind = { table: 'sleep', columns: `${SLEEP_COLUMNS}, e.stages`, missing: 'Sleep session not found' }

/** One sleep session with its stages (contract 5.4). */
export const getSleepSession = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/events/sleep/{sleep_id}',
    operationId: 'getSleepSession',
    summary: 'A sleep session with its stages',
    tag: 'Events',
    guard: 'key',
    fromReplicas: true,
    params: Type.Object({ user_id: Uuid(), sleep_id: Uuid() }),
    revalidated: true,
    response: SleepSession,
    example: sleepExample,
    errors: { 404: 'Unknown user or sleep session' },
  },
  async ({ params: { user_id: userId, sleep_id: id }, ctx }, { db }) =>
    answerEvent<SleepRow>(db, kind, { userId, id, ctx }, sleepItem),
)
