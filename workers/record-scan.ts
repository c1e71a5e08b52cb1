import type { BodyBytes, KnownObjects, KnownStrings, ParseAt } from './known-texts.ts'
import { objectEnd } from './repeated-sources.ts'
import {
  afterSpace,
  CLOSE,
  CLOSE_LIST,
  COLON,
  COMMA,
  InstantReader,
  KnownKey,
  NumberReader,
  OPEN,
  OPEN_LIST,
  plainEnd,
  QUOTE,
  scalarEnd,
  startsWith,
  stringEnd,
} from './scan-bytes.ts'
import { NONE, ScannedRecords } from './scanned-records.ts'

/** Longest id that is stored as it is (sdk-payload 5.3). */
const MAX_ID_LENGTH = 100

const RECORDS_KEY = Buffer.from('"records"')
const NULL = Buffer.from('null')

/** Of a body whose first records are all unusual, the rest is not tried. */
const TRIED = 64

/** No object ends after its body. */
const ANY = { bytes: Number.POSITIVE_INFINITY, depth: Number.POSITIVE_INFINITY }

// The fields of a record, in the order of their names.
const NAMES = ['id', 'type', 'startDate', 'endDate', 'zoneOffset', 'source', 'value', 'unit', 'parentId', 'metadata']
const [ID, TYPE, START, END, ZONE, SOURCE, VALUE, UNIT, PARENT, METADATA, OTHER] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
const KEYS = NAMES.map((name) => new KnownKey(name))
/** Without these a record is unusual. */
const NEEDED = (1 << TYPE) | (1 << START) | (1 << END) | (1 << VALUE)

/** The field whose name begins with two letters, or another one; all ten differ. */
const FIELD_OF = new Uint8Array(64).fill(OTHER)
const placeOf = (first: number, second: number) => (first ^ (second << 1)) & 63
for (const [field, name] of NAMES.entries()) FIELD_OF[placeOf(name.charCodeAt(0), name.charCodeAt(1))] = field

/** Entries of metadata that say something of a sample begin so: HKTimeZone, HKWasUserEntered. */
const TELLING = ['"HKT', '"HKW'].map((text) => Buffer.from(text))

/** A body with its plain records taken out of the list `records`, where `mark` stands for them. */
export interface Scan {
  records: ScannedRecords
  rest: Buffer
  mark: number
}

/**
 * Reads the records of an upload from its bytes, without making objects of them: nearly all consist of the same few
 * strings, a number and two instants. Any other one, such as one with escapes in its id, is left in `rest`, to be parsed.
 * Undefined when there is nothing to gain, or when the list is not found at once or is damaged.
 */
export function scanRecords(body: Buffer, parse: ParseAt): Scan | undefined {
  const start = listStart(body)
  if (start < 0) return undefined
  const scanner = new RecordScanner(body, parse)
  const end = scanner.list(start)
  if (end < 0 || scanner.records.plain === 0) return undefined
  const mark = 1e9 + Math.floor(Math.random() * 1e9)
  const unusual = scanner.unusual.flatMap(([from, until]) => [Buffer.from(','), body.subarray(from, until)])
  const rest = Buffer.concat([body.subarray(0, start), Buffer.from(String(mark)), ...unusual, body.subarray(end)])
  return { records: scanner.records, rest, mark }
}

/**
 * Position after the bracket of the first list with this key. In a string the quote before `records` would be escaped, so
 * these bytes begin a key, or the body is damaged with and without its records.
 */
function listStart(body: Buffer): number {
  const key = body.indexOf(RECORDS_KEY)
  if (key < 0) return -1
  const colon = afterSpace(body, key + RECORDS_KEY.length)
  const list = afterSpace(body, colon + 1)
  return body[colon] === COLON && body[list] === OPEN_LIST ? list + 1 : -1
}

class RecordScanner {
  readonly records: ScannedRecords
  /** From and until where those stand that are left to be parsed. */
  readonly unusual: (readonly [from: number, until: number])[] = []
  readonly #body: BodyBytes
  readonly #numbers = new NumberReader()
  readonly #instants = new InstantReader()
  /** Position after what was read last. */
  #at = 0
  /** Objects of metadata in the record. */
  #objects = 0
  /** Whether the start of the record says another offset than UTC. */
  #startHasOffset = false

  constructor(body: Buffer, parse: ParseAt) {
    const { buffer, byteOffset, byteLength } = body
    this.#body = { bytes: body, view: new DataView(buffer, byteOffset, byteLength), parse }
    this.records = new ScannedRecords(this.#body)
  }

  /** Reads the items of a list; returns the position of its closing bracket, or -1 when it is better parsed. */
  list(start: number): number {
    const { records, unusual } = this
    const { bytes } = this.#body
    let at = afterSpace(bytes, start)
    if (bytes[at] === CLOSE_LIST) return -1
    for (;;) {
      if (bytes[at] !== OPEN) return -1
      const end = this.#record(at)
      if (end > 0) records.keep(at, end)
      else {
        const until = objectEnd(bytes, at, ANY)
        if (until < 0 || (records.plain === 0 && unusual.length >= TRIED)) return -1
        unusual.push([at, until])
        records.keepUnusual()
        this.#at = until
      }
      at = afterSpace(bytes, this.#at)
      if (bytes[at] === CLOSE_LIST) return at
      if (bytes[at] !== COMMA) return -1
      at = afterSpace(bytes, at + 1)
    }
  }

  /** Reads a record into the next row of the columns; returns the position after it, or -1 when it is unusual. */
  #record(start: number): number {
    const { bytes } = this.#body
    this.records.clearRow()
    this.#objects = 0
    this.#startHasOffset = false
    let seen = 0
    let at = start
    do {
      const field = this.#key(afterSpace(bytes, at + 1))
      // Of two equal keys, the last one counts.
      if (field === NONE || (field !== OTHER && (seen & (1 << field)) !== 0)) return -1
      seen |= 1 << field
      if (!this.#value(field, afterSpace(bytes, this.#at))) return -1
      at = afterSpace(bytes, this.#at)
    } while (bytes[at] === COMMA)
    if (bytes[at] !== CLOSE || (seen & NEEDED) !== NEEDED) return -1
    // There it counts unless another one is readable.
    if (this.#startHasOffset && this.records.zoneOffset() === null) return -1
    this.records.objects += this.#objects
    this.#at = at + 1
    return at + 1
  }

  /** Reads a key and its colon; returns its field, or NONE when there is none. */
  #key(at: number): number {
    const { bytes, view } = this.#body
    const field = FIELD_OF[placeOf(bytes[at + 1] as number, bytes[at + 2] as number)] as number
    const key = KEYS[field]
    const isField = key?.isAt(view, at) === true
    const end = isField ? at + key.length : stringEnd(bytes, at)
    if (end < 0) return NONE
    const colon = afterSpace(bytes, end)
    if (bytes[colon] !== COLON) return NONE
    this.#at = colon + 1
    return isField ? field : OTHER
  }

  /** Reads the value of a field into the row; false when it is unusual. */
  #value(field: number, at: number): boolean {
    const { bytes, view } = this.#body
    const { records } = this
    const row = records.count
    if (bytes[at] === NULL[0]) {
      this.#at = at + NULL.length
      return startsWith(bytes, NULL, at) && (NEEDED & (1 << field)) === 0
    }
    switch (field) {
      case ID:
        return this.#id(at)
      case TYPE:
        records.type[row] = this.#string(records.types, at)
        return records.type[row] !== NONE
      case START:
        this.#at = this.#instants.read(bytes, view, at)
        records.startMs[row] = this.#instants.ms
        this.#startHasOffset = this.#instants.hasOffset
        return this.#at > 0
      case END:
        this.#at = this.#instants.read(bytes, view, at)
        records.endMs[row] = this.#instants.ms
        return this.#at > 0
      case ZONE:
        records.zone[row] = this.#string(records.zones, at)
        return records.zone[row] !== NONE
      case SOURCE:
        records.source[row] = this.#object(records.sources, at)
        return records.source[row] !== NONE
      case VALUE:
        this.#at = this.#numbers.read(bytes, at)
        records.value[row] = this.#numbers.value
        return this.#at > 0
      case UNIT:
        records.unit[row] = this.#string(records.units, at)
        return records.unit[row] !== NONE
      case METADATA:
        return this.#metadata(at)
      case PARENT:
        return false
      default:
        this.#at = scalarEnd(bytes, at, this.#numbers)
        return this.#at > 0
    }
  }

  #id(at: number): boolean {
    const { bytes } = this.#body
    const end = bytes[at] === QUOTE ? plainEnd(bytes, at + 1) : -1
    if (end < 0 || end - at > MAX_ID_LENGTH) return false
    this.records.idFrom[this.records.count] = at + 1
    this.records.idUntil[this.records.count] = end
    this.#at = end + 1
    return true
  }

  #string(known: KnownStrings, at: number): number {
    const number = this.#body.bytes[at] === QUOTE ? known.at(at) : NONE
    this.#at = known.end
    return number
  }

  #object(known: KnownObjects, at: number): number {
    const number = this.#body.bytes[at] === OPEN ? known.at(at) : NONE
    if (number !== NONE) this.#at = known.endOf(number, at)
    return number
  }

  /** Most metadata says nothing of a sample, and is another one in each record: only what may is kept. */
  #metadata(start: number): boolean {
    const { bytes } = this.#body
    const { records } = this
    if (bytes[start] !== OPEN) return false
    const first = afterSpace(bytes, start + 1)
    let at = bytes[first] === CLOSE ? first : start
    let tells = false
    while (at === start || bytes[at] === COMMA) {
      const key = afterSpace(bytes, at + 1)
      tells ||= TELLING.some((text) => startsWith(bytes, text, key))
      const isKey = this.#key(key) !== NONE
      const end = isKey ? scalarEnd(bytes, afterSpace(bytes, this.#at), this.#numbers) : -1
      if (end < 0) return false
      at = afterSpace(bytes, end)
    }
    if (bytes[at] !== CLOSE) return false
    this.#objects = 1
    this.#at = at + 1
    if (tells) records.telling[records.count] = this.#object(records.tellings, start)
    return !tells || records.telling[records.count] !== NONE
  }
}
