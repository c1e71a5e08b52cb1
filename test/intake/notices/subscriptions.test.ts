// Providers are told where to notify: every row of the table of registrations (contract 8.2), against simulated providers
// that make sure of the address while they are asked.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { keepGiven } from '../../../server/intake/notices/keys.ts'
import { repairAll } from '../../../server/intake/notices/subscribe-jobs.ts'
import { repairSubscriptions } from '../../../server/intake/notices/subscriptions.ts'
import { notifyingProviders } from '../../../server/providers/index.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { notify, signs } from '../../support/notices.ts'
import { type Simulated, startSimulated } from '../../support/people.ts'
import { oneEngine } from '../../support/sdk.ts'

const other = async (app: TestApp, provider: string, more: Record<string, string>) => {
  const client = app.deps.oauth.clients.get(provider)
  if (!client) throw new Error(provider)
  const { settings, apiUrl, provider: connector } = client
  const oauth = client.oauth(null)
  const addresses = { apiUrl, authorizeUrl: oauth.authorizeUrl, tokenUrl: oauth.tokenUrl }
  const changed = { ...settings, ...addresses, more: { ...settings.more, ...more } }
  return app.another({ providers: { [connector.id]: changed } })
}

/** Of those that the simulator has given away. */
type Secret = { kind: string; provider: string; value: string }

const DAY_MS = 86_400_000

const at = (provider: string) => `/api/v1/providers/${provider}/webhooks/subscriptions`

const ask = async (app: TestApp, method: string, path: string) => {
  const { status, body } = await app.request(method, path, { auth: 'developer' })
  return { status, body }
}

const to = (url: string) => `callback_url=${encodeURIComponent(url)}`

const callback = (app: TestApp, provider: string, more = '') =>
  `${app.url}/api/v1/providers/${provider}/webhooks${more}`

const repair = ({ oauth, notices }: TestApp['deps']) => repairAll({ parts: oauth, noticesOf: notices.noticesOf })

const there = async ({ simulator }: Simulated, provider: string) =>
  ((await simulator.control('GET', 'subscriptions')).body as { provider: string; url: string }[]).filter(
    (one) => one.provider === provider,
  )

oneEngine(t, 'who may, and what is not offered', async (t, engine) => {
  const { app } = await startSimulated(t, engine, { world: { people: 1, days: 1 } })
  const url = to(callback(app, 'oura'))
  t.equal((await app.request('GET', at('oura'))).status, 401, 'developers only')
  const cases: [method: string, path: string, status: number, detail?: string][] = [
    ['GET', at('nobody'), 404, "Unknown provider: 'nobody'"],
    ['GET', at('whoop'), 501, 'Provider does not support webhook subscription management'],
    ['POST', `${at('whoop')}?${url}`, 501],
    ['GET', at('apple'), 501],
    ['GET', `${at('polar')}/1`, 501],
    ['GET', `${at('strava')}/1`, 501],
    ['POST', `${at('polar')}/renew`, 501],
    ['POST', `${at('strava')}/renew`, 501],
    ['POST', at('oura'), 422],
    ['PUT', `${at('oura')}/1`, 422],
    ['POST', `${at('oura')}?callback_url=ftp%3A%2F%2Fexample.org`, 422],
    ['POST', `${at('oura')}?callback_url=https%3A%2F%2Fa%40example.org`, 422],
    ['DELETE', `${at('oura')}/..%2F..%2Fother`, 422],
  ]
  const wrong: unknown[] = []
  for (const [method, path, status, detail] of cases) {
    const answer = await ask(app, method, path)
    if (answer.status !== status || (detail && answer.body.detail !== detail)) wrong.push([method, path, answer])
  }
  t.strictSame(wrong, [])
})

oneEngine(t, 'polar', async (t, engine) => {
  const simulated = await startSimulated(t, engine, { world: { people: 1, days: 1 } })
  const { app, simulator } = simulated
  const own = callback(app, 'polar')
  const moved = callback(app, 'polar', '?v=2')
  const created = (await ask(app, 'POST', `${at('polar')}?${to(own)}`)).body.subscriptions
  t.match(created, { status: 'created', subscription_id: String })
  const id = created.subscription_id
  const { subscriptions } = (await ask(app, 'GET', at('polar'))).body
  t.match(subscriptions, [{ id, url: own, events: Array }])
  t.notMatch(JSON.stringify([created, subscriptions]), /secret/, 'the secret is never told')
  const secrets = await app.db.query<{ sealed: Buffer }>('select sealed from provider_secret')
  t.equal(secrets.length, 1)
  t.strictSame((await ask(app, 'POST', `${at('polar')}?${to(own)}`)).body.subscriptions, {
    ...{ subscription_id: id, status: 'skipped' },
  })
  t.strictSame((await ask(app, 'POST', `${at('polar')}?${to(moved)}`)).body.subscriptions, {
    ...{ subscription_id: id, status: 'patched' },
  })
  t.strictSame((await ask(app, 'PUT', `${at('polar')}/${id}?${to(own)}`)).body, {
    updated: { subscription_id: id, status: 'patched' },
  })
  const refused = (await ask(app, 'PUT', `${at('polar')}/${id}?${to(`${app.url}/nowhere`)}`)).body.updated
  t.match(refused, { subscription_id: id, status: 'error', error: /WebhookPingFailedException|PING/ })
  t.match((await ask(app, 'GET', at('polar'))).body.subscriptions, [{ url: own }], 'the former address stays')

  await t.test('what Polar signs with is known at once', async (t) => {
    const body = '{"event":"EXERCISE","user_id":1,"entity_id":"A1","timestamp":"2026-03-10T17:20:12Z","url":""}'
    const { body: secrets } = await simulator.control('GET', 'secrets')
    const [{ value }] = secrets.filter((one: Secret) => one.kind === 'signing' && one.provider === 'polar')
    t.equal((await notify(app, 'polar', body, { headers: signs.polar(value, body) })).status, 200)
  })

  await t.test('a secret that is not known here is an error: nothing could be verified', async (t) => {
    await app.db.query('delete from provider_secret')
    t.match((await ask(app, 'POST', `${at('polar')}?${to(own)}`)).body.subscriptions, {
      ...{ subscription_id: id, status: 'error', error: /delete/ },
    })
  })

  t.strictSame((await ask(app, 'DELETE', `${at('polar')}/${id}`)).body, {
    deleted: { subscription_id: id, status: 'deleted' },
  })
  t.strictSame((await ask(app, 'DELETE', `${at('polar')}/${id}`)).body.deleted.status, 'deleted', 'as good')
  t.strictSame((await ask(app, 'GET', at('polar'))).body, { subscriptions: [] })
  const failed = (await ask(app, 'POST', `${at('polar')}?${to(`${app.url}/nowhere`)}`)).body.subscriptions
  t.match(failed, { status: 'error', error: String })
  t.match(
    await app.db.query(`select subscription_id, error from provider_subscription where provider = 'polar'`),
    [{ subscription_id: null, error: String }],
    'the daily comparison tries again',
  )
  t.strictSame(await there(simulated, 'polar'), [])
})

oneEngine(t, 'a webhook of polar that is gone when it is to be activated is created', async (t, engine) => {
  const url = 'https://api.example.org/api/v1/providers/polar/webhooks'
  const webhook = { id: 'w1', events: ['EXERCISE'], url }
  const asked: string[] = []
  const answers: Record<string, [status: number, data?: unknown]> = {
    'GET /v3/webhooks': [200, [{ ...webhook, active: false }]],
    'POST /v3/webhooks/activate': [204],
    'POST /v3/webhooks': [201, { ...webhook, id: 'w2', signature_secret_key: 'a secret' }],
    'DELETE /v3/webhooks/typo': [404],
  }
  const polar = createServer((request, response) => {
    const what = `${request.method} ${request.url}`
    asked.push(what)
    const [status, data] = answers[what] ?? [500]
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(data === undefined ? undefined : JSON.stringify({ data }))
  })
  polar.listen(0, '127.0.0.1')
  await once(polar, 'listening')
  t.teardown(() => polar.close())
  const { port } = polar.address() as AddressInfo
  const app = await startTestApp(t, engine, {
    providers: {
      polar: { clientId: 'id', clientSecret: 'client secret', more: {}, apiUrl: `http://127.0.0.1:${port}` },
    },
  })
  const { oauth, notices } = app.deps
  const open = { parts: oauth, noticesOf: notices.noticesOf }
  await app.db.query(
    `insert into provider_subscription (provider, subscription_id, callback_url) values ('polar', 'w1', $1)`,
    [url],
  )
  await keepGiven(app.db, oauth, 'polar', 'the former secret')
  t.match(await repairSubscriptions(open, 'polar'), [{ status: 'created', subscription_id: 'w2' }])
  t.strictSame(asked, ['GET /v3/webhooks', 'POST /v3/webhooks/activate', 'POST /v3/webhooks'])
  const { subscription_id: id } = await app.db.one<{ subscription_id: string }>(
    'select subscription_id from provider_subscription',
  )
  t.equal(id, 'w2')
  const body = '{"event":"EXERCISE","user_id":1,"entity_id":"A1"}'
  t.equal((await notify(app, 'polar', body, { headers: signs.polar('a secret', body) })).status, 200)

  await t.test('and keeps its secret when another one is deleted, which is not there', async (t) => {
    t.match((await ask(app, 'DELETE', `${at('polar')}/typo`)).body.deleted, { status: 'deleted' })
    const rest = '{"event":"EXERCISE","user_id":1,"entity_id":"A2"}'
    const again = await app.another()
    t.equal((await notify(again, 'polar', rest, { headers: signs.polar('a secret', rest) })).status, 200)
  })
})

oneEngine(t, 'strava', async (t, engine) => {
  const simulated = await startSimulated(t, engine, { world: { people: 1, days: 1 } })
  const { app } = simulated
  const own = callback(app, 'strava')
  const moved = callback(app, 'strava', '?v=2')
  const [created] = (await ask(app, 'POST', `${at('strava')}?${to(own)}`)).body.subscriptions
  t.match(created, { status: 'created', subscription_id: /^\d+$/, response: { id: Number } })
  const { subscriptions } = (await ask(app, 'GET', at('strava'))).body
  t.match(subscriptions, [{ id: Number(created.subscription_id), callback_url: own, application_id: Number }])
  t.notMatch(JSON.stringify(subscriptions), /[?&]k=/, 'the key of the address is never told')
  t.strictSame((await ask(app, 'POST', `${at('strava')}?${to(own)}`)).body.subscriptions, [
    { subscription_id: created.subscription_id, status: 'skipped' },
  ])
  const [again] = (await ask(app, 'POST', `${at('strava')}?${to(moved)}`)).body.subscriptions
  t.match(again, { status: 'created' })
  t.not(again.subscription_id, created.subscription_id)
  const { updated } = (await ask(app, 'PUT', `${at('strava')}/${again.subscription_id}?${to(own)}`)).body
  t.match(updated, { status: 'updated', subscription_id: /^\d+$/ })
  t.equal((await there(simulated, 'strava')).length, 1)
  const refused = (await ask(app, 'PUT', `${at('strava')}/${updated.subscription_id}?${to(`${app.url}/nowhere`)}`)).body
  t.match(refused.updated, { status: 'error', error: /GET to callback URL does not return 200/ })
  t.match((await ask(app, 'GET', at('strava'))).body.subscriptions, [{ callback_url: own }], 'the former address stays')
  t.match((await ask(app, 'PUT', `${at('strava')}/1?${to(own)}`)).body.updated, { status: 'error', error: String })
  const body = JSON.stringify({ object_type: 'activity', object_id: 1, aspect_type: 'create', owner_id: 1 })
  t.equal((await notify(app, 'strava', body)).status, 401, 'the key is demanded, since a challenge brought it')
  t.match((await ask(app, 'DELETE', `${at('strava')}/${refused.updated.subscription_id}`)).body.deleted, {
    status: 'deleted',
  })
  t.strictSame(await there(simulated, 'strava'), [])
})

oneEngine(t, 'what was registered with a former key, secret or address is repaired', async (t, engine) => {
  const { app, simulator } = await startSimulated(t, engine, { world: { people: 1, days: 1 } })
  const said = async (provider: string, url: string, through = app) =>
    [(await ask(through, 'POST', `${at(provider)}?${to(url)}`)).body.subscriptions].flat().map(({ status }) => status)
  const urls = async (provider: string) => (await there({ app, simulator }, provider)).map((one) => one.url)

  await t.test('strava: the key in the address', async (t) => {
    const own = callback(app, 'strava')
    await said('strava', own)
    const changed = await other(app, 'strava', { WEBHOOK_KEY: 'another' })
    await repair(changed.deps)
    t.strictSame(await urls('strava'), [`${own}?k=another`])
    t.strictSame(await said('strava', own, changed), ['skipped'])
  })

  await t.test('google_health: the secret in the header, which it does not show', async (t) => {
    // It takes both, so that the address proves to be ours.
    const both = await other(app, 'google_health', { WEBHOOK_SECRET_PREVIOUS: 'another' })
    const own = callback(both, 'google_health')
    const knows = async () =>
      (await simulator.control('GET', 'secrets')).body.some(({ value }: Secret) => value === 'Bearer another')
    t.strictSame(await said('google_health', own, both), ['created'])
    const changed = await other(app, 'google_health', { WEBHOOK_SECRET: 'another' })
    t.strictSame(await said('google_health', own, both), ['skipped'])
    t.equal(await knows(), false)
    await repair(changed.deps)
    t.equal(await knows(), true)
    t.strictSame(await said('google_health', own, changed), ['skipped'])
  })

  await t.test('the address below API_BASE_URL moves with that; another one stays', async (t) => {
    const first = await app.another({ apiBaseUrl: app.url })
    await said('strava', callback(app, 'strava'), first)
    const chosen = callback(app, 'polar', '?v=2')
    await said('polar', chosen, first)
    const moved = await app.another({ apiBaseUrl: app.url.replace('127.0.0.1', 'localhost') })
    await repair(moved.deps)
    const address = callback(app, 'strava').replace('127.0.0.1', 'localhost')
    t.match(await urls('strava'), [new RegExp(`^${address}\\?k=`)])
    t.strictSame(await urls('polar'), [chosen])
  })

  await t.test('polar: a webhook that somebody else made has a secret that is not known here', async (t) => {
    const [one] = await there({ app, simulator }, 'polar')
    await app.db.query(`update provider_subscription set subscription_id = 'former' where provider = 'polar'`)
    await repair(app.deps)
    t.match(await app.db.query(`select error from provider_subscription where provider = 'polar'`), [
      { error: /delete the subscription/ },
    ])
    t.ok(one, 'which is left to the operator')
  })
})

oneEngine(t, 'oura', async (t, engine) => {
  // So that subscriptions end in six days by our clock.
  const world = { people: 1, days: 1, at: Date.now() - 84 * DAY_MS }
  const simulated = await startSimulated(t, engine, { world })
  const { app, simulator } = simulated
  const own = callback(app, 'oura')
  const moved = callback(app, 'oura', '?v=2')
  type Result = { subscription_id: string; status: string; data_type: string; event_type: string; error?: string }
  const register = async (url: string): Promise<Result[]> =>
    (await ask(app, 'POST', `${at('oura')}?${to(url)}`)).body.subscriptions
  const wanted = notifyingProviders.get('oura')?.subscriptions?.({
    ...{ settings: { clientId: '', clientSecret: '', more: {} }, own: {} },
  }).wanted.length
  const first = await register(own)
  t.strictSame([first.length, new Set(first.map(({ status }) => status))], [wanted, new Set(['created'])])
  const statuses = async (url: string) => new Set((await register(url)).map(({ status }) => status))
  t.strictSame(await statuses(own), new Set(['skipped']))
  t.strictSame(await statuses(moved), new Set(['updated']))
  t.strictSame(await statuses(own), new Set(['updated']))
  const [one] = first as [Result]
  const path = `${at('oura')}/${one.subscription_id}`
  const subscription = (await ask(app, 'GET', path)).body.subscription
  t.match(subscription, {
    id: one.subscription_id,
    callback_url: own,
    data_type: one.data_type,
    event_type: one.event_type,
  })
  t.strictSame((await ask(app, 'GET', `${at('oura')}/none`)).body, { subscription: null })
  t.match((await ask(app, 'PUT', `${path}?${to(moved)}`)).body.updated, { status: 'patched' })
  t.match((await ask(app, 'PUT', `${path}?${to(`${app.url}/nowhere`)}`)).body.updated, { status: 'error' })
  const { renewed } = (await ask(app, 'POST', `${at('oura')}/renew`)).body
  t.strictSame([renewed.length, new Set(renewed.map(({ status }: Result) => status))], [wanted, new Set(['renewed'])])
  t.match(renewed[0], { id: String, subscription_id: String })

  await t.test('what is lost at the provider is back the next day; what was ended here is not', async (t) => {
    const [, second, third] = first as [Result, Result, Result]
    t.match((await ask(app, 'DELETE', `${at('oura')}/${third.subscription_id}`)).body.deleted, { status: 'deleted' })
    await simulator.control('DELETE', `subscriptions/${second.subscription_id}?provider=oura`)
    const before = (await there(simulated, 'oura')).length
    await repair(app.deps)
    const listed = (await ask(app, 'GET', at('oura'))).body.subscriptions as Result[]
    const has = ({ data_type, event_type }: Result) =>
      listed.some((each) => each.data_type === data_type && each.event_type === event_type)
    t.strictSame([has(second), has(third), listed.length], [true, false, before + 1])
    const left = await app.db.query<{ soon: boolean }>(
      `select expires_at < now() + interval '7 days' as soon from provider_subscription`,
    )
    t.strictSame(new Set(left.map(({ soon }) => soon)), new Set([true]), 'as the provider says it')
  })

  await t.test('a subscription that another program creates meanwhile is skipped', async (t) => {
    const results = await Promise.all([register(own), register(own)])
    const odd = results.flat().filter(({ status }) => !['skipped', 'created', 'updated'].includes(status))
    t.strictSame(odd, [])
  })
})
