import { Type } from 'typebox'
import { Instant, Nullable, Uuid } from '../../http/schema.ts'

/** ApiKeyRead of contract 11, and when the key was last used (written back every 30 seconds). */
export const ApiKey = Type.Object(
  {
    id: Uuid(),
    name: Type.String(),
    key_prefix: Type.String({ description: 'The first characters of the key' }),
    created_by: Nullable(Uuid()),
    created_at: Instant(),
    last_used_at: Nullable(Instant()),
  },
  { title: 'ApiKey' },
)

/** ApiKeyReadWithSecret: the only answer that ever shows the key. */
export const ApiKeyWithSecret = Type.Object({ ...ApiKey.properties, key: Type.String() }, { title: 'ApiKeyWithSecret' })

/** The columns of `ApiKey`. */
export const API_KEY_COLUMNS = 'id, name, key_prefix, created_by, created_at, last_used_at'

/** Path parameter of the routes of one key. */
export const ApiKeyPath = Type.Object({ key_id: Uuid() })

/** Limits of a key's name. */
export const ApiKeyName = (options: object = {}) => Type.String({ minLength: 1, maxLength: 100, ...options })

/** An `ApiKey` for the API description. */
export const apiKeyExample = {
  id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
  name: 'Production',
  key_prefix: 'sk-1a2b3c',
  created_by: 'd0b7f6a4-3c55-4a53-9f5e-0e8f3c1f7a11',
  created_at: '2026-02-24T10:00:00Z',
  last_used_at: null,
}

/** An `ApiKeyWithSecret` for the API description. */
export const apiKeySecretExample = { ...apiKeyExample, key: 'sk-1a2b3c4d5e6f708192a3b4c5d6e7f809' }
