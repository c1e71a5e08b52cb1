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
  /** Put together where they are read: each piece has memory of its own, which is handed over to a thread. */
  pieces: Uint8Array[]
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
  return { pieces: incomingBytes.all(), sha256: hash.digest(), isSmall, forget }
}

/** Smaller pieces share memory: every handover costs a moment, however small it is. */
const SHARED_BYTES = 32 * 1024

/**
 * Collects a body as it comes, without copying it. What would stay here until a garbage collection is handed over, since
 * memory outside of the heap makes these frequent: they took a tenth of the time of uploads.
 */
class IncomingBytes {
  size = 0
  readonly #announced: number
  readonly #pieces: Uint8Array[] = []
  /** Small pieces, and how much there is of them. */
  #shared: Buffer | undefined
  #sharedSize = 0

  constructor(announced = Number.POSITIVE_INFINITY) {
    this.#announced = announced
  }

  add(chunk: Buffer): void {
    if (chunk.length >= SHARED_BYTES && chunk.length === chunk.buffer.byteLength) {
      this.#endShared()
      this.#pieces.push(chunk)
    } else this.#share(chunk)
    this.size += chunk.length
  }

  all(): Uint8Array[] {
    this.#endShared()
    return this.#pieces
  }

  #share(chunk: Buffer): void {
    if (this.#sharedSize + chunk.length > (this.#shared?.length ?? 0)) {
      this.#endShared()
      const most = Math.min(2 * SHARED_BYTES, this.#announced - this.size)
      this.#shared = Buffer.allocUnsafeSlow(Math.max(most, chunk.length))
    }
    this.#sharedSize += chunk.copy(this.#shared as Buffer, this.#sharedSize)
  }

  #endShared(): void {
    const shared = this.#shared?.subarray(0, this.#sharedSize)
    if (shared) this.#pieces.push(shared.length === this.#shared?.length ? shared : new Uint8Array(shared))
    this.#shared = undefined
    this.#sharedSize = 0
  }
}
