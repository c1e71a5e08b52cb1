import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Context } from 'koa'
import type { Answers } from './answers.ts'
import { Reply } from './reply.ts'

/** Smaller answers gain nothing by compression: they fit into one packet. */
const LEAST_BYTES = 1024

/** A third of the time of the usual level, for a tenth more bytes. */
const LEVEL = 4

const compress = promisify(gzip)

const JSON_TYPE = 'application/json'

/** Who gets the answer, and where its bytes are counted until they are taken. */
interface Counting {
  caller: string
  answers: Answers
}

/** Answers a request with a reply, or with anything else as JSON. */
export async function respond(ctx: Context, status: number, result: unknown, counting?: Counting): Promise<void> {
  if (result instanceof Reply) return reply(ctx, result, counting)
  // Koa turns a null body into 204: the JSON literal has to be sent as text.
  const text = JSON.stringify(result) ?? 'null'
  return reply(ctx, new Reply(status, JSON_TYPE, status === 204 ? null : text), counting)
}

async function reply(
  ctx: Context,
  { status, type, body, headers }: Reply,
  counting: Counting | undefined,
): Promise<void> {
  const { res } = ctx
  for (const name in headers) {
    if (name === 'Vary') varyBy(ctx, headers[name] as string)
    else res.setHeader(name, headers[name] as string)
  }
  ctx.status = status
  if (body === null) return
  if (type === JSON_TYPE) res.setHeader('Content-Type', 'application/json; charset=utf-8')
  else ctx.type = type
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) {
    ctx.body = body
    return
  }
  let sent = body
  let bytes = Buffer.byteLength(body)
  if (/json|csv/.test(type)) {
    varyBy(ctx, 'Accept-Encoding')
    if (bytes > LEAST_BYTES && takesGzip(ctx)) {
      // Until it is compressed, all of it is in memory.
      const compressed = counting?.answers.holding(counting.caller, bytes)
      sent = await compress(body, { level: LEVEL }).finally(compressed)
      bytes = sent.length
      res.setHeader('Content-Encoding', 'gzip')
    }
  }
  counting?.answers.sending(counting.caller, bytes, res)
  send(ctx, sent, bytes)
}

function varyBy(ctx: Context, name: string): void {
  if (ctx.res.hasHeader('Vary')) ctx.vary(name)
  else ctx.res.setHeader('Vary', name)
}

function takesGzip(ctx: Context): boolean {
  return ctx.req.headers['accept-encoding'] !== undefined && ctx.acceptsEncodings('gzip', 'identity') === 'gzip'
}

/**
 * Ends the answer without Koa, which would look again at what it is. Node writes the headers and a text at once; a text
 * with as many bytes as characters has ASCII only, which need not be encoded.
 */
function send(ctx: Context, body: string | Buffer, bytes: number): void {
  ctx.respond = false
  ctx.res.setHeader('Content-Length', bytes)
  if (typeof body === 'string') ctx.res.end(body, bytes === body.length ? 'latin1' : 'utf8')
  else ctx.res.end(body)
}
