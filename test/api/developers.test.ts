import { randomUUID } from 'node:crypto'
import t from 'tap'
import { signAccessToken } from '../../server/http/tokens.ts'
import { startTestApp, type TestAnswer, type TestApp } from '../support/app.ts'
import { engines } from '../support/servers.ts'
import { runs } from '../support/thorough.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')
const app = await startTestApp(t, engine)
t.beforeEach(() => app.db.query('delete from developer where id <> $1', [app.developer.id]))

const PASSWORD_HASH = '$scrypt$ln=4,r=8,p=1$cHVsc2ViYXNlIHRlc3RzIQ$LU//oOIQp68a9HTm+CaLCp6gqpaNG4PhUKkLTbUrWZ0'

interface Person {
  id: string
  email: string
  token: string
}

interface Tokens {
  access_token: string
  refresh_token: string
}

const UPLOAD = { provider: 'apple', data: {} }

/** Another developer with the password of the first one. */
async function join(app: TestApp, email: string): Promise<Person> {
  const { id } = await app.db.one<{ id: string }>(
    'insert into developer (email, password_hash) values ($1, $2) returning id',
    [email, PASSWORD_HASH],
  )
  return { id, email, token: await signAccessToken(app.deps.keys, 'developer', id) }
}

const call = (app: TestApp, method: string, path: string, bearer?: string, body?: unknown): Promise<TestAnswer> =>
  app.request(method, `/api/v1/developers${path}`, { auth: bearer ? { bearer } : 'developer', body })

const login = (app: TestApp, email: string) =>
  app.request('POST', '/api/v1/auth/login', {
    auth: 'none',
    body: new URLSearchParams({ username: email, password: app.developer.password }),
  })

t.test('developers see each other', async (t) => {
  const grace = await join(app, 'grace@example.org')
  const listed = await call(app, 'GET', '')
  t.equal(listed.status, 200)
  t.strictSame(
    listed.body.map(({ email }: Person) => email),
    [app.developer.email, 'grace@example.org'],
  )
  t.strictSame(Object.keys(listed.body[0]), ['id', 'first_name', 'last_name', 'email', 'created_at', 'updated_at'])
  const one = await call(app, 'GET', `/${grace.id}`)
  t.equal(one.status, 200)
  t.strictSame(one.body, listed.body[1])
  const nobody = randomUUID()
  const unknown = await call(app, 'GET', `/${nobody}`)
  t.equal(unknown.status, 404)
  t.strictSame(unknown.body, { detail: `Developer with ID: ${nobody} not found.` })
  t.equal((await call(app, 'GET', '/x')).status, 422)
})

t.test('a developer changes its own account only', async (t) => {
  const grace = await join(app, 'grace@example.org')
  const changed = await call(app, 'PATCH', `/${grace.id}`, grace.token, { first_name: 'Grace', last_name: null })
  t.equal(changed.status, 200)
  t.match(changed.body, { id: grace.id, first_name: 'Grace', last_name: null, email: grace.email })
  for (const id of [app.developer.id, randomUUID()]) {
    const refused = await call(app, 'PATCH', `/${id}`, grace.token, { email: 'mine@example.org' })
    t.equal(refused.status, 403)
    t.strictSame(refused.body, { detail: 'You can only update your own developer account' })
  }
  const taken = await call(app, 'PATCH', `/${grace.id}`, grace.token, { email: app.developer.email.toUpperCase() })
  t.equal(taken.status, 409)
  for (const body of [{ password: 'x'.repeat(11) }, { email: 'x' }, { first_name: 'x'.repeat(101) }]) {
    t.equal((await call(app, 'PATCH', `/${grace.id}`, grace.token, body)).status, 422, JSON.stringify(body))
  }
  const password = 'a longer password'
  t.equal((await call(app, 'PATCH', `/${grace.id}`, grace.token, { password })).status, 200)
  t.equal((await call(app, 'GET', '', grace.token)).status, 401, 'a new password ends every session')
})

t.test('a deleted developer is signed out, and every phone that it let in', async (t) => {
  const grace = await join(app, 'grace@example.org')
  const session = (await login(app, grace.email)).body
  const user = (await app.request('POST', '/api/v1/users', { body: {} })).body.id
  const phonesOf = async (bearer: string) => {
    const { body } = await app.request('POST', '/api/v1/applications', { auth: { bearer }, body: { name: 'Pulse' } })
    const token = (auth: 'none' | { bearer: string }, credentials: object) =>
      app.request('POST', `/api/v1/users/${user}/token`, { auth, body: credentials })
    const { code } = (await app.request('POST', `/api/v1/users/${user}/invitation-code`, { auth: { bearer } })).body
    return {
      'of an application': (await token('none', { app_id: body.app_id, app_secret: body.app_secret })).body,
      'by hand': (await token({ bearer }, {})).body,
      'by a code': (await app.request('POST', '/api/v1/invitation-code/redeem', { auth: 'none', body: { code } })).body,
    }
  }
  const hers = await phonesOf(grace.token)
  const others = await phonesOf(await app.developer.token())
  const { code } = (
    await app.request('POST', `/api/v1/users/${user}/invitation-code`, { auth: { bearer: grace.token } })
  ).body
  const answersTo = async ({ access_token: bearer, refresh_token }: Tokens) => [
    (await app.request('POST', `/api/v1/sdk/users/${user}/sync`, { auth: { bearer }, body: UPLOAD })).status,
    (await app.request('POST', '/api/v1/token/refresh', { auth: 'none', body: { refresh_token } })).status,
  ]
  // One of them has renewed its tokens since.
  const { refresh_token } = hers['by a code']
  hers['by a code'] = (
    await app.request('POST', '/api/v1/token/refresh', { auth: 'none', body: { refresh_token } })
  ).body

  const deleted = await call(app, 'DELETE', `/${grace.id}`)
  t.equal(deleted.status, 200)
  t.match(deleted.body, { id: grace.id, email: grace.email })
  t.strictSame((await call(app, 'DELETE', `/${grace.id}`)).body, {
    detail: `Developer with ID: ${grace.id} not found.`,
  })
  for (const bearer of [grace.token, session.access_token]) {
    const refused = await call(app, 'GET', '', bearer)
    t.equal(refused.status, 401)
    t.strictSame(refused.body, { detail: 'Could not validate credentials' })
  }
  for (const [how, tokens] of Object.entries(hers)) t.strictSame(await answersTo(tokens), [401, 401], how)
  for (const [how, tokens] of Object.entries(others)) t.strictSame(await answersTo(tokens), [202, 200], how)
  t.equal((await app.request('POST', '/api/v1/invitation-code/redeem', { auth: 'none', body: { code } })).status, 404)
  t.equal((await login(app, grace.email)).status, 401)
})

t.test('no phone gets in while its developer is being deleted', async (t) => {
  const user = (await app.request('POST', '/api/v1/users', { body: {} })).body.id
  for (let run = 0; run < runs(3, 5); run += 1) {
    const other = await join(app, `other${run}@example.org`)
    const auth = { bearer: other.token }
    const { code } = (await app.request('POST', `/api/v1/users/${user}/invitation-code`, { auth })).body
    const phone = (await app.request('POST', `/api/v1/users/${user}/token`, { auth, body: {} })).body
    const renew = (refresh_token: string) =>
      app.request('POST', '/api/v1/token/refresh', { auth: 'none', body: { refresh_token } })
    const [deleted, ...answers] = await Promise.all([
      call(app, 'DELETE', `/${other.id}`),
      app.request('POST', `/api/v1/users/${user}/token`, { auth, body: {} }),
      app.request('POST', '/api/v1/invitation-code/redeem', { auth: 'none', body: { code } }),
      renew(phone.refresh_token),
    ])
    t.equal(deleted.status, 200)
    const statuses = answers.map(({ status }) => status)
    t.ok(
      statuses.every((status) => [200, 401, 404].includes(status)),
      `${statuses}`,
    )
    for (const { body } of answers) if (body.refresh_token) t.equal((await renew(body.refresh_token)).status, 401)
  }
})

t.test('the last developer stays', async (t) => {
  const app = await startTestApp(t, engine)
  const refused = await call(app, 'DELETE', `/${app.developer.id}`)
  t.equal(refused.status, 400)
  t.strictSame(refused.body, { detail: 'The last developer cannot be deleted' })
  const grace = await join(app, 'grace@example.org')
  t.equal((await call(app, 'DELETE', `/${app.developer.id}`)).status, 200, 'oneself, when somebody is left')
  t.equal((await call(app, 'DELETE', `/${grace.id}`, grace.token)).status, 400)
})

t.test('of two who delete each other at once one stays', async (t) => {
  const app = await startTestApp(t, engine)
  let left: Person = { ...app.developer, token: await app.developer.token() }
  for (let run = 0; run < runs(3, 5); run += 1) {
    const other = await join(app, `other${run}@example.org`)
    const answers = await Promise.all([
      call(app, 'DELETE', `/${other.id}`, left.token),
      call(app, 'DELETE', `/${left.id}`, other.token),
    ])
    const statuses = answers.map(({ status }) => status)
    t.equal(statuses.filter((status) => status === 200).length, 1, `${statuses}`)
    // The other request is refused: its account is gone, or it would delete the last one.
    t.ok(
      statuses.some((status) => status === 400 || status === 401),
      `${statuses}`,
    )
    const rest = await app.db.query<{ id: string }>('select id from developer')
    t.equal(rest.length, 1)
    left = rest[0]?.id === left.id ? left : other
  }
})

t.test('developers and invitations are for developers', async (t) => {
  const user = (await app.request('POST', '/api/v1/users', { body: {} })).body.id
  const phone = await app.sdkToken(user)
  const id = app.developer.id
  for (const [method, path] of [
    ['GET', '/developers'],
    ['GET', `/developers/${id}`],
    ['PATCH', `/developers/${id}`],
    ['DELETE', `/developers/${id}`],
    ['GET', '/invitations'],
    ['POST', '/invitations'],
    ['DELETE', `/invitations/${id}`],
    ['POST', `/invitations/${id}/resend`],
    ['PUT', '/oauth/providers'],
    ['PUT', '/oauth/providers/apple'],
    ['GET', '/dashboard/stats'],
    ['GET', '/config'],
  ] as const) {
    const body = method === 'GET' || method === 'DELETE' ? undefined : {}
    const key = await app.request(method, `/api/v1${path}`, { body })
    t.equal(key.status, 401, `${method} ${path}`)
    t.match(key.body, { detail: 'Could not validate credentials' })
    const sdk = await app.request(method, `/api/v1${path}`, { auth: { bearer: phone }, body })
    t.equal(sdk.status, 401)
    t.strictSame(sdk.body, { detail: 'SDK tokens cannot access this endpoint' })
  }
})
