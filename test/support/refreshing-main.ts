// A process that refreshes the grants of a provider of the tests (oauth-provider.ts) for the test that started it: a
// message {callers, grant} is answered with what each of them got.
import { pino } from 'pino'
import { openDatabase } from '../../server/db/database.ts'
import { createMetrics } from '../../server/metrics.ts'
import { openAccessTokens } from '../../server/oauth/refresh.ts'
import { oauthClients } from '../../server/provider-client/clients.ts'
import { openHttp } from '../../server/provider-client/http.ts'
import { openVault } from '../../server/vault.ts'
import { connectorOf } from './oauth-provider.ts'

const {
  DATABASE_URL: url = '',
  SECRET_KEY = '',
  ORIGIN = '',
  CLIENT_ID = '',
  CLIENT_SECRET = '',
  DATA_DIR = '',
} = process.env
const db = openDatabase({ url, name: 'refreshing', maxConnections: 2, statementTimeoutMs: 10_000, onError() {} })
const providers = { polar: { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET } }
const tokens = openAccessTokens({
  ...{ db, saving: db, http: openHttp(), metrics: createMetrics(), log: pino({ level: 'silent' }), identifyMs: 0 },
  connected: async () => {},
  vault: openVault(SECRET_KEY),
  clients: oauthClients(new Map([['polar', connectorOf('polar', ORIGIN)]]), { providers, apiBaseUrl: 'http://us' }),
  settings: {
    outgoingWebhooksEnabled: false,
    eventFeedEnabled: false,
    dataGranularity: 'raw',
    ingestWorkoutSamples: false,
    deleteDataOnDeauthorisation: [],
    dataDir: DATA_DIR,
  },
})

process.on('message', async ({ callers, grant }: { callers: number; grant: string }) => {
  const got = Array.from({ length: callers }, () =>
    tokens.access(grant).then(
      ({ token }) => token,
      (error: Error) => `failed: ${error.message}`,
    ),
  )
  process.send?.(await Promise.all(got))
})
// The test has ended: stop.
process.on('disconnect', () => process.exit())
process.send?.('ready')
