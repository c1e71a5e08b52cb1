import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { Context } from 'koa'
import { koaBody } from 'koa-body'
import type { TSchema } from 'typebox'
import { inflated } from '../deflate.ts'
import { AppError, errors, type Issue } from '../errors.ts'
import type { Leave } from '../gate.ts'
import type { Gates, Limits } from '../limits.ts'
import { contentEncoding } from './encoding.ts'
import { jsonDepth, jsonProblem, MAX_JSON_DEPTH } from './json.ts'
import { atPace } from './pace.ts'
import { type Check, compile } from './validate.ts'

/** Size limit of a JSON or form body (D-37). */
const BODY_LIMIT_BYTES = 1024 * 1024

/** Largest body that counts as small; and what a compressed one counts for, by its length: up to that many times. */
const SMALL_BYTES = 64 * 1024
const COMPRESSED = 16

/** Minimum that a body counts for: headers and buffers of its request. */
const LEAST_BYTES = 4_096

/**
 * Waits until the body of a request may be in memory; a small one does not wait for large ones. Returns what releases
 * its bytes. @throws AppError overloaded, client_left
 */
export async function admitBody(ctx: Context, caller: string, gates: Gates): Promise<Leave | undefined> {
  if (!hasBody(ctx)) return undefined
  const times = contentEncoding(ctx.get('content-encoding')) === 'identity' ? 1 : COMPRESSED
  const bytes = (ctx.request.length ?? BODY_LIMIT_BYTES) * times
  return bytes <= SMALL_BYTES
    ? gates.smallRequests.enter(caller, { weight: Math.max(bytes, LEAST_BYTES), client: ctx.res })
    : gates.largeRequests.enter(caller, { weight: BODY_LIMIT_BYTES, client: ctx.res })
}

type ReadBody = (ctx: Context, issues: Issue[], limits: Limits) => Promise<unknown>

/**
 * Returns what reads a request's body as JSON, or as a form if `forms` may be sent too, and checks it by its schema.
 * Problems become issues. @throws AppError too_large, wrong_media_type, wrong_encoding, bad_request, body_too_slow
 */
export function bodyReader(schema: TSchema, { forms, optional }: { forms: boolean; optional: boolean }): ReadBody {
  const accepted = forms ? 'application/x-www-form-urlencoded or application/json' : 'application/json'
  const [checkJson, checkForm] = [compile(schema, 'json'), compile(schema, 'text')]
  const parse = koaBody({
    json: true,
    urlencoded: forms,
    text: false,
    multipart: false,
    jsonStrict: false,
    jsonLimit: BODY_LIMIT_BYTES,
    formLimit: BODY_LIMIT_BYTES,
    includeUnparsed: true,
    parsedMethods: ['POST', 'PUT', 'PATCH', 'DELETE'] as never,
    onError: (error) => {
      throw error
    },
  })
  // The parser knows deflate with zlib's header only.
  const isDeflated = (ctx: Context) => contentEncoding(ctx.get('content-encoding')) === 'deflate'
  const read = async (ctx: Context) => {
    const from = isDeflated(ctx) ? Object.create(ctx, { req: { value: await inflatedBody(ctx.req) } }) : ctx
    return parse(from as never, async () => {})
  }
  return async (ctx, issues, { bodyPace }) => {
    const form = forms && ctx.is('urlencoded') !== false
    const check = form ? checkForm : checkJson
    if (!hasBody(ctx)) return missingBody(check, optional, issues)
    if (!form && !ctx.is('json')) throw errors.wrongMediaType(accepted)
    if (!contentEncoding(ctx.get('content-encoding'))) throw errors.wrongEncoding()
    try {
      await atPace(ctx.req, bodyPace, read(ctx))
    } catch (error) {
      if (error instanceof AppError) throw error
      const issue = parseFailure(error)
      issues.push(issue)
      return undefined
    }
    const { body, rawBody } = ctx.request as unknown as { body: unknown; rawBody?: string }
    if (body === undefined || rawBody === '') return missingBody(check, optional, issues)
    if (!form && rawBody !== undefined && jsonDepth(Buffer.from(rawBody)) > MAX_JSON_DEPTH) {
      issues.push(jsonProblem(rawBody))
      return undefined
    }
    return check(body, ['body'], issues)
  }
}

/** The content of a body in deflate, as a request of its own. */
async function inflatedBody(req: IncomingMessage) {
  const pieces: Buffer[] = []
  let bytes = 0
  // The request stays open for the answer.
  for await (const piece of req.iterator({ destroyOnReturn: false })) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes > BODY_LIMIT_BYTES) throw errors.tooLarge(BODY_LIMIT_BYTES)
  }
  const content = await inflated(Buffer.concat(pieces), { maxOutputLength: BODY_LIMIT_BYTES })
  return Object.assign(Readable.from([content]), { headers: {} }) as unknown as IncomingMessage
}

/** Whether the request announces a body at all. */
const hasBody = (ctx: Context) => ctx.get('transfer-encoding') !== '' || (ctx.request.length ?? 0) > 0

function missingBody(check: Check, optional: boolean, issues: Issue[]): unknown {
  if (optional) return check({}, ['body'], issues)
  issues.push({ type: 'missing', loc: ['body'], msg: 'Field required', input: null })
  return undefined
}

/** Malformed JSON becomes an issue; a body refused by the parser for its size or coding gets that status. */
function parseFailure(error: unknown): Issue {
  const { status, body, type } = error as { status?: number; body?: unknown; type?: string }
  if (status === 413) throw errors.tooLarge(BODY_LIMIT_BYTES)
  if (status === 415) throw errors.wrongEncoding()
  if (type === 'request.aborted' || type === 'request.size.invalid')
    throw errors.badRequest('The request body ended early.')
  if (status === 400 && typeof body === 'string') return jsonProblem(body)
  if (status === 400) throw errors.badRequest('The request body could not be read.')
  const code = (error as { code?: string }).code
  if (code === 'ERR_BUFFER_TOO_LARGE') throw errors.tooLarge(BODY_LIMIT_BYTES)
  if (code === 'ECONNRESET') throw errors.badRequest('The request body ended early.')
  if (code?.startsWith('Z_')) throw errors.badRequest('The compressed request body is damaged.')
  throw error
}
