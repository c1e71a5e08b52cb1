import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { UserPath } from '../../http/schema.ts'
import { requireUser } from '../users/exists.ts'

/** The types of workouts a user has (contract 5.3). */
export const listWorkoutTypes = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/events/workouts/types',
    operationId: 'listWorkoutTypes',
    summary: 'Types of workouts a user has',
    tag: 'Events',
    guard: 'key',
    fromReplicas: true,
    params: UserPath,
    response: Type.Array(Type.String()),
    example: ['cycling', 'running'],
  },
  async ({ params }, { db }) => {
    await requireUser(db, params.user_id)
    const rows = await db.query<{ type: string }>(
      'select distinct type collate "C" as type from workout where user_id = $1 order by 1',
      [params.user_id],
    )
    return rows.map(({ type }) => type)
  },
)
