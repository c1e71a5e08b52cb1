import { createHash } from 'node:crypto'
import { NO_ZONE, type SampleColumns } from '../batch/columns.ts'
import { POSTGRES_EPOCH_MS } from './copy.ts'

// Arrays in the binary form of PostgreSQL (array_send in src/backend/utils/adt/arrayfuncs.c): dimensions, whether any element
// is null, the type's oid, length and lowest index; then each element, its length (-1 for null) before it.

/** Types by the oids of pg_type, with the bytes of an element. */
const TIMESTAMPTZ = { oid: 1184, bytes: 8 }
const FLOAT8 = { oid: 701, bytes: 8 }
const INT2 = { oid: 21, bytes: 2 }
const INT4 = { oid: 23, bytes: 4 }

const HEADER_BYTES = 20
const ROW_BYTES = 4 * 4 + TIMESTAMPTZ.bytes + FLOAT8.bytes + INT2.bytes + INT4.bytes

/** Writes an element at a position; false for null. */
type Put = (view: DataView, at: number, index: number) => boolean

/** The fingerprint of samples, as the function stored_digests makes it of stored ones. */
export function digestOf({ timeMs, value, zoneMin, lastsS }: SampleColumns): Buffer {
  const count = timeMs.length
  const buffer = Buffer.allocUnsafe(4 * HEADER_BYTES + count * ROW_BYTES)
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength)
  let at = 0
  const add = ({ oid, bytes }: { oid: number; bytes: number }, put: Put) => {
    const header = at
    let hasNull = 0
    at += HEADER_BYTES
    for (let index = 0; index < count; index += 1) {
      const isValue = put(view, at + 4, index)
      view.setInt32(at, isValue ? bytes : -1)
      if (!isValue) hasNull = 1
      at += isValue ? 4 + bytes : 4
    }
    for (const [place, number] of [1, hasNull, oid, count, 1].entries()) view.setInt32(header + place * 4, number)
  }
  add(TIMESTAMPTZ, (to, place, index) => {
    const micros = ((timeMs[index] as number) - POSTGRES_EPOCH_MS) * 1000
    const high = Math.floor(micros / 4_294_967_296)
    to.setInt32(place, high)
    to.setUint32(place + 4, micros - high * 4_294_967_296)
    return true
  })
  add(FLOAT8, (to, place, index) => {
    to.setFloat64(place, value[index] as number)
    return true
  })
  add(INT2, (to, place, index) => {
    const zone = zoneMin[index] as number
    if (zone !== NO_ZONE) to.setInt16(place, zone)
    return zone !== NO_ZONE
  })
  add(INT4, (to, place, index) => {
    const lasts = lastsS?.[index] || 0
    if (lasts !== 0) to.setInt32(place, lasts)
    return lasts !== 0
  })
  return createHash('sha256').update(buffer.subarray(0, at)).digest()
}
