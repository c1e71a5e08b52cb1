import { textAt, valueAt } from '../answers.ts'
import type { Call, OAuth, Provider } from '../provider.ts'
import { brings } from './brings.ts'
import { map } from './mapping.ts'
import { streams, workouts } from './streams.ts'

const oauth: OAuth = {
  authorizeUrl: 'https://auth.sensorbio.com/authorize',
  tokenUrl: 'https://auth.sensorbio.com/token',
  client: 'body',
  pkce: false,
  scopes: [],
  separator: ' ',
  // How long a refresh token lives, and whether each refresh brings another one, is not known: new ones are kept.
  refresh: { rotates: true, idleDays: 7 },
  identify,
}

/** Sensor Bio's API v1. */
export const cloud: Provider = {
  id: 'sensorbio',
  api: {
    url: 'https://api.sensorbio.com',
    // Of our own: Sensor Bio publishes none, and its own client makes two or three a second.
    budgets: [{ per: 'application', seconds: 1, limit: 2, aligned: false, setting: 'REQUESTS_PER_SECOND' }],
    // It is said to refuse HTTP/1.1.
    http2: true,
  },
  oauth: () => oauth,
  map,
  brings,
  streams,
  workouts,
}

async function identify(_tokens: unknown, call: Call) {
  const { status, json } = await call({ path: '/v1/user' })
  const user = valueAt(json, 'data') ?? json
  const id = valueAt(user, 'id')
  const text = Number.isSafeInteger(id) || typeof id === 'string' ? String(id) : ''
  if (!/^[\w.@:-]{1,100}$/.test(text)) throw new Error(`Sensor Bio did not name the account (status ${status})`)
  return { id: text, username: textAt(user, 'name') ?? null, zone: null }
}
