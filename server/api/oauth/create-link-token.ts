import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { Instant, Provider, UserPath } from '../../http/schema.ts'
import { signLinkToken } from '../../oauth/link-token.ts'
import { checkRedirect } from '../../oauth/redirect.ts'
import { requireUser } from '../users/exists.ts'
import { RedirectUri } from './authorize.ts'
import { connectable } from './connectable.ts'

/** Makes a link that a person follows to connect a provider, without any other credential. */
export const createLinkToken = route(
  {
    method: 'POST',
    path: '/api/v1/users/{user_id}/link-tokens',
    operationId: 'createLinkToken',
    summary: 'Make a link for a user to connect a provider',
    description: 'Valid once, and for 15 minutes. The person opens `url` in a browser.',
    tag: 'Providers',
    guard: 'key',
    params: UserPath,
    body: Type.Object({ provider: Provider(), redirect_uri: RedirectUri() }),
    bodyExample: { provider: 'oura', redirect_uri: 'https://app.example.org/connected' },
    status: 201,
    response: Type.Object(
      { link_token: Type.String(), url: Type.String(), provider: Type.String(), expires_at: Instant() },
      { title: 'LinkToken' },
    ),
    example: {
      link_token: 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.…',
      url: 'http://localhost:8000/api/v1/oauth/oura/authorize?link_token=eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.…',
      provider: 'oura',
      expires_at: '2026-02-24T10:15:00Z',
    },
    errors: { 400: 'The body cannot be read, the provider cannot be connected, or a redirect_uri that is not allowed' },
  },
  async ({ params, body }, deps) => {
    const { provider, redirect_uri: redirectUri = null } = body
    await connectable(deps, provider)
    await requireUser(deps.db, params.user_id)
    if (redirectUri !== null) checkRedirect(redirectUri, deps.config)
    const { token, expiresAt } = await signLinkToken(deps.keys, { userId: params.user_id, provider, redirectUri })
    const url = `${deps.config.apiBaseUrl}/api/v1/oauth/${provider}/authorize?${new URLSearchParams({ link_token: token })}`
    return { link_token: token, url, provider, expires_at: `${expiresAt.toISOString().slice(0, 19)}Z` }
  },
)
