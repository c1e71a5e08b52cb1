import { Type } from 'typebox'
import { addEntry } from '../../db/bounded.ts'
import { apiKeyPrefix, hashApiKey, newApiKey } from '../../http/api-keys.ts'
import { route } from '../../http/route.ts'
import { developerOf } from '../auth/developer.ts'
import { API_KEY_COLUMNS, ApiKeyName, ApiKeyWithSecret, apiKeySecretExample } from './api-key.ts'

const API_KEYS = { name: 'API keys', countSql: 'select count(*) as count from api_key' }

/** Creates an API key and shows it, once (contract 11). */
export const createApiKey = route(
  {
    method: 'POST',
    path: '/api/v1/developer/api-keys',
    operationId: 'createApiKey',
    summary: 'Create an API key; only this answer shows it',
    tag: 'API keys',
    guard: 'developer',
    body: Type.Object({ name: ApiKeyName({ default: 'Default' }) }),
    bodyOptional: true,
    bodyExample: { name: 'Production' },
    status: 201,
    response: ApiKeyWithSecret,
    example: apiKeySecretExample,
    errors: { 409: 'There are 1000 already' },
  },
  async ({ auth, body }, { db }) => {
    const key = newApiKey()
    const row = await addEntry(db, API_KEYS, (tx) =>
      tx.one<object>(
        `insert into api_key (name, key_prefix, key_hash, created_by)
         values ($1, $2, $3, $4)
         returning ${API_KEY_COLUMNS}`,
        [body.name, apiKeyPrefix(key), hashApiKey(key), developerOf(auth)],
      ),
    )
    return { ...row, key }
  },
)
