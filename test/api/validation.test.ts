import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { routes } from '../../server/api/index.ts'
import { startTestApp, type TestRequest } from '../support/app.ts'
import { createEndpoint } from '../support/endpoints.ts'
import { engines } from '../support/servers.ts'
import { runs } from '../support/thorough.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')
const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true })

const USERS = '/api/v1/users'
const JSON_TYPE = { 'Content-Type': 'application/json' }
const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
  app.request('POST', USERS, { body, headers: { ...JSON_TYPE, ...headers } })
const getUsers = (query: string) => app.request('GET', `${USERS}?${query}`)

const LETTERS = 'invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found '
const UUID_LETTER = `${LETTERS}\`n\` at 1`

t.test('every failure of a request is reported, path and query before body', async (t) => {
  t.test('in a query', async (t) => {
    const answer = await getUsers(
      'page=0&limit=101&sort_by=age&has_active_connection=maybe&email=x&provider=oura,fit&page_size=5',
    )
    t.equal(answer.status, 422)
    const sorts = "'created_at', 'email', 'first_name', 'last_name', 'name' or 'last_synced_at'"
    const providers =
      "'apple', 'samsung', 'garmin', 'health_connect', 'google_health', 'polar', 'suunto', 'whoop', 'strava', 'oura', " +
      "'fitbit', 'ultrahuman', 'sensorbio', 'withings', 'unknown' or 'internal'"
    t.strictSame(answer.body, {
      detail: [
        {
          type: 'greater_than_equal',
          loc: ['query', 'page'],
          msg: 'Input should be greater than or equal to 1',
          input: '0',
          ctx: { ge: 1 },
        },
        {
          type: 'less_than_equal',
          loc: ['query', 'limit'],
          msg: 'Input should be less than or equal to 100',
          input: '101',
          ctx: { le: 100 },
        },
        {
          type: 'enum',
          loc: ['query', 'sort_by'],
          msg: `Input should be ${sorts}`,
          input: 'age',
          ctx: { expected: sorts },
        },
        {
          type: 'value_error',
          loc: ['query', 'email'],
          msg: 'value is not a valid email address: An email address must have an @-sign.',
          input: 'x',
          ctx: { reason: 'An email address must have an @-sign.' },
        },
        {
          type: 'enum',
          loc: ['query', 'provider', 1],
          msg: `Input should be ${providers}`,
          input: 'fit',
          ctx: { expected: providers },
        },
        {
          type: 'bool_parsing',
          loc: ['query', 'has_active_connection'],
          msg: 'Input should be a valid boolean, unable to interpret input',
          input: 'maybe',
        },
        { type: 'extra_forbidden', loc: ['query', 'page_size'], msg: 'Extra inputs are not permitted', input: '5' },
      ],
    })
  })

  t.test('in path and query', async (t) => {
    const answer = await app.request('GET', `${USERS}/not-a-uuid/timeseries?limit=5000`)
    t.equal(answer.status, 422)
    t.strictSame(answer.body, {
      detail: [
        {
          type: 'uuid_parsing',
          loc: ['path', 'user_id'],
          msg: `Input should be a valid UUID, ${UUID_LETTER}`,
          input: 'not-a-uuid',
          ctx: { error: UUID_LETTER },
        },
        { type: 'missing', loc: ['query', 'start_time'], msg: 'Field required', input: null },
        { type: 'missing', loc: ['query', 'end_time'], msg: 'Field required', input: null },
        {
          type: 'less_than_equal',
          loc: ['query', 'limit'],
          msg: 'Input should be less than or equal to 1000',
          input: '5000',
          ctx: { le: 1000 },
        },
      ],
    })
  })

  t.test('in path, query and body', async (t) => {
    const answer = await app.request('PATCH', `${USERS}/not-a-uuid?x=1`, {
      body: { first_name: 'x'.repeat(101), last_name: [], email: '@example.org' },
    })
    t.equal(answer.status, 422)
    t.strictSame(answer.body, {
      detail: [
        {
          type: 'uuid_parsing',
          loc: ['path', 'user_id'],
          msg: `Input should be a valid UUID, ${UUID_LETTER}`,
          input: 'not-a-uuid',
          ctx: { error: UUID_LETTER },
        },
        { type: 'extra_forbidden', loc: ['query', 'x'], msg: 'Extra inputs are not permitted', input: '1' },
        {
          type: 'string_too_long',
          loc: ['body', 'first_name'],
          msg: 'String should have at most 100 characters',
          input: 'x'.repeat(101),
          ctx: { max_length: 100 },
        },
        { type: 'string_type', loc: ['body', 'last_name'], msg: 'Input should be a valid string', input: [] },
        {
          type: 'value_error',
          loc: ['body', 'email'],
          msg: 'value is not a valid email address: There must be something before the @-sign.',
          input: '@example.org',
          ctx: { reason: 'There must be something before the @-sign.' },
        },
      ],
    })
  })

  t.test('of required fields', async (t) => {
    const answer = await app.request('POST', '/api/v1/auth/change-password', {
      auth: 'developer',
      body: { new_password: 'x' },
    })
    t.strictSame(answer.body, {
      detail: [
        { type: 'missing', loc: ['body', 'current_password'], msg: 'Field required', input: null },
        {
          type: 'string_too_short',
          loc: ['body', 'new_password'],
          msg: 'String should have at least 12 characters',
          input: '[hidden]',
          ctx: { min_length: 12 },
        },
        { type: 'missing', loc: ['body', 'confirm_password'], msg: 'Field required', input: null },
      ],
    })
  })
})

t.test('ids that are none', async (t) => {
  for (const [id, error] of [
    ['abc', 'invalid length: expected length 32 for simple format, found 3'],
    ['0b0c2f7e-5d5f-4a0b-9c59', 'invalid group count: expected 5, found 4'],
    ['0b0c2f7e-5d5f-4a0b-9c5-3f1f6c6a8e11', 'invalid group length in group 3: expected 4, found 3'],
    [
      '0b0c2f7e-5d5f-4a0b-9c59-3f1f6c6a8e1g',
      'invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `g` at 36',
    ],
    [
      'urn:uuid:x',
      'invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `x` at 10',
    ],
    ['%00', `${LETTERS}\`\0\` at 1`],
    ['0b0c2f7e-5d5f-4a0b-9c59-3f1f6c6a8e11%00', `${LETTERS}\`\0\` at 37`],
    [
      "'; drop table app_user",
      "invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `'` at 1",
    ],
  ]) {
    const answer = await app.request('GET', `${USERS}/${id}`)
    t.equal(answer.status, 422, `${id}`)
    t.match(answer.body.detail, [
      { type: 'uuid_parsing', loc: ['path', 'user_id'], msg: `Input should be a valid UUID, ${error}`, ctx: { error } },
    ])
  }
})

t.test('query strings', async (t) => {
  t.equal((await getUsers('limit=5&limit=7')).body.limit, 7, 'the last of several')
  t.equal((await getUsers('limit=%2B5')).body.limit, 5)
  t.equal((await getUsers('limit=5.0')).body.limit, 5)
  t.equal((await getUsers('limit[]=5')).body.limit, 5, 'name[] is name')
  t.equal((await getUsers('provider[]=oura&provider[]=polar&provider=garmin,apple&include[]=connections')).status, 200)
  for (const yes of ['true', '1', 'YES', 'on', 't', 'Y'])
    t.equal((await getUsers(`has_active_connection=${yes}`)).status, 200)
  for (const no of ['False', '0', 'no', 'off', 'F', 'n'])
    t.equal((await getUsers(`has_active_connection=${no}`)).status, 200)
  t.equal((await getUsers('search=%ED%A0%80&search=%ff')).status, 200, 'what is no UTF-8 is replaced')
  t.equal((await getUsers('search=%')).status, 200)
  t.equal((await getUsers('__proto__=1')).status, 422)
  t.equal((await getUsers('constructor=1')).status, 422)
  for (const [query, type] of [
    ['search=%00', 'value_error'],
    ['search=a%00', 'value_error'],
    ['sort_by=email%00', 'enum'],
    ['provider=oura%00', 'enum'],
    ['email=a%00@example.org', 'value_error'],
    ['email=a@example.org%00', 'value_error'],
    ['last_synced_before=2026-01-01T00:00:00Z%00', 'datetime_parsing'],
    ['limit=5%00', 'int_parsing'],
    [Array.from({ length: 1001 }, () => 'limit=5').join('&'), 'too_long'],
    ['limit=', 'int_parsing'],
    ['limit=5.7', 'int_parsing'],
    ['limit=five', 'int_parsing'],
    ['limit=1e1', 'int_parsing'],
    ['limit=0x10', 'int_parsing'],
    ['limit=NaN', 'int_parsing'],
    ['limit=-1', 'greater_than_equal'],
    ['has_active_connection=', 'bool_parsing'],
    ['last_synced_before=2026-01-01', 'datetime_from_date_parsing'],
    ['last_synced_before=2026-02-30T00:00:00Z', 'datetime_parsing'],
    ['last_synced_before=0001-01-01T00:00:00%2B10:00', 'datetime_parsing'],
    ['last_synced_before=9999-12-31T23:59:59-10:00', 'datetime_parsing'],
    [`search=${'x'.repeat(10)}&limit[x]=5`, 'extra_forbidden'],
  ]) {
    const answer = await getUsers(`${query}`)
    t.equal(answer.status, 422, `${query}`)
    t.match(answer.body.detail, [{ type }])
  }
})

t.test('bodies', async (t) => {
  t.test('that are no JSON', async (t) => {
    for (const [text, position, error] of [
      ['{', 1, 'Unexpected end of data'],
      ['{"first_name": "A', 17, 'Unexpected end of data'],
      ['{"first_name": x}', 15, 'Expecting value'],
      ["{'first_name': 1}", 1, 'Expecting value'],
      ['{"a":1} x', 8, 'Expecting value'],
      ['{"a":NaN}', 5, 'Expecting value'],
      [`${'['.repeat(200_000)}`, 0, 'nested deeper than 32 levels'],
      [`{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`, 0, 'nested deeper than 32 levels'],
      [`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, 0, 'nested deeper than 32 levels'],
    ] as const) {
      const answer = await post(text)
      t.equal(answer.status, 422, text.slice(0, 40))
      t.strictSame(answer.body, {
        detail: [
          { type: 'json_invalid', loc: ['body', position], msg: 'JSON decode error', input: {}, ctx: { error } },
        ],
      })
    }
    t.equal((await post(`{"first_name":"${'['.repeat(50)}","x":${'['.repeat(31)}1${']'.repeat(31)}}`)).status, 201)
  })

  t.test('that are missing', async (t) => {
    const missing = { detail: [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }] }
    t.strictSame((await app.request('POST', USERS)).body, missing)
    t.strictSame((await post('')).body, missing)
  })

  t.test('that are no object', async (t) => {
    for (const text of ['null', '[]', '1', '"x"', 'true']) {
      const answer = await post(text)
      t.equal(answer.status, 422, text)
      t.strictSame(answer.body, {
        detail: [
          { type: 'dict_type', loc: ['body'], msg: 'Input should be a valid dictionary', input: JSON.parse(text) },
        ],
      })
    }
  })

  t.test('of another type', async (t) => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/xml',
    ]) {
      const answer = await post('{}', { 'Content-Type': type })
      t.equal(answer.status, 415, type)
      t.strictSame(answer.body, { detail: 'Unsupported media type. Send the body as application/json.' })
    }
    t.equal((await post('{}', { 'Content-Type': 'application/json; charset=utf-8' })).status, 201)
  })

  t.test('that are compressed', async (t) => {
    const text = '{"first_name":"Zip"}'
    t.equal((await post(gzipSync(text), { 'Content-Encoding': 'gzip' })).body.first_name, 'Zip')
    t.equal((await post(deflateSync(text), { 'Content-Encoding': 'deflate' })).body.first_name, 'Zip')
    t.equal((await post(deflateRawSync(text), { 'Content-Encoding': 'deflate' })).body.first_name, 'Zip')
    for (const deflated of [deflateSync(text), deflateRawSync(text)]) {
      const answer = await post(deflated.subarray(0, -5), { 'Content-Encoding': 'deflate' })
      t.equal(answer.status, 400)
      t.strictSame(answer.body, { detail: 'The compressed request body is damaged.' })
    }
    for (const deflate of [deflateSync, deflateRawSync]) {
      const bomb = deflate(`{"first_name":"${'x'.repeat(2 * 1024 * 1024)}"}`)
      t.equal((await post(bomb, { 'Content-Encoding': 'deflate' })).status, 413)
      t.equal((await post(deflate(randomBytes(2 * 1024 * 1024)), { 'Content-Encoding': 'deflate' })).status, 413)
    }
    const damaged = gzipSync(text)
    damaged.fill(0xff, 10, 20)
    for (const bytes of [damaged, gzipSync(text).subarray(0, 20), Buffer.from(text)]) {
      const answer = await post(bytes, { 'Content-Encoding': 'gzip' })
      t.equal(answer.status, 400)
      t.strictSame(answer.body, { detail: 'The compressed request body is damaged.' })
    }
    for (const encoding of ['zstd', 'compress', 'gzip, gzip']) {
      const answer = await post(text, { 'Content-Encoding': encoding })
      t.equal(answer.status, 415, encoding)
      t.strictSame(answer.body, { detail: 'Unsupported content encoding. Use gzip, deflate or none.' })
      t.equal(answer.headers.get('accept-encoding'), 'gzip, deflate, identity')
    }
  })

  t.test('that are too large', async (t) => {
    const big = `{"x":"${'x'.repeat(1024 * 1024)}"}`
    const detail = 'Request body is larger than 1048576 bytes. Send less per request.'
    for (const [bytes, headers] of [
      [big, {}],
      [gzipSync(big), { 'Content-Encoding': 'gzip' }],
      [gzipSync(Buffer.alloc(runs(20, 200) * 1024 * 1024)), { 'Content-Encoding': 'gzip' }],
    ] as const) {
      const answer = await post(bytes, headers)
      t.equal(answer.status, 413)
      t.strictSame(answer.body, { detail })
    }
    t.equal((await post(`{"x":"${'x'.repeat(1024 * 1024 - 10)}"}`)).status, 201, 'a megabyte of what is ignored')
  })

  t.test('with text that cannot be stored', async (t) => {
    for (const text of ['\\ud800', 'a\\udc00b', '\\udc00\\ud800']) {
      const answer = await post(`{"first_name":"${text}"}`)
      t.equal(answer.status, 422, text)
      t.match(answer.body.detail, [{ type: 'string_unicode', loc: ['body', 'first_name'] }])
    }
    t.equal((await post('{"first_name":"\\ud83c\\udfc3"}')).body.first_name, '🏃')
    // Removing NUL would change the value, for example into another person's id.
    for (const field of ['first_name', 'email', 'external_user_id']) {
      const answer = await post(`{"${field}":"ada@example.org\\u0000"}`)
      t.equal(answer.status, 422, field)
      t.match(answer.body.detail, [{ type: 'value_error', loc: ['body', field], input: 'ada@example.org\0' }])
    }
    t.equal(
      (await post(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).status,
      201,
      'no UTF-8, in a field nobody reads',
    )
    t.ok((await post('{"__proto__":{"first_name":"x"}}')).status < 500)
    t.equal((await post('{"first_name":"a","first_name":"b"}')).body.first_name, 'b')
    t.equal((await post('{"constructor":1,"toString":2}')).body.first_name, null)
  })

  t.test('without a host say so', async (t) => {
    const { port } = new URL(app.url)
    const answerTo = async (line: string) => {
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(`${line}\r\nConnection: close\r\n\r\n`))
      let answer = ''
      for await (const part of socket.setEncoding('utf8')) answer += part
      return answer.split('\r\n\r\n')
    }
    const [head, body] = await answerTo(`GET ${USERS} HTTP/1.1`)
    t.match(head, /^HTTP\/1\.1 400 /)
    t.strictSame(JSON.parse(body ?? ''), { detail: 'The request has no Host header.' })
    t.match((await answerTo('GET /healthz HTTP/1.0'))[0], ' 200 ', 'before HTTP/1.1 there was none')
  })

  t.test('that end early do no harm', async (t) => {
    const { port } = new URL(app.url)
    for (const sent of ['{"first_name":', '']) {
      await new Promise<void>((resolve, reject) => {
        const socket = connect(Number(port), '127.0.0.1', () => {
          const head = `POST ${USERS} HTTP/1.1\r\nHost: x\r\nX-Service-API-Key: ${app.apiKey}\r\nContent-Type: application/json\r\n`
          socket.write(`${head}Content-Length: 100\r\n\r\n${sent}`, () => socket.destroy())
        })
        socket.on('close', () => resolve())
        socket.on('error', reject)
      })
    }
    t.equal((await getUsers('')).status, 200)
  })
})

t.test('paths and methods', async (t) => {
  t.test('that are unknown', async (t) => {
    for (const path of [
      '/api',
      '/api/v1',
      '/api/v2/users',
      '/api/v1/user',
      `${USERS}/x/y/z`,
      '/docs/../../etc/passwd',
      '/%2e%2e/x',
      '/favicon.ico',
    ]) {
      const answer = await app.request('GET', path)
      t.equal(answer.status, 404, path)
      t.strictSame(answer.body, { detail: 'Not Found' })
      t.match(answer.headers.get('content-type'), /^application\/json/)
    }
  })

  t.test('a wrong method is told the right ones', async (t) => {
    for (const [method, path, allow] of [
      ['DELETE', USERS, 'GET, HEAD, POST'],
      ['POST', `${USERS}/0b0c2f7e-5d5f-4a0b-9c59-3f1f6c6a8e11`, 'DELETE, GET, HEAD, PATCH'],
      ['GET', '/api/v1/auth/login', 'POST'],
      ['PUT', '/openapi.json', 'GET, HEAD'],
      ['OPTIONS', USERS, 'GET, HEAD, POST'],
      // Not the DELETE of the invitation whose id "accept" could be.
      ['GET', '/api/v1/invitations/accept', 'POST'],
      ['POST', `${USERS}/0b0c2f7e-5d5f-4a0b-9c59-3f1f6c6a8e11/events/sleep/totals`, 'GET, HEAD'],
    ] as const) {
      const answer = await app.request(method, path)
      t.equal(answer.status, 405, `${method} ${path}`)
      t.strictSame(answer.body, { detail: 'Method Not Allowed' })
      t.equal(answer.headers.get('allow'), allow)
    }
  })

  t.test('are case-sensitive', async (t) => {
    const user = (await post('{}')).body.id
    for (const path of [
      '/API/v1/users',
      '/api/V1/users',
      '/api/v1/Users',
      `${USERS}/${user}/Connections`,
      '/Docs',
      '/DOCS/start.js',
    ])
      t.equal((await app.request('GET', path)).status, 404, path)
    t.equal((await app.request('GET', `${USERS}/${user.toUpperCase()}`)).status, 200, 'ids are not')
  })

  t.test('a trailing slash is the same path', async (t) => {
    t.equal((await app.request('GET', `${USERS}/`)).status, 200)
    t.equal((await app.request('POST', `${USERS}/`, { body: {} })).status, 201)
    t.equal((await app.request('GET', `${USERS}///`)).status, 200, 'or several')
  })

  t.test('HEAD is GET without a body', async (t) => {
    const answer = await app.request('HEAD', USERS)
    t.equal(answer.status, 200)
    t.equal(answer.body, '')
    t.equal((await app.request('HEAD', `${USERS}/x`)).status, 422)
  })

  t.test('percent signs that are none', async (t) => {
    for (const id of ['%E0%A4%A', '%zz', '%']) t.ok((await app.request('GET', `${USERS}/${id}`)).status < 500, id)
  })
})

t.test('answers carry a request id', async (t) => {
  t.match((await getUsers('')).headers.get('x-request-id'), /^[0-9a-f-]{36}$/)
  t.equal(
    (await app.request('GET', '/nowhere', { headers: { 'X-Request-Id': 'mine-1' } })).headers.get('x-request-id'),
    'mine-1',
  )
  t.match(
    (await app.request('GET', '/', { headers: { 'X-Request-Id': 'x'.repeat(200) } })).headers.get('x-request-id'),
    /^[0-9a-f-]{36}$/,
  )
})

t.test('nothing a client sends is an internal error', async (t) => {
  const text = fc.oneof(
    fc.constantFrom(
      '',
      '0',
      '-1',
      '1e400',
      'null',
      '2026-02-24T08:30:00Z',
      '9999999999999',
      '\0',
      '%',
      '{}',
      "'",
      '\\',
      'oura',
      'asc',
    ),
    fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 }).map((units) => String.fromCharCode(...units)),
    fc.uuid(),
  )
  const json = fc.oneof(fc.jsonValue({ maxDepth: 3 }), text, fc.constantFrom(1e308, -1, 0.5, 2 ** 53, true, null))
  const fieldsOf = (schema: unknown) => Object.keys((schema as { properties?: object } | undefined)?.properties ?? {})
  const [user, key] = [(await post('{}')).body.id, crypto.randomUUID()]
  const developer = await app.developer.token()
  const endpoint = (await createEndpoint(app)).id

  for (const route of routes.filter(({ path }) => path.startsWith('/api/'))) {
    const query = fc.dictionary(fc.constantFrom(...fieldsOf(route.query), 'x'), fc.array(text, { maxLength: 2 }), {
      maxKeys: 3,
    })
    const body = fc.oneof(fc.dictionary(fc.constantFrom(...fieldsOf(route.body), 'x'), json), json)
    const ids = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(user, key, endpoint) }, text)
    const property = fc.asyncProperty(query, body, ids, async (query, body, id) => {
      const search = new URLSearchParams(
        Object.entries(query).flatMap(([name, values]) => values.map((value): [string, string] => [name, value])),
      )
      const path = route.path.replaceAll(/\{(\w+)\}/g, () => encodeURIComponent(id.isWellFormed() ? id : 'x') || 'x')
      const options: TestRequest = { auth: route.guard === 'developer' ? { bearer: developer } : 'key' }
      if (route.body)
        options.body =
          route.bodyKind === 'form or json'
            ? new URLSearchParams({ username: JSON.stringify(body) })
            : JSON.stringify(body)
      if (route.body && route.bodyKind !== 'form or json') options.headers = JSON_TYPE
      const { status, body: answer } = await app.request(route.method, `${path}?${search}`, options)
      if (status >= 500) throw new Error(`${status} ${JSON.stringify(answer)} to ${path}?${search}`)
    })
    await fc.assert(property, { numRuns: runs(6, 25), seed: 3, endOnFailure: true })
    t.pass(`${route.method} ${route.path}`)
  }
})
