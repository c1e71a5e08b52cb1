import { DAILY_TOTAL_OFFSET } from '../catalogue/series.ts'
import type { Transaction } from '../db/database.ts'
import { withoutRemoved } from './changes.ts'
import type { Deletion, SampleColumns } from './columns.ts'
import type { EventTarget } from './events.ts'

// Samples carry no id of the platform, which would double their room. Deletions name samples by it, though; so what is
// stored for each upload and series is a list of short hashes of ids with the instants they became, seven to eight
// bytes a sample, which is read only when something is deleted.

const HASH_BYTES = 6
const PART_BYTES = 2

/** Bytes of the longest delta: 2^49 ms are 17,000 years. */
const MAX_DELTA_BYTES = 7

/** Length of a UUID, which platforms lengthen by a suffix where one record becomes several (sdk-payload 4.7). */
const UUID_LENGTH = 36

/** The hashes of an id: of the record, and of the part where one record becomes several samples. */
export interface OriginHash {
  /** 48 bits, never 0. */
  record: number
  /** 16 bits, never 0; 0 for a whole record. */
  part: number
}

/**
 * Hashes a platform's id. The id of a part is that of its record and a suffix; the record is its parent, or the UUID it
 * begins with (sdk-payload 4.7, 8). At 48 bits and ten million samples of a user, one deletion in 28 million would meet
 * a wrong record, if that had the same series, too.
 */
export function originHash(id: string, parent: string | null): OriginHash {
  const record = parent !== null && id.startsWith(parent) ? parent : uuidBefore(id)
  if (record === null || record === id) return { record: hash48(id), part: 0 }
  return { record: hash48(record), part: (hash48(id) % 0xffff) + 1 }
}

const uuidBefore = (id: string) =>
  id.length > UUID_LENGTH && id[UUID_LENGTH] === '-' ? id.slice(0, UUID_LENGTH) : null

/** 48 bits of a text: two multiplicative hashes of 32 bits, mixed, of which 24 bits each are kept. */
function hash48(text: string): number {
  let a = 0x9e3779b1
  let b = 0x85ebca6b
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    a = Math.imul(a ^ code, 0x01000193)
    b = Math.imul(b ^ code, 0xcc9e2d51)
    b ^= b >>> 15
  }
  a = Math.imul(a ^ (a >>> 16) ^ text.length, 0x7feb352d)
  b = Math.imul(b ^ (b >>> 13), 0x846ca68b)
  return ((a ^ (a >>> 15)) >>> 8) * 0x1000000 + ((b ^ (b >>> 16)) >>> 8) || 1
}

/** One entry of a list: what became a sample at an instant. */
export interface Origin extends OriginHash {
  /** Epoch milliseconds. */
  timeMs: number
}

/**
 * Writes a list of origins, ascending by time: per entry the milliseconds since the one before it (since the first
 * one's for the first) and whether it is a part, as a number of seven bits a byte; six bytes of the record's hash; two
 * of the part's.
 */
export function encodeOrigins(origins: readonly Origin[]): Uint8Array {
  const bytes = Buffer.allocUnsafe(origins.length * (MAX_DELTA_BYTES + HASH_BYTES + PART_BYTES))
  let at = 0
  let before = origins[0]?.timeMs ?? 0
  for (const { timeMs, record, part } of origins) {
    let rest = (timeMs - before) * 2 + (part > 0 ? 1 : 0)
    before = timeMs
    while (rest > 127) {
      bytes[at++] = (rest % 128) | 128
      rest = Math.floor(rest / 128)
    }
    bytes[at++] = rest
    at = bytes.writeUIntBE(record, at, HASH_BYTES)
    if (part > 0) at = bytes.writeUInt16BE(part, at)
  }
  // A copy: what goes to another thread must not take the whole buffer along.
  return new Uint8Array(bytes.subarray(0, at))
}

/** Reads what `encodeOrigins` wrote; `firstMs` is the instant of the first entry. */
export function decodeOrigins(bytes: Buffer, firstMs: number): Origin[] {
  const origins: Origin[] = []
  let at = 0
  let timeMs = firstMs
  while (at < bytes.length) {
    let number = 0
    let scale = 1
    let byte: number
    do {
      byte = bytes[at++] as number
      number += (byte & 127) * scale
      scale *= 128
    } while (byte > 127)
    timeMs += Math.floor(number / 2)
    const record = bytes.readUIntBE(at, HASH_BYTES)
    at += HASH_BYTES
    const part = number % 2 === 1 ? bytes.readUInt16BE(at) : 0
    if (part > 0) at += PART_BYTES
    origins.push({ timeMs, record, part })
  }
  return origins
}

/** Remembers which records became the samples of column sets; those without ids are left out. */
export async function noteOrigins(
  tx: Transaction,
  samples: readonly SampleColumns[],
  sourceIds: readonly number[],
): Promise<void> {
  const known = samples.flatMap(({ source, seriesId, origins }) => (origins ? [{ source, seriesId, ...origins }] : []))
  if (known.length === 0) return
  await tx.query(
    `insert into sample_origin (source_id, series_id, lo, hi, ids)
     select source_id, series_id, to_timestamp(lo), to_timestamp(hi), ids
     from unnest($1::int4[], $2::int2[], $3::float8[], $4::float8[], $5::bytea[]) o (source_id, series_id, lo, hi, ids)`,
    [
      known.map(({ source }) => sourceIds[source] as number),
      known.map(({ seriesId }) => seriesId),
      known.map(({ firstMs }) => firstMs / 1000),
      known.map(({ lastMs }) => lastMs / 1000),
      known.map(({ bytes }) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
    ],
  )
}

interface StoredOrigins {
  source_id: number
  series_id: number
  first_ms: number
  ids: Buffer
}

/** A sample that a deletion means. */
interface Meant {
  externalId: string
  sourceId: number
  seriesId: number
  timeMs: number
}

/**
 * Deletes the samples that records with these ids became, unless another record has taken their place since; what is
 * archived stays. The rollups follow. Returns the ids that were found.
 */
export async function deleteSamples(
  tx: Transaction,
  target: EventTarget,
  deletions: readonly Deletion[],
): Promise<string[]> {
  if (deletions.length === 0) return []
  const meant = await findSamples(tx, target, deletions)
  if (meant.length === 0) return []
  const gone = await tx.rows<[place: number]>('select place from delete_sample_points($1, $2, $3)', [
    meant.map(({ sourceId }) => sourceId),
    meant.map(({ seriesId }) => seriesId),
    meant.map(({ timeMs }) => timeMs / 1000),
  ])
  const removed = gone.map(([place]) => meant[place - 1] as Meant)
  target.changes?.splice(0, target.changes.length, ...withoutRemoved(target.changes, removed))
  return [...new Set(removed.map(({ externalId }) => externalId))]
}

type Wanted = ReadonlyMap<number, readonly (Deletion & { part: number })[]>

/**
 * Reads all lists of the user and provider, oldest first, however many deletions there are: looking for each of them in
 * the database took 18 s for a thousand and a million samples.
 */
async function findSamples(tx: Transaction, target: EventTarget, deletions: readonly Deletion[]): Promise<Meant[]> {
  const wanted = new Map<number, (Deletion & { part: number })[]>()
  for (const deletion of deletions) {
    const { record, part } = originHash(deletion.externalId, null)
    const same = wanted.get(record)
    if (same) same.push({ ...deletion, part })
    else wanted.set(record, [{ ...deletion, part }])
  }
  const found: Found = new Map()
  for (const seqs of await portionsOf(tx, target)) {
    for (const row of await tx.query<StoredOrigins>(LISTS_SQL, [seqs])) search(row, wanted, found)
  }
  return [...found.values()].flatMap(({ sourceId, seriesId, ids }) =>
    [...ids].flatMap(([timeMs, externalIds]) =>
      externalIds.map((externalId) => ({ externalId, sourceId, seriesId, timeMs })),
    ),
  )
}

/** By source and series: the ids to delete that became the sample of an instant. */
type Found = Map<string, { sourceId: number; seriesId: number; ids: Map<number, string[]> }>

/** Looks through a list that is later than those before: what it has of an instant took the place of what was there. */
function search({ source_id, series_id, first_ms, ids }: StoredOrigins, wanted: Wanted, found: Found): void {
  const key = `${source_id} ${series_id}`
  const series = found.get(key) ?? { sourceId: source_id, seriesId: series_id, ids: new Map<number, string[]>() }
  for (const { timeMs, record, part } of decodeOrigins(ids, Math.round(first_ms))) {
    series.ids.delete(timeMs)
    const deleted = wanted
      .get(record)
      ?.filter((one) => one.part === 0 || one.part === part)
      .filter(({ seriesId }) => seriesId === null || seriesId === series_id % DAILY_TOTAL_OFFSET)
    if (deleted?.length)
      series.ids.set(
        timeMs,
        deleted.map(({ externalId }) => externalId),
      )
  }
  if (series.ids.size > 0) found.set(key, series)
}

/** Bytes of lists that are read at once: of some hundred thousand samples, which are looked through in 20 ms. */
const PORTION_BYTES = 1024 * 1024

/** The lists of a user and provider, oldest first, in portions. */
async function portionsOf(tx: Transaction, { userId, provider }: EventTarget): Promise<number[][]> {
  const lists = await tx.rows<[seq: number, bytes: number]>(
    `select o.seq, octet_length(o.ids)
     from data_source d
     join sample_origin o on o.source_id = d.id
     where d.user_id = $1 and d.provider = $2
     order by o.seq`,
    [userId, provider],
  )
  const portions: number[][] = []
  let room = 0
  for (const [seq, bytes] of lists) {
    room -= bytes
    if (room >= 0) portions.at(-1)?.push(seq)
    else {
      portions.push([seq])
      room = PORTION_BYTES - bytes
    }
  }
  return portions
}

const LISTS_SQL = `
  select source_id, series_id, date_part('epoch', lo) * 1000 as first_ms, ids
  from sample_origin
  where seq = any ($1)
  order by seq`
