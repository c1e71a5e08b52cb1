import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { resultPage } from './result-page.ts'

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
    query: Type.Object({ message: Type.String({ maxLength: 2_000, default: 'OAuth authentication failed' }) }),
    response: Type.Object({ success: Type.Boolean(), message: Type.String() }, { title: 'ConnectionFailed' }),
    example: { success: false, message: 'access_denied: The user denied the request' },
    alsoProduces: { 'text/html': { schema: Type.String() } },
  },
  async ({ query, ctx }) => resultPage(ctx, 'The connection failed', { success: false, message: query.message }),
)
