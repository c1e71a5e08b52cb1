import type { At, Item, Reason } from '../server/providers/part.ts'
import { isStorableJson } from '../server/text.ts'
import { parseInstant, parseZoneOffset } from '../server/time.ts'
import { instant } from './instants.ts'
import { externalId, isObject, type Json, MIN_TIME_MS } from './sdk-fields.ts'

/** Far above any measurement, far below values whose sum over a year would overflow. */
const MAX_VALUE = 1e15

const MAX_TEXT_LENGTH = 65_536

/** Why a value cannot be used: code and message of contract 1.8. */
export const problems = {
  missing: 'Field required',
  float_type: 'Input should be a valid number',
  finite_number: 'Input should be a finite number',
  bool_type: 'Input should be a valid boolean',
  string_type: 'Input should be a valid string',
  string_too_long: 'String should have at most 65536 characters',
  list_type: 'Input should be a valid list',
  dict_type: 'Input should be a valid dictionary',
  datetime_parsing: 'Input should be a valid datetime with time of day',
  date_parsing: 'Input should be a valid date',
  implausible_timestamp: 'Time should be between 1970-01-02 and 24 hours after the answer',
  implausible_value: 'Input should be a value that can be true',
  implausible_duration: 'Input is too long',
  end_before_start: 'End should be after the start',
  enum: 'Input should be a value the provider documents',
  json_invalid: 'Input should be valid JSON',
} as const satisfies Record<Reason, string> & Record<string, string>

export type Problem = keyof typeof problems

/** Where values are rejected: `path` is the way to one from the body of its part. */
export interface Rejections {
  /** The last plausible instant, in epoch milliseconds. */
  readonly latestMs: number
  reject(problem: Problem, path: readonly (string | number)[], item: unknown): void
}

const ZONE = /(?:z|[+-]\d{2}:?\d{2})$/i

/** Reads the fields of one object of a part, see `Item`. */
export class ParcelItem implements Item {
  readonly #value: Json
  readonly #place: readonly (string | number)[]
  readonly #rejections: Rejections
  /** Fields that were rejected already. */
  #rejected: Set<string> | undefined

  constructor(value: Json, place: readonly (string | number)[], rejections: Rejections) {
    this.#value = value
    this.#place = place
    this.#rejections = rejections
  }

  number(...path: readonly string[]): number | undefined {
    const value = this.#at(path)
    return value === undefined || isNumber(value) ? value : this.#reject(numberProblem(value), path)
  }

  numeric(...path: readonly string[]): number | undefined {
    const value = numberOf(this.#at(path))
    return value === undefined || isNumber(value) ? value : this.#reject(numberProblem(value), path)
  }

  figures(...path: readonly string[]): readonly (readonly [name: string, value: number])[] {
    const object = this.#at(path)
    if (object === undefined) return []
    if (!isObject(object)) return this.#reject('dict_type', path) ?? []
    const figures: [name: string, value: number][] = []
    // There may be thousands.
    for (const figure of Object.entries(object)) {
      const value = numberOf(figure[1] ?? undefined)
      if (isNumber(value)) {
        figure[1] = value
        figures.push(figure as [string, number])
      } else if (value !== undefined) this.#reject(numberProblem(value), [...path, figure[0]])
    }
    return figures
  }

  numbers(...path: readonly string[]): readonly (number | undefined)[] | undefined {
    return this.list(...path)?.map((value, index) => {
      if (value === null || isNumber(value)) return value ?? undefined
      this.#rejections.reject(numberProblem(value), [...this.#place, ...path, index], this.#value)
      return undefined
    })
  }

  csv(...path: readonly string[]): readonly (number | undefined)[] | undefined {
    const value = this.#at(path)
    if (value === undefined) return undefined
    if (typeof value !== 'string') return this.#reject('string_type', path)
    return value.split(',').map((piece, index) => {
      const text = piece.trim()
      if (text === '' || text === 'null') return undefined
      const number = Number(text)
      if (isNumber(number)) return number
      this.#rejections.reject(
        Number.isNaN(number) ? 'float_type' : 'finite_number',
        [...this.#place, ...path, index],
        this.#value,
      )
      return undefined
    })
  }

  boolean(...path: readonly string[]): boolean | undefined {
    const value = this.#at(path)
    return value === undefined || typeof value === 'boolean' ? value : this.#reject('bool_type', path)
  }

  text(...path: readonly string[]): string | undefined {
    const value = this.#at(path)
    if (value === undefined) return undefined
    if (typeof value !== 'string') return this.#reject('string_type', path)
    return value.length <= MAX_TEXT_LENGTH ? value : this.#reject('string_too_long', path)
  }

  id(...path: readonly string[]): string | undefined {
    const value = this.#at(path)
    const text = Number.isSafeInteger(value) ? String(value) : value
    if (text === undefined) return undefined
    if (typeof text !== 'string') return this.#reject('string_type', path)
    return externalId(text, (raw) => raw) ?? undefined
  }

  instant(...path: readonly string[]): At | undefined {
    const value = this.#at(path)
    if (value === undefined) return undefined
    const ms = instant(value)
    if (ms === undefined) return this.#reject('datetime_parsing', path)
    if (!this.#isPlausible(ms)) return this.#reject('implausible_timestamp', path)
    const zone = ZONE.exec(value as string)
    return { ms, zoneMin: zone ? (parseZoneOffset(zone[0]) ?? null) : null }
  }

  day(...path: readonly string[]): At | undefined {
    const value = this.#at(path)
    if (value === undefined) return undefined
    const ms = typeof value === 'string' && value.length === 10 ? parseInstant(`${value}T00:00:00Z`) : undefined
    if (ms === undefined) return this.#reject('date_parsing', path)
    return this.#isPlausible(ms) ? { ms, zoneMin: null, isDate: true } : this.#reject('implausible_timestamp', path)
  }

  zoneMin(...path: readonly string[]): number | null {
    const value = this.#at(path)
    return typeof value === 'string' ? (parseZoneOffset(value.trim()) ?? null) : null
  }

  object(...path: readonly string[]): Item | undefined {
    const value = this.#at(path)
    if (value === undefined) return undefined
    if (!isObject(value)) return this.#reject('dict_type', path)
    return new ParcelItem(value, [...this.#place, ...path], this.#rejections)
  }

  objects(...path: readonly string[]): readonly Item[] {
    const found: Item[] = []
    for (const [index, value] of (this.list(...path) ?? []).entries()) {
      const place = [...this.#place, ...path, index]
      if (isObject(value)) found.push(new ParcelItem(value, place, this.#rejections))
      else this.#rejections.reject('dict_type', place, this.#value)
    }
    return found
  }

  document(...path: readonly string[]): string | undefined {
    const value = this.#at(path)
    if (value === undefined) return undefined
    if (typeof value !== 'object') return this.#reject('dict_type', path)
    const json = JSON.stringify(value)
    if (json.length > MAX_TEXT_LENGTH) return this.#reject('string_too_long', path)
    return isStorableJson(json) ? json : this.#reject('implausible_value', path)
  }

  names(): readonly string[] {
    return isObject(this.#value) ? Object.keys(this.#value) : []
  }

  /** The elements of a list, whatever they are. */
  list(...path: readonly string[]): readonly unknown[] | undefined {
    const value = this.#at(path)
    return value === undefined || Array.isArray(value) ? value : this.#reject('list_type', path)
  }

  reject(reason: Reason, ...path: readonly string[]): void {
    this.#reject(reason, path)
  }

  #isPlausible(ms: number): boolean {
    return ms >= MIN_TIME_MS && ms <= this.#rejections.latestMs
  }

  /** The value of a field; undefined when it, or an object on the way, is absent or null. */
  #at(path: readonly string[]): unknown {
    let value: unknown = this.#value
    for (const [depth, field] of path.entries()) {
      if (!isObject(value)) return this.#reject('dict_type', path.slice(0, depth))
      value = fieldOf(value, field)
      if (value === undefined) return undefined
    }
    return value
  }

  /** Each field is rejected once, however often it is read. */
  #reject(problem: Problem, path: readonly string[]): undefined {
    const field = path.join('\n')
    this.#rejected ??= new Set()
    if (this.#rejected.has(field)) return
    this.#rejected.add(field)
    this.#rejections.reject(problem, [...this.#place, ...path], this.#value)
  }
}

/** A field, undefined for null. Some APIs write `in_zone` here and `in-zone` there. */
function fieldOf(value: Record<string, unknown>, field: string): unknown {
  if (Object.hasOwn(value, field)) return value[field] ?? undefined
  const hyphened = field.includes('_') ? field.replaceAll('_', '-') : field
  return Object.hasOwn(value, hyphened) ? (value[hyphened] ?? undefined) : undefined
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Math.abs(value) <= MAX_VALUE

/** A number that is written as text, as the number; everything else as it is. */
function numberOf(value: unknown): unknown {
  if (typeof value !== 'string' || value.trim() === '') return value
  const number = Number(value)
  return Number.isNaN(number) ? value : number
}

const numberProblem = (value: unknown) => (typeof value === 'number' ? 'finite_number' : 'float_type')
