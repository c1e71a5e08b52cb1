// Accounts that are subscribed to by themselves: once they are connected, again when something else is wanted, and not at
// all where nobody wants notices. What comes to their secret address is taken, and nothing else.
import t from 'tap'
import { subscribeAccounts } from '../../../server/intake/notices/account-subscriptions.ts'
import { openAccessTokens } from '../../../server/oauth/refresh.ts'
import { notifyingProviders } from '../../../server/providers/index.ts'
import type { TestApp } from '../../support/app.ts'
import { connectAccount, startCloudApp } from '../../support/clouds.ts'
import { notify } from '../../support/notices.ts'
import { type OAuthProvider, startProvider } from '../../support/oauth-provider.ts'
import { createUser, oneEngine } from '../../support/sdk.ts'

const ADDRESS = 'https://us.example/api/v1/providers/withings/webhooks'

/** A provider with subscriptions as Withings has them, `appli address` each; `fails`: it answers nothing else. */
async function startNotifying(t: Parameters<typeof startProvider>[0]) {
  const provider = await startProvider(t, 'withings', {
    scopes: ['user.metrics'],
    scopePrefix: '',
    needs: [],
    pkce: false,
  })
  const own = { provider, subscribed: new Set<string>(), asked: [] as string[], fails: false }
  provider.fault = ({ path, form, authorization }, response) => {
    if (path !== '/notify') return false
    const { action = '', appli = '', callbackurl = '' } = form
    own.asked.push(`${action} ${appli}`.trim())
    const isKnown = provider.accepts(authorization.replace('Bearer ', ''))
    if (action === 'subscribe') own.subscribed.add(`${appli} ${callbackurl}`)
    if (action === 'revoke') own.subscribed.delete(`${appli} ${callbackurl}`)
    const profiles = [...own.subscribed].map((one) => {
      const [category = '', url = ''] = one.split(' ')
      return { appli: Number(category), callbackurl: url }
    })
    response.writeHead(own.fails ? 500 : isKnown ? 200 : 401, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ status: 0, body: { profiles } }))
    return true
  }
  return own
}

const meansOf = ({ deps: { db, oauth: parts } }: TestApp, apiBaseUrl = 'https://us.example') => ({
  ...{ db, parts, tokens: openAccessTokens(parts), apiBaseUrl, notifying: notifyingProviders },
})

const rowOf = (app: TestApp) =>
  app.db.query<{ error: string | null; settled: boolean; waits: boolean }>(
    `select error, address_sha256 is not null as settled, due_at > now() as waits from account_subscription`,
  )

const setMode = (app: TestApp, mode: string) =>
  app.db.query(
    `insert into provider_setting (provider, live_sync_mode) values ('withings', $1)
     on conflict (provider) do update set live_sync_mode = excluded.live_sync_mode`,
    [mode],
  )

const connected = async (t: Parameters<typeof startProvider>[0], engine: Parameters<typeof startCloudApp>[1]) => {
  const own = await startNotifying(t)
  const settings = { ...own.provider.config, more: { WEBHOOK_TOKEN: 'unguessable' } }
  const app = await startCloudApp(t, engine, [own.provider as OAuthProvider], { providers: { withings: settings } })
  const user = await createUser(app)
  await connectAccount(app, own.provider, user)
  return { ...own, own, app, user }
}

/** How live data of the connection comes, as developers see it. */
const modeOf = async (app: TestApp, user: string) =>
  (await app.request('GET', `/api/v1/users/${user}/connections`)).body[0].live_sync_mode

const at = (address: string) => ['1', '2', '4', '58'].map((appli) => `${appli} ${address}?token=unguessable`)

oneEngine(t, 'an account is subscribed to at the address that is wanted now', async (t, engine) => {
  const { app, subscribed, asked } = await connected(t, engine)
  t.equal(await subscribeAccounts(meansOf(app)), false)
  t.strictSame([...subscribed].sort(), at(ADDRESS))
  t.strictSame(await rowOf(app), [{ error: null, settled: true, waits: true }])
  asked.length = 0
  await subscribeAccounts(meansOf(app))
  t.strictSame(asked, [], 'compared once a day')

  await app.db.query(`update account_subscription set due_at = now()`)
  subscribed.delete(at(ADDRESS)[0] as string)
  subscribed.add('1 https://else.example/hooks')
  await subscribeAccounts(meansOf(app))
  t.strictSame([...subscribed].sort(), [...at(ADDRESS), '1 https://else.example/hooks'].sort(), 'and repaired')

  await subscribeAccounts(meansOf(app, 'https://moved.example'))
  const moved = at('https://moved.example/api/v1/providers/withings/webhooks')
  t.strictSame([...subscribed].sort(), [...moved, '1 https://else.example/hooks'].sort(), 'of others nothing goes')

  await app.db.query(`update provider_grant set granted_at = now() + interval '1 second'`)
  for (const one of moved) subscribed.delete(one)
  await subscribeAccounts(meansOf(app, 'https://moved.example'))
  t.equal(subscribed.size, 5, 'again after a new consent')

  await setMode(app, 'pull')
  await subscribeAccounts(meansOf(app, 'https://moved.example'))
  t.strictSame([[...subscribed], await rowOf(app)], [['1 https://else.example/hooks'], []])
  asked.length = 0
  await subscribeAccounts(meansOf(app, 'https://moved.example'))
  t.strictSame(asked, [])
})

oneEngine(
  t,
  'an account that cannot be subscribed to is tried later, and pulled as often as without',
  async (t, engine) => {
    const { own, app, user, asked } = await connected(t, engine)
    own.fails = true
    await subscribeAccounts(meansOf(app))
    t.strictSame(await rowOf(app), [{ error: 'status 500', settled: false, waits: true }])
    t.equal(await modeOf(app, user), 'pull')
    asked.length = 0
    await subscribeAccounts(meansOf(app))
    t.strictSame(asked, [], 'not at once')
    own.fails = false
    await app.db.query(`update account_subscription set due_at = now()`)
    await subscribeAccounts(meansOf(app))
    t.strictSame(await rowOf(app), [{ error: null, settled: true, waits: true }])
    t.equal(await modeOf(app, user), 'webhook')
  },
)

oneEngine(t, 'a form that comes to the secret address is taken', async (t, engine) => {
  const { app } = await connected(t, engine)
  const form = 'userid=70012345&appli=1&startdate=1772866800&enddate=1772866801'
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const send = (query: string, body = form) => notify(app, 'withings', body, { headers, query })
  t.equal((await send('?token=unguessable')).status, 200)
  t.equal((await send('', `${form}&token=unguessable`)).status, 200)
  t.strictSame(
    [(await send('')).status, (await send('?token=unguessabl')).status, (await send('?k=unguessable')).status],
    [401, 401, 401],
  )
  const path = '/api/v1/providers/withings/webhooks'
  t.equal((await app.request('GET', path, { auth: 'none' })).status, 200)
  t.equal((await app.request('HEAD', path, { auth: 'none' })).status, 200)
  const stored = await app.db.query<{ body: Buffer; signed: boolean }>(
    'select body, signed from notification order by id',
  )
  t.strictSame(
    stored.map(({ body, signed }) => [String(body), signed]),
    [
      [form, true],
      [`${form}&token=unguessable`, true],
    ],
  )
})
