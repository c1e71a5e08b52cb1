// Lists that developers fill are bounded, so that each fits into one answer.
import t from 'tap'
import { hashInvitationToken, newInvitationToken } from '../../server/api/invitations/invitation.ts'
import { signAccessToken } from '../../server/http/tokens.ts'
import { startTestApp, type TestAnswer, type TestApp } from '../support/app.ts'
import { engines } from '../support/servers.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')

const MOST = 1000

interface Entry {
  id: string
  app_id?: string
}

interface ListOf {
  path: string
  name: string
  /** Adds entries, one for each n; `$2` is the developer. */
  fill: string
  /** The body that creates the nth entry. */
  body(n: number): object
}

const token = newInvitationToken()

const LISTS: ListOf[] = [
  {
    path: '/developer/api-keys',
    name: 'API keys',
    fill: `insert into api_key (name, key_prefix, key_hash, created_by)
           select 'Key', 'sk-', sha256(n::text::bytea), $2 from generate_series(1, $1::int4) n`,
    body: () => ({}),
  },
  {
    path: '/applications',
    name: 'applications',
    fill: `insert into application (app_id, name, secret_hash, developer_id)
           select 'app_' || n, 'App', '', $2 from generate_series(1, $1::int4) n`,
    body: () => ({ name: 'Pulse' }),
  },
  {
    path: '/invitations',
    name: 'open invitations',
    fill: `insert into invitation (email, token_hash, invited_by_id)
           select n || '@example.org', sha256(n::text::bytea), $2 from generate_series(1, $1::int4) n`,
    body: (n) => ({ email: `one-more-${n}@example.org` }),
  },
  {
    path: '/webhooks/endpoints',
    name: 'endpoints',
    fill: `insert into endpoint (uid, url, secret)
           select 'ep_' || n, 'https://example.org/' || n, '' from generate_series(1, $1::int4) n where $2::uuid is not null`,
    body: () => ({ url: 'https://example.org/hook' }),
  },
]

const call = (app: TestApp, method: string, path: string, body?: object): Promise<TestAnswer> =>
  app.request(method, `/api/v1${path}`, { auth: 'developer', ...(body && { body }) })

t.test('lists that are full', async (t) => {
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true })
  const other = await app.another()
  for (const { path, name, fill, body } of LISTS) {
    const list = async (): Promise<Entry[]> => (await call(app, 'GET', path)).body
    await app.db.query(fill, [MOST - 1 - (await list()).length, app.developer.id])
    const answers = await Promise.all([0, 1, 2, 3].map((n) => call(n % 2 ? app : other, 'POST', path, body(n))))
    t.strictSame(answers.map(({ status }) => status).sort(), [201, 409, 409, 409], `${name}: one finds the last place`)
    t.strictSame(answers.find(({ status }) => status === 409)?.body, {
      detail: `There are 1000 ${name}; the limit is 1000. Delete one first.`,
    })
    const entries = await list()
    t.equal(entries.length, MOST, `all ${name} are listed`)
    const [last] = entries
    t.ok((await call(app, 'DELETE', `${path}/${last?.app_id ?? last?.id}`)).status < 300)
    t.equal((await call(app, 'POST', path, body(4))).status, 201, 'one goes, one may come')
  }
  const [grace] = await app.db.query<{ id: string }>(
    `insert into developer (email, password_hash) values ('grace@example.org', 'x') returning id`,
  )
  const bearer = await signAccessToken(app.deps.keys, 'developer', grace?.id ?? '')
  const hers = await app.request('POST', '/api/v1/applications', { auth: { bearer }, body: { name: 'Pulse' } })
  t.equal(hers.status, 201, 'each developer has applications of its own')
})

t.test('an instance that is full of developers takes no more', async (t) => {
  const app = await startTestApp(t, engine)
  await app.db.query(
    `insert into developer (email, password_hash) select n || '@example.org', 'x' from generate_series(1, $1::int4) n`,
    [MOST - 1],
  )
  await app.db.query('insert into invitation (email, token_hash, invited_by_id) values ($1, $2, $3)', [
    'grace@example.org',
    hashInvitationToken(token),
    app.developer.id,
  ])
  const accept = () => {
    const body = { token, first_name: 'Grace', last_name: 'Hopper', password: 'correct horse battery' }
    return app.request('POST', '/api/v1/invitations/accept', { auth: 'none', body })
  }
  t.equal((await accept()).status, 409)
  await app.db.query(`delete from developer where email = '1@example.org'`)
  t.equal((await accept()).status, 201, 'the invitation was not spent')
})

t.test('endpoints are paged', async (t) => {
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true })
  const fill = LISTS.find(({ name }) => name === 'endpoints')?.fill ?? ''
  await app.db.query(fill, [7, app.developer.id])
  const page = (query: string) => call(app, 'GET', `/webhooks/endpoints${query}`)
  const all = await page('')
  t.strictSame(
    all.body.map(({ id }: Entry) => id),
    ['ep_7', 'ep_6', 'ep_5', 'ep_4', 'ep_3', 'ep_2', 'ep_1'],
  )
  t.equal(all.headers.get('x-next-cursor'), null)
  const pages: Entry[][] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const answer = await page(`?limit=3${cursor && `&cursor=${cursor}`}`)
    pages.push(answer.body)
    cursor = answer.headers.get('x-next-cursor')
    // Entries created in the meantime are newer than all that follow.
    await call(app, 'POST', '/webhooks/endpoints', { url: 'https://example.org/new' })
  }
  t.strictSame(
    pages.map(({ length }) => length),
    [3, 3, 1],
  )
  t.strictSame(pages.flat(), all.body)
  for (const query of ['?limit=0', '?limit=1001', '?page=2']) t.equal((await page(query)).status, 422, query)
  for (const query of ['?cursor=', '?cursor=x', '?cursor=MQ==']) t.equal((await page(query)).status, 400, query)
})
