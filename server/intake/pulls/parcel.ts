import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'
import {
  encodeParcel,
  PARCEL_BYTES,
  PARCEL_LIMIT_BYTES,
  PARCEL_PARTS,
  type ParcelPart,
} from '../../../workers/parcel.ts'
import type { Queryable } from '../../db/database.ts'
import type { Json } from '../../providers/part.ts'
import type { WishRow } from './wishes.ts'

// What a turn brought is stored with what became of its tasks, in one statement: a cursor never passes data that was not
// stored, and what was stored is not asked for again.

/** As uploads of phones: a higher quality costs more time than it saves space. */
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }

/** A grant that a process serves, until the lease ends; whoever lost it cannot store. */
export interface Lease {
  readonly grantId: string
  readonly provider: string
  readonly processId: number
  readonly fence: number
}

/** States of a range of a backfill; see sql/migrations/0161-backfills.sql. */
export type PartState =
  | 'planned'
  | 'asked'
  | 'receiving'
  | 'done'
  | 'no_data'
  | 'duplicate'
  | 'forbidden'
  | 'refused'
  | 'disabled'
  | 'failed'

/** What became of a task; see store_parcel.sql. Instants as ISO text. */
export interface Outcome {
  readonly id: number
  readonly stream: string
  /** Of the task when it was begun: one that was wished for again meanwhile does not end. */
  readonly generation?: number
  /** Answers stored with it. */
  readonly answers: number
  readonly ended?: true
  readonly lo?: string
  readonly hi?: string
  readonly position?: Json
  readonly due_at?: string
  readonly attempts?: number
  readonly failing?: true
  /** Why it is not done yet, for people. */
  readonly waits?: string
  /** What became of the range of a backfill; `asked`: the provider has taken the request. */
  readonly part?: {
    /** Its end; absent: of all that were not asked for, or, when it is `quiet`, of all that were. */
    readonly hi?: string
    readonly state?: PartState | 'quiet'
    readonly lo?: string
    readonly asked?: true
    /** The provider has not taken it. */
    readonly refused?: true
    readonly error?: string
  }
  /** What is asked for because of these answers. */
  readonly wishes?: readonly WishRow[]
  readonly report?: { readonly status: 'success' | 'failed'; readonly code?: string; readonly error?: string }
  readonly cursor?: {
    readonly covered_until?: string
    readonly week?: boolean
    readonly month?: boolean
    readonly hash?: string
    /** The answers are left out, since they are those of `hash`, which has to be that of the cursor still. */
    readonly unchanged?: true
    readonly closed_seconds?: number
    readonly closed_why?: string
    readonly failing?: true
  }
}

/** Whether so many parts of so many bytes fit in one parcel; a larger part is alone in its own. */
export const fits = (parts: number, bytes: number): boolean => parts <= PARCEL_PARTS && bytes <= PARCEL_BYTES

/** Bytes of parts, with what goes with their answers. */
export const sizeOf = (parts: readonly ParcelPart[]): number =>
  parts.reduce((sum, { args, body }) => sum + body.length + (args === null ? 0 : JSON.stringify(args).length), 0)

/** SHA-256 of what was answered, without when. */
export function hashOf(parts: readonly ParcelPart[]): string {
  const hash = createHash('sha256')
  for (const { args, body } of parts) hash.update(`${JSON.stringify(args)} ${body.length}\n`).update(body)
  return hash.digest('hex')
}

/** A parcel as it is stored: brotli, the hash and the length of what it was before. */
export interface PackedParcel {
  readonly body: Buffer
  readonly sha256: Buffer
  readonly bytes: number
}

/** Packs a parcel. @throws RangeError when it is too large to be imported */
export async function packParcel(parts: readonly ParcelPart[]): Promise<PackedParcel> {
  const bytes = encodeParcel(parts)
  if (bytes.length > PARCEL_LIMIT_BYTES) throw new RangeError('the parcel is too large to be imported')
  return packed(bytes)
}

/** Several packed parcels as one, whose parts follow each other; `bytes` before they are packed. */
export async function joinParcels(bodies: readonly Buffer[]): Promise<{ bytes: Uint8Array; packed: PackedParcel }> {
  const parcels = await Promise.all(bodies.map((body) => promisify(brotliDecompress)(body)))
  const bytes = Buffer.concat(parcels)
  return { bytes, packed: await packed(bytes) }
}

async function packed(bytes: Uint8Array): Promise<PackedParcel> {
  const body = await promisify(brotliCompress)(bytes, QUALITY)
  return { body, sha256: createHash('sha256').update(bytes).digest(), bytes: bytes.length }
}

/** What is stored together: answers and outcomes of the tasks of one run. */
export interface Parcel {
  readonly runKey: string
  readonly parts: readonly ParcelPart[]
  readonly outcomes: readonly Outcome[]
  /** The person's zone, as pages name it; null: not known. */
  readonly zone: string | null
}

const STORE_SQL = 'select store_parcel($1, $2, $3, $4, $5, $6, $7, $8, $9) as stored'

/**
 * Stores a parcel. False when the grant was lost, or one of the tasks cancelled, meanwhile: then nothing is stored.
 * @throws RangeError when the parcel is too large to be imported
 */
export async function storeParcel(
  db: Queryable,
  lease: Lease,
  { runKey, parts, outcomes, zone }: Parcel,
): Promise<boolean> {
  const packed = parts.length > 0 ? await packParcel(parts) : undefined
  const { stored } = await db.one<{ stored: boolean }>(STORE_SQL, [
    ...[lease.grantId, lease.processId, lease.fence, runKey, zone],
    ...[packed?.body ?? null, packed?.sha256 ?? null, packed?.bytes ?? null],
    JSON.stringify(outcomes),
  ])
  return stored
}
