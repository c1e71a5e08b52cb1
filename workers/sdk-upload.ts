import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync } from 'node:zlib'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import type { Batch } from '../server/batch/columns.ts'
import { normaliseDeviceString } from '../server/catalogue/devices.ts'
import { inflatedSync } from '../server/deflate.ts'
import { resolveSdkProvider, type SdkProvider } from '../server/providers/index.ts'
import { parseJsonBytes } from './json-bytes.ts'
import { readSdkBatch } from './sdk-batch.ts'

/** Largest decoded SDK upload, in bytes (D-37). */
export const UPLOAD_LIMIT_BYTES = 32 * 1024 * 1024

/** Compression of a body: as received, or `br` as it is stored. */
export type ContentEncoding = 'identity' | 'gzip' | 'deflate' | 'br'

// Level 1: 0.9 ms for a body of 1.3 MB and smaller than gzip's level 1, which takes 2.7 ms.
const STORED = { [constants.BROTLI_PARAM_QUALITY]: 1 }

/** A body as it is stored. Mostly it fits into one piece of this size: piece by piece takes a fifth longer. */
const compressed = (body: Uint8Array) =>
  brotliCompressSync(body, { params: STORED, chunkSize: Math.max(1024, Math.ceil(body.length / 8)) })

/** The task of the thread: bytes as received, in one piece or several, and the provider named in the query, if any. */
export interface UploadTask {
  bytes: Uint8Array | readonly Uint8Array[]
  encoding: ContentEncoding
  queryProvider: string | null
  /** Given when a stored upload is read again: its provider is known. */
  provider: SdkProvider | null
  nowMs: number
}

/** Envelope fields of an upload, stored beside it. */
export interface Envelope {
  provider: SdkProvider
  sdkVersion: string | null
  syncSessionId: string | null
  syncType: 'historical' | 'live'
}

export type UploadResult =
  | { ok: true; envelope: Envelope; batch: Batch; stored: Uint8Array; decodedBytes: number }
  | { ok: false; code: 'too_large' | 'damaged' | 'not_json' | 'too_deep' | 'not_object' | 'no_provider' }
  | { ok: false; code: 'provider'; provider: string }

/** Thread entry: `readUpload`, its buffers handed over instead of copied. */
export default function readUploadInThread(task: UploadTask): UploadResult {
  const result = readUpload(task)
  if (!result.ok) return result
  // Columns collected together share one buffer.
  const { samples, derived } = result.batch
  const columns = [samples[0], derived[0]].flatMap((first) => (first ? [first.timeMs.buffer] : []))
  const buffers = [result.stored.buffer, ...columns]
  return move({ [transferableSymbol]: buffers, [valueSymbol]: result } as never) as unknown as UploadResult
}

/**
 * Bytes of an SDK upload in, columns and the compressed body out. Bad input throws nothing, since error classes do not
 * cross threads.
 */
export function readUpload(task: UploadTask): UploadResult {
  const decoded = decode(task)
  if (!(decoded instanceof Uint8Array)) return decoded
  const parsed = parseJsonBytes(decoded)
  if (typeof parsed === 'string') return { ok: false, code: parsed }
  const { body, decode: text } = parsed
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return { ok: false, code: 'not_object' }
  const fields = body as Record<string, unknown>
  const field = (name: string) => (typeof fields[name] === 'string' ? text(fields[name]) : '')
  const named = task.provider ?? task.queryProvider ?? field('provider')
  if (named === '' && (fields.provider === undefined || fields.provider === null))
    return { ok: false, code: 'no_provider' }
  const provider = resolveSdkProvider(named)
  if (!provider) return { ok: false, code: 'provider', provider: normaliseDeviceString(named, 50) }
  return {
    ok: true,
    envelope: {
      provider,
      sdkVersion: normaliseDeviceString(field('sdkVersion'), 50) || null,
      syncSessionId: normaliseDeviceString(field('syncSessionId'), 100) || null,
      syncType: fields.syncType === 'historical' ? 'historical' : 'live',
    },
    batch: readSdkBatch(parsed, provider, task.nowMs),
    // A copy, since a small result is a piece of a shared buffer.
    stored: task.provider ? new Uint8Array() : new Uint8Array(compressed(decoded)),
    decodedBytes: decoded.byteLength,
  }
}

/** Bodies up to this size are put together in memory that is kept. */
const KEPT_BYTES = 2 * 1024 * 1024
let kept: Buffer | undefined

/** The whole of several pieces; it lasts until the next ones are put together. */
function whole(pieces: readonly Uint8Array[]): Uint8Array {
  const [first, ...others] = pieces
  if (first && others.length === 0) return first
  const size = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
  if (size <= KEPT_BYTES) kept ??= Buffer.allocUnsafeSlow(KEPT_BYTES)
  const bytes = size <= KEPT_BYTES && kept ? kept.subarray(0, size) : Buffer.allocUnsafeSlow(size)
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.byteLength
  }
  return bytes
}

function decode({ bytes: given, encoding }: UploadTask): Uint8Array | UploadResult {
  const bytes = given instanceof Uint8Array ? given : whole(given)
  if (encoding === 'identity') return bytes
  try {
    const inflate = encoding === 'gzip' ? gunzipSync : encoding === 'deflate' ? inflatedSync : brotliDecompressSync
    return inflate(bytes, { maxOutputLength: UPLOAD_LIMIT_BYTES })
  } catch (error) {
    const tooLarge = (error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE'
    return { ok: false, code: tooLarge ? 'too_large' : 'damaged' }
  }
}
