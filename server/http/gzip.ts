import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Context } from 'koa'

/** Smaller answers gain nothing: they fit into one packet. */
const LEAST_BYTES = 1024

/** A third of the time of the usual level, for a tenth more bytes. */
const LEVEL = 4

const compress = promisify(gzip)

/** Compresses JSON and CSV of more than a kibibyte for clients that take gzip; on another thread. */
export async function gzipAnswer(ctx: Context): Promise<void> {
  const { body } = ctx
  if (!/json|csv/.test(ctx.type) || (typeof body !== 'string' && !Buffer.isBuffer(body))) return
  ctx.vary('Accept-Encoding')
  if ((ctx.response.length ?? 0) <= LEAST_BYTES || ctx.acceptsEncodings('gzip', 'identity') !== 'gzip') return
  const contentType = ctx.response.get('content-type')
  ctx.body = await compress(body, { level: LEVEL })
  ctx.set({ 'Content-Type': contentType, 'Content-Encoding': 'gzip' })
}
