import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type ContentEncoding, UPLOAD_LIMIT_BYTES } from '../../../workers/sdk-upload.ts'
import { AppError, errors } from '../../errors.ts'
import type { Leave } from '../../gate.ts'
import { atPace } from '../../http/pace.ts'
import { type Gates, type Limits, smallBodyBytes } from '../../limits.ts'

/** The body of an upload as it arrives, and its user. */
export interface IncomingBody {
  userId: string
  body: IncomingMessage
  contentLength: number | undefined
  encoding: ContentEncoding
  queryProvider: string | null
}

/** A body in memory. */
export interface ReadBody {
  bytes: Buffer
  /** Hash input besides the bytes: their compression, and the provider named in the query. */
  sha256: Buffer
  isSmall: boolean
  /** Releases the memory it counts for. */
  forget: Leave
}

/** Minimum that a body counts for: headers and buffers of its request. */
const LEAST_BYTES = 8_192

/**
 * Reads the body of an upload into memory as soon as there is space for it. A small one does not wait for large ones; a
 * body without an announced length counts as small until it is not.
 * @throws AppError too_large, overloaded, body_too_slow, bad_request, client_left
 */
export async function readBody(upload: IncomingBody, gates: Gates, limits: Limits): Promise<ReadBody> {
  const { userId, contentLength: announced, encoding, body } = upload
  if ((announced ?? 0) > UPLOAD_LIMIT_BYTES) throw errors.tooLarge(UPLOAD_LIMIT_BYTES)
  const smallBytes = smallBodyBytes(encoding)
  const enter = (isSmall: boolean, bytes: number) =>
    (isSmall ? gates.smallBodies : gates.largeBodies).enter(userId, {
      weight: Math.max(bytes, LEAST_BYTES),
      client: body,
    })
  let isSmall = (announced ?? 0) <= smallBytes
  let forget = await enter(isSmall, announced ?? smallBytes)
  // The provider named in the query is part of an upload's identity.
  const hash = createHash('sha256').update(`${upload.queryProvider ?? ''}\n${encoding}\n`)
  const incomingBytes = new IncomingBytes(announced)
  // The stream stays open when reading stops early: the answer goes out on the same connection.
  const incoming = body.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>

  /** Reads until the end, or until there is more than `most`. True at the end. */
  async function readUpTo(most: number): Promise<boolean> {
    while (incomingBytes.size <= most) {
      const { done, value } = await incoming.next()
      if (done) return true
      hash.update(value)
      incomingBytes.add(value)
    }
    return false
  }

  const read = (most: number) => atPace(body, limits.bodyPace, readUpTo(most), errors.uploadTooSlow)
  try {
    if (!(await read(isSmall ? smallBytes : UPLOAD_LIMIT_BYTES))) {
      if (!isSmall) throw errors.tooLarge(UPLOAD_LIMIT_BYTES)
      const forgetLarge = await enter(false, UPLOAD_LIMIT_BYTES)
      forget()
      ;[isSmall, forget] = [false, forgetLarge]
      if (!(await read(UPLOAD_LIMIT_BYTES))) throw errors.tooLarge(UPLOAD_LIMIT_BYTES)
    }
  } catch (error) {
    forget()
    throw error instanceof AppError ? error : errors.badRequest('The request body ended early.')
  }
  return { bytes: incomingBytes.all(), sha256: hash.digest(), isSmall, forget }
}

/** Collects a body; one of an announced length goes piece by piece into its place, so that it is never there twice. */
class IncomingBytes {
  size = 0
  readonly #whole: Buffer | undefined
  readonly #chunks: Buffer[] = []

  constructor(announced: number | undefined) {
    // Of its own, since it is handed over to a thread.
    this.#whole = announced === undefined ? undefined : Buffer.allocUnsafeSlow(announced)
  }

  add(chunk: Buffer): void {
    if (this.#whole) chunk.copy(this.#whole, this.size)
    else this.#chunks.push(chunk)
    this.size += chunk.length
  }

  all(): Buffer {
    return this.#whole ? this.#whole.subarray(0, this.size) : Buffer.concat(this.#chunks, this.size)
  }
}
