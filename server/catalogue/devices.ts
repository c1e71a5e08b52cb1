import { normalised } from '../text.ts'
import { appleModels, samsungModels } from './device-models.ts'

/** Device types in the definition order of contract 2.3. */
export const deviceTypes = [
  'watch',
  'band',
  'phone',
  'scale',
  'ring',
  'tablet',
  'chest_strap',
  'hr_sensor',
  'headphones',
  'head_mounted',
  'glasses',
  'smart_display',
  'bp_monitor',
  'glucose_meter',
  'thermometer',
  'sleep_monitor',
  'bike_computer',
  'fitness_machine',
  'other',
  'unknown',
] as const

/** Kind of device of a source (contract 2.3). */
export type DeviceType = (typeof deviceTypes)[number]

/** Default rank of a device type if several sources cover one day, lower wins (contract 2.3). */
export const deviceTypeRanks: Readonly<Record<DeviceType, number>> = {
  watch: 1,
  band: 2,
  phone: 4,
  scale: 5,
  ring: 3,
  tablet: 4,
  chest_strap: 6,
  hr_sensor: 6,
  headphones: 6,
  head_mounted: 6,
  glasses: 6,
  smart_display: 6,
  bp_monitor: 6,
  glucose_meter: 6,
  thermometer: 6,
  sleep_monitor: 6,
  bike_computer: 6,
  fitness_machine: 6,
  other: 6,
  unknown: 99,
}

// Providers that make one kind of device (contract 2.3 step 1).
const providerDevices: ReadonlyMap<string, DeviceType> = new Map([
  ['oura', 'ring'],
  ['ultrahuman', 'ring'],
  ['whoop', 'band'],
])

// Types that the mobile SDKs and their forks report (sdk-payload 9.2); anything else counts as not reported.
const reportedDevices: ReadonlyMap<string, DeviceType> = new Map([
  ['phone', 'phone'],
  ['watch', 'watch'],
  ['ring', 'ring'],
  ['scale', 'scale'],
  ['chest_strap', 'chest_strap'],
  ['head_mounted', 'head_mounted'],
  ['smart_display', 'smart_display'],
  ['tablet', 'tablet'],
  ['glasses', 'glasses'],
  ['fitness_band', 'band'],
  ['hearable', 'headphones'],
  ['fitness_machine', 'fitness_machine'],
  ['fitness_equipment', 'fitness_machine'],
  ['consumer_medical_device', 'other'],
  ['meter', 'other'],
  ['portable_computer', 'other'],
  // What connectors know of models.
  ['band', 'band'],
  ['bp_monitor', 'bp_monitor'],
  ['glucose_meter', 'glucose_meter'],
  ['sleep_monitor', 'sleep_monitor'],
  ['thermometer', 'thermometer'],
])

// Letter of an SM- code (sdk-payload 9.3). R is shared by watches, bands and buds, so its marketing name decides.
const samsungLetters: ReadonlyMap<string, DeviceType> = new Map([
  ['L', 'watch'],
  ['Q', 'ring'],
  ...[...'SAMGFNE'].map((letter) => [letter, 'phone'] as const),
  ...[...'XTP'].map((letter) => [letter, 'tablet'] as const),
])

// Keyword table of sdk-payload 9.3 on folded text, first match wins. The medical ones stand early because brand names
// are specific ("libre sense" is not a Fitbit Sense).
const keywords: readonly (readonly [RegExp, DeviceType])[] = [
  [/\bpolar h|^h(7|9|10)\b|hrm|heart rate belt/, 'chest_strap'],
  [/verity sense|oh1/, 'hr_sensor'],
  [/headphone|earphone|suunto wing|airpods/, 'headphones'],
  [/index bpm|blood pressure/, 'bp_monitor'],
  [/omron|bpm connect/, 'bp_monitor'],
  [/dexcom|libre|contour|accu-chek/, 'glucose_meter'],
  [/thermo/, 'thermometer'],
  [/eight sleep|beddit|withings sleep/, 'sleep_monitor'],
  [/garmin edge|^edge ?\d/, 'bike_computer'],
  [/watch|moto 360/, 'watch'],
  [/buds/, 'headphones'],
  [/band|vivosmart|vivofit|charge|inspire|luxe|alta|fitbit air|galaxy fit|polar loop|polar 360|index sleep/, 'band'],
  [/gear fit/, 'band'],
  [/\bring|oura/, 'ring'],
  [/ipad|galaxy tab|pixel tablet/, 'tablet'],
  [/phone|pixel|galaxy|motorola|moto /, 'phone'],
  [/scale|index s2/, 'scale'],
  [/body\+|body cardio|body scan|body comp|renpho|eufy/, 'scale'],
  [/forerunner|fenix|venu|epix|enduro|instinct|tactix|approach s|vivoactive|vivomove/, 'watch'],
  [/versa|sense|ionic/, 'watch'],
  [/vantage|grit x|polar pacer|pacer pro|ignite|unite/, 'watch'],
  [/suunto/, 'watch'],
  [/whoop/, 'band'],
  [/coros|apex|vertix|pace (2|3|pro)/, 'watch'],
]

// Tried before the keyword table if the text is a source name (sdk-payload 9.3).
const sourceKeywords: readonly (readonly [RegExp, DeviceType])[] = [
  [/autosleep/, 'watch'],
  [/mi band|xiaomi|amazfit band/, 'band'],
  [/oura/, 'ring'],
]

/**
 * Known facts about the source of a record; provider is its slug, model the raw model, sourceName the writer's name.
 */
export interface DeviceHints {
  readonly provider: string
  readonly model?: string | null | undefined
  readonly sourceName?: string | null | undefined
  readonly reported?: string | null | undefined
}

/**
 * Device type of a source: single-device providers, then the type the SDK reported, corrected by model and source name,
 * then the provider's default (sdk-payload 9.2 and 9.3; contract 2.3 step 7 for suunto).
 */
export function inferDeviceType({ provider, model, sourceName, reported }: DeviceHints): DeviceType {
  const only = providerDevices.get(provider)
  if (only) return only

  let inferred = typeOfModel(model ?? '')
  if (isVague(inferred)) inferred = typeOfSourceName(sourceName ?? '', provider) ?? inferred

  const reportedType = reportedDevices.get((reported ?? '').trim().toLowerCase())
  // Old Samsung SDKs report their watches as phones, iOS its iPads: a specific model overrides a vague report.
  if (reportedType && !((reportedType === 'phone' || reportedType === 'other') && !isVague(inferred)))
    return reportedType
  return isVague(inferred) && provider === 'suunto' ? 'watch' : inferred
}

function typeOfModel(model: string): DeviceType {
  const folded = fold(model)
  if (folded === '' || folded === 'unknown') return 'unknown'
  if (model.startsWith('Watch')) return 'watch'
  if (model.startsWith('iPhone')) return 'phone'
  if (model.startsWith('iPad')) return 'tablet'
  const code = model.toUpperCase()
  const letter = /^SM-([A-Z])\d/.exec(code)?.[1]
  if (letter === 'R') return firstMatch(keywords, fold(samsungName(code) ?? '')) ?? 'other'
  return (letter && samsungLetters.get(letter)) || (firstMatch(keywords, folded) ?? 'other')
}

function typeOfSourceName(name: string, provider: string): DeviceType | undefined {
  const folded = fold(name)
  if (folded === provider) return undefined
  return firstMatch(sourceKeywords, folded) ?? firstMatch(keywords, folded)
}

/**
 * Marketing name of a raw model: exact for Apple identifiers, longest prefix for Samsung codes, case-sensitive; any
 * other model is its own name, and without a model the name is null (sdk-payload 9.1, appendices A and B).
 */
export function deviceName(model: string | null | undefined): string | null {
  if (!model) return null
  return (Object.hasOwn(appleModels, model) ? appleModels[model] : samsungName(model)) ?? model
}

function samsungName(code: string): string | undefined {
  if (!code.startsWith('SM-')) return undefined
  for (let length = Math.min(code.length, longestSamsungCode); length > 'SM-'.length; length--) {
    const name = samsungModels[code.slice(0, length)]
    if (name) return name
  }
  return undefined
}

const longestSamsungCode = Math.max(...Object.keys(samsungModels).map((code) => code.length))

/**
 * A device's string in its stored and compared form: NFC, no control characters or lone surrogates (Postgres refuses
 * NUL), white space collapsed and trimmed, at most `max` code points; '' for anything that is not a string
 * (sdk-payload 9.1).
 */
export function normaliseDeviceString(text: unknown, max: number): string {
  if (typeof text !== 'string') return ''
  if (text.length <= max && plain.test(text)) return text
  const printable = text.replace(/\s+/gu, ' ').replace(/[\p{Cc}\p{Cs}]+/gu, '')
  const clean = normalised(printable, 'NFC')
    .replace(/\s+/gu, ' ') // a removed character may have separated two spaces, and NFC knows more of them
    .trim()
  if (clean.length <= max) return clean
  let cut = 0
  let points = 0
  for (const point of clean) {
    if (++points > max) return clean.slice(0, cut).trimEnd()
    cut += point.length
  }
  return clean
}

// Printable ASCII words separated by single spaces: nearly every device string, already normalised.
const plain = /^[!-~]+(?: [!-~]+)*$/

/** Whether any other device type would be more specific. */
export function isVague(type: string): boolean {
  return type === 'other' || type === 'unknown'
}

function firstMatch(table: readonly (readonly [RegExp, DeviceType])[], text: string): DeviceType | undefined {
  return table.find(([pattern]) => pattern.test(text))?.[1]
}

// "fēnix" and "Fenix" are one model.
function fold(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trim()
}
