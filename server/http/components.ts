import { isDeepStrictEqual } from 'node:util'
import type { TSchema } from 'typebox'

/** The JSON Schema keywords that our schemas use, and our own, which start with x-. */
interface Schema {
  title?: string
  enum?: readonly unknown[]
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  required?: readonly string[]
  items?: Schema
  anyOf?: readonly Schema[]
  default?: unknown
  description?: string
  'x-described'?: object
}

/** The named schemas of an API description. */
export interface Components {
  /** By name; grows with each `refer`. */
  schemas: Record<string, object>
  /**
   * Returns the replacement of a schema: a reference if it has a title, or is an object with fields, which is then
   * called `name`; else the schema itself. Throws an Error when two different schemas have one name.
   */
  refer(schema: TSchema, name: string): object
}

/** `slow_changing` and `slowChanging` as `SlowChanging`, for the name of a class. */
export const pascalCase = (name: string): string =>
  name.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, first: string) => first.toUpperCase())

/** Starts the named schemas of an API description, so that generated clients have one class for each object. */
export function openComponents(): Components {
  const schemas: Record<string, object> = {}
  const known = new Map<Schema, object>()
  /** Titled schemas are the same everywhere, and are used in many places. */
  function refer(schema: Schema, name: string): object {
    const reference = known.get(schema) ?? newReference(schema, name)
    if (schema.title) known.set(schema, reference)
    return reference
  }
  function newReference(schema: Schema, name: string): object {
    const own = schema.title ?? (schema.properties && name)
    const { default: fallback, ...plain } = plainSchema(schema, (part, inner) => refer(part, (own ?? name) + inner))
    if (own === undefined) return { ...plain, ...(fallback !== undefined && { default: fallback }) }
    // The meaning of an enumeration depends on where it is used, that of an object does not.
    const { description, ...values } = plain
    const beside = {
      ...(schema.enum && description && { description }),
      ...(fallback !== undefined && { default: fallback }),
    }
    const kept = schema.enum ? values : plain
    schemas[own] ??= kept
    if (!isDeepStrictEqual(schemas[own], kept)) throw new Error(`two schemas are called ${own}`)
    return { $ref: `#/components/schemas/${own}`, ...beside }
  }
  return { schemas, refer: (schema, name) => refer(schema as Schema, name) }
}

/**
 * A schema in its published form, without our own keywords; `part` returns the replacement of a part, named after its
 * place.
 */
function plainSchema(schema: Schema, part: (schema: Schema, name: string) => object): Schema {
  const { title, required, patternProperties, ...rest } = { ...schema, ...schema['x-described'] }
  const { properties = {}, items, anyOf } = rest
  const values = Object.values(patternProperties ?? {})[0]
  // A field with a default is optional.
  const needed = required?.filter((name) => properties[name]?.default === undefined) ?? []
  const plain = {
    ...rest,
    ...(rest.properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [name, part(property, pascalCase(name))]),
      ),
    }),
    ...(needed.length > 0 && { required: needed }),
    // A record has arbitrary names; generators recognise it by this keyword.
    ...(values && { additionalProperties: part(values, 'Value') }),
    ...(items && { items: part(items, 'Item') }),
    ...(anyOf && { anyOf: anyOf.map((member) => part(member, '')) }),
  }
  return Object.fromEntries(Object.entries(plain).filter(([keyword]) => !keyword.startsWith('x-'))) as Schema
}
