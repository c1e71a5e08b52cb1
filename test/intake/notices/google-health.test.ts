// Google Health's subscriber, made with a service account, and what it sends: any answer but 201 and 204 is a failure to it.
import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { loadConfig } from '../../../server/config.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { notify, startOpeningNotices } from '../../support/notices.ts'
import { connectPerson, settled, startPulling, startSimulated } from '../../support/people.ts'
import { createUser, oneEngine, storedSamples } from '../../support/sdk.ts'
import { play } from '../../support/simulator.ts'
import { done } from './days-told.ts'

const SUBSCRIPTIONS = '/api/v1/providers/google_health/webhooks/subscriptions'

const callback = ({ url }: TestApp) => `${url}/api/v1/providers/google_health/webhooks`

const register = async (app: TestApp, url: string) => {
  const path = `${SUBSCRIPTIONS}?callback_url=${encodeURIComponent(url)}`
  const { status, body } = await app.request('POST', path, { auth: 'developer' })
  return status === 200 ? body.subscriptions : body.detail
}

oneEngine(t, 'the application subscribes, and is told within the day', async (t, engine) => {
  const { app, simulator } = await startSimulated(t, engine, {
    world: { people: 1, days: 3 },
    historicalSyncOnConnect: false,
  })
  const secret = simulator.env.GOOGLE_HEALTH_WEBHOOK_SECRET
  const headers = { authorization: `Bearer ${secret}` }
  const there = async () => (await simulator.control('GET', 'subscriptions')).body
  const created = await register(app, callback(app))
  t.match(created, { status: 'created', subscription_id: 'pulsebase' })
  t.match(await there(), [{ provider: 'google_health', url: callback(app) }], 'which made sure of the address')
  t.match(await register(app, callback(app)), { status: 'skipped' })
  const listed = await app.request('GET', SUBSCRIPTIONS, { auth: 'developer' })
  t.match(listed.body.subscriptions, [{ id: 'pulsebase', endpoint_uri: callback(app), state: 'ACTIVE' }])
  t.notMatch(JSON.stringify([created, listed.body]), secret, 'the secret is never told')

  const data = { healthUserId: 'nobody', operation: 'UPSERT', dataType: 'steps', intervals: [] }
  const asked: [body: object, headers: Record<string, string>][] = [
    [{ type: 'verification' }, headers],
    [{ type: 'verification' }, {}],
    [{ data }, headers],
    [[{ data }], headers],
    [{ data }, { authorization: secret ?? '' }],
    [{ data }, { authorization: `bearer ${secret}` }],
  ]
  const answers: unknown[] = []
  for (const [body, sent] of asked) {
    const { status, body: answer } = await notify(app, 'google_health', JSON.stringify(body), { headers: sent })
    answers.push(status === 204 ? [status, answer] : status)
  }
  t.strictSame(answers, [201, 401, [204, ''], [204, ''], 401, 401])

  const user = await createUser(app)
  await connectPerson(app, { user, provider: 'google_health', person: 'ana' })
  await startPulling(t, app)
  await settled(app)
  const before = (await storedSamples(app.db, user)).length
  await startOpeningNotices(t, app)
  await simulator.control('POST', 'clock', { advance_days: 1 })
  await simulator.control('POST', 'notices')
  const sent = (await simulator.control('GET', 'notices?provider=google_health')).body
  t.strictSame(new Set(sent.map(({ state }: { state: string }) => state)), new Set(['taken']))
  // Notices of a stream have it asked for once in a while; here that is at once.
  await done({ app })
  t.ok((await storedSamples(app.db, user)).length > before, 'what they name is there')
})

oneEngine(
  t,
  'without a service account that Google knows there is no subscription, and it is said why',
  async (t, engine) => {
    const simulator = await play(t, { at: Date.now(), people: 1, days: 1 })
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const key = {
      client_email: 'else@simulated.iam.gserviceaccount.com',
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    }
    const given: [more: Record<string, string>, error: RegExp][] = [
      [{}, /GOOGLE_HEALTH_SERVICE_ACCOUNT_FILE/],
      [
        { SERVICE_ACCOUNT_FILE: JSON.stringify(key), PROJECT_ID: '100200300400' },
        /no token for the application from Google Health, status 40\d: invalid_grant/,
      ],
    ]
    for (const [more, error] of given) {
      const { google_health: registered } = loadConfig(simulator.env).providers
      const app = await startTestApp(t, engine, {
        providers: { google_health: { ...registered, more: { ...more, WEBHOOK_SECRET: 'told to Google' } } },
      })
      const answers = await register(app, callback(app))
      t.match(answers, error)
      t.notMatch(JSON.stringify(answers), /PRIVATE KEY|told to Google/)
    }
  },
)
