import { Type } from 'typebox'
import { providerByName } from '../../catalogue/providers.ts'
import { route } from '../../http/route.ts'
import { resultPage } from './result-page.ts'

/** Says that a provider was connected (contract 6.6). */
export const connectionSucceeded = route(
  {
    method: 'GET',
    path: '/api/v1/oauth/success',
    operationId: 'connectionSucceeded',
    summary: 'Page of a connection that succeeded',
    tag: 'Providers',
    guard: 'public',
    share: 'own',
    query: Type.Object({ provider: Type.String({ maxLength: 50 }), user_id: Type.String({ maxLength: 50 }) }),
    response: Type.Object(
      { success: Type.Boolean(), message: Type.String(), user_id: Type.String(), provider: Type.String() },
      { title: 'ConnectionSucceeded' },
    ),
    example: {
      success: true,
      message: 'Successfully connected to oura',
      user_id: '0b0c2f7e-5d5f-4a0b-9c59-3f1f6c6a8e11',
      provider: 'oura',
    },
    alsoProduces: { 'text/html': { schema: Type.String() } },
  },
  async ({ query, ctx }) => {
    const { provider, user_id } = query
    const name = providerByName.get(provider)?.name
    const title = name === undefined ? 'Connected' : `${name} is connected`
    const result = { success: true, message: `Successfully connected to ${provider}`, user_id, provider }
    return resultPage(ctx, { title, paragraphs: ['You can close this window.'] }, result)
  },
)
