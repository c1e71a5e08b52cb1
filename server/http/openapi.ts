import type { TSchema } from 'typebox'
import { VERSION } from '../version.ts'
import type { Guard } from './guards.ts'
import type { Route } from './route.ts'
import { ErrorBody, ValidationBody } from './schema.ts'

interface JsonSchema {
  properties?: Record<string, JsonSchema>
  required?: string[]
  default?: unknown
  description?: string
  type?: string
}

const SECURITY: Record<Guard, object[]> = {
  public: [],
  key: [{ apiKey: [] }, { bearer: [] }],
  developer: [{ bearer: [] }],
  sdk: [{ bearer: [] }, { apiKey: [] }],
  'sdk or key': [{ bearer: [] }, { apiKey: [] }],
  'app or developer': [{}, { bearer: [] }],
}

const json = (schema: TSchema) => media('application/json', schema)

const media = (type: string, schema: TSchema, example?: unknown) => ({
  [type]: { schema, ...(example !== undefined && { example }) },
})

function parameters(route: Route): object[] {
  const list = (schema: TSchema | undefined, place: 'path' | 'query') => {
    const { properties = {}, required = [] } = (schema ?? {}) as JsonSchema
    return Object.entries(properties).map(([name, property]) => ({
      name,
      in: place,
      required: place === 'path' || (required.includes(name) && property.default === undefined),
      ...(property.description && { description: property.description }),
      schema: property,
      ...(property.type === 'array' && { style: 'form', explode: true }),
    }))
  }
  return [...list(route.params, 'path'), ...list(route.query, 'query')]
}

function requestBody(route: Route): object | undefined {
  if (!route.body) return undefined
  return {
    required: !route.bodyOptional,
    content: {
      ...(route.bodyKind === 'form or json' &&
        media('application/x-www-form-urlencoded', route.body, route.bodyExample)),
      ...media('application/json', route.body, route.bodyExample),
    },
  }
}

function responses(route: Route): Record<string, object> {
  const status = route.status ?? 200
  const described: Record<string, object> = {
    [status]: {
      description: 'Success',
      ...(route.response && {
        content: {
          ...media(route.produces ?? 'application/json', route.response, route.example),
          ...Object.fromEntries(
            Object.entries(route.alsoProduces ?? {}).map(([type, { description }]) => [
              type,
              { schema: { description } },
            ]),
          ),
        },
      }),
    },
  }
  const known: Record<number, string> = { ...route.errors }
  if (route.guard !== 'public') known[401] ??= 'No valid credential'
  if (route.path.includes('{user_id}')) known[404] ??= 'Unknown user'
  for (const [code, description] of Object.entries(known)) described[code] = { description, content: json(ErrorBody) }
  if (route.params || route.query || (route.body && route.bodyKind !== 'bytes')) {
    described[422] = { description: 'Validation failures, all of them', content: json(ValidationBody) }
  }
  return described
}

/** Describes every route as an OpenAPI 3.1 document; the TypeBox schemas are its schemas. */
export function openApiDocument(routes: readonly Route[], apiKeyHeader: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    paths[route.path] ??= {}
    const body = requestBody(route)
    ;(paths[route.path] as Record<string, object>)[route.method.toLowerCase()] = {
      operationId: route.operationId,
      summary: route.summary,
      ...(route.description && { description: route.description }),
      tags: [route.tag],
      security: SECURITY[route.guard],
      parameters: parameters(route),
      ...(body && { requestBody: body }),
      responses: responses(route),
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Pulsebase',
      version: VERSION,
      description: 'Wearable and health data of many providers in one schema: upload, read, push.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: apiKeyHeader },
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
    },
  }
}
