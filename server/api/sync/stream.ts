import { Type } from 'typebox'
import { checkUuid } from '../../http/formats.ts'
import { authenticate } from '../../http/guards.ts'
import { Reply } from '../../http/reply.ts'
import { route } from '../../http/route.ts'
import { UserPath } from '../../http/schema.ts'
import { eventExample } from './event.ts'

// A proxy must neither store nor buffer the stream (contract 7.5).
const HEADERS = { 'Cache-Control': 'private, no-cache, no-store, no-transform', 'X-Accel-Buffering': 'no' }

/** Progress events of a user's runs as they happen (contract 7.5). */
export const streamEvents = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/sync/stream',
    operationId: 'streamSyncEvents',
    summary: 'Progress of a user, live',
    description:
      'Server-sent events: the last `replay` ones, oldest first, then each as it happens. With the header ' +
      'Last-Event-ID the stream begins after that event instead; an id that is no longer kept counts as none. ' +
      'A comment every 15 seconds shows that the stream is alive. It ends when the user is deleted or the credential is ' +
      'no longer valid.',
    tag: 'Sync',
    guard: 'key',
    share: 'own',
    params: UserPath,
    query: Type.Object({ replay: Type.Integer({ minimum: 1, maximum: 200, default: 20 }) }),
    produces: 'text/event-stream',
    response: Type.String({ description: 'Each `data` is what /sync/recent lists' }),
    example: `: connected\n\nid: ${eventExample.event_id}\nevent: sync.status\ndata: ${JSON.stringify(eventExample)}\n\n: heartbeat\n\n`,
    errors: { 503: 'Too many open streams' },
  },
  async ({ params, query, ctx }, deps) => {
    const stream = await deps.syncFeed.open({
      userId: params.user_id,
      lastEventId: checkUuid(ctx.get('last-event-id'), [], []) ?? null,
      replay: query.replay,
      allowed: () => authenticate('key', ctx, deps),
    })
    return new Reply(200, 'text/event-stream', stream, HEADERS)
  },
)
