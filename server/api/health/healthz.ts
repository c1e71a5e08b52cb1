import { Type } from 'typebox'
import { route } from '../../http/route.ts'

/** Answers while the process lives; asks nothing else. */
export const healthz = route(
  {
    method: 'GET',
    path: '/healthz',
    operationId: 'getHealth',
    summary: 'Whether the process lives',
    tag: 'Health',
    guard: 'public',
    share: 'own',
    response: Type.Object({ status: Type.String() }),
    example: { status: 'ok' },
  },
  async () => ({ status: 'ok' }),
)
