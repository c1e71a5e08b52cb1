import { Type } from 'typebox'
import { Reply } from '../../http/reply.ts'
import { route } from '../../http/route.ts'
import { Secret } from '../../http/schema.ts'
import type { Keys } from '../../http/tokens.ts'
import { browserOf } from '../../oauth/browser.ts'
import { complete, type Landing } from '../../oauth/flow.ts'
import { signText } from '../../oauth/page-text.ts'
import { requireClient } from '../../provider-client/clients.ts'
import { ProviderPath } from './authorize.ts'
import { isEnabled, requireOAuth } from './connectable.ts'
import { failurePage } from './failure-page.ts'

const given = (description: string) => Type.Optional(Type.String({ description }))

/** Completes the connection of a user to a provider, which sends the person's browser here (contract 6.5). */
export const completeConnection = route(
  {
    method: 'GET',
    path: '/api/v1/oauth/{provider}/callback',
    operationId: 'completeConnection',
    summary: 'Complete the connection of a user to a provider',
    description:
      'The address to register at the provider. HEAD answers 200 and uses nothing up. A browser gets errors as a page.',
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
    failurePage,
    headers: { Location: 'The redirect_uri of authorize, or a page that says what happened' },
    errors: {
      400: 'A state that is unknown, expired, used or of another browser; or the provider refuses the code',
      500: 'The provider cannot be reached',
    },
  },
  async ({ params: { provider }, query, ctx }, { config, keys, oauth: parts }) => {
    requireOAuth(provider)
    const client = requireClient(parts.clients, provider)
    const browser = browserOf(ctx, config)
    const isStillEnabled = () => isEnabled(parts.db, provider)
    const landing = await complete({ parts, client, keys, browser, isEnabled: isStillEnabled }, query)
    return new Reply(303, 'text/plain', '', { Location: locationOf(landing, provider, keys) })
  },
)

function locationOf(landing: Landing, provider: string, keys: Keys): string {
  switch (landing.kind) {
    case 'page':
      return landing.uri
    case 'connected':
      return `/api/v1/oauth/success?${new URLSearchParams({ provider, user_id: landing.userId })}`
    case 'failed': {
      const { message, isOurs } = landing
      return `/api/v1/oauth/error?${new URLSearchParams({ message, ...(isOurs && { proof: signText(keys, message) }) })}`
    }
  }
}
