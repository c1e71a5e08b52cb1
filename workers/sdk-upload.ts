import { gunzipSync, gzipSync, inflateSync } from 'node:zlib'
import { normaliseDeviceString } from '../server/catalogue/devices.ts'
import { jsonDepth, MAX_JSON_DEPTH } from '../server/http/json.ts'
import { packBatch } from '../server/ingest/pack.ts'
import { resolveSdkProvider, type SdkProvider } from '../server/providers/index.ts'
import { readSdkBatch } from './sdk-batch.ts'

/** Largest decoded SDK upload, in bytes (house decision D-37). */
export const UPLOAD_LIMIT_BYTES = 32 * 1024 * 1024

export type ContentEncoding = 'identity' | 'gzip' | 'deflate'

/** What the thread is asked: bytes as received, and the provider named in the query, if any. */
export interface UploadTask {
  bytes: Uint8Array
  encoding: ContentEncoding
  queryProvider: string | null
  /** Given when a stored upload is read again: the provider was settled then. */
  provider: SdkProvider | null
  nowMs: number
}

/** Envelope fields of an upload that are stored beside it. */
export interface Envelope {
  provider: SdkProvider
  sdkVersion: string | null
  syncSessionId: string | null
  syncType: 'historical' | 'live'
}

export type UploadResult =
  | { ok: true; envelope: Envelope; received: number; parsed: Uint8Array; gzip: Uint8Array; decodedBytes: number }
  | { ok: false; code: 'too_large' | 'damaged' | 'not_json' | 'too_deep' | 'not_object' }
  | { ok: false; code: 'provider'; provider: string }

/**
 * Thread entry: bytes of an SDK upload in, packed columns and the compressed body out.
 * Nothing is thrown for bad input, since error classes do not cross threads.
 */
export default function readUpload(task: UploadTask): UploadResult {
  const decoded = decode(task)
  if (!(decoded instanceof Uint8Array)) return decoded
  if (jsonDepth(decoded) > MAX_JSON_DEPTH) return { ok: false, code: 'too_deep' }
  let body: unknown
  try {
    body = JSON.parse(Buffer.from(decoded.buffer, decoded.byteOffset, decoded.byteLength).toString('utf8'))
  } catch {
    return { ok: false, code: 'not_json' }
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return { ok: false, code: 'not_object' }
  const fields = body as Record<string, unknown>
  const named = task.provider ?? task.queryProvider ?? (typeof fields.provider === 'string' ? fields.provider : '')
  const provider = resolveSdkProvider(named)
  if (!provider) return { ok: false, code: 'provider', provider: normaliseDeviceString(named, 50) }
  const batch = readSdkBatch(fields, provider, task.nowMs)
  const result: UploadResult = {
    ok: true,
    envelope: {
      provider,
      sdkVersion: normaliseDeviceString(fields.sdkVersion, 50) || null,
      syncSessionId: normaliseDeviceString(fields.syncSessionId, 100) || null,
      syncType: fields.syncType === 'historical' ? 'historical' : 'live',
    },
    received: batch.received,
    parsed: packBatch(batch),
    gzip: task.encoding === 'gzip' ? task.bytes : gzipSync(decoded, { level: 1 }),
    decodedBytes: decoded.byteLength,
  }
  return result
}

function decode({ bytes, encoding }: UploadTask): Uint8Array | UploadResult {
  if (encoding === 'identity') return bytes
  try {
    const inflate = encoding === 'gzip' ? gunzipSync : inflateSync
    return inflate(bytes, { maxOutputLength: UPLOAD_LIMIT_BYTES })
  } catch (error) {
    const tooLarge = (error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE'
    return { ok: false, code: tooLarge ? 'too_large' : 'damaged' }
  }
}
