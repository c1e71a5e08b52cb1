import type { TSchema } from 'typebox'
import { counted } from '../counted.ts'
import { HIDDEN, type Issue, type Issues } from '../errors.ts'
import { checkDate, checkDatetime, checkEmail, checkUri, checkUuid } from './formats.ts'

type Loc = readonly (string | number)[]

/** Returns the accepted (and for text, converted) value, or pushes what is wrong onto `issues`. */
export type Check = (input: unknown, loc: Loc, issues: Issues) => unknown

/** The JSON Schema keywords our schemas use; TypeBox builds nothing else from `http/schema.ts`. */
interface Schema {
  type?: string
  enum?: readonly string[]
  anyOf?: Schema[]
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  maxProperties?: number
  items?: Schema
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  required?: readonly string[]
  default?: unknown
  writeOnly?: boolean
  'x-alias'?: string
  'x-aliases'?: readonly string[]
  'x-error-type'?: string
  'x-comma-list'?: boolean
}

/**
 * Compiles a schema into a check that reports every failure with the wording of contract 1.8.
 * `text` is for query strings, path parameters and forms: values are strings that are converted strictly,
 * since TypeBox's own conversion turns '5.7' into 5 and '' into 0. `json` expects JSON types as they are.
 */
export function compile(schema: TSchema, source: 'text' | 'json'): Check {
  return compileSchema(schema as Schema, source === 'text')
}

function compileSchema(schema: Schema, text: boolean): Check {
  const check = compileKind(schema, text)
  return schema.writeOnly ? (input, loc, issues) => check(input, loc, hiding(issues)) : check
}

/** Collects failures of a secret, without its value. */
const hiding = (issues: Issues): Issues => ({ push: (issue) => issues.push({ ...issue, input: HIDDEN }) })

function compileKind(schema: Schema, text: boolean): Check {
  if (schema.anyOf) return compileUnion(schema.anyOf, text)
  if (schema.enum) return compileEnum(schema, text)
  switch (schema.type) {
    case 'string':
      return compileString(schema, text)
    case 'integer':
    case 'number':
      return compileNumber(schema, text)
    case 'boolean':
      return text ? textBoolean : jsonBoolean
    case 'array':
      return compileArray(schema, text)
    case 'object':
      return schema.patternProperties ? compileRecord(schema, text) : compileObject(schema, text)
    default:
      return (input) => input
  }
}

/** A union here is always "something or null"; text has no null. */
function compileUnion(members: Schema[], text: boolean): Check {
  const some = members.find((member) => member.type !== 'null')
  if (!some) throw new Error('a union needs a member that is not null')
  const check = compileSchema(some, text)
  return (input, loc, issues) => (input === null && !text ? null : check(input, loc, issues))
}

function compileEnum(schema: Schema, text: boolean): Check {
  const allowed = new Set<unknown>([...(schema.enum ?? []), ...(schema['x-aliases'] ?? [])])
  const names = (schema.enum ?? []).map((name) => `'${name}'`)
  const last = names.at(-1)
  const type = schema['x-error-type'] ?? 'enum'
  const expected = names.length > 1 ? `${names.slice(0, -1).join(', ')} or ${last}` : String(last)
  return (input, loc, issues) => {
    if (allowed.has(input)) return input
    const value = text && Array.isArray(input) ? input.at(-1) : input
    if (allowed.has(value)) return value
    issues.push({ type, loc: [...loc], msg: `Input should be ${expected}`, input: value, ctx: { expected } })
    return undefined
  }
}

const formats: Record<string, (value: string, loc: Loc, issues: Issues) => string | undefined> = {
  uuid: checkUuid,
  email: checkEmail,
  date: checkDate,
  'date-time': checkDatetime,
  uri: checkUri,
}

interface Failing {
  issues: Issues
  loc: Loc
  input: unknown
}

// Not a closure of each check: making one costs more than the check itself.
function fail({ issues, loc, input }: Failing, type: string, msg: string, ctx?: Record<string, unknown>): undefined {
  issues.push({ type, loc: [...loc], msg, input, ...(ctx && { ctx }) })
}

function compileString(schema: Schema, text: boolean): Check {
  const pattern = schema.pattern ? new RegExp(schema.pattern, 'u') : undefined
  const format = schema.format ? formats[schema.format] : undefined
  const { minLength = 0, maxLength = 65_536 } = schema
  return (raw, loc, issues) => {
    const input = text && Array.isArray(raw) ? raw.at(-1) : raw
    if (typeof input !== 'string') return fail({ issues, loc, input }, 'string_type', 'Input should be a valid string')
    // A lone surrogate cannot be stored as UTF-8, and PostgreSQL text cannot hold NUL.
    if (!input.isWellFormed())
      return fail(
        { issues, loc, input },
        'string_unicode',
        'Input should be a valid string, unable to parse raw data as a unicode string',
      )
    const length = charactersOf(input, minLength, maxLength)
    if (length < minLength) {
      const msg = `String should have at least ${counted(minLength, 'character')}`
      return fail({ issues, loc, input }, 'string_too_short', msg, { min_length: minLength })
    }
    if (length > maxLength) {
      const msg = `String should have at most ${counted(maxLength, 'character')}`
      return fail({ issues, loc, input }, 'string_too_long', msg, { max_length: maxLength })
    }
    if (pattern && !pattern.test(input)) {
      const source = schema.pattern
      return fail({ issues, loc, input }, 'string_pattern_mismatch', `String should match pattern '${source}'`, {
        pattern: source,
      })
    }
    const value = format ? format(input, loc, issues) : input
    // Removing it would change the value after a guard has checked it, for example into somebody else's id.
    if (value?.includes('\0')) return fail({ issues, loc, input }, 'value_error', NUL, { error: NUL_ERROR })
    return value
  }
}

const NUL_ERROR = 'text must not contain NUL'
const NUL = `Value error, ${NUL_ERROR}`

/** Counts characters where it decides: one takes two units at most. */
function charactersOf(text: string, min: number, max: number): number {
  const decides = (text.length > max && text.length <= max * 2) || text.length < min * 2
  return decides ? [...text].length : text.length
}

function compileNumber(schema: Schema, text: boolean): Check {
  const kind = schema.type === 'integer' ? INTEGER : FLOAT
  const read = text ? textNumber : jsonNumber
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema
  return (raw, loc, issues) => {
    const input = text && Array.isArray(raw) ? raw.at(-1) : raw
    const value = read(kind, input, loc, issues)
    if (value === undefined) return undefined
    if (!Number.isFinite(value)) return fail({ issues, loc, input }, 'finite_number', 'Input should be a finite number')
    if (value < minimum) {
      const msg = `Input should be greater than or equal to ${minimum}`
      return fail({ issues, loc, input }, 'greater_than_equal', msg, { ge: minimum })
    }
    if (value > maximum) {
      const msg = `Input should be less than or equal to ${maximum}`
      return fail({ issues, loc, input }, 'less_than_equal', msg, { le: maximum })
    }
    return value
  }
}

/** What an integer and a number are in texts, and in types and messages of failures. */
const INTEGER = { isInteger: true, type: 'int', noun: 'integer', article: 'an', text: /^[+-]?\d+(\.0+)?$/ }
const FLOAT = {
  ...{ isInteger: false, type: 'float', noun: 'number', article: 'a' },
  text: /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/,
}

type ReadNumber = (kind: typeof INTEGER, input: unknown, loc: Loc, issues: Issues) => number | undefined

const textNumber: ReadNumber = ({ type, noun, article, text }, input, loc, issues) => {
  const digits = String(input).trim()
  if (text.test(digits)) return Number(digits)
  const msg = `Input should be a valid ${noun}, unable to parse string as ${article} ${noun}`
  return fail({ issues, loc, input }, `${type}_parsing`, msg)
}

const jsonNumber: ReadNumber = ({ isInteger, type, noun }, input, loc, issues) => {
  if (typeof input !== 'number') return fail({ issues, loc, input }, `${type}_type`, `Input should be a valid ${noun}`)
  if (!isInteger || Number.isInteger(input)) return input
  const msg = 'Input should be a valid integer, got a number with a fractional part'
  return fail({ issues, loc, input }, 'int_from_float', msg)
}

const TRUE = new Set(['true', '1', 'yes', 'on', 't', 'y'])
const FALSE = new Set(['false', '0', 'no', 'off', 'f', 'n'])

const textBoolean: Check = (raw, loc, issues) => {
  const input = Array.isArray(raw) ? raw.at(-1) : raw
  const word = String(input).toLowerCase()
  if (TRUE.has(word)) return true
  if (FALSE.has(word)) return false
  const msg = 'Input should be a valid boolean, unable to interpret input'
  issues.push({ type: 'bool_parsing', loc: [...loc], msg, input })
  return undefined
}

const jsonBoolean: Check = (input, loc, issues) => {
  if (typeof input === 'boolean') return input
  issues.push({ type: 'bool_type', loc: [...loc], msg: 'Input should be a valid boolean', input })
  return undefined
}

function compileArray(schema: Schema, text: boolean): Check {
  const check = compileSchema(schema.items ?? {}, text)
  const commas = text && schema['x-comma-list']
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema
  return (raw, loc, issues) => {
    let input = raw
    if (text && !Array.isArray(raw)) input = [raw]
    if (!Array.isArray(input)) {
      issues.push({ type: 'list_type', loc: [...loc], msg: 'Input should be a valid list', input })
      return undefined
    }
    const items = commas ? input.flatMap((item) => String(item).split(',').filter(Boolean)) : input
    const size = (type: string, msg: string, ctx: object) =>
      issues.push({ type, loc: [...loc], msg, input, ctx: { field_type: 'List', ...ctx, actual_length: items.length } })
    if (items.length > maxItems) {
      const msg = `List should have at most ${counted(maxItems, 'item')} after validation, not ${items.length}`
      size('too_long', msg, { max_length: maxItems })
      return undefined
    }
    if (items.length < minItems) {
      const msg = `List should have at least ${counted(minItems, 'item')} after validation, not ${items.length}`
      size('too_short', msg, { min_length: minItems })
      return undefined
    }
    return items.map((item, index) => check(item, [...loc, index], issues))
  }
}

/** A record has values of one kind under any names. */
function compileRecord(schema: Schema, text: boolean): Check {
  const check = compileSchema(Object.values(schema.patternProperties ?? {})[0] ?? {}, text)
  const { maxProperties = Number.POSITIVE_INFINITY } = schema
  return (input, loc, issues) => {
    if (!isDictionary(input, loc, issues)) return undefined
    const count = Object.keys(input).length
    if (count > maxProperties) {
      const msg = `Dictionary should have at most ${counted(maxProperties, 'item')} after validation, not ${count}`
      const ctx = { field_type: 'Dictionary', max_length: maxProperties, actual_length: count }
      return fail({ issues, loc, input }, 'too_long', msg, ctx)
    }
    return Object.fromEntries(
      Object.entries(input).map(([name, value]) => [name, check(value, [...loc, name], issues)]),
    )
  }
}

function isDictionary(input: unknown, loc: Loc, issues: Issues): input is Record<string, unknown> {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return true
  issues.push({ type: 'dict_type', loc: [...loc], msg: 'Input should be a valid dictionary', input })
  return false
}

function compileObject(schema: Schema, text: boolean): Check {
  const required = new Set(schema.required ?? [])
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    check: compileSchema(property, text),
    alias: property['x-alias'],
    required: required.has(name) && property.default === undefined,
    fallback: property.default,
  }))
  const hasSecret = Object.values(schema.properties ?? {}).some(isSecret)
  return (input, loc, issues) => {
    if (!isDictionary(input, loc, hasSecret ? hiding(issues) : issues)) return undefined
    const output: Record<string, unknown> = {}
    for (const field of fields) {
      const named = own(input, field.name)
      const value = named === undefined && field.alias ? own(input, field.alias) : named
      if (value !== undefined) output[field.name] = field.check(value, [...loc, field.name], issues)
      else if (field.required) {
        // Not the object that lacks it: that can be a megabyte, or hold a secret under a misspelt name.
        issues.push({ type: 'missing', loc: [...loc, field.name], msg: 'Field required', input: null })
      } else if (field.fallback !== undefined) output[field.name] = field.fallback
    }
    return output
  }
}

const own = (input: Record<string, unknown>, name: string) => (Object.hasOwn(input, name) ? input[name] : undefined)

const isSecret = (schema: Schema): boolean => schema.writeOnly === true || (schema.anyOf?.some(isSecret) ?? false)

/**
 * Checks a query string: `name[]` counts as `name`, and an unknown name is an error,
 * since a silently ignored filter returns wrong data (contract 1.1), unless the query is `open`.
 */
export function compileQuery(schema: TSchema, open = false): Check {
  const known = new Set(Object.keys((schema as Schema).properties ?? {}))
  const check = compile(schema, 'text')
  return (input, loc, issues) => {
    const query: Record<string, unknown> = {}
    const unknown: Issue[] = []
    for (const [key, value] of Object.entries(input as Record<string, unknown>)) {
      const name = key.endsWith('[]') ? key.slice(0, -2) : key
      if (known.has(name)) query[name] = query[name] === undefined ? value : [query[name], value].flat()
      else if (!open)
        unknown.push({
          type: 'extra_forbidden',
          loc: [...loc, key],
          msg: 'Extra inputs are not permitted',
          input: value,
        })
    }
    const output = check(query, loc, issues)
    for (const issue of unknown) issues.push(issue)
    return output
  }
}
