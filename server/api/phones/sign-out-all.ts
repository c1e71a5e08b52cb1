import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { UserPath } from '../../http/schema.ts'
import { endPhoneSessions } from '../auth/sessions.ts'
import { requireUser } from '../users/exists.ts'

/** Signs out every phone of a user. */
export const signOutPhones = route(
  {
    method: 'DELETE',
    path: '/api/v1/users/{user_id}/phones',
    operationId: 'signOutPhones',
    summary: 'Sign out all phones of a user',
    description: 'Their tokens stop working at once; an unused invitation code stays valid.',
    tag: 'Phones',
    guard: 'developer',
    params: UserPath,
    response: Type.Object({ signed_out: Type.Integer() }),
    example: { signed_out: 2 },
  },
  async ({ params }, { db }) => {
    await requireUser(db, params.user_id)
    return { signed_out: await endPhoneSessions(db, params.user_id) }
  },
)
