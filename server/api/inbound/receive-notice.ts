import type { Context } from 'koa'
import type { Dependencies } from '../../dependencies.ts'
import { AppError, errors } from '../../errors.ts'
import { contentEncoding } from '../../http/encoding.ts'
import { atPace } from '../../http/pace.ts'
import { route } from '../../http/route.ts'
import { Status } from '../../http/schema.ts'
import { asReply, formOf, NotifyingPath, requireNotices } from './notifying.ts'

/** Minimum that a body counts for: headers and buffers of its request. */
const LEAST_BYTES = 4_096

/** Takes a notice of a provider (contract 8.1): verified on its bytes, stored, answered; what it says comes later. */
export const receiveNotice = route(
  {
    method: 'POST',
    path: '/api/v1/providers/{provider}/webhooks',
    operationId: 'receiveNotice',
    summary: 'Receive a notification of a provider',
    description:
      'The address to register at the provider, which signs what it sends. A notification about an account that nobody has connected, or that tells nothing of use, is answered 200 as well. HEAD answers 200.',
    tag: 'Provider webhooks',
    guard: 'public',
    params: NotifyingPath,
    openQuery: true,
    // Its only statement is shared with others.
    share: 'own',
    response: Status,
    example: { status: 'accepted' },
    errors: {
      400: 'The body is not JSON',
      401: 'The signature is wrong or missing, or the provider is not configured',
      404: 'Unknown provider',
      408: 'The body arrived too slowly',
      413: 'The body is larger than any notification of this provider',
      415: 'The body is compressed',
      501: 'The provider sends no notifications that this version reads',
      503: 'Too much at once; please send it again',
    },
  },
  async ({ params: { provider }, ctx }, deps) => {
    const notices = requireNotices(deps, provider)
    if (contentEncoding(ctx.get('content-encoding')) !== 'identity') throw errors.compressed()
    const announced = ctx.request.length ?? notices.limitBytes
    if (announced > notices.limitBytes) throw errors.tooLarge(notices.limitBytes)
    const weight = Math.max(announced, LEAST_BYTES)
    // Until it is stored, since bodies wait for the statement that stores them.
    const forget = await deps.gates.notices.enter(ctx.ip, { weight, client: ctx.res })
    try {
      const body = await readWhole(ctx, notices.limitBytes, deps)
      const headers = Object.fromEntries(
        Object.entries(ctx.headers).map(([name, value = '']) => [name, String(value)] as const),
      )
      const query = formOf(ctx.URL.searchParams)
      return asReply(await deps.notices.receive(provider, notices, { body, headers, query }))
    } finally {
      forget()
    }
  },
)

/** The bytes of a body, as they came. @throws AppError too_large, body_too_slow, bad_request */
async function readWhole({ req }: Context, limitBytes: number, { limits }: Dependencies): Promise<Buffer> {
  const chunks: Buffer[] = []
  async function read(): Promise<void> {
    let size = 0
    // The stream stays open when reading stops early: the answer goes out on the same connection.
    for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > limitBytes) throw errors.tooLarge(limitBytes)
      chunks.push(chunk)
    }
  }
  try {
    await atPace(req, limits.noticePace, read())
  } catch (error) {
    throw error instanceof AppError ? error : errors.badRequest('The request body ended early.')
  }
  return Buffer.concat(chunks)
}
