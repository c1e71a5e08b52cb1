import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { UserPath, Uuid } from '../../http/schema.ts'
import { endPhoneSessions } from '../auth/sessions.ts'
import { requireUser } from '../users/exists.ts'

/** Signs out one phone of a user, for example a lost one. */
export const signOutPhone = route(
  {
    method: 'DELETE',
    path: '/api/v1/users/{user_id}/phones/{phone_id}',
    operationId: 'signOutPhone',
    summary: 'Sign out a phone of a user',
    description: 'Its tokens stop working at once. Its data and its connection stay.',
    tag: 'Phones',
    guard: 'developer',
    params: Type.Object({ ...UserPath.properties, phone_id: Uuid() }),
    status: 204,
    errors: { 404: 'Unknown user, or a phone that is not signed in to this user' },
  },
  async ({ params }, { db }) => {
    await requireUser(db, params.user_id)
    if ((await endPhoneSessions(db, params.user_id, params.phone_id)) === 0) throw errors.missing('Phone not found')
  },
)
