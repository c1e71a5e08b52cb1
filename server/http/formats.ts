import type { Issues } from '../errors.ts'
import { dateExists, parseInstant } from '../time.ts'

type Loc = readonly (string | number)[]

const GROUP_STARTS = [0, 9, 14, 19, 24]
const GROUP_SIZES = [8, 4, 4, 4, 12]

/**
 * Returns why a text is not a UUID, in the words of contract 1.8, or undefined when it is one in any accepted spelling
 * (hyphenated, 32 digits, `urn:uuid:`, braces; contract 1.2). Positions count from 1.
 */
export function uuidProblem(text: string): string | undefined {
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(text)) return undefined
  const braced = text.startsWith('{') && text.endsWith('}') && text.length > 1
  const urn = text.startsWith('urn:uuid:')
  const body = braced ? text.slice(1, -1) : urn ? text.slice(9) : text
  const offset = braced ? 1 : urn ? 9 : 0
  const odd = /[^0-9a-fA-F-]/u.exec(body)
  if (odd) {
    const place = `found \`${odd[0]}\` at ${odd.index + offset + 1}`
    return `invalid character: expected an optional prefix of \`urn:uuid:\` followed by [0-9a-fA-F-], ${place}`
  }
  const groups = body.split('-')
  if (groups.length === 1 && !braced && !urn) {
    return body.length === 32 ? undefined : `invalid length: expected length 32 for simple format, found ${body.length}`
  }
  if (groups.length === 1 && body.length === 32) return undefined
  if (groups.length !== 5) return `invalid group count: expected 5, found ${groups.length}`
  let start = 0
  for (const [index, group] of groups.entries()) {
    if (group.length !== GROUP_SIZES[index]) {
      const found = start - (GROUP_STARTS[index] ?? 0) + group.length
      return `invalid group length in group ${index}: expected ${GROUP_SIZES[index]}, found ${found}`
    }
    start += group.length + 1
  }
  return undefined
}

/** Accepts a UUID in any spelling of contract 1.2 and returns it lower case and hyphenated. */
export function checkUuid(value: string, loc: Loc, issues: Issues): string | undefined {
  const error = uuidProblem(value)
  if (error) {
    const msg = `Input should be a valid UUID, ${error}`
    issues.push({ type: 'uuid_parsing', loc: [...loc], msg, input: value, ctx: { error } })
    return undefined
  }
  const digits = value.toLowerCase().replace(/^urn:uuid:|[{}-]/g, '')
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function emailProblem(value: string): string | undefined {
  const at = value.lastIndexOf('@')
  if (at < 0) return 'An email address must have an @-sign.'
  const [local, domain] = [value.slice(0, at), value.slice(at + 1)]
  if (!local) return 'There must be something before the @-sign.'
  if (!domain) return 'There must be something after the @-sign.'
  if (local.length > 64 || value.length > 254) return 'The email address is too long.'
  if (!/^[^\s@"(),:;<>[\]\\.]+(\.[^\s@"(),:;<>[\]\\.]+)*$/u.test(local)) {
    return 'The email address contains invalid characters before the @-sign.'
  }
  if (!/^[\p{L}\p{N}](?:[\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u.test(domain) || /\.\.|\.-|-\./.test(domain)) {
    return 'The part after the @-sign contains invalid characters.'
  }
  if (!domain.includes('.')) return 'The part after the @-sign is not valid. It should have a period.'
  return undefined
}

/** Accepts an email address (syntax only) and returns it with its domain lower case (contract 1.2). */
export function checkEmail(value: string, loc: Loc, issues: Issues): string | undefined {
  const trimmed = value.trim()
  const reason = emailProblem(trimmed)
  if (reason) {
    const msg = `value is not a valid email address: ${reason}`
    issues.push({ type: 'value_error', loc: [...loc], msg, input: value, ctx: { reason } })
    return undefined
  }
  const at = trimmed.lastIndexOf('@')
  return trimmed.slice(0, at) + trimmed.slice(at).toLowerCase()
}

function uriProblem(value: string): string | undefined {
  if (value === '') return 'input is empty'
  // Parsers quietly drop line ends and spaces.
  if (/[\s\p{Cc}]/u.test(value)) return 'invalid character'
  if (!/^[a-z][a-z0-9+.-]*:/i.test(value)) return 'relative URL without a base'
  return URL.canParse(value) ? undefined : 'invalid host or port'
}

/** Accepts an absolute http or https address, unchanged. */
export function checkUri(value: string, loc: Loc, issues: Issues): string | undefined {
  const error = uriProblem(value)
  if (error) {
    const msg = `Input should be a valid URL, ${error}`
    issues.push({ type: 'url_parsing', loc: [...loc], msg, input: value, ctx: { error } })
    return undefined
  }
  if (/^https?:/i.test(value)) return value
  const expected = "'http' or 'https'"
  const msg = `URL scheme should be ${expected}`
  issues.push({ type: 'url_scheme', loc: [...loc], msg, input: value, ctx: { expected_schemes: expected } })
  return undefined
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/

const MIN_INSTANT_MS = Date.parse('0001-01-01T00:00:00Z')
const MAX_INSTANT_MS = Date.parse('9999-12-31T23:59:59.999Z')

function calendarProblem(year: number, month: number, day: number): string | undefined {
  if (year < 1) return 'year 0 is out of range'
  if (month < 1 || month > 12) return 'month value is outside expected range of 1-12'
  return dateExists(year, month, day) ? undefined : 'day value is outside expected range'
}

/** Accepts a calendar date `YYYY-MM-DD`. */
export function checkDate(value: string, loc: Loc, issues: Issues): string | undefined {
  const match = DATE.exec(value)
  const error = match
    ? calendarProblem(Number(match[1]), Number(match[2]), Number(match[3]))
    : value.length < 10
      ? 'input is too short'
      : 'invalid character in year'
  if (!error) return value
  const msg = `Input should be a valid date or datetime, ${error}`
  issues.push({ type: 'date_from_datetime_parsing', loc: [...loc], msg, input: value, ctx: { error } })
  return undefined
}

/** Accepts an ISO 8601 date-time (no zone = UTC) and returns it as an instant in UTC. */
export function checkDatetime(value: string, loc: Loc, issues: Issues): string | undefined {
  const ms = parseInstant(value)
  // A zone offset can move an instant outside the years 1 to 9999, which PostgreSQL and ISO text share.
  if (ms !== undefined && ms >= MIN_INSTANT_MS && ms <= MAX_INSTANT_MS) return new Date(ms).toISOString()
  const error = value.length < 10 ? 'input is too short' : 'invalid character in year'
  const type = /^\d{4}-\d{2}-\d{2}[Tt ]/.test(value) ? 'datetime_parsing' : 'datetime_from_date_parsing'
  issues.push({ type, loc: [...loc], msg: `Input should be a valid datetime, ${error}`, input: value, ctx: { error } })
  return undefined
}
