import { zoneOffsetOf } from '../server/providers/zone-offset.ts'
import { type BodyBytes, KnownObjects, KnownStrings } from './known-texts.ts'

/** Stands for the number of a string or an object that a record does not have. */
export const NONE = -1

/** Rows that there is space for at first: few for a short body. */
const MOST_FIRST_ROWS = 2_048
const LEAST_BYTES = 128

/**
 * Records as they were read from bytes, one in each row, in the order of the body. A row without a type is that of an unusual
 * record, which is parsed. Strings and objects are their numbers, positions in `values`, or NONE.
 */
export class ScannedRecords {
  /** Rows, and those that hold a record. */
  count = 0
  plain = 0
  /** Objects of metadata. */
  objects = 0
  readonly body: BodyBytes
  readonly types: KnownStrings
  readonly zones: KnownStrings
  readonly units: KnownStrings
  readonly sources: KnownObjects
  /** Metadata that says something of a sample. */
  readonly tellings: KnownObjects
  /** From and until where the record stands in the body. */
  from: Int32Array
  until: Int32Array
  /** The same of its id, empty when it has none. */
  idFrom: Int32Array
  idUntil: Int32Array
  type: Int32Array
  zone: Int32Array
  unit: Int32Array
  source: Int32Array
  telling: Int32Array
  /** Epoch milliseconds. */
  startMs: Float64Array
  endMs: Float64Array
  value: Float64Array

  constructor(body: BodyBytes) {
    this.body = body
    this.types = new KnownStrings(body)
    this.zones = new KnownStrings(body)
    this.units = new KnownStrings(body)
    this.sources = new KnownObjects(body)
    this.tellings = new KnownObjects(body)
    const rows = Math.min(MOST_FIRST_ROWS, Math.ceil(body.bytes.length / LEAST_BYTES))
    const ints = () => new Int32Array(rows)
    const doubles = () => new Float64Array(rows)
    this.from = ints()
    this.until = ints()
    this.idFrom = ints()
    this.idUntil = ints()
    this.type = ints()
    this.zone = ints()
    this.unit = ints()
    this.source = ints()
    this.telling = ints()
    this.startMs = doubles()
    this.endMs = doubles()
    this.value = doubles()
  }

  /** Makes the next row that of a record without any of the fields that it may lack. */
  clearRow(): void {
    const row = this.count
    if (row === this.type.length) this.#grow()
    this.idFrom[row] = 0
    this.idUntil[row] = 0
    this.zone[row] = NONE
    this.unit[row] = NONE
    this.source[row] = NONE
    this.telling[row] = NONE
  }

  /** Minutes east of UTC of the next row's zone; null when it has none that is known. */
  zoneOffset(): number | null {
    const zone = this.zone[this.count] as number
    return zone === NONE ? null : zoneOffsetOf(this.zones.values[zone], 0)
  }

  /** Keeps the row of a record that stands between two positions. */
  keep(from: number, until: number): void {
    this.from[this.count] = from
    this.until[this.count] = until
    this.count += 1
    this.plain += 1
  }

  /** Keeps the row for a record that is parsed. */
  keepUnusual(): void {
    this.type[this.count] = NONE
    this.count += 1
  }

  #grow(): void {
    const ints = ['from', 'until', 'idFrom', 'idUntil', 'type', 'zone', 'unit', 'source', 'telling'] as const
    for (const name of ints) this[name] = larger(this[name], new Int32Array(this.count * 2))
    for (const name of ['startMs', 'endMs', 'value'] as const)
      this[name] = larger(this[name], new Float64Array(this.count * 2))
  }
}

function larger<Numbers extends Int32Array | Float64Array>(old: Numbers, grown: Numbers): Numbers {
  grown.set(old)
  return grown
}
