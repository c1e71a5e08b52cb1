import { createHash, randomUUID } from 'node:crypto'
import t from 'tap'
import { signAccessToken } from '../../server/http/tokens.ts'
import { startTestApp, type TestAnswer, type TestApp, type TestRequest } from '../support/app.ts'
import { engines } from '../support/servers.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')
const app = await startTestApp(t, engine)
t.beforeEach(async () => {
  await app.db.query('delete from invitation')
  await app.db.query('delete from developer where id <> $1', [app.developer.id])
  await app.db.query('update developer set email = $1', [app.developer.email])
})

const PASSWORD = 'correct horse battery'
const PERSON = { first_name: 'Grace', last_name: 'Hopper', password: PASSWORD }

type Auth = NonNullable<TestRequest['auth']>

const invite = (app: TestApp, email = 'grace@example.org', auth: Auth = 'developer') =>
  app.request('POST', '/api/v1/invitations', { auth, body: { email } })
const list = (app: TestApp) => app.request('GET', '/api/v1/invitations', { auth: 'developer' })
const revoke = (app: TestApp, id: string) => app.request('DELETE', `/api/v1/invitations/${id}`, { auth: 'developer' })
const resend = (app: TestApp, id: string, auth: Auth = 'developer') =>
  app.request('POST', `/api/v1/invitations/${id}/resend`, { auth })
const accept = (app: TestApp, token: string, fields: object = {}) =>
  app.request('POST', '/api/v1/invitations/accept', { auth: 'none', body: { token, ...PERSON, ...fields } })
const login = (app: TestApp, username: string) =>
  app.request('POST', '/api/v1/auth/login', {
    auth: 'none',
    body: new URLSearchParams({ username, password: PASSWORD }),
  })
const expire = (app: TestApp, id: string) =>
  app.db.query(`update invitation set expires_at = now() - interval '1 second' where id = $1`, [id])

const said = ({ status, body }: TestAnswer) => [status, body.detail]

t.test('an invited developer gets an account', async (t) => {
  const answer = await invite(app, 'Grace@Example.ORG')
  t.equal(answer.status, 201)
  t.equal(answer.headers.get('cache-control'), 'private, no-store')
  const { token, ...invitation } = answer.body
  t.match(token, /^inv-[\w-]{43}$/)
  t.match(invitation, { email: 'Grace@example.org', status: 'pending', invited_by_id: app.developer.id })
  t.equal(Date.parse(invitation.expires_at) - Date.parse(invitation.created_at), 7 * 86_400_000)
  t.strictSame((await list(app)).body, [invitation], 'the list has no token')
  const [stored] = await app.db.query<{ text: string; token_hash: Buffer }>(
    'select i::text as text, token_hash from invitation i',
  )
  t.notOk(stored?.text.includes(token.slice(4)))
  t.strictSame(stored?.token_hash, createHash('sha256').update(token).digest())

  const accepted = await accept(app, token)
  t.equal(accepted.status, 201)
  t.match(accepted.body, { first_name: 'Grace', last_name: 'Hopper', email: 'Grace@example.org' })
  t.notMatch(JSON.stringify(accepted.body), PASSWORD)
  const session = await login(app, 'grace@example.org')
  t.equal(session.status, 200)
  const me = await app.request('GET', '/api/v1/auth/me', { auth: { bearer: session.body.access_token } })
  t.strictSame(me.body, accepted.body)
  t.strictSame((await list(app)).body, [])
  t.strictSame(said(await accept(app, token)), [400, 'Invitation is accepted'])
  t.strictSame(said(await revoke(app, invitation.id)), [400, 'Cannot revoke invitation with status: accepted'])
  t.strictSame(said(await resend(app, invitation.id)), [400, 'Cannot resend invitation with status: accepted'])
})

t.test('nobody is invited twice, nor who is here', async (t) => {
  t.strictSame(said(await invite(app, app.developer.email.toUpperCase())), [
    400,
    'A developer with this email already exists',
  ])
  const answers = await Promise.all([invite(app), invite(app), invite(app, 'GRACE@example.org')])
  t.strictSame(answers.map(({ status }) => status).sort(), [201, 400, 400])
  t.strictSame(said(await invite(app)), [400, 'A pending invitation already exists for this email'])
  t.equal((await list(app)).body.length, 1)
  for (const body of [{}, { email: 'x' }, { email: null }, { email: ['a@b.org'] }]) {
    t.equal((await app.request('POST', '/api/v1/invitations', { auth: 'developer', body })).status, 422)
  }
})

t.test('a new token replaces the old one', async (t) => {
  const { token: old, ...before } = (await invite(app)).body
  const answer = await resend(app, before.id)
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('cache-control'), 'private, no-store')
  const { token, ...after } = answer.body
  t.not(token, old)
  t.strictSame(after, { ...before, expires_at: after.expires_at })
  t.ok(after.expires_at > before.expires_at)
  t.strictSame((await list(app)).body, [after])
  t.strictSame(said(await accept(app, old)), [404, 'Invitation not found'])
  t.equal((await accept(app, token)).status, 201)
})

t.test('an invitation ends when it is revoked', async (t) => {
  const { token, ...invitation } = (await invite(app)).body
  const revoked = await revoke(app, invitation.id)
  t.equal(revoked.status, 200)
  t.strictSame(revoked.body, { ...invitation, status: 'revoked' })
  t.strictSame(said(await accept(app, token)), [400, 'Invitation is revoked'])
  t.strictSame(said(await revoke(app, invitation.id)), [400, 'Cannot revoke invitation with status: revoked'])
  t.strictSame(said(await resend(app, invitation.id)), [400, 'Cannot resend invitation with status: revoked'])
  t.strictSame((await list(app)).body, [])
  t.equal((await invite(app)).status, 201, 'and makes room for another')
  for (const call of [revoke, resend]) {
    t.strictSame(said(await call(app, randomUUID())), [404, 'Invitation not found'])
    t.equal((await call(app, 'x')).status, 422)
  }
})

t.test('an invitation ends after a week, until it is sent again', async (t) => {
  const { token, id } = (await invite(app)).body
  await expire(app, id)
  t.strictSame(said(await accept(app, token)), [400, 'Invitation has expired'])
  t.match((await list(app)).body, [{ id, status: 'expired' }])
  const renewed = await resend(app, id)
  t.match(renewed.body, { id, status: 'pending' })
  await expire(app, id)
  const again = await invite(app)
  t.equal(again.status, 201, 'one that has expired gives way')
  t.not(again.body.id, id)
  t.strictSame(
    (await list(app)).body.map((one: { id: string }) => one.id),
    [again.body.id],
  )
  t.strictSame(said(await accept(app, renewed.body.token)), [404, 'Invitation not found'])
  t.equal((await accept(app, again.body.token)).status, 201)
})

t.test('of two who accept one invitation at once one gets the account', async (t) => {
  const { token } = (await invite(app)).body
  const answers = await Promise.all([1, 2, 3].map((n) => accept(app, token, { first_name: `Grace ${n}` })))
  t.strictSame(answers.map(({ status }) => status).sort(), [201, 400, 400])
  for (const { status, body } of answers) if (status !== 201) t.equal(body.detail, 'Invitation is accepted')
  const created = answers.find(({ status }) => status === 201)?.body
  const people = await app.db.query<{ id: string }>('select id from developer where id <> $1', [app.developer.id])
  t.strictSame(people, [{ id: created.id }])
})

t.test('an invitation is not spent by what is refused', async (t) => {
  const { token } = (await invite(app)).body
  for (const fields of [
    { password: 'x'.repeat(11) },
    { password: null },
    { first_name: '' },
    { last_name: 'x'.repeat(101) },
    { token: 1 },
  ]) {
    t.equal((await accept(app, token, fields)).status, 422, JSON.stringify(fields))
  }
  t.equal((await app.request('POST', '/api/v1/invitations/accept', { auth: 'none', body: {} })).body.detail.length, 4)
  for (const unknown of ['', 'x', `inv-${'0'.repeat(43)}`, `${token}x`]) {
    t.strictSame(said(await accept(app, unknown)), [404, 'Invitation not found'])
  }
  // Somebody else took the address in the meantime.
  await app.db.query(`update developer set email = 'grace@example.org' where id = $1`, [app.developer.id])
  t.strictSame(said(await accept(app, token)), [400, 'A developer with this email already exists'])
  await app.db.query(`update developer set email = 'ada@example.org' where id = $1`, [app.developer.id])
  t.equal((await accept(app, token)).status, 201)
})

t.test('who leaves cannot come back with an invitation of its own', async (t) => {
  const { id } = await app.db.one<{ id: string }>(
    `insert into developer (email, password_hash) values ('eve@example.org', 'x') returning id`,
  )
  const eve = { bearer: await signAccessToken(app.deps.keys, 'developer', id) }
  const hers = (await invite(app, 'eve2@example.org', eve)).body
  const ours = (await invite(app, 'grace@example.org')).body
  const seen = (await resend(app, ours.id, eve)).body
  t.equal(seen.invited_by_id, id)
  await app.request('DELETE', `/api/v1/developers/${id}`, { auth: 'developer' })
  for (const { token } of [hers, seen]) t.strictSame(said(await accept(app, token)), [404, 'Invitation not found'])
})

t.test('attempts to accept are limited', async (t) => {
  const hasty = await app.another({ loginAttemptsPerMinute: 3 })
  await app.db.query('delete from throttle')
  for (let attempt = 0; attempt < 3; attempt += 1) t.equal((await accept(hasty, 'x')).status, 404)
  const { token } = (await invite(app)).body
  const refused = await accept(hasty, token)
  t.equal(refused.status, 429)
  t.ok(Number(refused.headers.get('retry-after')) > 0)
  const patient = await app.another({ loginAttemptsPerAccount: 2 })
  const one = (await invite(patient, 'joan@example.org')).body
  await patient.db.query(`update developer set email = 'joan@example.org'`)
  t.equal((await accept(patient, one.token)).status, 400)
  t.equal((await accept(patient, one.token)).status, 400)
  t.equal((await accept(patient, one.token)).status, 429, 'also those of one invitation')
})
