import { Type } from 'typebox'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { API_KEY_COLUMNS, ApiKey, ApiKeyName, ApiKeyPath, apiKeyExample } from './api-key.ts'

/** Renames an API key (contract 11). */
export const updateApiKey = route(
  {
    method: 'PATCH',
    path: '/api/v1/developer/api-keys/{key_id}',
    operationId: 'updateApiKey',
    summary: 'Rename an API key',
    tag: 'API keys',
    guard: 'developer',
    params: ApiKeyPath,
    body: Type.Object({ name: Type.Optional(ApiKeyName()) }),
    bodyExample: { name: 'Production' },
    response: ApiKey,
    example: apiKeyExample,
    errors: { 404: 'Unknown API key' },
  },
  async ({ params, body }, { db }) => {
    const [row] = await db.query(
      `update api_key set name = coalesce($2, name) where id = $1 returning ${API_KEY_COLUMNS}`,
      [params.key_id, body.name ?? null],
    )
    if (!row) throw errors.notFound('Api key', params.key_id)
    return row
  },
)
