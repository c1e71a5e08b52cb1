import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { isOurText } from '../../oauth/page-text.ts'
import { resultPage } from './result-page.ts'

/** What a page says of a message that may be anybody's, as a provider's is. */
const UNSAID = [
  'You did not allow access, or the provider ended the sign-in.',
  'To try again, go back to the app, or to whoever sent you here, and begin again there.',
]

/** Says why a provider was not connected (contract 6.6). */
export const connectionFailed = route(
  {
    method: 'GET',
    path: '/api/v1/oauth/error',
    operationId: 'connectionFailed',
    summary: 'Page of a connection that failed',
    tag: 'Providers',
    guard: 'public',
    share: 'own',
    query: Type.Object({
      message: Type.String({ maxLength: 2_000, default: 'OAuth authentication failed' }),
      proof: Type.String({
        ...{ maxLength: 50, default: '' },
        description: 'Shows that this service wrote the message; a page shows no other',
      }),
    }),
    response: Type.Object({ success: Type.Boolean(), message: Type.String() }, { title: 'ConnectionFailed' }),
    example: { success: false, message: 'access_denied: The user denied the request' },
    alsoProduces: { 'text/html': { schema: Type.String() } },
  },
  async ({ query: { message, proof }, ctx }, { keys }) => {
    const paragraphs = isOurText(keys, message, proof) ? [message] : UNSAID
    return resultPage(ctx, { title: 'Nothing was connected', paragraphs }, { success: false, message })
  },
)
