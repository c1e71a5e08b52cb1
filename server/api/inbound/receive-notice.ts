import type { Context } from 'koa'
import type { Dependencies } from '../../dependencies.ts'
import { AppError, errors } from '../../errors.ts'
import type { Leave } from '../../gate.ts'
import { contentEncoding } from '../../http/encoding.ts'
import { atPace } from '../../http/pace.ts'
import { route } from '../../http/route.ts'
import { Status } from '../../http/schema.ts'
import { asReply, formOf, NotifyingPath, requireNotices } from './notifying.ts'

/** What a body counts for at first, with headers and buffers of its request; then twice as much whenever that is full. */
const FIRST_BYTES = 64 * 1024

/** Takes a notice of a provider (contract 8.1): verified on its bytes, stored, answered; what it says comes later. */
export const receiveNotice = route(
  {
    method: 'POST',
    path: '/api/v1/providers/{provider}/webhooks',
    // Where the address has a secret in it, and the provider's page takes no query.
    otherPath: '/api/v1/providers/{provider}/webhooks/{key}',
    operationId: 'receiveNotice',
    summary: 'Receive a notification of a provider',
    description:
      'The address to register at the provider, which signs what it sends. A notification about an account that nobody has connected, or that says nothing of use, is answered 200 as well. HEAD answers 200.',
    tag: 'Provider webhooks',
    guard: 'public',
    params: NotifyingPath,
    openQuery: true,
    // Its only statement is shared with others.
    share: 'own',
    response: Status,
    example: { status: 'accepted' },
    alsoAnswers: {
      201: {
        description: 'To google_health, while it makes sure of the address',
        schema: Status,
        example: { status: 'verified' },
      },
      204: { description: 'To google_health, for every notification' },
    },
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
    const { key } = ctx.params as { key?: string }
    if (key !== undefined && notices.addressSecret === undefined) throw errors.noRoute()
    if (contentEncoding(ctx.get('content-encoding')) !== 'identity') throw errors.compressed()
    if ((ctx.request.length ?? 0) > notices.limitBytes) throw errors.tooLarge(notices.limitBytes)
    const room = new Room(ctx, deps)
    try {
      const body = await readWhole(ctx, notices.limitBytes, room, deps)
      const headers = Object.fromEntries(
        Object.entries(ctx.headers).map(([name, value = '']) => [name, String(value)] as const),
      )
      const query = { ...formOf(ctx.URL.searchParams), ...(key !== undefined && { k: key }) }
      return asReply(await deps.notices.receive(provider, notices, { body, headers, query }))
    } finally {
      room.leave()
    }
  },
)

/**
 * The memory that a body takes until it is stored. It grows with what arrives: a length is only announced, and until all of
 * it is there nothing is proven.
 */
class Room {
  readonly #ctx: Context
  readonly #deps: Dependencies
  readonly #leaves: Leave[] = []
  #bytes = 0
  #hasLeft = false

  constructor(ctx: Context, deps: Dependencies) {
    this.#ctx = ctx
    this.#deps = deps
  }

  /** @throws AppError overloaded */
  async need(bytes: number): Promise<void> {
    while (this.#bytes < bytes) {
      const weight = Math.max(FIRST_BYTES, this.#bytes)
      const leave = await this.#deps.gates.notices.enter(this.#ctx.ip, { weight, client: this.#ctx.res })
      this.#leaves.push(leave)
      this.#bytes += weight
      // A request that was too slow is answered already, and still being read.
      if (this.#hasLeft) leave()
    }
  }

  leave(): void {
    this.#hasLeft = true
    for (const leave of this.#leaves) leave()
  }
}

/** The bytes of a body, as they came. @throws AppError too_large, body_too_slow, bad_request, overloaded */
async function readWhole({ req }: Context, limitBytes: number, room: Room, { limits }: Dependencies): Promise<Buffer> {
  const chunks: Buffer[] = []
  async function read(): Promise<void> {
    let size = 0
    await room.need(1)
    // The stream stays open when reading stops early: the answer goes out on the same connection.
    for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > limitBytes) throw errors.tooLarge(limitBytes)
      await room.need(size)
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
