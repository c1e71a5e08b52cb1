import t from 'tap'
import { Compile } from 'typebox/compile'
import { routes } from '../../server/api/index.ts'
import { startTestApp } from '../support/app.ts'
import { engines } from '../support/servers.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')

type Json = string | number | boolean | null | Json[] | { [key: string]: Json }
interface Media {
  schema: Record<string, unknown>
  example?: unknown
}
interface Operation {
  operationId: string
  summary: string
  tags: string[]
  security: Record<string, string[]>[]
  parameters: { name: string; in: string; required: boolean; schema: Record<string, unknown> }[]
  requestBody?: { required: boolean; content: Record<string, Media> }
  responses: Record<string, { description: string; content?: Record<string, Media> }>
}

/** JSON Schema 2020-12 keywords that are used, and our own, which start with x-. */
const KEYWORDS = new Set(
  (
    'type enum const anyOf format pattern minimum maximum minLength maxLength minItems maxItems items properties required ' +
    'patternProperties additionalProperties maxProperties writeOnly default description examples title'
  ).split(' '),
)
const TYPES = new Set(['string', 'integer', 'number', 'boolean', 'array', 'object', 'null'])

/** What is wrong with a schema, by the place in it. */
function problems(schema: unknown, place: string): string[] {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return [`${place} is no schema`]
  const {
    type,
    properties = {},
    required = [],
    items,
    anyOf = [],
    enum: values,
    pattern,
    default: fallback,
    patternProperties = {},
  } = schema as {
    type?: string
    properties?: Record<string, unknown>
    patternProperties?: Record<string, unknown>
    required?: string[]
    items?: unknown
    anyOf?: unknown[]
    enum?: unknown[]
    pattern?: string
    default?: unknown
  }
  const found = Object.keys(schema).flatMap((key) =>
    KEYWORDS.has(key) || key.startsWith('x-') ? [] : [`${place} has ${key}`],
  )
  if (type !== undefined && !TYPES.has(type)) found.push(`${place} has type ${type}`)
  for (const name of required)
    if (!(name in properties)) found.push(`${place} requires ${name}, which it does not have`)
  if (new Set(required).size !== required.length) found.push(`${place} requires something twice`)
  if (values && new Set(values).size !== values.length) found.push(`${place} lists a value twice`)
  if (pattern) new RegExp(pattern, 'u')
  if (fallback !== undefined && !Compile(schema as never).Check(fallback))
    found.push(`${place} has a default that does not fit`)
  if (type === 'array' && items === undefined) found.push(`${place} is an array of what?`)
  for (const [name, property] of Object.entries({ ...properties, ...patternProperties }))
    found.push(...problems(property, `${place}.${name}`))
  if (items !== undefined) found.push(...problems(items, `${place}[]`))
  for (const [index, member] of anyOf.entries()) found.push(...problems(member, `${place}|${index}`))
  return found
}

t.test('the API description', async (t) => {
  const app = await startTestApp(t, engine)
  const answer = await app.request('GET', '/openapi.json', { auth: 'none' })
  t.equal(answer.status, 200)
  t.match(answer.headers.get('content-type'), /^application\/json/)
  const document = answer.body
  const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        path,
        method,
        operation,
        name: `${method.toUpperCase()} ${path}`,
      })),
  )

  t.test('is OpenAPI 3.1 of our version, with both credentials', async (t) => {
    t.equal(document.openapi, '3.1.0')
    t.match(document.info, { title: 'Pulsebase', version: '0.9.0', license: { name: 'MIT' } })
    t.strictSame(document.components.securitySchemes, {
      apiKey: { type: 'apiKey', in: 'header', name: 'X-Service-API-Key' },
      bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    })
    t.strictSame(Object.keys(document).sort(), ['components', 'info', 'openapi', 'paths', 'tags'])
    const tags = document.tags.map((tag: { name: string }) => tag.name)
    t.equal(new Set(tags).size, tags.length)
    for (const { operation, name } of operations)
      t.ok(
        operation.tags.every((tag) => tags.includes(tag)),
        name,
      )
    t.notOk(JSON.stringify(document).includes('$ref'))
  })

  t.test('describes every route, each under a name of its own', async (t) => {
    t.strictSame(
      operations.map(({ name }) => name).sort(),
      routes.map((route) => `${route.method} ${route.path}`).sort(),
    )
    const ids = operations.map(({ operation }) => operation.operationId)
    t.equal(new Set(ids).size, ids.length)
    for (const id of ids) t.match(id, /^[a-z][A-Za-z]+$/)
    for (const { operation, name } of operations) t.ok(operation.summary.length > 3, name)
  })

  t.test('names the parameters of each path, and only declared credentials', async (t) => {
    for (const { path, operation, name } of operations) {
      const inPath = operation.parameters.filter((parameter) => parameter.in === 'path')
      t.strictSame(
        inPath.map((parameter) => parameter.name).sort(),
        [...path.matchAll(/\{(\w+)\}/g)].map(([, one]) => one).sort(),
        name,
      )
      t.ok(
        inPath.every((parameter) => parameter.required),
        name,
      )
      const keys = operation.parameters.map((parameter) => `${parameter.in} ${parameter.name}`)
      t.equal(new Set(keys).size, keys.length, name)
      for (const one of operation.security)
        t.ok(
          Object.keys(one).every((scheme) => scheme in document.components.securitySchemes),
          name,
        )
      for (const [status, { description }] of Object.entries(operation.responses)) {
        t.match(status, /^[2-5]\d\d$/)
        t.ok(description, `${name} ${status}`)
      }
      t.ok(
        Object.keys(operation.responses).some((status) => status.startsWith('2')),
        name,
      )
      if (operation.security.length > 0) t.ok(operation.responses['401'], `${name} can answer 401`)
    }
  })

  t.test('has sound schemas everywhere', async (t) => {
    for (const { operation, name } of operations) {
      const schemas = operation.parameters.map((parameter): [string, unknown] => [parameter.name, parameter.schema])
      for (const [type, { schema }] of Object.entries(operation.requestBody?.content ?? {}))
        schemas.push([type, schema])
      for (const [status, { content = {} }] of Object.entries(operation.responses)) {
        for (const [type, { schema }] of Object.entries(content)) schemas.push([`${status} ${type}`, schema])
      }
      t.strictSame(
        schemas.flatMap(([place, schema]) => problems(schema, place)),
        [],
        name,
      )
    }
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
    // Of an export: why it failed.
    t.strictSame(
      shown.filter((place) => !place.endsWith('errorCode')),
      [],
    )
  })

  t.test('gives examples that fit their schemas', async (t) => {
    for (const { operation, name } of operations) {
      const media = [
        ...Object.values(operation.requestBody?.content ?? {}),
        ...Object.values(operation.responses).flatMap(({ content = {} }) => Object.values(content)),
      ]
      for (const { schema, example } of media) {
        if (example === undefined) continue
        const check = Compile(schema as never)
        t.strictSame(check.Errors(example), [], name)
        t.strictSame(unknownFields(example as Json, schema), [], name)
      }
      const success = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1].content
      const json = success?.['application/json']
      if (json && json.schema.type !== 'string') t.ok(json.example !== undefined, `${name} shows what it answers`)
      const body = operation.requestBody?.content
      if (body && !('application/octet-stream' in body))
        t.ok(Object.values(body)[0]?.example !== undefined, `${name} shows what it takes`)
    }
  })
})

/** Fields of an example that its schema does not have. */
function unknownFields(example: Json, schema: Record<string, unknown>, place = ''): string[] {
  const members = (schema.anyOf as Record<string, unknown>[] | undefined)?.filter((member) => member.type !== 'null')
  if (members)
    return example === null || members.length !== 1
      ? []
      : unknownFields(example, members[0] as Record<string, unknown>, place)
  if (Array.isArray(example))
    return example.flatMap((item) => unknownFields(item, (schema.items ?? {}) as Record<string, unknown>, `${place}[]`))
  const properties = schema.properties as Record<string, Record<string, unknown>> | undefined
  if (typeof example !== 'object' || example === null || !properties) return []
  return Object.entries(example).flatMap(([name, value]) => {
    const property = properties[name]
    return property ? unknownFields(value, property, `${place}.${name}`) : [`${place}.${name}`]
  })
}

t.test('real answers fit what is described', async (t) => {
  const app = await startTestApp(t, engine)
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
  const values: Record<string, string> = {
    user_id: user,
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
  for (const route of [
    ...ours.filter(({ operationId, method }) => !skipped.has(operationId) && method !== 'DELETE'),
    // What hangs on a user before the user.
    ...ours.filter(({ method }) => method === 'DELETE').reverse(),
  ]) {
    const auth = route.guard.endsWith('developer') ? 'developer' : route.guard === 'public' ? 'none' : 'key'
    const queries: Record<string, string> = {
      listUsers: '?include=connections',
      getUser: '?include=connections',
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
    if (!route.response) continue
    t.strictSame(Compile(route.response as never).Errors(answer.body), [], name)
    t.strictSame(unknownFields(answer.body, route.response as never), [], name)
  }
  for (const [method, target, status] of [
    ['GET', '/nowhere', '404'],
    ['GET', '/api/v1/users?limit=0', '422'],
  ] as const) {
    const answer = await app.request(method, target)
    const document = (await app.request('GET', '/openapi.json')).body
    const schema = document.paths['/api/v1/users/{user_id}'].get.responses[status].content['application/json'].schema
    t.strictSame(Compile(schema).Errors(answer.body), [])
  }
})

t.test('the reference page is served whole from here', async (t) => {
  const app = await startTestApp(t, engine)
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
  t.match((await app.request('GET', '/docs/start.js')).body, "url: '/openapi.json'")
  t.equal((await app.request('GET', '/docs/', { auth: 'none' })).status, 200)
  t.equal((await app.request('GET', '/docs/package.json', { auth: 'none' })).status, 404, 'nothing else of the package')
})
