import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { Confirmation, Secret } from '../../http/schema.ts'
import { developerOf } from './developer.ts'
import { endSession } from './sessions.ts'

/**
 * Logs out (contract 11): the client drops its access token. A refresh token in the body is revoked as well; an unknown
 * one, or another developer's, changes nothing.
 */
export const logout = route(
  {
    method: 'POST',
    path: '/api/v1/auth/logout',
    operationId: 'logout',
    summary: 'Log out, and revoke the refresh token if it is given',
    tag: 'Auth',
    guard: 'developer',
    share: 'login',
    body: Type.Object({ refresh_token: Type.Optional(Secret()) }),
    bodyOptional: true,
    bodyExample: { refresh_token: 'rt-0123456789abcdef0123456789abcdef' },
    response: Confirmation,
    example: { message: 'Successfully logged out' },
  },
  async ({ auth, body }, { db }) => {
    if (body.refresh_token) await endSession(db, body.refresh_token, developerOf(auth))
    return { message: 'Successfully logged out' }
  },
)
