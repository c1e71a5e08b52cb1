import { createHash } from 'node:crypto'
import t from 'tap'
import { signAccessToken } from '../../server/http/tokens.ts'
import { startTestApp, type TestAnswer, type TestApp } from '../support/app.ts'
import { engines } from '../support/servers.ts'
import { runs } from '../support/thorough.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')
const app = await startTestApp(t, engine)

const NOT_FOUND = { detail: 'Application not found' }

const create = (app: TestApp, name: unknown = 'Pulse for iOS', auth: string | undefined = undefined) =>
  app.request('POST', '/api/v1/applications', { auth: auth ? { bearer: auth } : 'developer', body: { name } })
const list = (app: TestApp, auth: string | undefined = undefined) =>
  app.request('GET', '/api/v1/applications', { auth: auth ? { bearer: auth } : 'developer' })
const rotate = (app: TestApp, appId: string, auth: string | undefined = undefined) =>
  app.request('POST', `/api/v1/applications/${appId}/rotate-secret`, {
    auth: auth ? { bearer: auth } : 'developer',
  })
const remove = (app: TestApp, appId: string, auth: string | undefined = undefined) =>
  app.request('DELETE', `/api/v1/applications/${appId}`, { auth: auth ? { bearer: auth } : 'developer' })

const issue = (app: TestApp, userId: string, application: { app_id: string; app_secret: string }) =>
  app.request('POST', `/api/v1/users/${userId}/token`, {
    auth: 'none',
    body: { app_id: application.app_id, app_secret: application.app_secret },
  })

/** A second developer; returns a token. */
async function grace(app: TestApp): Promise<string> {
  const { id } = await app.db.one<{ id: string }>(
    `insert into developer (email, password_hash) values ('grace@example.org', 'x') returning id`,
  )
  return signAccessToken(app.deps.keys, 'developer', id)
}

t.test('applications of a developer', async (t) => {
  t.test('show their secret once', async (t) => {
    const answer = await create(app)
    t.equal(answer.status, 201)
    t.equal(answer.headers.get('cache-control'), 'private, no-store')
    t.match(answer.body, {
      id: /^[0-9a-f-]{36}$/,
      app_id: /^app_[0-9a-f]{32}$/,
      name: 'Pulse for iOS',
      created_at: /Z$/,
      app_secret: /^secret_[0-9a-f]{64}$/,
    })
    const listed = await list(app)
    t.equal(listed.status, 200)
    const { app_secret: secret, ...application } = answer.body
    t.strictSame(listed.body, [application])
    const [stored] = await app.db.query<{ text: string; secret_hash: Buffer }>(
      'select a::text as text, secret_hash from application a where id = $1',
      [application.id],
    )
    t.notOk(stored?.text.includes(secret.slice(7)))
    t.strictSame(stored?.secret_hash, createHash('sha256').update(secret).digest())
  })

  t.test('are listed newest first, to their developer only', async (t) => {
    const second = (await create(app, 'Pulse for Android')).body
    t.strictSame(
      (await list(app)).body.map(({ name }: { name: string }) => name),
      ['Pulse for Android', 'Pulse for iOS'],
    )
    const hers = await grace(app)
    t.strictSame((await list(app, hers)).body, [])
    for (const refused of [await rotate(app, second.app_id, hers), await remove(app, second.app_id, hers)]) {
      t.equal(refused.status, 404)
      t.strictSame(refused.body, NOT_FOUND)
    }
    t.equal((await list(app)).body.length, 2, 'nobody deletes somebody else\u2019s')
  })

  t.test('need a name', async (t) => {
    for (const name of ['', 'x'.repeat(101), 1, null]) t.equal((await create(app, name)).status, 422)
    t.equal((await create(app, 'x'.repeat(100))).status, 201)
    t.equal((await app.request('POST', '/api/v1/applications', { auth: 'developer' })).status, 422)
    t.equal((await app.request('POST', '/api/v1/applications', { auth: 'developer', body: {} })).status, 422)
  })

  t.test('are for developers', async (t) => {
    const user = (await app.request('POST', '/api/v1/users', { body: {} })).body.id
    const { app_id: appId } = (await create(app)).body
    const phone = await app.sdkToken(user)
    const calls: ((auth: 'key' | { bearer: string }) => Promise<TestAnswer>)[] = [
      (auth) => app.request('GET', '/api/v1/applications', { auth }),
      (auth) => app.request('POST', '/api/v1/applications', { auth, body: { name: 'x' } }),
      (auth) => app.request('POST', `/api/v1/applications/${appId}/rotate-secret`, { auth }),
      (auth) => app.request('DELETE', `/api/v1/applications/${appId}`, { auth }),
    ]
    for (const call of calls) {
      const key = await call('key')
      t.equal(key.status, 401)
      t.match(key.body, { detail: 'Could not validate credentials' })
      const sdk = await call({ bearer: phone })
      t.equal(sdk.status, 401)
      t.strictSame(sdk.body, { detail: 'SDK tokens cannot access this endpoint' })
    }
  })

  t.test('that are unknown are not found', async (t) => {
    for (const appId of [`app_${'0'.repeat(32)}`, 'x', '00000000-0000-4000-8000-000000000000']) {
      t.strictSame((await rotate(app, appId)).body, NOT_FOUND, appId)
      const deleted = await remove(app, appId)
      t.equal(deleted.status, 404)
      t.strictSame(deleted.body, NOT_FOUND)
    }
  })
})

t.test('a new secret replaces the old one at once, and phones stay signed in', async (t) => {
  const user = (await app.request('POST', '/api/v1/users', { body: {} })).body.id
  const before = (await create(app)).body
  const phone = (await issue(app, user, before)).body
  const answer = await rotate(app, before.app_id)
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('cache-control'), 'private, no-store')
  t.strictSame(answer.body, { ...before, app_secret: answer.body.app_secret })
  t.not(answer.body.app_secret, before.app_secret)
  const old = await issue(app, user, before)
  t.equal(old.status, 401)
  t.strictSame(old.body, { detail: 'Invalid app credentials' })
  t.equal((await issue(app, user, answer.body)).status, 200)
  t.equal((await refresh(app, phone.refresh_token)).status, 200)
  t.equal((await sync(app, user, phone.access_token)).status, 202)
})

t.test('a phone that renews while its application is deleted ends up signed out', async (t) => {
  const user = (await app.request('POST', '/api/v1/users', { body: {} })).body.id
  for (let run = 0; run < runs(3, 5); run += 1) {
    const application = (await create(app)).body
    const phone = (await issue(app, user, application)).body
    const [deleted, renewed, issued] = await Promise.all([
      remove(app, application.app_id),
      refresh(app, phone.refresh_token),
      issue(app, user, application),
    ])
    t.equal(deleted.status, 204)
    for (const { status, body } of [renewed, issued]) {
      if (status !== 200) t.equal(status, 401)
      else t.equal((await refresh(app, body.refresh_token)).status, 401)
    }
  }
})

t.test('with an application go the sessions of its phones, and no others', async (t) => {
  const user = (await app.request('POST', '/api/v1/users', { body: {} })).body.id
  const doomed = (await create(app)).body
  const kept = (await create(app)).body
  const phone = (await issue(app, user, doomed)).body
  const other = (await issue(app, user, kept)).body
  t.equal((await sync(app, user, phone.access_token)).status, 202)

  const answer = await remove(app, doomed.app_id)
  t.equal(answer.status, 204)
  t.equal(answer.body, '')
  t.strictSame((await remove(app, doomed.app_id)).body, NOT_FOUND)
  t.strictSame((await issue(app, user, doomed)).body, { detail: 'Invalid app credentials' })
  const signedOut = await refresh(app, phone.refresh_token)
  t.equal(signedOut.status, 401)
  t.strictSame(signedOut.body, { detail: 'Invalid or revoked refresh token' })
  const refused = await sync(app, user, phone.access_token)
  t.equal(refused.status, 401)
  t.strictSame(refused.body, { detail: 'Authentication required: provide SDK token or API key' })
  t.equal((await sync(app, user, other.access_token)).status, 202)
  t.equal((await refresh(app, other.refresh_token)).status, 200)

  await app.db.query('delete from developer where id = $1', [app.developer.id])
  t.equal((await refresh(app, other.refresh_token)).status, 401, 'applications go with their developer')
})

const refresh = (app: TestApp, refresh_token: string) =>
  app.request('POST', '/api/v1/token/refresh', { auth: 'none', body: { refresh_token } })

const sync = (app: TestApp, userId: string, bearer: string) =>
  app.request('POST', `/api/v1/sdk/users/${userId}/sync`, { auth: { bearer }, body: { provider: 'apple', data: {} } })
