import { Type } from 'typebox'
import { Reply } from '../../http/reply.ts'
import { route } from '../../http/route.ts'
import { Nullable, Status } from '../../http/schema.ts'

/**
 * Answers 200 once the database is migrated and reachable, 503 otherwise. Reports waiting deliveries and notices and the state of
 * replicas, but does not depend on them: a receiver that is down is no reason to refuse requests.
 */
export const readyz = route(
  {
    method: 'GET',
    path: '/readyz',
    operationId: 'getReadiness',
    summary: 'Whether the service can handle requests and jobs',
    description:
      'Also counts waiting deliveries, if webhooks or the event feed are enabled, and notifications of providers, if one is configured; both as of the previous probe. Says which replicas of the database are used, if any are configured.',
    tag: 'Health',
    guard: 'public',
    share: 'own',
    response: Type.Object({
      ...Status.properties,
      webhooks: Type.Optional(
        Type.Object({
          pending_events: Type.Integer({ description: 'Recorded but not fanned out yet' }),
          due_deliveries: Type.Integer(),
          later_deliveries: Type.Integer({ description: 'Retries that are not due yet' }),
          oldest_due_seconds: Type.Number({ description: 'How long the oldest of them has been due' }),
        }),
      ),
      replicas: Type.Optional(
        Type.Array(
          Type.Object({
            unavailable: Nullable(Type.String({ description: 'Why it is not used; null if it is' })),
          }),
          { description: 'The databases of DATABASE_READ_URL, in its order' },
        ),
      ),
      notices: Type.Optional(
        Type.Object({
          waiting: Type.Integer({ description: 'Notifications of providers that are not opened yet' }),
          held: Type.Integer({ description: 'About accounts that nobody has connected' }),
          malformed: Type.Integer({ description: 'Kept, since they cannot be read' }),
          oldest_waiting_seconds: Type.Number(),
        }),
      ),
    }),
    example: { status: 'ready' },
    errors: {
      503: { description: 'Not migrated, draining, or the database does not answer', schema: Status },
    },
  },
  async (_, deps) => {
    if (await deps.ready()) {
      const replicas = deps.replicas?.states()
      const webhooks = deps.webhookBacklog?.()
      const notices = deps.inbox?.()
      return {
        status: 'ready',
        ...(webhooks && { webhooks }),
        ...(notices && { notices }),
        ...(replicas && { replicas }),
      }
    }
    return new Reply(503, 'application/json', JSON.stringify({ status: 'not ready' }), { 'Retry-After': '1' })
  },
)
