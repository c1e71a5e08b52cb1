import type { OAuth, Provider } from '../provider.ts'
import { brings } from './brings.ts'
import { map } from './mapping.ts'
import { streams } from './streams.ts'
import { whoIs } from './who-is.ts'

const oauth: OAuth = {
  authorizeUrl: 'https://auth.ultrahuman.com/authorise',
  tokenUrl: 'https://partner.ultrahuman.com/api/partners/oauth/token',
  client: 'body',
  pkce: false,
  scopes: ['ring_data', 'cgm_data', 'profile'],
  separator: ' ',
  needs: [{ anyOf: ['ring_data', 'cgm_data'], words: 'the data of your ring, or of your glucose sensor' }],
  // How long a refresh token lives is not said: perhaps a day, as an access token does.
  refresh: { rotates: true, idleDays: 0.5 },
  identify: (_tokens, call) => whoIs(call),
  leave: (_account, call) => {
    const { clientId, clientSecret } = call.settings
    return call({
      ...{ path: new URL('revoke', call.tokenUrl).href, method: 'POST', token: { in: 'form', name: 'token' } },
      form: { client_id: clientId, client_secret: clientSecret },
    })
  },
}

/** Ultrahuman's partner API. */
export const cloud: Provider = {
  id: 'ultrahuman',
  api: {
    url: 'https://partner.ultrahuman.com/api/partners/v1',
    // Of our own: Ultrahuman publishes none.
    budgets: [
      { per: 'application', seconds: 1, limit: 5, aligned: false, setting: 'REQUESTS_PER_SECOND' },
      { per: 'account', seconds: 1, limit: 1, aligned: false, setting: 'ACCOUNT_REQUESTS_PER_SECOND' },
    ],
    // It says nothing of why.
    problem: ({ status, json }) =>
      status === 403 && json === undefined
        ? 'status 403: Ultrahuman has not enabled access to data for this application, or the account has no ring'
        : undefined,
  },
  oauth: () => oauth,
  map,
  brings,
  streams,
}
