// Webhook endpoints as developers manage them: contract 10.
import { randomUUID } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { Compile } from 'typebox/compile'
import { webhookRoutes } from '../../server/api/webhooks/index.ts'
import { eventNames } from '../../server/catalogue/events.ts'
import { openVault } from '../../server/vault.ts'
import { newSecret, openSecret, sealSecret } from '../../server/webhooks/secrets.ts'
import { signature } from '../../server/webhooks/sign.ts'
import { startTestApp, type TestAnswer, type TestApp } from '../support/app.ts'
import { createEndpoint, deliveries, fanOut, hooks, keyOf, recordEvent, storeDeliveries } from '../support/endpoints.ts'
import { createUser, oneEngine } from '../support/sdk.ts'

const ON = { outgoingWebhooksEnabled: true }
const URL = 'https://example.org/hook'

const refused = (t: Test, answer: TestAnswer, ...issues: object[]) => {
  t.equal(answer.status, 422)
  t.match(answer.body.detail, issues)
  t.equal(answer.body.detail.length, issues.length)
}

/** Every route of one endpoint, with a body it accepts. */
const ofOne = (id: string): [method: string, path: string, body?: object][] => [
  ['GET', `/endpoints/${id}`],
  ['PATCH', `/endpoints/${id}`, {}],
  ['DELETE', `/endpoints/${id}`],
  ['GET', `/endpoints/${id}/secret`],
  ['POST', `/endpoints/${id}/secret/rotate`],
  ['POST', `/endpoints/${id}/test`],
  ['GET', `/endpoints/${id}/attempts`],
  ['POST', `/endpoints/${id}/messages/msg_${'0'.repeat(32)}/resend`],
  ['POST', `/endpoints/${id}/recover`, { since: new Date().toISOString() }],
]

oneEngine(t, 'endpoints', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)

  await t.test('are created, read, changed and deleted', async (t) => {
    const user = await createUser(app)
    t.strictSame((await hooks(app, 'GET', '/endpoints')).body, [])
    const answer = await hooks(app, 'POST', '/endpoints', {
      url: URL,
      description: 'Coaching app',
      filter_types: ['sleep.created', 'workout.created', 'sleep.created'],
      user_id: user.toUpperCase(),
      id: 'ep_mine',
    })
    t.equal(answer.status, 201)
    const { id } = answer.body
    t.match(id, /^ep_[0-9A-Za-z]{24}$/)
    const created = {
      id,
      url: URL,
      description: 'Coaching app',
      filter_types: ['sleep.created', 'workout.created'],
      filter_scope: null,
      user_id: user,
      disabled: false,
      disabled_reason: null,
    }
    t.strictSame(answer.body, created)
    t.strictSame((await hooks(app, 'GET', `/endpoints/${id}`)).body, created)
    const plain = await createEndpoint(app, { filter_types: [] })
    t.match(plain, { description: null, filter_types: null, filter_scope: null, user_id: null })
    t.match(await createEndpoint(app, { filter_scope: 'historical' }), { filter_scope: 'historical' })
    t.match(await createEndpoint(app, { filter_types: null, user_id: null, description: null }), {
      filter_types: null,
    })
    const list = await hooks(app, 'GET', '/endpoints')
    t.equal(list.status, 200)
    t.strictSame([list.body.length, list.body[3]], [4, created], 'the newest first')

    const change = async (fields: object, expected: object) => {
      const changed = await hooks(app, 'PATCH', `/endpoints/${id}`, fields)
      t.equal(changed.status, 200)
      Object.assign(created, expected)
      t.strictSame(changed.body, created, JSON.stringify(fields))
    }
    await change({}, {})
    await change({ url: null, description: null, filter_types: null, disabled: null }, {})
    await change(
      { url: 'https://hooks.example.org/x?y=1', description: '' },
      { url: 'https://hooks.example.org/x?y=1', description: '' },
    )
    await change({ filter_types: ['meal.created', 'meal.created'] }, { filter_types: ['meal.created'] })
    await change({ filter_types: [] }, { filter_types: null })
    await change({ filter_scope: 'live' }, { filter_scope: 'live' })
    await change({ description: '' }, {})
    await change({ filter_scope: null }, { filter_scope: null })
    await change({ user_id: null }, { user_id: null })
    await change({ user_id: user }, { user_id: user })

    const deleted = await hooks(app, 'DELETE', `/endpoints/${id}`)
    t.strictSame([deleted.status, deleted.body], [204, ''])
    t.equal((await hooks(app, 'GET', `/endpoints/${id}`)).status, 404)
    t.equal((await hooks(app, 'GET', '/endpoints')).body.length, 3)
  })

  await t.test('are disabled by hand and enabled again, whatever disabled them', async (t) => {
    const endpoint = await createEndpoint(app)
    const patch = (body: object) => hooks(app, 'PATCH', `/endpoints/${endpoint.id}`, body)
    t.match((await patch({ disabled: true })).body, { disabled: true, disabled_reason: 'by_hand' })
    t.match((await patch({ url: URL })).body, { disabled: true, disabled_reason: 'by_hand' })
    t.match((await patch({ disabled: false })).body, { disabled: false, disabled_reason: null })
    const failing = async () =>
      (
        await app.db.one<{ since: string | null }>('select failing_since as since from endpoint where uid = $1', [
          endpoint.id,
        ])
      ).since
    for (const reason of ['failing', 'gone']) {
      await app.db.query(
        'update endpoint set disabled_at = now(), disabled_reason = $2, failing_since = now() where uid = $1',
        [endpoint.id, reason],
      )
      t.match((await hooks(app, 'GET', `/endpoints/${endpoint.id}`)).body, { disabled: true, disabled_reason: reason })
      t.match((await patch({ disabled: true })).body, { disabled_reason: reason }, 'saying so again changes nothing')
      t.ok(await failing())
      t.match((await patch({ disabled: false })).body, { disabled: false, disabled_reason: null })
      t.equal(await failing(), null, 'its failures are forgiven')
    }
    await app.db.query(
      `update endpoint set disabled_at = now() + interval '1 hour', disabled_reason = 'failing' where uid = $1`,
      [endpoint.id],
    )
    const after = await patch({ disabled: false })
    t.strictSame([after.status, after.body.disabled], [200, false], 'after the clock went back as well')
    await app.db.query('update endpoint set failing_since = now() where uid = $1', [endpoint.id])
    await patch({ disabled: false, url: URL, description: 'x' })
    t.ok(await failing(), 'an enabled one keeps its failures')
    await patch({ url: 'https://elsewhere.example.org/' })
    t.equal(await failing(), null, 'of another address there are none')
  })

  await t.test('take absolute https addresses of the public internet only', async (t) => {
    const endpoint = await createEndpoint(app)
    const wrong: [url: unknown, type: string, msg: RegExp | string][] = [
      ['', 'url_parsing', 'Input should be a valid URL, input is empty'],
      ['example.org/hook', 'url_parsing', 'Input should be a valid URL, relative URL without a base'],
      ['/hook', 'url_parsing', 'Input should be a valid URL, relative URL without a base'],
      ['https://', 'url_parsing', /^Input should be a valid URL/],
      ['https://example.org:99999/', 'url_parsing', /^Input should be a valid URL/],
      ['https://exam\nple.org/', 'url_parsing', 'Input should be a valid URL, invalid character'],
      [' https://example.org/', 'url_parsing', 'Input should be a valid URL, invalid character'],
      ['ftp://example.org/', 'url_scheme', "URL scheme should be 'http' or 'https'"],
      ['javascript:alert(1)', 'url_scheme', /^URL scheme/],
      [`https://example.org/${'x'.repeat(2100)}`, 'string_too_long', 'String should have at most 2083 characters'],
      ['http://example.org/', 'value_error', 'Value error, url must use https'],
      ['http://example.org/h?token=hunter2hunter2', 'value_error', 'Value error, url must use https'],
      ['https://ada:secret@example.org/', 'value_error', /user name or password$/],
      ['https://example.org/hook#top', 'value_error', 'Value error, url must not contain a fragment'],
      ['https://example.org/#', 'value_error', 'Value error, url must not contain a fragment'],
      [7, 'string_type', 'Input should be a valid string'],
      ...[
        '127.0.0.1',
        '127.1',
        '2130706433',
        '0x7f.0.0.1',
        '0177.0.0.1',
        '10.1.2.3',
        '172.16.0.1',
        '192.168.1.1',
        '169.254.169.254',
        '100.64.0.1',
        '0.0.0.0',
        '[::1]',
        '[::ffff:10.0.0.1]',
        '[fd00::1]',
        '[fe80::1]',
      ].map((host): [string, string, RegExp] => [`https://${host}/`, 'value_error', /private or reserved$/]),
    ]
    for (const [url, type, msg] of wrong) {
      t.comment(url)
      for (const answer of [
        await hooks(app, 'POST', '/endpoints', { url }),
        await hooks(app, 'PATCH', `/endpoints/${endpoint.id}`, { url }),
      ]) {
        const shown =
          typeof url === 'string'
            ? url.replace('ada:secret', '[hidden]').replace(/[?#].+/, (part) => `${part[0]}[hidden]`)
            : url
        const input = String(url).length > 300 ? /^.{300}… \(\d+ characters\)$/ : shown
        refused(t, answer, { type, loc: ['body', 'url'], msg, input })
      }
    }
    refused(t, await hooks(app, 'POST', '/endpoints', {}), { type: 'missing', loc: ['body', 'url'] })
    refused(t, await hooks(app, 'POST', '/endpoints', { url: null }), { type: 'string_type', loc: ['body', 'url'] })
    t.match((await hooks(app, 'GET', `/endpoints/${endpoint.id}`)).body, { url: URL }, 'nothing was changed')

    const local = await app.another({ webhooksAllowHttp: true, webhooksAllowNetworks: ['127.0.0.0/8'] })
    for (const url of ['http://127.0.0.1:9000/', 'https://127.0.0.1/', 'http://example.org'])
      t.equal((await hooks(local, 'POST', '/endpoints', { url })).status, 201, url)
    refused(t, await hooks(local, 'POST', '/endpoints', { url: 'http://10.0.0.1/' }), { type: 'value_error' })
  })

  await t.test('refuse unknown kinds of events, users and values of the wrong type, all at once', async (t) => {
    const endpoint = await createEndpoint(app)
    const bad: [fields: object, ...issues: object[]][] = [
      [
        { filter_types: ['steps.deleted'] },
        { type: 'value_error', loc: ['body', 'filter_types', 0], msg: /^Input should be 'connection.created', / },
      ],
      [
        { filter_types: ['steps.created', 'x', 7] },
        { loc: ['body', 'filter_types', 1] },
        { loc: ['body', 'filter_types', 2] },
      ],
      [{ filter_scope: 'past' }, { type: 'enum', loc: ['body', 'filter_scope'] }],
      [{ filter_types: 'steps.created' }, { type: 'list_type', loc: ['body', 'filter_types'] }],
      [{ user_id: 'x' }, { type: 'uuid_parsing', loc: ['body', 'user_id'] }],
      [{ description: 7 }, { type: 'string_type', loc: ['body', 'description'] }],
      [{ description: 'x'.repeat(1001) }, { type: 'string_too_long', loc: ['body', 'description'] }],
      [
        { url: 'x', filter_types: ['x'], user_id: 'x' },
        { type: 'url_parsing' },
        { type: 'value_error' },
        { type: 'uuid_parsing' },
      ],
    ]
    for (const [fields, ...issues] of bad) {
      refused(t, await hooks(app, 'POST', '/endpoints', { url: URL, ...fields }), ...issues)
      refused(t, await hooks(app, 'PATCH', `/endpoints/${endpoint.id}`, fields), ...issues)
    }
    refused(t, await hooks(app, 'PATCH', `/endpoints/${endpoint.id}`, { disabled: 'yes' }), { type: 'bool_type' })
    refused(t, await hooks(app, 'POST', '/endpoints', []), { type: 'dict_type', loc: ['body'] })
    refused(t, await hooks(app, 'POST', '/endpoints'), { type: 'missing', loc: ['body'] })
    const nobody = randomUUID()
    for (const answer of [
      await hooks(app, 'POST', '/endpoints', { url: URL, user_id: nobody }),
      await hooks(app, 'PATCH', `/endpoints/${endpoint.id}`, { user_id: nobody }),
    ]) {
      t.equal(answer.status, 404)
      t.strictSame(answer.body, { detail: `User with ID: ${nobody} not found.` })
    }
  })

  await t.test('go with their user', async (t) => {
    const user = await createUser(app)
    const { id } = await createEndpoint(app, { user_id: user })
    t.equal((await app.request('DELETE', `/api/v1/users/${user}`, { auth: 'developer' })).status, 200)
    t.equal((await hooks(app, 'GET', `/endpoints/${id}`)).status, 404)
  })

  await t.test('take their deliveries and attempts with them', async (t) => {
    const [endpoint, other] = [await createEndpoint(app), await createEndpoint(app)]
    await recordEvent(app.db)
    await fanOut(app.db)
    await storeDeliveries(app.db)
    for (const one of [endpoint, other])
      await app.db.query(
        `insert into attempt (endpoint_id, event_uid, event_type, url, succeeded, response_status, response, duration_ms, manual, attempted_at)
         values ($1, gen_random_uuid(), 'meal.created', 'https://example.org', true, 200, '', 1, false, now())`,
        [await keyOf(app.db, one)],
      )
    const left = () =>
      app.db.one<object>(
        `select (select count(*) from attempt where endpoint_id = any ($1)) as attempts,
                (select count(*) from delivery where endpoint_id = any ($1)) as deliveries`,
        [keys],
      )
    const keys = [await keyOf(app.db, endpoint), await keyOf(app.db, other)]
    t.strictSame(await left(), { attempts: 2, deliveries: 2 })
    await hooks(app, 'DELETE', `/endpoints/${endpoint.id}`)
    t.strictSame(await left(), { attempts: 1, deliveries: 1 })
    t.equal((await deliveries(app.db, other)).length, 1)
    t.equal((await hooks(app, 'GET', '/messages')).body.data.length, 1, 'events stay')
  })

  await t.test('have a secret that is shown where it is asked for, and nowhere else', async (t) => {
    const { id } = await createEndpoint(app)
    const answers: TestAnswer[] = []
    const shown = await hooks(app, 'GET', `/endpoints/${id}/secret`)
    t.equal(shown.status, 200)
    t.equal(shown.headers.get('cache-control'), 'private, no-store')
    t.strictSame(Object.keys(shown.body), ['key'])
    t.match(shown.body.key, /^whsec_[A-Za-z0-9+/]{43}=$/)
    t.strictSame((await hooks(app, 'GET', `/endpoints/${id}/secret`)).body, shown.body)
    const rotated = await hooks(app, 'POST', `/endpoints/${id}/secret/rotate`)
    t.equal(rotated.status, 200)
    t.equal(rotated.headers.get('cache-control'), 'private, no-store')
    t.strictSame(Object.keys(rotated.body), ['key'])
    t.not(rotated.body.key, shown.body.key)
    t.strictSame((await hooks(app, 'GET', `/endpoints/${id}/secret`)).body, rotated.body)
    t.not((await hooks(app, 'GET', `/endpoints/${(await createEndpoint(app)).id}/secret`)).body.key, rotated.body.key)

    // As after a change of SECRET_KEY.
    const unread = await createEndpoint(app)
    const { keyId, sealed } = sealSecret(openVault('a key that nobody has any more'), unread.id, newSecret())
    await app.db.query('update endpoint set secret = $2, key_id = $3 where uid = $1', [unread.id, sealed, keyId])
    const refusal = await hooks(app, 'GET', `/endpoints/${unread.id}/secret`)
    t.strictSame(
      [refusal.status, refusal.body],
      [400, { detail: 'The secret was stored with another SECRET_KEY and cannot be read. Rotate it.' }],
    )
    const { body: again } = await hooks(app, 'POST', `/endpoints/${unread.id}/secret/rotate`)
    t.strictSame((await hooks(app, 'GET', `/endpoints/${unread.id}/secret`)).body, again)
    await hooks(app, 'DELETE', `/endpoints/${unread.id}`)

    for (const [method, path, body] of ofOne(id))
      if (!path.includes('/secret')) answers.push(await hooks(app, method, path, body))
    answers.push(await hooks(app, 'GET', '/endpoints'), await hooks(app, 'GET', '/messages'))
    const secrets = [shown.body.key, rotated.body.key].flatMap((key: string) => [key, key.slice('whsec_'.length)])
    for (const { body } of answers) {
      t.notMatch(JSON.stringify(body), 'whsec_')
      t.notOk(secrets.some((secret) => JSON.stringify(body).includes(secret)))
    }
  })

  await t.test('are signed for with the former secret as well for a day, and store neither in clear', async (t) => {
    const { id } = await createEndpoint(app)
    const former = (await hooks(app, 'GET', `/endpoints/${id}/secret`)).body.key
    const { key } = (await hooks(app, 'POST', `/endpoints/${id}/secret/rotate`)).body
    const row = await app.db.one<{
      secret: Buffer
      key_id: number
      former_secret: Buffer
      former_key_id: number
      hours: number
      text: string
    }>(
      `select secret, key_id, former_secret, former_key_id, extract(epoch from former_until - now())::float8 / 3600 as hours,
              encode(secret, 'escape') || encode(former_secret, 'escape') as text
       from endpoint where uid = $1`,
      [id],
    )
    t.ok(row.hours > 23.9 && row.hours <= 24)
    t.notMatch(row.text, 'whsec_')
    for (const secret of [former, key]) {
      const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64')
      t.notOk(row.secret.includes(bytes) || row.former_secret.includes(bytes))
    }
    const open = (keyId: number, sealed: Buffer) => openSecret(app.deps.oauth.vault, id, { keyId, sealed })
    t.strictSame([open(row.key_id, row.secret), open(row.former_key_id, row.former_secret)], [key, former])
    const body = Buffer.from('{"type":"workout.created","data":{}}')
    const now = Math.floor(Date.now() / 1000)
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(now),
      'webhook-signature': signature([key, former], 'msg_1', now, body),
    }
    for (const secret of [key, former])
      t.match(new Webhook(secret).verify(body.toString(), headers), { type: 'workout.created' })
    t.throws(() => new Webhook(key).verify(`${body} `, headers))
  })

  await t.test('that do not exist are not found', async (t) => {
    for (const id of [`ep_${'0'.repeat(24)}`, '1', 'ep_', 'x'.repeat(300)])
      for (const [method, path, body] of ofOne(id)) {
        const answer = await hooks(app, method, path, body)
        t.strictSame([answer.status, answer.body], [404, { detail: 'Endpoint not found' }], `${method} ${path}`)
      }
  })

  await t.test('have no parameters that are not known', async (t) => {
    const { id } = await createEndpoint(app)
    for (const path of ['/endpoints', `/endpoints/${id}`, `/endpoints/${id}/secret`, '/event-types'])
      refused(t, await hooks(app, 'GET', `${path}?page=2`), { type: 'extra_forbidden', loc: ['query', 'page'] })
  })
})

oneEngine(t, 'webhooks', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)
  const everyRoute = (): [method: string, path: string, body?: object][] => [
    ['POST', '/endpoints', { url: URL }],
    ['GET', '/endpoints'],
    ...ofOne('ep_1'),
    ['GET', '/messages'],
    ['GET', '/events'],
  ]

  await t.test('answer 503 unless they are enabled', async (t) => {
    const off = await app.another({ outgoingWebhooksEnabled: false })
    for (const [method, path, body] of everyRoute()) {
      const answer = await hooks(off, method, path, body)
      t.equal(answer.status, 503, `${method} ${path}`)
      t.strictSame(answer.body, {
        detail:
          path === '/events'
            ? 'Events are not recorded (set EVENT_FEED_ENABLED=true or OUTGOING_WEBHOOKS_ENABLED=true in the backend environment).'
            : 'Outgoing webhooks are not enabled (set OUTGOING_WEBHOOKS_ENABLED=true in the backend environment).',
      })
    }
    t.equal((await hooks(off, 'GET', '/event-types')).status, 200)
    const feed = await off.another({ eventFeedEnabled: true })
    t.equal((await hooks(feed, 'GET', '/events')).status, 200, 'the feed can be enabled alone')
    t.equal((await hooks(feed, 'GET', '/messages')).status, 503)
  })

  await t.test('are for developers; their kinds for everybody, the feed for programs as well', async (t) => {
    const sdk = await app.sdkToken(await createUser(app))
    for (const [method, path, body] of everyRoute().filter(([, path]) => path !== '/events')) {
      const ask = (auth: 'key' | 'none' | { bearer: string }) =>
        app.request(method, `/api/v1/webhooks${path}`, { auth, ...(body && { body }) })
      for (const auth of ['key', 'none'] as const) {
        const answer = await ask(auth)
        t.match([answer.status, answer.body], [401, { detail: 'Could not validate credentials' }])
      }
      t.equal((await ask({ bearer: sdk })).status, 401)
    }
    const feed = (auth: 'key' | 'none' | 'developer' | { bearer: string }) =>
      app.request('GET', '/api/v1/webhooks/events', { auth })
    t.equal((await feed('key')).status, 200)
    t.equal((await feed('developer')).status, 200)
    t.equal((await feed('none')).status, 401)
    t.equal((await feed({ bearer: sdk })).status, 401)
    const kinds = await app.request('GET', '/api/v1/webhooks/event-types', { auth: 'none' })
    t.equal(kinds.status, 200)
    t.strictSame(
      kinds.body.map(({ name }: { name: string }) => name),
      eventNames,
    )
    t.strictSame(Object.keys(kinds.body[0]), ['name', 'description', 'child_events'])
    t.ok(kinds.body.every((kind: { child_events: null }) => kind.child_events === null))
  })

  await t.test('answer as they are described', async (t) => {
    const endpoint = await createEndpoint(app)
    const message = (await hooks(app, 'POST', `/endpoints/${endpoint.id}/test`)).body.message_id
    await recordEvent(app.db, { samples: 3, type: 'heart_rate.created', user: await createUser(app) })
    await fanOut(app.db)
    await attempted(app, endpoint)
    const values: Record<string, string> = { endpoint_id: endpoint.id, msg_id: message }
    for (const route of [...webhookRoutes].sort(
      (a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'),
    )) {
      const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name) => values[name] ?? name)
      const body = path.endsWith('/recover') ? { since: new Date().toISOString() } : route.bodyExample
      const answer = await app.request(route.method, path, { auth: 'developer', ...(body ? { body } : {}) })
      t.equal(answer.status, route.status ?? 200, route.operationId)
      if (route.response) t.strictSame(Compile(route.response as never).Errors(answer.body), [], route.operationId)
      if (answer.body.data) t.ok(answer.body.data.length > 0, `${route.operationId} shows something`)
    }
  })
})

async function attempted(app: TestApp, endpoint: { id: string }): Promise<void> {
  await app.db.query(
    `insert into attempt (endpoint_id, event_uid, event_type, url, succeeded, response_status, response, duration_ms, manual, attempted_at)
     select $1, uid, type, 'https://example.org/hook', false, 500, 'oops', 85, false, now() from event`,
    [await keyOf(app.db, endpoint)],
  )
}
