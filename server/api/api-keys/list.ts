import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { API_KEY_COLUMNS, ApiKey, apiKeyExample } from './api-key.ts'

/** Every API key of the instance, newest first, without its secret (contract 11). */
export const listApiKeys = route(
  {
    method: 'GET',
    path: '/api/v1/developer/api-keys',
    operationId: 'listApiKeys',
    summary: 'List the API keys',
    tag: 'API keys',
    guard: 'developer',
    response: Type.Array(ApiKey),
    example: [apiKeyExample],
  },
  async (_, { db }) => db.query(`select ${API_KEY_COLUMNS} from api_key order by created_at desc, id`),
)
