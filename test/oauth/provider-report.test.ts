import t from 'tap'
import { providerReport } from '../../server/oauth/provider-report.ts'
import type { Notices } from '../../server/providers/notices.ts'
import { connectorOf } from '../support/oauth-provider.ts'

t.test('says what to register at each provider, and what is not yet set', async (t) => {
  const polar = { ...connectorOf('polar', 'https://polar.example'), settings: ['AUTH_HOST'] }
  const strava = connectorOf('strava', 'https://strava.example', { scopes: [] })
  const providers = {
    polar: { clientId: 'id', clientSecret: 'hush', defaultScope: 'x:read' },
    strava: { clientId: 'id' },
  }
  const clouds = new Map([polar, strava].map((one) => [one.id, one]))
  const said: Notices = { limitBytes: 1, verify: () => 'refused', accounts: () => [], open: () => [] }
  const notifying = new Map([['polar', { ...said, secrets: ['WEBHOOK_KEY'], addressSecret: 'WEBHOOK_KEY' }]])
  const report = providerReport(clouds, notifying, { providers, apiBaseUrl: 'https://us.example' })
  t.equal(
    report,
    `Polar (polar)
  redirect address  https://us.example/api/v1/oauth/polar/callback
  notifications     https://us.example/api/v1/providers/polar/webhooks/<POLAR_WEBHOOK_KEY>, to be entered there, once POLAR_WEBHOOK_KEY is set
  asks for          x:read
  configured        yes
  may be set        POLAR_AUTH_HOST, POLAR_WEBHOOK_KEY

Strava (strava)
  redirect address  https://us.example/api/v1/oauth/strava/callback
  asks for          nothing by name
  configured        no: set STRAVA_CLIENT_SECRET`,
  )
  const set = { ...providers, polar: { ...providers.polar, more: { WEBHOOK_KEY: 'hush' } } }
  t.match(
    providerReport(clouds, notifying, { providers: set, apiBaseUrl: 'https://us.example' }),
    'webhooks/<POLAR_WEBHOOK_KEY>, to be entered there\n',
  )
  const saidOnce = { ...said, givesSigningSecret: true } as const
  t.match(
    providerReport(clouds, new Map([['polar', saidOnce]]), { providers, apiBaseUrl: 'https://us.example' }),
    'signing secret    said once, when Pulsebase subscribes: delete a subscription',
  )
  const byItself = { ...said, secrets: ['WEBHOOK_KEY'], accountSubscriptions: () => ({}) as never }
  t.match(
    providerReport(clouds, new Map([['polar', byItself]]), { providers, apiBaseUrl: 'https://us.example' }),
    'providers/polar/webhooks\n',
    'nothing to enter where each account is subscribed to by itself',
  )
})
