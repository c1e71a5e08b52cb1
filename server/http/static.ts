import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Context } from 'koa'
import { heldTags } from './etag.ts'

/** Content that stays the same while the process lives. */
interface Fixed {
  type: string
  /**
   * Seconds for which a client may use it without asking; with 0 it asks each time, and gets 304 if nothing changed.
   */
  maxAgeSeconds: number
  /** Whether its address never has other content, and it is compressed as well as possible. */
  immutable?: boolean
  /** Called once, at the first request. */
  read(): string | Buffer | Promise<string | Buffer>
}

interface Kept {
  etag: string
  bodies: Record<'br' | 'gzip' | 'identity', Buffer>
}

/** Brotli's level: for what is large, 11 would take seconds for a tenth less. */
const quality = (level: 9 | 11) => ({ params: { [constants.BROTLI_PARAM_QUALITY]: level } })

/**
 * Answers with content that never changes, compressed once and kept in memory, and with 304 to clients that have it.
 */
export function fixedAnswer({ type, maxAgeSeconds, immutable = false, read }: Fixed): (ctx: Context) => Promise<void> {
  let kept: Promise<Kept> | undefined
  return async (ctx) => {
    kept ??= keep(read, immutable ? 11 : 9).catch((error) => {
      kept = undefined
      throw error
    })
    const { etag, bodies } = await kept
    ctx.vary('Accept-Encoding')
    ctx.set('ETag', etag)
    const age = `public, max-age=${maxAgeSeconds}${immutable ? ', immutable' : ''}`
    ctx.set('Cache-Control', maxAgeSeconds > 0 ? age : 'public, no-cache')
    if (heldTags(ctx).includes(etag)) {
      ctx.status = 304
      return
    }
    // Clients list accepted encodings in any order: the smallest result wins.
    const taken = ctx.acceptsEncodings()
    const encoding = (['br', 'gzip'] as const).find((one) => taken.includes(one)) ?? 'identity'
    if (encoding !== 'identity') ctx.set('Content-Encoding', encoding)
    ctx.type = type
    ctx.body = bodies[encoding]
  }
}

async function keep(read: Fixed['read'], level: 9 | 11): Promise<Kept> {
  const identity = Buffer.from(await read())
  const [br, gzipped] = await Promise.all([
    promisify(brotliCompress)(identity, quality(level)),
    promisify(gzip)(identity),
  ])
  // Weak: the same for every encoding.
  const etag = `W/"${createHash('sha256').update(identity).digest('base64url').slice(0, 20)}"`
  return { etag, bodies: { br, gzip: gzipped, identity } }
}
