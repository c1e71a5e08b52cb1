import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { Reply, route } from '../../http/route.ts'
import { Secret } from '../../http/schema.ts'
import { browserOf } from '../../oauth/browser.ts'
import { complete, type Landing } from '../../oauth/flow.ts'
import { ProviderPath } from './authorize.ts'
import { isEnabled, requireOAuth } from './connectable.ts'

const given = (description: string) => Type.Optional(Type.String({ description }))

/** Completes the connection of a user to a provider, which sends the person's browser here (contract 6.5). */
export const completeConnection = route(
  {
    method: 'GET',
    path: '/api/v1/oauth/{provider}/callback',
    operationId: 'completeConnection',
    summary: 'Complete the connection of a user to a provider',
    description: 'The address to register at the provider. HEAD answers 200 and uses nothing up.',
    tag: 'Providers',
    guard: 'public',
    params: ProviderPath,
    query: Type.Object({
      code: Type.Optional(Secret({ description: 'Of the provider, valid once' })),
      state: Type.Optional(Secret({ description: 'Of authorize, valid once' })),
      scope: given('What was granted, if the provider says so here'),
      error: given('Why nothing was granted'),
      error_description: given('The same for people'),
    }),
    openQuery: true,
    // The provider is asked in between, without a connection to the database.
    share: 'own',
    status: 303,
    headers: { Location: 'The redirect_uri of authorize, or a page that says what happened' },
    errors: {
      400: 'A state that is unknown, expired, used or of another browser; or the provider refuses the code',
      500: 'The provider cannot be reached',
    },
  },
  async ({ params: { provider }, query, ctx }, { config, keys, oauth: parts }) => {
    requireOAuth(provider)
    const client = parts.clients.get(provider)
    if (!client) throw errors.notConfigured(provider)
    const browser = browserOf(ctx, config)
    const isStillEnabled = () => isEnabled(parts.db, provider)
    const landing = await complete({ parts, client, keys, browser, isEnabled: isStillEnabled }, query)
    return new Reply(303, 'text/plain', '', { Location: locationOf(landing, provider) })
  },
)

function locationOf(landing: Landing, provider: string): string {
  switch (landing.kind) {
    case 'page':
      return landing.uri
    case 'connected':
      return `/api/v1/oauth/success?${new URLSearchParams({ provider, user_id: landing.userId })}`
    case 'failed':
      return `/api/v1/oauth/error?${new URLSearchParams({ message: landing.message })}`
  }
}
