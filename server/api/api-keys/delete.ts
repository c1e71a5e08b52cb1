import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { API_KEY_COLUMNS, ApiKey, ApiKeyPath, apiKeyExample } from './api-key.ts'

/** Deletes an API key, which stops working at once, in every process (contract 11). */
export const deleteApiKey = route(
  {
    method: 'DELETE',
    path: '/api/v1/developer/api-keys/{key_id}',
    operationId: 'deleteApiKey',
    summary: 'Delete an API key',
    tag: 'API keys',
    guard: 'developer',
    params: ApiKeyPath,
    response: ApiKey,
    example: apiKeyExample,
    errors: { 404: 'Unknown API key' },
  },
  async ({ params }, { db, apiKeys }) => {
    const [row] = await db.query(`delete from api_key where id = $1 returning ${API_KEY_COLUMNS}`, [params.key_id])
    if (!row) throw errors.notFound('Api key', params.key_id)
    apiKeys.forget()
    return row
  },
)
