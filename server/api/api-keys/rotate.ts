import { errors } from '../../errors.ts'
import { apiKeyPrefix, hashApiKey, newApiKey } from '../../http/api-keys.ts'
import { route } from '../../http/route.ts'
import { API_KEY_COLUMNS, ApiKeyPath, ApiKeyWithSecret, apiKeySecretExample } from './api-key.ts'

/** Replaces the secret of an API key; the old one stops working at once, in every process (contract 11). */
export const rotateApiKey = route(
  {
    method: 'POST',
    path: '/api/v1/developer/api-keys/{key_id}/rotate',
    operationId: 'rotateApiKey',
    summary: 'Replace the secret of an API key; only this answer shows it',
    tag: 'API keys',
    guard: 'developer',
    params: ApiKeyPath,
    status: 201,
    response: ApiKeyWithSecret,
    example: apiKeySecretExample,
    errors: { 404: 'Unknown API key' },
  },
  async ({ params }, { db, apiKeys }) => {
    const key = newApiKey()
    const [row] = await db.query<object>(
      `update api_key set key_prefix = $2, key_hash = $3, last_used_at = null where id = $1 returning ${API_KEY_COLUMNS}`,
      [params.key_id, apiKeyPrefix(key), hashApiKey(key)],
    )
    if (!row) throw errors.notFound('Api key', params.key_id)
    apiKeys.forget()
    return { ...row, key }
  },
)
