import { MAX_SOURCES, type SourceIdentity } from '../server/batch/columns.ts'
import { inferDeviceType, isVague, normaliseDeviceString } from '../server/catalogue/devices.ts'
import type { SdkProvider } from '../server/providers/index.ts'
import type { ParsedBody } from './json-bytes.ts'
import { isObject, type Json } from './sdk-fields.ts'

export const TOO_MANY_SOURCES = ['too_many_sources', `An upload may have at most ${MAX_SOURCES} sources`] as const

/** The identifying parts of a source object, each with its spelling in older payloads. */
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

const RECORDING_METHOD = ['recordingMethod', 'recording_method'] as const

/** How the source recorded an item, in the words of the SDKs, lower case; '' if not reported (sdk-types 8.1). */
export const recordingMethodOf = (sources: Sources, item: Json): string =>
  sources.textOf(item.source, RECORDING_METHOD).trim().toLowerCase()

/** The distinct sources of an upload. */
export class Sources {
  readonly list: SourceIdentity[] = []
  readonly #parsed: ParsedBody
  readonly #provider: SdkProvider
  /** Index in `list` of each of the body's shared source objects. */
  readonly #shared: (number | undefined)[] = []
  /** Index in `list` by the whole content of the object. */
  readonly #indexes = new Map<string, number>()
  /** Index in `list` by identity. */
  readonly #places = new Map<string, number>()

  constructor(parsed: ParsedBody, provider: SdkProvider) {
    this.#parsed = parsed
    this.#provider = provider
  }

  /** Position of a record's source in `list`; undefined if it would exceed the maximum. */
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

  /** Text of a field of an item's source that does not identify the source; '' if there is none. */
  textOf(value: unknown, [name, older]: readonly [name: string, older: string]): string {
    const object = typeof value === 'number' ? this.#parsed.sources[value - this.#parsed.firstSource] : value
    return isObject(object) ? this.#text(object[name] ?? object[older]) : ''
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
    // Records of one device can differ in version, app or name: still one source. As between uploads, a newer version
    // and a more specific type win.
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
