// Phones with released mobile SDKs: everything they send is stored, and no answer makes one lose data. How a release
// handles an answer is in test/support/phone-sdks.ts.
import t from 'tap'
import { signAccessToken } from '../../server/http/tokens.ts'
import { LIMITS, type Limits } from '../../server/limits.ts'
import { UPLOAD_LIMIT_BYTES } from '../../workers/sdk-upload.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import {
  exportLogs,
  type Fate,
  HEALTH_CONNECT_RECORDS,
  IOS_RECORDS,
  RELEASES,
  type Release,
  roundOf,
  SAMSUNG_RECORDS,
  type SentRecord,
  type SignIn,
  signIn,
} from '../support/phone-sdks.ts'
import { createUser, startImports, storedSamples, waitForAll } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')

/** Nobody is refused because this machine is slow. */
const PATIENT: Limits = {
  ...LIMITS,
  ...{ lockMs: 60_000, statementMs: 60_000 },
  gates: Object.fromEntries(
    Object.entries(LIMITS.gates).map(([name, gate]) => [name, { ...gate, waitMs: 60_000 }]),
  ) as Limits['gates'],
}

const release = (name: string) => RELEASES.find((one) => one.name === name) as Release

/** A user with the tokens that an app passes to its SDK. */
async function account(app: TestApp, appCredentials?: object): Promise<Required<Omit<SignIn, 'apiKey'>>> {
  const userId = await createUser(app)
  const tokens = await app.request('POST', `/api/v1/users/${userId}/token`, {
    ...(appCredentials ? { auth: 'none', body: appCredentials } : { auth: 'developer' }),
  })
  return { userId, accessToken: tokens.body.access_token, refreshToken: tokens.body.refresh_token }
}

/** An expired access token of this user. */
const expired = (app: TestApp, userId: string) =>
  signAccessToken(app.deps.keys, 'sdk', userId, { appId: `admin:${app.developer.id}`, lifetimeSeconds: -1 })

/** The stored form of these records, in the order of `storedSamples` by type. */
const storedAs = (records: readonly SentRecord[]) =>
  records.flatMap(([, , , stored]) => (Array.isArray(stored) ? [stored] : [])).sort(([a], [b]) => (a < b ? -1 : 1))

/** The events among these records, as the batch counts them. */
function eventsOf(records: readonly SentRecord[]): Record<string, { inserted: number }> {
  const kinds = records.flatMap(([, , , stored]) => (typeof stored === 'string' ? [stored] : []))
  return Object.fromEntries(kinds.map((kind) => [kind, { inserted: kinds.filter((other) => other === kind).length }]))
}

/** Does the same for several phones in parallel. */
const each = <T, R>(of: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> => Promise.all(of.map(work))

/** An incident of a signed-in phone, before it uploads its next round. */
interface Incident {
  what: string
  /** Causes the incident; the phone may then reach another service. */
  before(app: TestApp): Promise<{ given: SignIn; at?: TestApp; body?: string }>
  /** The result of the round, and how often the app is asked to sign its user in again. */
  expected: [fate: Fate, authErrors: number] | ((release: Release) => [fate: Fate, authErrors: number])
}

const services = new Map<string, Promise<TestApp>>()

/** A service that is full for one kind of request until the tests end. */
function overloaded(app: TestApp, gate: 'upload' | 'login'): Promise<TestApp> {
  const start = async () => {
    const { gates } = PATIENT
    const service = await app.another({
      limits: { ...PATIENT, gates: { ...gates, [gate]: { ...gates[gate], waiting: 0 } } },
    })
    for (let place = 0; place < gates[gate].capacity; place += 1) await service.deps.gates[gate].enter(`${place}`)
    return service
  }
  const service = services.get(gate) ?? start()
  services.set(gate, service)
  return service
}

/** A phone that has renewed its tokens, but lost the answer. */
async function lostRenewal(app: TestApp) {
  const given = await account(app)
  await app.request('POST', '/api/v1/token/refresh', { auth: 'none', body: { refresh_token: given.refreshToken } })
  return { given: { ...given, accessToken: await expired(app, given.userId) } }
}

const unreadable = '{"provider":"apple","data":{"records":[{"type":"HKQuantityTypeIdentifierHeartRate"},7,null]}}'

const INCIDENTS: readonly Incident[] = [
  { what: 'nothing happens', before: async (app) => ({ given: await account(app) }), expected: ['delivered', 0] },
  {
    what: 'the app signed in with the word Bearer before its token',
    async before(app) {
      const given = await account(app)
      return { given: { ...given, accessToken: `Bearer ${given.accessToken}` } }
    },
    expected: ['delivered', 0],
  },
  {
    what: 'the hour of its token is over',
    async before(app) {
      const given = await account(app)
      return { given: { ...given, accessToken: `Bearer ${await expired(app, given.userId)}` } }
    },
    expected: ['delivered', 0],
  },
  {
    what: 'the answer to its renewal was lost',
    before: (app) => lostRenewal(app),
    expected: ['delivered', 0],
  },
  {
    what: 'the answer to its renewal was lost, a quarter of an hour ago',
    async before(app) {
      const { given } = await lostRenewal(app)
      await app.db.query(
        `update refresh_token set rotated_at = rotated_at - interval '15 minutes' where user_id = $1`,
        [given.userId],
      )
      return { given }
    },
    expected: ['delivered', 0],
  },
  {
    what: 'some of what it has cannot be read',
    before: async (app) => ({ given: await account(app), body: unreadable }),
    expected: ['delivered', 0],
  },
  {
    what: 'a developer signed it out',
    async before(app) {
      const given = await account(app)
      await app.request('DELETE', `/api/v1/users/${given.userId}/phones`, { auth: 'developer' })
      return { given }
    },
    expected: ['kept', 1],
  },
  {
    what: 'its user was deleted',
    async before(app) {
      const given = await account(app)
      await app.request('DELETE', `/api/v1/users/${given.userId}`, { auth: 'developer' })
      return { given }
    },
    expected: ['kept', 1],
  },
  {
    what: 'the application that let it in was deleted',
    async before(app) {
      const { app_id, app_secret } = (
        await app.request('POST', '/api/v1/applications', { auth: 'developer', body: { name: 'Pulse' } })
      ).body
      const given = await account(app, { app_id, app_secret })
      await app.request('DELETE', `/api/v1/applications/${app_id}`, { auth: 'developer' })
      return { given }
    },
    expected: ['kept', 1],
  },
  {
    what: 'it was signed in to another service before',
    async before(app) {
      const { userId } = await account(app)
      return { given: { userId, accessToken: 'eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl', refreshToken: 'rt-of-another' } }
    },
    expected: ['kept', 1],
  },
  {
    what: 'the service takes no more uploads at the moment',
    before: async (app) => ({ given: await account(app), at: await overloaded(app, 'upload') }),
    expected: ['kept', 0],
  },
  {
    what: 'the service renews no tokens at the moment',
    async before(app) {
      const given = await account(app)
      return { given: { ...given, accessToken: await expired(app, given.userId) }, at: await overloaded(app, 'login') }
    },
    // No answer of a service keeps the older releases from asking for a login.
    expected: ({ signsOut }) => ['kept', signsOut(503) ? 1 : 0],
  },
  {
    what: 'it has an API key',
    before: async (app) => ({ given: { userId: await createUser(app), apiKey: app.apiKey } }),
    expected: ['delivered', 0],
  },
  {
    what: 'its API key is revoked',
    before: async (app) => ({ given: { userId: await createUser(app), apiKey: `sk-${'0'.repeat(32)}` } }),
    expected: ['kept', 1],
  },
]

t.test('phones with released SDKs', async (t) => {
  const app = await startTestApp(t, engine, { limits: PATIENT })
  await startImports(t, app)

  await t.test('have every type they send stored as what it is', async (t) => {
    const cases = [
      ['iOS 0.3.0', IOS_RECORDS],
      ['iOS 0.6.0', IOS_RECORDS],
      ['iOS 0.15.0', IOS_RECORDS],
      ['Android 0.11.0', HEALTH_CONNECT_RECORDS],
      ['Android 0.6.0', SAMSUNG_RECORDS],
    ] as const
    await each(cases, async ([name, records]) => {
      const given = await account(app)
      const phone = signIn(release(name), app.url, given)
      t.equal(await phone.upload(roundOf(release(name), records)), 'delivered', name)
      const ignored = records.filter(([, , , stored]) => stored === null).map(([type]) => ({ type }))
      const batch = {
        ...{ status: 'success', dropped: [], implausible: [], unknown_fields: [] },
        ...{ ignored_type: ignored.length, ignored_types: ignored },
        saved: { sleep: { inserted: 2 }, workout: { inserted: 1 }, ...eventsOf(records) },
      }
      t.match(await waitForAll(app, given.userId), [batch], name)
      const samples = (await storedSamples(app.db, given.userId)).map(({ type, value }) => [type, value] as const)
      t.strictSame(
        samples.toSorted(([a], [b]) => (a < b ? -1 : 1)),
        storedAs(records),
        name,
      )
    })
  })

  await t.test('of the first releases have no provider in their body, and other names for its parts', async (t) => {
    const { userId, accessToken } = await account(app)
    const span = { startDate: '2026-02-24T08:00:00Z', endDate: '2026-02-24T08:30:00Z', source: {}, uuid: 'A' }
    const type = 'HKQuantityTypeIdentifierHeartRate'
    const body = {
      data: {
        records: [{ ...span, type, value: 62, unit: 'bpm', recordMetadata: [] }],
        sleep: [{ ...span, type: 'HKCategoryTypeIdentifierSleepAnalysis', value: 4, unit: null }],
        workouts: [{ ...span, type: 'running', workoutStatistics: [{ type: 'duration', value: 1700, unit: 's' }] }],
      },
    }
    const post = async (path: string) =>
      (await app.request('POST', `/api/v1/sdk/users/${userId}/sync${path}`, { auth: { bearer: accessToken }, body }))
        .status
    t.strictSame(await each(['', '/samsung', '/apple', '/apple/', '/apple/more'], post), [422, 404, 202, 202, 404])
    const dropped = [{ collection: 'sleep', type: 'missing' }]
    const [, batch] = await waitForAll(app, userId)
    t.match(batch, { provider: 'apple', status: 'partial', dropped_count: 1, dropped, saved: { workout: {} } })
    t.match(await storedSamples(app.db, userId), [{ value: 62 }])
    const other = await account(app)
    const foreign = `/api/v1/sdk/users/${other.userId}/sync/apple`
    t.equal((await app.request('POST', foreign, { auth: { bearer: accessToken }, body })).status, 403)
  })

  await t.test('send rounds of 2,000 records, which are far from the limit', async (t) => {
    const cases = [
      ['iOS 0.6.0', IOS_RECORDS],
      ['Android 0.11.0', HEALTH_CONNECT_RECORDS],
    ] as const
    await each(cases, async ([name, [record]]) => {
      const given = await account(app)
      const body = roundOf(release(name), Array<SentRecord>(2000).fill(record as SentRecord))
      t.ok(Buffer.byteLength(body) < UPLOAD_LIMIT_BYTES / 10, `${name}: ${Buffer.byteLength(body)} bytes`)
      t.equal(await signIn(release(name), app.url, given).upload(body), 'delivered', name)
      t.match(await waitForAll(app, given.userId), [{ status: 'success', received: 2003 }], name)
      t.equal((await storedSamples(app.db, given.userId)).length, 2000, name)
    })
  })

  await t.test('log their first export', async (t) => {
    await each(['iOS 0.13.0', 'iOS 0.15.0', 'Android 0.11.0'], async (name) => {
      const phone = signIn(release(name), `${app.url}/`, await account(app))
      for (const log of exportLogs(release(name))) {
        t.match(await phone.log(log), { status: 202, body: { dropped_count: 0 } }, name)
      }
    })
  })

  await t.test('come in with an invitation code, and end their connection', async (t) => {
    await each(['iOS 0.15.0', 'Android 0.13.0', 'Android 0.6.0'], async (name) => {
      const userId = await createUser(app)
      const invited = await app.request('POST', `/api/v1/users/${userId}/invitation-code`, { auth: 'developer' })
      const body = { code: invited.body.code }
      const redeemed = await app.request('POST', '/api/v1/invitation-code/redeem', { auth: 'none', body })
      const { user_id, access_token, refresh_token } = redeemed.body
      t.equal(user_id, userId, name)
      // As the example apps do.
      const given = { userId, accessToken: `Bearer ${access_token}`, refreshToken: refresh_token }
      const phone = signIn(release(name), app.url, given)
      t.equal(await phone.disconnect(), 404, `${name}: there is none yet, and the SDK does not mind`)
      t.equal(await phone.upload(roundOf(release(name), [])), 'delivered', name)
      t.equal(await phone.disconnect(), 204, name)
      const connections = await app.request('GET', `/api/v1/users/${userId}/connections`)
      t.match(connections.body, [{ status: 'revoked' }], name)
    })
  })

  for (const { what, before, expected } of INCIDENTS) {
    await t.test(`upload after this: ${what}`, async (t) => {
      const found = await each(RELEASES, async (one) => {
        const { given, at = app, body = roundOf(one, []) } = await before(app)
        const phone = signIn(one, at.url, given)
        return [one.name, await phone.upload(body), phone.authErrors(), phone.requests]
      })
      const wanted = RELEASES.map((one) => [one.name, ...(typeof expected === 'function' ? expected(one) : expected)])
      t.strictSame(
        found.filter((row, n) => String(row.slice(0, 3)) !== String(wanted[n])),
        [],
      )
    })
  }
})
