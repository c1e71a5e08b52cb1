// /openapi.json is valid, complete and true. Every other API test checks it as well, since the answers that tests get
// are checked against it (test/support/described.ts).
import { readdir, readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { routes } from '../../server/api/index.ts'
import { eventNames } from '../../server/catalogue/events.ts'
import { openApiDocument } from '../../server/http/openapi.ts'
import { startTestApp } from '../support/app.ts'
import { misfits, resolved, undescribedEvent } from '../support/described.ts'
import { recordedEvents } from '../support/recorded.ts'
import { body, createUser, importBody, record, startImports } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')
const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true, eventFeedEnabled: true })

type Schema = { $ref?: string; [keyword: string]: unknown }
interface Media {
  schema: Schema
  example?: unknown
}
interface Operation {
  operationId: string
  summary: string
  tags: string[]
  security: Record<string, string[]>[]
  parameters: { name: string; in: string; required: boolean; schema: Schema }[]
  requestBody?: { required: boolean; content: Record<string, Media> }
  responses: Record<string, Answer>
}
interface Answer {
  $ref?: string
  description: string
  headers?: object
  content?: Record<string, Media>
}

/** Calls `visit` with every schema below a part of the description, and its place. */
function eachSchema(part: unknown, place: string, visit: (schema: Schema, place: string) => void): void {
  if (Array.isArray(part)) for (const [index, one] of part.entries()) eachSchema(one, `${place}/${index}`, visit)
  else if (typeof part === 'object' && part !== null) {
    const schema = part as Schema
    if (!place.endsWith('/properties')) visit(schema, place)
    for (const [key, value] of Object.entries(schema)) {
      if (key !== 'example' && key !== 'examples' && key !== 'default') eachSchema(value, `${place}/${key}`, visit)
    }
  }
}

t.test('the API description', async (t) => {
  const answer = await app.request('GET', '/openapi.json', { auth: 'none' })
  t.equal(answer.status, 200)
  t.match(answer.headers.get('content-type'), /^application\/json/)
  const document = answer.body
  const schemas = document.components.schemas as Record<string, Schema>
  const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        ...{ path, method, operation },
        name: `${method.toUpperCase()} ${path}`,
      })),
  )
  /** The names of the operations that violate a rule, with the violation. */
  const wrong = (problems: (one: (typeof operations)[number]) => (string | false | undefined)[]) =>
    operations.flatMap((one) => problems(one).flatMap((problem) => (problem ? [`${one.name}: ${problem}`] : [])))

  t.test('is OpenAPI 3.1 of our version, as others understand it', async (t) => {
    const { valid, errors } = await new Validator().validate(structuredClone(document))
    t.ok(valid, JSON.stringify(errors))
    t.equal(document.openapi, '3.1.0')
    t.match(document.info, { title: 'Pulsebase', version: '0.9.0', license: { name: 'MIT' } })
    t.match(document.servers, [{ url: app.deps.config.apiBaseUrl }])
    const tags = document.tags.map((tag: { name: string }) => tag.name)
    t.equal(new Set(tags).size, tags.length)
    t.strictSame(
      wrong(({ operation }) => operation.tags.map((tag) => !tags.includes(tag) && tag)),
      [],
    )
  })

  t.test('names the headers that keys are accepted in', async (t) => {
    t.match(document.components.securitySchemes, {
      apiKey: { type: 'apiKey', in: 'header', name: 'X-Service-API-Key' },
      sdkApiKey: { type: 'apiKey', in: 'header', name: 'X-Open-Wearables-API-Key' },
      bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      sdkToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    })
    const served = { apiBaseUrl: 'https://health.example.org', apiKeyHeaders: ['X-First', 'X-Second'] }
    const other = JSON.parse(JSON.stringify(openApiDocument(routes, served)))
    const login = [{ bearer: [] }, { consoleCookie: [], consoleHeader: [] }]
    const keys = [{ apiKey: [] }, { apiKey2: [] }, ...login]
    t.strictSame(other.paths['/api/v1/users'].get.security, keys)
    const named = ['bearer', 'sdkToken', 'apiKey', 'sdkApiKey', "x!#$%&'*+.^_`|~"]
    for (const apiKeyHeaders of [served.apiKeyHeaders, named]) {
      const { components, paths } = JSON.parse(JSON.stringify(openApiDocument(routes, { ...served, apiKeyHeaders })))
      t.match(components.securitySchemes, {
        ...Object.fromEntries(apiKeyHeaders.map((name, at) => [`apiKey${at ? at + 1 : ''}`, { in: 'header', name }])),
        sdkApiKey: { name: 'X-Open-Wearables-API-Key' },
        bearer: { type: 'http', scheme: 'bearer' },
        sdkToken: { type: 'http', scheme: 'bearer' },
      })
      const schemes: { [scheme: string]: [] }[] = paths['/api/v1/users'].get.security
      t.equal(schemes.length, apiKeyHeaders.length + 2, 'each header, the token and the cookie')
      t.ok(
        schemes.every((one) =>
          Object.keys(one).every((name) => /^[\w.-]+$/.test(name) && name in components.securitySchemes),
        ),
      )
    }
    t.strictSame(other.servers[0].url, 'https://health.example.org')
    const cookie = ({ components }: typeof other) => components.securitySchemes.consoleCookie
    t.match(cookie(document), { type: 'apiKey', in: 'cookie', name: 'pulsebase' })
    t.match(cookie(other), { name: '__Host-pulsebase' })
  })

  t.test('describes every route, each under a name of its own', async (t) => {
    t.strictSame(
      operations.map(({ name }) => name).sort(),
      routes.map((route) => `${route.method} ${route.path}`).sort(),
    )
    const ids = operations.map(({ operation }) => operation.operationId)
    t.equal(new Set(ids).size, ids.length)
    const unnamed = wrong(({ operation }) => [
      !/^[a-z][A-Za-z]+$/.test(operation.operationId) && operation.operationId,
      operation.summary.length < 4 && 'no summary',
    ])
    t.strictSame(unnamed, [])
  })

  t.test('names the parameters of each path, and only declared credentials', async (t) => {
    const problems = wrong(({ path, operation }) => {
      const inPath = operation.parameters.filter((parameter) => parameter.in === 'path')
      const names = inPath.map(({ name }) => name).sort()
      const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(([, one]) => one).sort()
      const keys = operation.parameters.map((parameter) => `${parameter.in} ${parameter.name}`)
      const schemes = operation.security.flatMap((one) => Object.keys(one))
      return [
        names.join() !== wanted.join() && `has ${names}, not ${wanted}`,
        inPath.some(({ required }) => !required) && 'a path without one of its parts',
        new Set(keys).size !== keys.length && 'a parameter twice',
        ...schemes.map((scheme) => !(scheme in document.components.securitySchemes) && scheme),
      ]
    })
    t.strictSame(problems, [])
  })

  t.test('says of each operation how it can fail', async (t) => {
    const problems = wrong(({ path, method, operation: { responses: described, security, requestBody } }) => {
      const answers = Object.entries(described).map(([status, answer]) => [status, resolved(answer) as Answer] as const)
      const responses = Object.fromEntries(answers)
      const isUpload = path.endsWith('/sync')
      const expected = [
        ...(security.some((one) => Object.keys(one).length > 0) ? ['401'] : []),
        ...(path.includes('{user_id}') ? ['404', '422'] : []),
        ...(method === 'get' ? ['406'] : []),
        ...(requestBody ? ['400', '413', '415'] : []),
        ...(requestBody && !isUpload ? ['408'] : []),
        ...(path.startsWith('/api/') ? ['503'] : []),
      ]
      const says = (status: string, pattern: RegExp) =>
        responses[status] && !pattern.test(responses[status].description) && `${status} does not say ${pattern}`
      const bodies = answers.filter(([status]) => status >= '400')
      return [
        !Object.keys(responses).some((status) => /^(2|303)/.test(status)) && 'no success',
        ...expected.map((status) => !responses[status] && `no ${status}`),
        ...bodies.map(([status, one]) => !one.content?.['application/json'] && `${status} without a body`),
        ...['429', '503'].map(
          (status) => responses[status] && !responses[status].headers && `${status} without Retry-After`,
        ),
        ...answers.map(([status, { description }]) => !description && `${status} not described`),
        path.startsWith('/api/') && says('503', /overloaded, or the database does not answer/i),
        requestBody && !isUpload && says('400', /the body cannot be read/i),
        /\{user_id\}.*\{\w+\}/.test(path) && says('404', /^Unknown user( or|,) /),
        // Whatever is wrong with a login, it is a wrong one.
        path.endsWith('/login') && responses['422'] && '422 is never sent',
      ]
    })
    t.strictSame(problems, [])
  })

  t.test('describes each failure once', async (t) => {
    const answers = operations.flatMap(({ operation }) =>
      Object.entries(operation.responses).filter(([status]) => !status.startsWith('2')),
    )
    const own = answers.filter(([, { $ref }]) => !$ref).map(([, answer]) => JSON.stringify(answer))
    t.strictSame(
      own.filter((text, at) => own.indexOf(text) !== at),
      [],
      'what several operations answer is a component',
    )
    const used = answers.flatMap(([, { $ref }]) => $ref ?? [])
    const once = Object.keys(document.components.responses).filter(
      (name) => used.filter((ref) => ref === `#/components/responses/${name}`).length < 2,
    )
    t.strictSame(once, [], 'and nothing else is')
  })

  t.test('has one named schema for each object', async (t) => {
    const inline: string[] = []
    const keywords: string[] = []
    const lost: string[] = []
    const { responses } = document.components
    eachSchema({ paths: document.paths, webhooks: document.webhooks, schemas, responses }, '', (schema, place) => {
      if ('properties' in schema && !/^\/schemas\/\w+$/.test(place)) inline.push(place)
      if (Object.keys(schema).some((key) => key.startsWith('x-')) && !place.includes('/headers')) keywords.push(place)
      const [, kind, name] = schema.$ref?.match(/^#\/components\/(\w+)\/([\w-]+)$/) ?? []
      if (schema.$ref && !(kind && name && name in document.components[kind])) lost.push(schema.$ref)
    })
    t.strictSame(inline, [], 'no object without a name')
    t.strictSame(keywords, [], 'nothing that only we understand')
    t.strictSame(lost, [])
    const texts = Object.entries(schemas).map(([name, schema]) => ({ name, text: JSON.stringify(schema) }))
    const twins = texts.filter(({ text }, at) => texts.findIndex((other) => other.text === text) !== at)
    t.strictSame(twins, [], 'no two of one content')
    for (const name of [
      'User',
      'SamplePage',
      'SourceMetadata',
      'Pagination',
      'ErrorBody',
      'ValidationBody',
      'SeriesType',
    ])
      t.ok(schemas[name], name)
    t.notOk(Object.keys(schemas).find((name) => !/^[A-Z][A-Za-z0-9]+$/.test(name)))
  })

  t.test('requires nothing that has a default, and no text may be empty that is refused then', async (t) => {
    const needed: string[] = []
    eachSchema(schemas, '', ({ properties = {}, required = [] }, place) => {
      for (const name of required as string[])
        if ((properties as Record<string, Schema>)[name]?.default !== undefined) needed.push(`${place}.${name}`)
    })
    t.strictSame(needed, [])
    const problems = wrong(({ path, method, operation }) =>
      operation.parameters.flatMap(({ name, required, schema }, at) => {
        const place = ['paths', path, method, 'parameters', at, 'schema']
        const opaque = /^(cursor|iterator|after)$/.test(name) && schema.format === undefined
        const date = /^(start|end)_(date|time)$/.test(name)
        const dates = ['2026-02-24', '2026-02-24T08:30:00Z', '2026-02-24 08:30:00+02:00', '1771921800', '-1.5']
        return [
          required && schema.default !== undefined && name,
          (opaque || date) && misfits('', ...place).length === 0 && `${name} may be empty`,
          ...(date ? dates : []).map((text) => misfits(text, ...place).length > 0 && `${name} may not be ${text}`),
        ]
      }),
    )
    t.strictSame(problems, [])
  })

  t.test('says how long every list may be that is sent, and hides every secret', async (t) => {
    const open: string[] = []
    const shown: string[] = []
    const walk = (schema: unknown, place: string) => {
      const { type, properties = {}, patternProperties, items, anyOf = [], ...rest } = schema as Record<string, never>
      if (type === 'array' && !('maxItems' in rest)) open.push(place)
      if (patternProperties && !('maxProperties' in rest)) open.push(place)
      if (
        /passw|secret|token$|code$/.test(place.split(/[. ]/).at(-1) ?? '') &&
        type === 'string' &&
        !('writeOnly' in rest)
      )
        shown.push(place)
      for (const [name, property] of Object.entries(properties)) walk(property, `${place}.${name}`)
      for (const member of [items, ...(anyOf as unknown[])]) if (member) walk(member, place)
    }
    for (const { operation, name } of operations) {
      for (const { name: parameter, schema } of operation.parameters) walk(schema, `${name} ${parameter}`)
      for (const { schema } of Object.values(operation.requestBody?.content ?? {})) walk(schema, `${name} body`)
    }
    t.strictSame(open, [])
    // The reason why an export failed.
    t.strictSame(
      shown.filter((place) => !place.endsWith('errorCode')),
      [],
    )
  })

  t.test('gives examples that fit their schemas', async (t) => {
    const problems = wrong(({ path, method, operation }) => {
      const request = Object.entries(operation.requestBody?.content ?? {})
      const responses = Object.entries(operation.responses).flatMap(([status, { content = {} }]) =>
        Object.entries(content).map(([type, media]) => ({ media, place: ['responses', status, 'content', type] })),
      )
      const media = [
        ...request.map(([type, media]) => ({ media, place: ['requestBody', 'content', type] })),
        ...responses,
      ]
      return [
        ...media.flatMap(({ media: { example }, place }) =>
          example === undefined ? [] : misfits(example, 'paths', path, method, ...place, 'schema'),
        ),
        ...responses.map(
          ({ media, place: [, status, , type] }) =>
            status?.startsWith('2') &&
            type === 'application/json' &&
            media.example === undefined &&
            'does not show what it answers',
        ),
        ...request.map(([, { example }]) => example === undefined && 'does not show what it takes'),
      ]
    })
    t.strictSame(problems, [])
  })

  t.test('describes what each kind of event sends', async (t) => {
    const webhooks = document.webhooks as Record<string, { post: Operation }>
    t.strictSame(Object.keys(webhooks), eventNames)
    t.equal(eventNames.length, 24)
    const problems = Object.values(webhooks).flatMap(({ post }) => {
      const { schema, example } = (post.requestBody as { content: Record<string, Media> }).content[
        'application/json'
      ] as Media
      return [
        ...undescribedEvent(example as never),
        ...(schema.$ref ? [] : [`${post.operationId} has no named schema`]),
        ...(post.parameters.map(({ name }) => name).join() === 'hook-id,hook-timestamp,hook-signature'
          ? []
          : ['headers']),
      ]
    })
    t.strictSame(problems, [])
  })
})

t.test('real events are as described', async (t) => {
  await startImports(t, app)
  const user = await createUser(app)
  const folder = new URL('../samples/', import.meta.url)
  for (const file of await readdir(folder)) {
    if (!file.includes('logs')) await importBody(app, user, await readFile(new URL(file, folder)))
  }
  const sweat = record('HKQuantityTypeIdentifierElectrodermalActivity', Date.parse('2026-02-24T08:00:00Z'), 0.000002, {
    unit: 'S',
  })
  await importBody(app, user, body([sweat]))
  t.equal((await app.request('DELETE', `/api/v1/users/${user}/connections/apple`)).status, 204)
  // Each is checked when it is read.
  const kinds = new Set((await recordedEvents(app)).map(({ type }) => type))
  const unheard = eventNames.filter((name) => !kinds.has(name))
  t.strictSame(unheard, ['recovery_score.created'], 'which no phone sends')
})

// A client that passes an empty cursor after the last page would read the first one forever.
t.test('an empty cursor is refused everywhere', async (t) => {
  const user = await createUser(app)
  const range = '&start_date=2026-02-01&end_date=2026-02-02&start_time=2026-02-01&end_time=2026-02-02'
  const answers: string[] = []
  for (const { path, query, guard } of routes) {
    const known = Object.keys((query as { properties?: object } | undefined)?.properties ?? {})
    const cursor = known.find(
      (name) => ['cursor', 'iterator'].includes(name) || (name === 'after' && path.endsWith('/events')),
    )
    if (!cursor || path.includes('{endpoint_id}')) continue
    const dates = range.split('&').filter((one) => known.includes(one.split('=')[0] as string))
    const asked = `${path.replace('{user_id}', user)}?${cursor}=&${dates.join('&')}`
    const { status, body } = await app.request('GET', asked, { auth: guard === 'developer' ? 'developer' : 'key' })
    answers.push(`${path} ${status} ${body.detail}`)
  }
  const refused = " 400 Invalid cursor format: ''. Expected 'timestamp|id'."
  t.strictSame(
    answers.filter((answer) => !answer.endsWith(refused)),
    [],
  )
  t.equal(answers.length, 14)
})

t.test('a read refuses an Accept header that nothing there is fits', async (t) => {
  const user = await createUser(app)
  const page = `/api/v1/users/${user}/timeseries?start_time=2026-02-01&end_time=2026-02-02`
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'
  const java = 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2'
  const taken = ['', '*/*', 'application/json', 'application/json; charset=utf-8', 'application/*', browser, java]
  const cases: [path: string, accept: string, status: number, type?: string][] = [
    ...taken.map((accept): [string, string, number] => ['/api/v1/users', accept, 200]),
    ['/api/v1/users', 'text/csv, application/json;q=0.1', 200, 'text/csv'],
    ['/api/v1/users', 'text/csv', 200, 'text/csv'],
    [`/api/v1/users/${user}`, 'text/csv, application/json;q=0.1', 200],
    [`/api/v1/users/${user}`, 'text/csv', 406],
    ['/api/v1/users', 'application/msgpack', 406],
    [`/api/v1/users/${user}`, 'application/json;q=0, text/csv', 406],
    ['/api/v1/users', 'nonsense', 406],
    [page, 'text/csv', 200, 'text/csv'],
    [page, 'application/msgpack', 200, 'application/msgpack'],
    [page, 'text/html', 406],
    ['/metrics', 'application/json', 200, 'text/plain'],
    ['/metrics', 'text/plain;version=0.0.4;q=0.5,*/*;q=0.1', 200, 'text/plain'],
    ['/metrics', 'text/csv', 406],
  ]
  const wrong: string[] = []
  for (const [path, accept, status, type = 'application/json'] of cases) {
    const answer = await app.request('GET', path, { headers: { Accept: accept } })
    const got = `${answer.status} ${answer.headers.get('content-type')?.split(';')[0]}`
    if (got !== `${status} ${type}`) wrong.push(`${path} as ${accept}: ${got}`)
  }
  t.strictSame(wrong, [])
  const refused = await app.request('GET', page, { headers: { Accept: 'text/html' } })
  t.match(refused.body.detail, /answers application\/json, .*application\/msgpack, text\/csv: name one in Accept/)
  // The Accept header does not affect writes.
  t.equal((await app.request('POST', '/api/v1/users', { body: {}, headers: { Accept: 'text/csv' } })).status, 201)
})

t.test('the reference page is served whole from here', async (t) => {
  const page = await app.request('GET', '/docs', { auth: 'none' })
  t.equal(page.status, 200)
  t.match(page.headers.get('content-type'), /^text\/html/)
  t.match(page.headers.get('content-security-policy'), /^default-src 'self'/)
  const references = [...page.body.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, reference]) => String(reference))
  t.equal(references.length, 4)
  for (const reference of references) {
    t.match(reference, /^\/docs\/[\w.-]+$/, 'of this host')
    const asset = await app.request('GET', reference, { auth: 'none' })
    t.equal(asset.status, 200, reference)
    t.ok(asset.body.length > 100)
    const type = { css: 'text/css', js: /javascript/, png: 'image/png' }[reference.split('.').at(-1) ?? ''] ?? 'x'
    t.match(asset.headers.get('content-type'), type)
    if (/\.css$|start\.js$/.test(reference))
      t.notMatch(asset.body, /(?:@import|url\(|fetch\(|url:)\s*['"]?(?:https?:)?\/\//)
  }
  const start = (await app.request('GET', '/docs/start.js')).body
  for (const setting of ["fetch('/openapi.json')", "docExpansion: 'none'", 'persistAuthorization: true'])
    t.ok(start.includes(setting), setting)
  t.equal((await app.request('GET', '/docs/', { auth: 'none' })).status, 200)
  t.equal((await app.request('GET', '/docs/package.json', { auth: 'none' })).status, 404, 'nothing else of the package')
})

t.test('the description and its page are compressed, and sent once', async (t) => {
  const get = (path: string, headers: Record<string, string>) =>
    new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
      // fetch would decompress.
      const asked = request(app.url + path, { headers }, async (response) => {
        const body = await buffer(response)
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body })
      })
      asked.on('error', reject).end()
    })
  for (const path of ['/openapi.json', '/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css']) {
    const plain = await get(path, {})
    t.equal(plain.headers['content-encoding'], undefined)
    const gzipped = await get(path, { 'Accept-Encoding': 'gzip' })
    const brotli = await get(path, { 'Accept-Encoding': 'gzip, deflate, br' })
    t.strictSame([gzipped.headers['content-encoding'], brotli.headers['content-encoding']], ['gzip', 'br'])
    t.ok(gunzipSync(gzipped.body).equals(plain.body))
    t.ok(brotliDecompressSync(brotli.body).equals(plain.body))
    t.ok(brotli.body.length < plain.body.length / 3, `${path}: ${plain.body.length} bytes in ${brotli.body.length}`)
    t.match(brotli.headers, { vary: /Accept-Encoding/, etag: /./, 'cache-control': /./ })
    const again = await get(path, { 'Accept-Encoding': 'br', 'If-None-Match': String(brotli.headers.etag) })
    t.strictSame([again.status, again.body.length], [304, 0])
    t.equal((await get(path, { 'If-None-Match': '"other"' })).status, 200)
  }
})

// The bodies of events are checked on receipt (test/support/app.ts). The last test: it deletes the developer, too.
t.test('real answers fit what is described', async (t) => {
  const user = (await app.request('POST', '/api/v1/users', { body: { first_name: 'Ada', email: 'ada@example.org' } }))
    .body.id
  await app.db.query(
    `insert into connection (user_id, provider, last_synced_at) values ($1, 'oura', now()), ($1, 'apple', null)`,
    [user],
  )
  await app.db.query(`insert into data_source (user_id, provider, source) values ($1, 'apple', 'Watch')`, [user])
  const key = (await app.request('POST', '/api/v1/developer/api-keys', { auth: 'developer' })).body.id
  const application = (
    await app.request('POST', '/api/v1/applications', { auth: 'developer', body: { name: 'Pulse' } })
  ).body.app_id
  const invited = (await app.request('POST', '/api/v1/users', { body: {} })).body.id
  const { code } = (await app.request('POST', `/api/v1/users/${invited}/invitation-code`, { auth: 'developer' })).body
  const invite = async (email: string) =>
    (await app.request('POST', '/api/v1/invitations', { auth: 'developer', body: { email } })).body
  await app.request('POST', `/api/v1/users/${user}/token`, { auth: 'developer' })
  const [phone] = (await app.request('GET', `/api/v1/users/${user}/phones`, { auth: 'developer' })).body
  const values: Record<string, string> = {
    user_id: user,
    phone_id: phone.id,
    key_id: key,
    app_id: application,
    provider: 'apple',
    developer_id: app.developer.id,
    invitation_id: (await invite('invited@example.org')).id,
  }
  const { token } = await invite('joining@example.org')
  const path = (template: string) => template.replaceAll(/\{(\w+)\}/g, (_, name) => values[name] ?? name)
  const tags = [
    'Health',
    'Auth',
    'API keys',
    'Applications',
    'Users',
    'Phones',
    'Developers',
    'Invitations',
    'Providers',
  ]
  tags.push('Dashboard', 'Meta')
  const ours = routes.filter(({ tag }) => tags.includes(tag))
  const bodies: Record<string, unknown> = {
    login: new URLSearchParams({ username: app.developer.email, password: app.developer.password }),
    createUser: { first_name: 'Grace' },
    updateUser: {},
    updateMe: {},
    issueUserToken: {},
    redeemInvitationCode: { code },
    updateDeveloper: {},
    acceptInvitation: { token, first_name: 'Joy', last_name: 'Ning', password: 'correct horse battery' },
  }
  const skipped = new Set(['changePassword', 'refreshToken', 'revokeToken', 'getMetrics', 'deleteDeveloper'])
  // They need a provider: test/oauth/callback.test.ts.
  for (const operation of ['createLinkToken', 'authorizeProvider', 'completeConnection']) skipped.add(operation)
  for (const route of [
    ...ours.filter(({ operationId, method }) => !skipped.has(operationId) && method !== 'DELETE'),
    // Everything that belongs to a user before the user.
    ...ours.filter(({ method }) => method === 'DELETE').reverse(),
  ]) {
    const auth = route.guard.endsWith('developer') ? 'developer' : route.guard === 'public' ? 'none' : 'key'
    const queries: Record<string, string> = {
      listUsers: '?include=connections',
      getUser: '?include=connections',
      connectionSucceeded: `?provider=garmin&user_id=${user}`,
      getUserCoverage: '?start_date=2026-02-01&end_date=2026-02-28',
    }
    const query = queries[route.operationId] ?? ''
    const body = bodies[route.operationId] ?? (route.body ? route.bodyExample : undefined)
    const answer = await app.request(route.method, path(route.path) + query, {
      auth,
      ...(body !== undefined && { body }),
    })
    const name = `${route.method} ${route.path}`
    t.equal(answer.status, route.status ?? 200, name)
  }
})
