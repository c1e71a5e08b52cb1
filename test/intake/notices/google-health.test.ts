// Google Health's subscriber, made with a service account, and what it sends: any answer but 201 and 204 is a failure to it.
import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { loadConfig } from '../../../server/config.ts'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { notify, startOpeningNotices } from '../../support/notices.ts'
import { connectPerson, settled, startPulling, startSimulated } from '../../support/people.ts'
import { createUser, eachEngine, oneEngine, storedSamples } from '../../support/sdk.ts'
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

oneEngine(t, 'a deletion because access was withdrawn removes nothing', async (t, engine) => {
  const { app, simulator } = await startSimulated(t, engine, {
    world: { people: 1, days: 3 },
    historicalSyncOnConnect: false,
  })
  const user = await createUser(app)
  await connectPerson(app, { user, provider: 'google_health', person: 'ana' })
  // A token that is known here may outlive the grant, and show an account without anything.
  let isEmpty = false
  const asked: string[] = []
  await startPulling(t, app, (path, answer) => {
    if (path.endsWith(':reconcile')) asked.push(path)
    return isEmpty && path.endsWith(':reconcile')
      ? { ...answer, status: 200, json: {}, body: Buffer.from('{}') }
      : answer
  })
  await settled(app)
  const steps = async () => (await storedSamples(app.db, user)).filter(({ type }) => type === 'steps').length
  const before = await steps()
  t.ok(before > 100)
  const { account_id } = await app.db.one<{ account_id: string }>('select account_id from provider_grant')
  const secret = simulator.env.GOOGLE_HEALTH_WEBHOOK_SECRET
  await startOpeningNotices(t, app)
  const tell = async () => {
    const [startTime, endTime] = [Date.now() - 2 * 86_400_000, Date.now()].map((ms) => new Date(ms).toISOString())
    const physicalTimeInterval = { startTime, endTime }
    const data = {
      healthUserId: account_id,
      operation: 'DELETE',
      dataType: 'steps',
      intervals: [{ physicalTimeInterval }],
    }
    const headers = { authorization: `Bearer ${secret}` }
    await notify(app, 'google_health', JSON.stringify({ data }), { headers })
    const told = async () =>
      (await app.db.one<{ waiting: number }>(`select count(*) as waiting from notification where state = 'waiting'`))
        .waiting
    if (!(await waitUntil(async () => (await told()) === 0, 20_000, 20))) throw new Error('the notice waits')
  }
  const versionOf = async () => (await app.db.one<{ version: number }>('select version from provider_grant')).version
  const known = await versionOf()
  await tell()
  await settled(app)
  t.ok((await versionOf()) > known, 'access is renewed first')
  t.equal(await steps(), before, 'what Google still has stays')

  isEmpty = true
  await simulator.control('POST', 'revoke', { provider: 'google_health', person: 'ana' })
  asked.length = 0
  await tell()
  const grant = () => app.db.one<{ state: string; refusals: number }>('select state, refusals from provider_grant')
  t.ok(await waitUntil(async () => (await grant()).refusals > 0, 20_000, 20), 'Google refuses the refresh')
  t.strictSame([asked, await steps()], [[], before], 'and is not asked what is left')
  const isEnded = async () => {
    await app.db.query('update provider_grant set refresh_due_at = now(), live_at = now()')
    return (await grant()).state === 'ended'
  }
  t.ok(await waitUntil(isEnded, 20_000, 100), 'and again: the connection has ended')
  await settled(app)
  t.strictSame([asked, await steps()], [[], before])
})

eachEngine(t, 'steps of a phone go once those of the watch are there', async (t, engine) => {
  const { app, simulator } = await startSimulated(t, engine, {
    world: { people: 1, days: 3 },
    historicalSyncOnConnect: false,
  })
  let isSynced = false
  const set = (late_watch: boolean) =>
    simulator.control('POST', 'settings', { provider: 'google_health', own: { late_watch } })
  await set(true)
  const user = await createUser(app)
  await connectPerson(app, { user, provider: 'google_health', person: 'ana' })
  const pulling = await startPulling(t, app)
  await settled(app)
  // Of the minute after the last one of the watch the next pull knows more.
  const ofPhone = async () => {
    const times = (await storedSamples(app.db, user)).flatMap(({ type, ts }) => (type === 'steps' ? [ts] : []))
    const lastOfWatch =
      times
        .filter((ts) => ts.endsWith(':00Z'))
        .sort()
        .at(-1) ?? ''
    return times.filter((ts) => !ts.endsWith(':00Z') && (!isSynced || ts < lastOfWatch)).length
  }
  t.ok((await ofPhone()) > 20)
  await set(false)
  isSynced = true
  await pulling.pullNow()
  await settled(app)
  t.equal(await ofPhone(), 0)
})
