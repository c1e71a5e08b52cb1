import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { endSession, RefreshTokenBody } from './sessions.ts'

/** Revokes a refresh token and every other one of the same login (contract 9.8). */
export const revokeToken = route(
  {
    method: 'POST',
    path: '/api/v1/token/revoke',
    operationId: 'revokeToken',
    summary: 'Revoke a refresh token',
    tag: 'Auth',
    guard: 'public',
    share: 'login',
    body: RefreshTokenBody,
    bodyExample: { refresh_token: 'rt-0123456789abcdef0123456789abcdef' },
    status: 204,
    errors: { 404: 'Refresh token not found, or revoked before' },
  },
  async ({ body }, { db }) => {
    if (!(await endSession(db, body.refresh_token))) throw errors.missing('Refresh token not found')
  },
)
