import t from 'tap'
import { providerReport } from '../../server/oauth/provider-report.ts'
import { connectorOf } from '../support/oauth-provider.ts'

t.test('says what to register at each provider, and what is not yet set', async (t) => {
  const polar = { ...connectorOf('polar', 'https://polar.example'), settings: ['AUTH_HOST'] }
  const strava = connectorOf('strava', 'https://strava.example', { scopes: [] })
  const providers = {
    polar: { clientId: 'id', clientSecret: 'hush', defaultScope: 'x:read' },
    strava: { clientId: 'id' },
  }
  const clouds = new Map([polar, strava].map((one) => [one.id, one]))
  const report = providerReport(clouds, { providers, apiBaseUrl: 'https://us.example' })
  t.equal(
    report,
    `Polar (polar)
  redirect address  https://us.example/api/v1/oauth/polar/callback
  asks for          x:read
  configured        yes
  may be set        POLAR_AUTH_HOST

Strava (strava)
  redirect address  https://us.example/api/v1/oauth/strava/callback
  asks for          nothing by name
  configured        no: set STRAVA_CLIENT_SECRET`,
  )
  t.match(providerReport(new Map(), { providers, apiBaseUrl: 'https://us.example' }), 'no connector')
})
