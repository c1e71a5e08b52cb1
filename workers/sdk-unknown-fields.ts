import { UNKNOWN_FIELDS_KEPT, type UnknownField } from '../server/batch/columns.ts'
import { normaliseDeviceString } from '../server/catalogue/devices.ts'
import type { Decode } from './json-bytes.ts'
import { likelyName } from './likely-names.ts'
import { isObject, type Json } from './sdk-fields.ts'

const MAX_FIELD_LENGTH = 100

/** Fields of an upload (sdk-payload 4.1). */
const ENVELOPE = ['provider', 'sdkVersion', 'syncTimestamp', 'syncSessionId', 'syncType', 'data']
const COLLECTIONS = ['records', 'sleep', 'workouts', 'deleted', 'deletions'].map((name) => `data.${name}`)
const KNOWN: ReadonlySet<string> = new Set([...ENVELOPE, ...COLLECTIONS])

/** The known names at either level, for guesses. */
const nameOf = (field: string) => field.replace('data.', '')
const byName = new Map([...KNOWN].map((field) => [nameOf(field), field]))

/** The unknown fields of a body, and of its `data`, those with the most entries first; at most 20. */
export function unknownFields(body: Json, decode: Decode): UnknownField[] {
  const inData = isObject(body.data)
    ? Object.entries(body.data).map(([key, value]) => [`data.${key}`, value] as const)
    : []
  return [...Object.entries(body), ...inData]
    .filter(([field]) => !KNOWN.has(field))
    .sort(([, a], [, b]) => (entriesOf(b) ?? 0) - (entriesOf(a) ?? 0))
    .slice(0, UNKNOWN_FIELDS_KEPT)
    .map(([field, value]) => {
      const text = normaliseDeviceString(decode(field), MAX_FIELD_LENGTH)
      const likely = likelyName(nameOf(text), byName.keys())
      return { field: text, items: entriesOf(value), likely: likely && (byName.get(likely) as string) }
    })
}

function entriesOf(value: unknown): number | null {
  if (Array.isArray(value)) return value.length
  return isObject(value) ? Object.keys(value).length : null
}
