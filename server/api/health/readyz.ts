import { Type } from 'typebox'
import { Reply, route } from '../../http/route.ts'

/** Answers 200 once the database is migrated and reachable, 503 otherwise. */
export const readyz = route(
  {
    method: 'GET',
    path: '/readyz',
    operationId: 'getReadiness',
    summary: 'Whether requests and jobs can be done',
    tag: 'Health',
    guard: 'public',
    response: Type.Object({ status: Type.String() }),
    example: { status: 'ready' },
    errors: { 503: 'Not migrated, draining, or the database does not answer' },
  },
  async (_, deps) => {
    if (await deps.ready()) return { status: 'ready' }
    return new Reply(503, 'application/json', JSON.stringify({ status: 'not ready' }), { 'Retry-After': '1' })
  },
)
