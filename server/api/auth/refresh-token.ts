import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { RefreshTokenBody, renewSession, TokenResponse, tokenExample } from './sessions.ts'

/** Exchanges a refresh token for a new pair of tokens (contract 9.8). */
export const refreshToken = route(
  {
    method: 'POST',
    path: '/api/v1/token/refresh',
    operationId: 'refreshToken',
    summary: 'Exchange a refresh token for new tokens',
    description:
      'For developers and phones alike: the new tokens are of the same kind. The old refresh token is spent. In case the ' +
      'answer was lost, it may be sent again until its successor has been used: for 60 seconds it returns the same one, ' +
      'later another in its place. Reusing it after that revokes every token from the same login.',
    tag: 'Auth',
    guard: 'public',
    share: 'login',
    body: RefreshTokenBody,
    bodyExample: { refresh_token: 'rt-0123456789abcdef0123456789abcdef' },
    response: TokenResponse,
    example: tokenExample,
    errors: { 401: 'Invalid or revoked refresh token' },
  },
  async ({ body }, deps) => {
    const tokens = await renewSession(deps, body.refresh_token)
    if (!tokens) throw errors.badRefreshToken()
    return tokens
  },
)
