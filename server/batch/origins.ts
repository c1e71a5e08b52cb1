// Samples do not store the platform's id, which would double their disk space. Deletions name samples by it, though. So
// each upload stores, per series, a list of short hashes of ids with the instants of their samples, seven to eight
// bytes per sample. For each of its instants, a list states which records the stored sample comes from. A later list
// replaces what an earlier one states of an instant. See server/store/origins/.

const HASH_BYTES = 6
const PART_BYTES = 2

/** Bytes of the longest delta: 2^49 ms are 17,000 years. */
const MAX_DELTA_BYTES = 7

/** Length of a UUID, which platforms extend by a suffix if one record becomes several (sdk-payload 4.7). */
const UUID_LENGTH = 36

/** The hashes of an id: of the record, and of the part if one record becomes several samples. */
export interface OriginHash {
  /** 48 bits; 0 only in NO_RECORD. */
  record: number
  /** 16 bits, never 0; 0 for a whole record. */
  part: number
}

/**
 * Hashes a platform's id. The id of a part is that of its record and a suffix; the record is its parent, or the UUID it
 * begins with (sdk-payload 4.7, 8). At 48 bits and ten million samples per user, one deletion in 28 million would match
 * a wrong record, if that also had the same series.
 */
export function originHash(id: string, parent: string | null): OriginHash {
  const record = parent !== null && id.startsWith(parent) ? parent : uuidBefore(id)
  if (record === null || record === id) return { record: hash48(id), part: 0 }
  return { record: hash48(record), part: (hash48(id) % 0xffff) + 1 }
}

const uuidBefore = (id: string) =>
  id.length > UUID_LENGTH && id[UUID_LENGTH] === '-' ? id.slice(0, UUID_LENGTH) : null

/** `originHash` of an id without a parent that is printable ASCII and stands between two positions. */
export function originHashOf(bytes: Uint8Array, from: number, until: number): OriginHash {
  const isPart = until - from > UUID_LENGTH && bytes[from + UUID_LENGTH] === 0x2d
  if (!isPart) return { record: hash48Of(bytes, from, until), part: 0 }
  return { record: hash48Of(bytes, from, from + UUID_LENGTH), part: (hash48Of(bytes, from, until) % 0xffff) + 1 }
}

/** 48 bits of a text: two multiplicative hashes of 32 bits, mixed, 24 bits of each. */
function hash48(text: string): number {
  let a = FIRST_A
  let b = FIRST_B
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    a = Math.imul(a ^ code, 0x01000193)
    b = Math.imul(b ^ code, 0xcc9e2d51)
    b ^= b >>> 15
  }
  return mixed(a, b, text.length)
}

/** The same of ASCII bytes. */
function hash48Of(bytes: Uint8Array, from: number, until: number): number {
  let a = FIRST_A
  let b = FIRST_B
  for (let index = from; index < until; index += 1) {
    const code = bytes[index] as number
    a = Math.imul(a ^ code, 0x01000193)
    b = Math.imul(b ^ code, 0xcc9e2d51)
    b ^= b >>> 15
  }
  return mixed(a, b, until - from)
}

const FIRST_A = 0x9e3779b1
const FIRST_B = 0x85ebca6b

function mixed(a: number, b: number, length: number): number {
  const first = Math.imul(a ^ (a >>> 16) ^ length, 0x7feb352d)
  const second = Math.imul(b ^ (b >>> 13), 0x846ca68b)
  return ((first ^ (first >>> 15)) >>> 8) * 0x1000000 + ((second ^ (second >>> 16)) >>> 8) || 1
}

/**
 * One entry of a list: a record that states the sample of an instant. An instant has as many entries as such records.
 */
export interface Origin extends OriginHash {
  /** Epoch milliseconds. */
  timeMs: number
}

/** Marks an instant whose sample no record with an id states (any longer): the only entry whose record is 0. */
export const NO_RECORD: OriginHash = { record: 0, part: 0 }

/** Records noted for one sample, the latest ones: nobody records the same heart beat more often in good faith. */
export const MAX_RECORDS = 16

/** Whether two hashes belong to the same id. */
export const sameOrigin = (a: OriginHash, b: OriginHash): boolean => a.record === b.record && a.part === b.part

/** Adds a record to those of a sample, as the latest; keeps at most MAX_RECORDS. */
export function withRecord(records: readonly OriginHash[], added: OriginHash): readonly OriginHash[] {
  if (records.length === 0) return [added]
  if (records.some((one) => sameOrigin(one, added))) return records
  return [...records, added].slice(-MAX_RECORDS)
}

/**
 * Encodes a list of origins, ascending by time: per entry the milliseconds since the one before it (since the first
 * one's for the first) and whether it is a part, as a number with seven bits per byte; six bytes of the record's hash;
 * two of the part's.
 */
export function encodeOrigins(origins: readonly Origin[]): Uint8Array {
  return encodeColumns({
    timeMs: origins.map(({ timeMs }) => timeMs),
    record: origins.map(({ record }) => record),
    part: origins.map(({ part }) => part),
  })
}

/** Origins in columns: long lists are too many objects. */
export interface OriginColumns {
  timeMs: number[]
  record: number[]
  part: number[]
}

/** `encodeOrigins` of entries `from` until before `until`. */
export function encodeColumns(columns: OriginColumns, from = 0, until = columns.timeMs.length): Uint8Array {
  const { timeMs, record, part } = columns
  const bytes = Buffer.allocUnsafe((until - from) * (MAX_DELTA_BYTES + HASH_BYTES + PART_BYTES))
  let at = 0
  let before = timeMs[from] ?? 0
  for (let index = from; index < until; index += 1) {
    const ms = timeMs[index] as number
    const isPart = (part[index] as number) > 0
    let rest = (ms - before) * 2 + (isPart ? 1 : 0)
    before = ms
    while (rest > 127) {
      bytes[at++] = (rest % 128) | 128
      rest = Math.floor(rest / 128)
    }
    bytes[at++] = rest
    at = bytes.writeUIntBE(record[index] as number, at, HASH_BYTES)
    if (isPart) at = bytes.writeUInt16BE(part[index] as number, at)
  }
  // A copy: a transfer to another thread must not take the whole buffer along.
  return new Uint8Array(bytes.subarray(0, at))
}

/** Decodes the result of `encodeOrigins`; `firstMs` is the instant of the first entry. */
export function decodeOrigins(bytes: Buffer, firstMs: number): Origin[] {
  const columns: OriginColumns = { timeMs: [], record: [], part: [] }
  decodeInto(columns, bytes, firstMs)
  const { record, part } = columns
  return columns.timeMs.map((timeMs, at) => ({ timeMs, record: record[at] as number, part: part[at] as number }))
}

/** Adds the entries of `bytes` to columns. */
export function decodeInto({ timeMs, record, part }: OriginColumns, bytes: Buffer, firstMs: number): void {
  let at = 0
  let ms = firstMs
  while (at < bytes.length) {
    let number = 0
    let scale = 1
    let byte: number
    do {
      byte = bytes[at++] as number
      number += (byte & 127) * scale
      scale *= 128
    } while (byte > 127)
    ms += Math.floor(number / 2)
    timeMs.push(ms)
    record.push(bytes.readUIntBE(at, HASH_BYTES))
    at += HASH_BYTES
    const isPart = number % 2 === 1
    part.push(isPart ? bytes.readUInt16BE(at) : 0)
    if (isPart) at += PART_BYTES
  }
}
