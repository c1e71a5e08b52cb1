import { randomUUID } from 'node:crypto'
import t from 'tap'
import { startTestApp, type TestApp } from '../support/app.ts'
import { engines } from '../support/servers.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')
const app = await startTestApp(t, engine)

const PATH = '/api/v1/developer/api-keys'
const asDeveloper = (app: TestApp, method: string, path = '', body?: unknown) =>
  app.request(method, PATH + path, { auth: 'developer', ...(body !== undefined && { body }) })
const worksOn = async (app: TestApp, key: string) =>
  (await app.request('GET', '/api/v1/users', { auth: 'none', headers: { 'X-Service-API-Key': key } })).status

/** Repeats the request until it gets the expected answer: a notification is on its way. */
async function becomes(status: number, ask: () => Promise<number>): Promise<boolean> {
  const end = Date.now() + 10_000
  while (Date.now() < end) if ((await ask()) === status) return true
  return false
}

t.test('an API key is created, listed, renamed, rotated and deleted', async (t) => {
  const created = await asDeveloper(app, 'POST', '', { name: 'Production' })
  t.equal(created.status, 201)
  t.equal(created.headers.get('cache-control'), 'private, no-store')
  const { key, id } = created.body
  t.match(key, /^sk-[0-9a-f]{32}$/)
  t.match(created.body, {
    name: 'Production',
    key_prefix: key.slice(0, 9),
    created_by: app.developer.id,
    last_used_at: null,
  })
  t.match(created.body.created_at, /^\d{4}-\d{2}-\d{2}T[\d:]{8}(\.\d{6})?Z$/)
  t.equal(await worksOn(app, key), 200)

  const list = await asDeveloper(app, 'GET')
  t.equal(list.status, 200)
  t.strictSame(
    list.body.map((row: { name: string }) => row.name),
    ['Production', 'Default'],
    'newest first, after the one of the first start',
  )
  t.strictSame(Object.keys(list.body[0]), ['id', 'name', 'key_prefix', 'created_by', 'created_at', 'last_used_at'])
  t.notOk(JSON.stringify(list.body).includes(key), 'the key is not shown again')
  const rows = await app.db.query<{ text: string }>('select k::text as text from api_key k')
  t.notOk(
    rows.some(({ text }) => text.includes(key)),
    'nor stored',
  )

  const renamed = await asDeveloper(app, 'PATCH', `/${id}`, { name: 'Staging' })
  t.equal(renamed.status, 200)
  t.equal(renamed.body.name, 'Staging')
  t.notOk(renamed.body.key)
  t.equal((await asDeveloper(app, 'PATCH', `/${id}`, {})).body.name, 'Staging')
  t.equal(await worksOn(app, key), 200)

  const rotated = await asDeveloper(app, 'POST', `/${id}/rotate`)
  t.equal(rotated.status, 201)
  t.match(rotated.body, { id, name: 'Staging', key: /^sk-[0-9a-f]{32}$/, created_at: created.body.created_at })
  t.equal(rotated.body.key_prefix, rotated.body.key.slice(0, 9))
  t.equal(await worksOn(app, key), 401, 'the old key stops working at once')
  t.equal(await worksOn(app, rotated.body.key), 200)

  const deleted = await asDeveloper(app, 'DELETE', `/${id}`)
  t.equal(deleted.status, 200)
  t.match(deleted.body, { id, name: 'Staging' })
  t.equal(await worksOn(app, rotated.body.key), 401, 'a deleted key stops working at once')
  t.equal((await asDeveloper(app, 'GET')).body.length, 1)
})

t.test('a name is optional and limited', async (t) => {
  t.equal((await asDeveloper(app, 'POST')).body.name, 'Default', 'no body')
  t.equal((await asDeveloper(app, 'POST', '', {})).body.name, 'Default')
  t.equal((await asDeveloper(app, 'POST', '', { name: 'x'.repeat(100) })).status, 201)
  for (const [name, type] of [
    ['', 'string_too_short'],
    ['x'.repeat(101), 'string_too_long'],
    [null, 'string_type'],
    [7, 'string_type'],
  ]) {
    const answer = await asDeveloper(app, 'POST', '', { name })
    t.equal(answer.status, 422)
    t.match(answer.body.detail, [{ type, loc: ['body', 'name'] }])
  }
})

t.test('an unknown key is a 404, and a key may not manage keys', async (t) => {
  const id = randomUUID()
  for (const [method, path, body] of [
    ['PATCH', `/${id}`, { name: 'x' }],
    ['DELETE', `/${id}`, undefined],
    ['POST', `/${id}/rotate`, undefined],
  ] as const) {
    const unknown = await asDeveloper(app, method, path, body)
    t.equal(unknown.status, 404)
    t.strictSame(unknown.body, { detail: `Api key with ID: ${id} not found.` })
    const bad = await asDeveloper(app, method, path.replace(id, 'x'), body)
    t.equal(bad.status, 422)
    t.match(bad.body.detail, [{ type: 'uuid_parsing', loc: ['path', 'key_id'] }])
    const byKey = await app.request(method, PATH + path, { ...(body && { body }) })
    t.equal(byKey.status, 401)
    t.match(byKey.body, { detail: 'Could not validate credentials' })
  }
})

t.test('a rotated or deleted key stops working in every process', async (t) => {
  const other = await app.another()
  const { key, id } = (await asDeveloper(app, 'POST')).body
  t.equal(await worksOn(other, key), 200, 'and is remembered there')
  const { key: next } = (await asDeveloper(app, 'POST', `/${id}/rotate`)).body
  t.ok(await becomes(401, () => worksOn(other, key)))
  t.equal(await worksOn(other, next), 200)
  await asDeveloper(app, 'DELETE', `/${id}`)
  t.ok(await becomes(401, () => worksOn(other, next)))
})

t.test('the last use is written down', async (t) => {
  const other = await app.another()
  const { key, id } = (await asDeveloper(app, 'POST')).body
  const before = Date.now()
  t.equal(await worksOn(other, key), 200)
  // A process that ends first writes the last uses it has not written yet.
  await other.close()
  const row = (await asDeveloper(app, 'GET')).body.find((row: { id: string }) => row.id === id)
  t.match(row.last_used_at, /Z$/)
  t.ok(Date.parse(row.last_used_at) >= before && Date.parse(row.last_used_at) <= Date.now())
})

t.test('a key outlives the developer who made it', async (t) => {
  const { key, id } = (await asDeveloper(app, 'POST')).body
  const [other] = await app.db.query<{ id: string }>(
    `insert into developer (email, password_hash) values ('grace@example.org', 'x') returning id`,
  )
  await app.db.query('update api_key set created_by = $1 where id = $2', [other?.id ?? null, id])
  await app.db.query('delete from developer where id = $1', [other?.id ?? null])
  t.equal(await worksOn(app, key), 200)
  t.equal((await asDeveloper(app, 'PATCH', `/${id}`, { name: 'x' })).body.created_by, null)
})
