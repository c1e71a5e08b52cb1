import { inferDeviceType, isVague, normaliseDeviceString } from '../server/catalogue/devices.ts'
import { DAILY_TOTAL_OFFSET } from '../server/catalogue/series.ts'
import { type Batch, REJECTIONS_KEPT, type Rejection, type SourceIdentity } from '../server/ingest/columns.ts'
import { type SdkProvider, sdkProviders } from '../server/providers/index.ts'
import { isNutrient, type RecordKind, type RecordRule, type SdkAbility } from '../server/providers/sdk.ts'
import { parseInstant, parseZoneOffset } from '../server/time.ts'
import type { ParsedBody } from './json-bytes.ts'
import { SampleStreams } from './sample-streams.ts'

const DAY_MS = 86_400_000

/** Far above any measurement, far below where a year's sum would overflow and make good samples unreadable. */
const MAX_VALUE = 1e15
const HOUR_MS = 3_600_000

/** Earliest plausible sample (design: limits); later than now + 24 h is implausible too. */
const MIN_TIME_MS = Date.UTC(1990, 0, 1)

const MISSING = ['missing', 'Field required'] as const
const IMPLAUSIBLE = ['implausible_timestamp', 'Time should be between 1990-01-01 and 24 hours from now'] as const
const NOT_FINITE = ['finite_number', 'Input should be a finite number'] as const
const NOT_A_NUMBER = ['float_parsing', 'Input should be a valid number'] as const
const TOO_LARGE = ['implausible_value', 'Input should be a number of at most 15 digits'] as const
const TOO_MANY_SOURCES = ['too_many_sources', 'An upload may have at most 500 sources'] as const
const BAD_ZONE = ['zone_offset', 'Input should be a zone offset such as +02:00, at most 18 hours'] as const

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Turns the parsed body of an SDK upload into columns (sdk-payload 4, 5.3; sdk-types 1).
 * A bad item is counted with its index and reason and never costs a good one. `nowMs` is the server's clock.
 */
export function readSdkBatch(parsed: ParsedBody, provider: SdkProvider, nowMs: number): Batch {
  const reader = new BatchReader(provider, nowMs, parsed)
  const data = isObject(parsed.body) ? parsed.body.data : undefined
  if (data === undefined || data === null) return reader.finish()
  if (!isObject(data)) {
    reader.reject('data', null, null, ['data'], 'dict_type', 'Input should be a valid dictionary')
    return reader.finish()
  }
  for (const collection of ['records', 'sleep', 'workouts', 'deleted', 'deletions']) {
    const items = data[collection]
    if (items === undefined || items === null) continue
    if (!Array.isArray(items)) {
      reader.reject(collection, null, null, ['data', collection], 'list_type', 'Input should be a valid list')
    } else if (collection === 'records') reader.records(items)
    else reader.defer(collection === 'deleted' ? 'deletions' : collection, items.length)
  }
  return reader.finish()
}

class BatchReader {
  readonly #ability: SdkAbility
  readonly #latestMs: number
  readonly #streams = new SampleStreams()
  readonly #sources: Sources
  readonly #decode: ParsedBody['decode']
  readonly #rejections: Rejection[] = []
  readonly #deferred: Record<string, number> = {}
  #received = 0
  #ignored = 0
  #rejected = 0

  constructor(provider: SdkProvider, nowMs: number, parsed: ParsedBody) {
    this.#decode = parsed.decode
    this.#sources = new Sources(parsed, provider)
    const ability = sdkProviders.get(provider)
    if (!ability) throw new Error(`no SDK uploads for ${provider}`)
    this.#ability = ability
    this.#latestMs = nowMs + 24 * HOUR_MS
  }

  reject(
    collection: string,
    index: number | null,
    id: unknown,
    loc: (string | number)[],
    type: string,
    msg: string,
  ): void {
    if (index === null) this.#received += 1
    this.#rejected += 1
    if (this.#rejections.length >= REJECTIONS_KEPT) return
    this.#rejections.push({
      collection,
      index,
      id: typeof id === 'string' ? normaliseDeviceString(this.#decode(id), 100) || null : null,
      loc,
      type,
      msg,
    })
  }

  defer(collection: string, count: number): void {
    if (count === 0) return
    this.#received += count
    this.#deferred[collection] = (this.#deferred[collection] ?? 0) + count
  }

  records(items: unknown[]): void {
    const meals = mealIds(items, this.#ability)
    for (let index = 0; index < items.length; index += 1) {
      const item = items[index]
      if (isObject(item)) this.#record(item, index, meals)
      else {
        this.#received += 1
        this.reject(
          'records',
          index,
          null,
          ['data', 'records', index],
          'dict_type',
          'Input should be a valid dictionary',
        )
      }
    }
  }

  #record(item: Json, index: number, meals: ReadonlySet<unknown>): void {
    const kind: RecordKind = typeof item.type === 'string' ? this.#ability.recordKind(item.type) : 'ignored'
    const ofMeal = typeof kind === 'object' && isNutrient(kind.series) && meals.has(item.parentId)
    if (kind === 'cycle') this.defer('cycles', 1)
    else if (kind === 'meal' || ofMeal) this.defer('meals', 1)
    else {
      this.#received += 1
      if (kind === 'ignored') {
        this.#ignored += 1
        return
      }
      const problem = this.#sample(item, kind)
      if (problem)
        this.reject('records', index, item.id, ['data', 'records', index, problem[0]], problem[1], problem[2])
    }
  }

  /** Adds the sample of a record, or says which field is wrong and why. */
  #sample(item: Json, rule: RecordRule): [field: string, type: string, msg: string] | undefined {
    const value = numeric(item.value)
    if (value === undefined) {
      const absent = item.value === undefined || item.value === null
      return ['value', ...(absent ? MISSING : typeof item.value === 'number' ? NOT_FINITE : NOT_A_NUMBER)]
    }
    const startMs = instant(item.startDate)
    if (startMs === undefined) return ['startDate', ...dateProblem(item.startDate)]
    const endMs = item.endDate === item.startDate ? startMs : instant(item.endDate)
    if (endMs === undefined) return ['endDate', ...dateProblem(item.endDate)]
    const startPlausible = startMs >= MIN_TIME_MS && startMs <= this.#latestMs
    if (!startPlausible || endMs > this.#latestMs) return [startPlausible ? 'endDate' : 'startDate', ...IMPLAUSIBLE]
    const zone = zoneOf(item.zoneOffset)
    if (zone === undefined) return ['zoneOffset', ...BAD_ZONE]
    const converted = rule.convert(value, typeof item.unit === 'string' ? this.#decode(item.unit) : null)
    if (!(Math.abs(converted) <= MAX_VALUE)) return ['value', ...TOO_LARGE]
    const source = this.#sources.indexOf(item.source)
    if (source === undefined) return ['source', ...TOO_MANY_SOURCES]
    if (rule.dailyTotal) {
      const shift = (zone ?? 0) * 60_000
      const midnight = Math.floor((startMs + shift) / DAY_MS) * DAY_MS - shift
      this.#streams.add(source, rule.series.id + DAILY_TOTAL_OFFSET, midnight, converted, zone)
    } else this.#streams.add(source, rule.series.id, startMs, converted, zone)
    return undefined
  }

  finish(): Batch {
    const { samples, duplicates } = this.#streams.finish()
    return {
      sources: this.#sources.list,
      samples,
      received: this.#received,
      duplicates,
      ignored: this.#ignored,
      rejected: this.#rejected,
      rejections: this.#rejections,
      deferred: this.#deferred,
    }
  }
}

/** Ids of the meals in this upload: nutrients that name one of them belong to it (sdk-types 6). */
function mealIds(items: unknown[], ability: SdkAbility): ReadonlySet<unknown> {
  const ids = new Set<unknown>()
  for (const item of items) {
    if (!isObject(item) || typeof item.id !== 'string' || typeof item.type !== 'string') continue
    if (ability.recordKind(item.type) === 'meal') ids.add(item.id)
  }
  return ids
}

/** A number, or numeric text; undefined for everything else and for what is not finite (JSON 1e400). */
function numeric(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value !== 'string' || !/^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$/.test(value)) return undefined
  const number = Number(value)
  return Number.isFinite(number) ? number : undefined
}

function dateProblem(value: unknown): [type: string, msg: string] {
  if (value === undefined || value === null) return [...MISSING]
  return ['datetime_parsing', 'Input should be a valid datetime with time of day']
}

let cachedDay = ''
let cachedDayMs = 0

/** Every SDK writes `2025-05-06T06:10:04Z`: read digit by digit, the day from a one-entry cache. */
function instant(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  if (value.length !== 20 || value[19] !== 'Z' || value[10] !== 'T' || value[13] !== ':' || value[16] !== ':') {
    return parseInstant(value)
  }
  const day = value.slice(0, 10)
  if (day !== cachedDay) {
    const dayMs = parseInstant(`${day}T00:00:00Z`)
    if (dayMs === undefined) return undefined
    cachedDay = day
    cachedDayMs = dayMs
  }
  const hour = twoDigits(value, 11)
  const minute = twoDigits(value, 14)
  const second = twoDigits(value, 17)
  if (!(hour < 24 && minute < 60 && second < 60)) return undefined
  return cachedDayMs + hour * HOUR_MS + minute * 60_000 + second * 1000
}

function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48
  const ones = text.charCodeAt(at + 1) - 48
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN
}

/** Minutes east of UTC; null when absent or longer than any offset (sdk-payload 5.3); undefined when invalid. */
function zoneOf(value: unknown): number | null | undefined {
  if (value === null || value === undefined || value === '') return null
  if (typeof value !== 'string') return undefined
  if (value.length > 10) return null
  return parseZoneOffset(value)
}

/** The parts of a source object that decide what it is, each with its spelling in older payloads. */
const SOURCE_FIELDS = [
  ['deviceModel', 'device_model'],
  ['productType', 'product_type'],
  ['name', 'name'],
  ['deviceName', 'device_name'],
  ['appId', 'app_id'],
  ['bundleIdentifier', 'bundle_identifier'],
  ['deviceType', 'device_type'],
  ['deviceSoftwareVersion', 'device_software_version'],
] as const
const VERSION_FIELDS = [
  ['majorVersion', 'major_version'],
  ['minorVersion', 'minor_version'],
  ['patchVersion', 'patch_version'],
] as const

/** Sources of one upload: a person has a handful, and every one is a row that later reads look at. */
const MAX_SOURCES = 500

/** The distinct sources of an upload. */
class Sources {
  readonly list: SourceIdentity[] = []
  readonly #parsed: ParsedBody
  readonly #provider: SdkProvider
  /** Index in `list` of each of the body's shared source objects. */
  readonly #shared: (number | undefined)[] = []
  /** Index in `list` by everything the object says. */
  readonly #indexes = new Map<string, number>()
  /** Index in `list` by identity. */
  readonly #places = new Map<string, number>()

  constructor(parsed: ParsedBody, provider: SdkProvider) {
    this.#parsed = parsed
    this.#provider = provider
  }

  /** Position of a record's source in `list`; undefined when it would be one too many. */
  indexOf(value: unknown): number | undefined {
    if (typeof value !== 'number') return this.#find(value)
    const place = value - this.#parsed.firstSource
    let index = this.#shared[place]
    if (index === undefined) {
      index = this.#find(this.#parsed.sources[place])
      if (place in this.#parsed.sources) this.#shared[place] = index
    }
    return index
  }

  #find(value: unknown): number | undefined {
    const source = isObject(value) ? value : {}
    const parts = SOURCE_FIELDS.map(([name, older]) => this.#text(source[name] ?? source[older]))
    const system = source.operatingSystemVersion ?? source.operating_system_version
    const os = isObject(system) ? system : {}
    parts.push(VERSION_FIELDS.map(([name, older]) => this.#text(os[name] ?? os[older])).join('.'))
    const key = parts.join('\0')
    const index = this.#indexes.get(key) ?? this.#add(parts)
    if (index !== undefined) this.#indexes.set(key, index)
    return index
  }

  #text(value: unknown): string {
    if (typeof value === 'number') return String(value)
    return typeof value === 'string' ? this.#parsed.decode(value).replaceAll('\0', '') : ''
  }

  #add(parts: string[]): number | undefined {
    const [model = '', product, name, device, app, bundle, type = '', software = '', system = ''] = parts
    const deviceModel = normaliseDeviceString(model, 100) || normaliseDeviceString(product, 100)
    const source = [name, device, app, bundle].map((part) => normaliseDeviceString(part, 100)).find(Boolean) ?? ''
    const version = /^\d+\.\d+\.\d+$/.test(system) ? system : software
    const identity: SourceIdentity = {
      deviceModel,
      source,
      softwareVersion: normaliseDeviceString(version, 50) || null,
      deviceType: inferDeviceType({ provider: this.#provider, model: deviceModel, sourceName: source, reported: type }),
    }
    // Records of one device can differ in version, app or what they call it: still one source. As between uploads,
    // a newer version and a more specific type stay.
    const place = `${deviceModel}\0${source}`
    const same = this.#places.get(place)
    const known = same === undefined ? undefined : this.list[same]
    if (same === undefined || !known) {
      if (this.list.length === MAX_SOURCES) return undefined
      this.#places.set(place, this.list.length)
      return this.list.push(identity) - 1
    }
    this.list[same] = {
      ...identity,
      softwareVersion: identity.softwareVersion ?? known.softwareVersion,
      deviceType: isVague(identity.deviceType) ? known.deviceType : identity.deviceType,
    }
    return same
  }
}
