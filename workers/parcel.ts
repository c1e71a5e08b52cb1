import { brotliDecompressSync } from 'node:zlib'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import type { Batch } from '../server/batch/columns.ts'
import { cloudProviders } from '../server/providers/index.ts'
import type { Json, MapPart } from '../server/providers/part.ts'
import { parseExactJson } from './exact-json.ts'
import { ParcelOut } from './parcel-out.ts'
import { isObject } from './sdk-fields.ts'

// A parcel is what providers answered, as it is stored: a sequence of parts, each a line of JSON (`stream`, `args`, `at`
// in epoch milliseconds, `zone`, `bytes`) and then that many bytes as the provider sent them. All that a mapping may use
// is in it, so reading it again next year gives the same.

/** A parcel is closed at so many parts or bytes; a larger part is alone in its parcel. */
export const PARCEL_PARTS = 50
export const PARCEL_BYTES = 4 * 1024 * 1024

/** Largest decoded parcel: the largest answer, and its line; a larger one is not stored, since it could not be imported. */
export const PARCEL_LIMIT_BYTES = 33 * 1024 * 1024

const NEWLINE = 0x0a

/** A part of a parcel; `body` as the provider sent it. */
export interface ParcelPart {
  stream: string
  args: Json
  /** When it was answered, epoch milliseconds. */
  atMs: number
  zone: string | null
  body: Uint8Array
}

/** The bytes of a parcel. */
export function encodeParcel(parts: readonly ParcelPart[]): Uint8Array {
  return Buffer.concat(
    parts.flatMap(({ stream, args, atMs, zone, body }) => [
      Buffer.from(`${JSON.stringify({ stream, args, at: atMs, zone, bytes: body.length })}\n`),
      body,
    ]),
  )
}

/** The parts of a parcel, whose bodies are pieces of `bytes`; undefined when it is not what `encodeParcel` wrote. */
export function decodeParcel(bytes: Uint8Array): ParcelPart[] | undefined {
  const parts: ParcelPart[] = []
  let at = 0
  while (at < bytes.length) {
    const end = bytes.indexOf(NEWLINE, at)
    const header = end < 0 ? undefined : parsedLine(bytes.subarray(at, end))
    if (!isHeader(header) || end + 1 + header.bytes > bytes.length) return undefined
    const { stream, args, at: atMs, zone } = header
    at = end + 1 + header.bytes
    parts.push({ stream, args, atMs, zone, body: bytes.subarray(end + 1, at) })
  }
  return parts
}

/** What we wrote ourselves, so without regard to large integers. */
function parsedLine(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString())
  } catch {
    return undefined
  }
}

interface Header {
  stream: string
  args: Json
  at: number
  zone: string | null
  bytes: number
}

function isHeader(value: unknown): value is Header {
  if (!isObject(value)) return false
  const { stream, args, at, zone, bytes } = value
  const count = (number: unknown) => Number.isSafeInteger(number) && (number as number) >= 0
  return typeof stream === 'string' && args !== undefined && count(at) && count(bytes) && isZone(zone)
}

const isZone = (zone: unknown) => zone === null || typeof zone === 'string'

/** The task of the thread: the bytes of a parcel, as they are stored (`br`) or were encoded, and whose they are. */
export interface ParcelTask {
  bytes: Uint8Array
  encoding: 'identity' | 'br'
  provider: string
}

export type ParcelResult = { ok: true; batch: Batch } | { ok: false; code: 'damaged' | 'too_large' | 'no_provider' }

/** Thread entry: `readParcel`, its buffers handed over instead of copied. */
export default function readParcelInThread(task: ParcelTask): ParcelResult {
  const result = readParcel(task)
  if (!result.ok) return result
  const [first] = result.batch.samples
  const buffers = first ? [first.timeMs.buffer] : []
  return move({ [transferableSymbol]: buffers, [valueSymbol]: result } as never) as unknown as ParcelResult
}

/** Bytes of a parcel in, columns out, by the mapping of its provider. Bad input throws nothing. */
export function readParcel({ bytes, encoding, provider }: ParcelTask): ParcelResult {
  const map = cloudProviders.get(provider)?.map
  if (!map) return { ok: false, code: 'no_provider' }
  const decoded = encoding === 'br' ? decompressed(bytes) : bytes
  if (!(decoded instanceof Uint8Array)) return decoded
  const parts = decodeParcel(decoded)
  return parts ? { ok: true, batch: mapParts(parts, provider, map) } : { ok: false, code: 'damaged' }
}

/** What the parts hold, as columns. */
export function mapParts(parts: readonly ParcelPart[], provider: string, map: MapPart): Batch {
  const out = new ParcelOut(provider)
  for (const { body, ...part } of parts) {
    const parsed = parseExactJson(body)
    const read = { ...part, body: typeof parsed === 'string' ? null : parsed.value }
    out.begin(read)
    if (typeof parsed === 'string') out.reject('json_invalid', [])
    else map(read, out)
  }
  return out.finish()
}

function decompressed(bytes: Uint8Array): Uint8Array | ParcelResult {
  try {
    return brotliDecompressSync(bytes, { maxOutputLength: PARCEL_LIMIT_BYTES })
  } catch (error) {
    const tooLarge = (error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE'
    return { ok: false, code: tooLarge ? 'too_large' : 'damaged' }
  }
}
