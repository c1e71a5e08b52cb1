import { route } from '../../http/route.ts'
import { Status } from '../../http/schema.ts'

/** Answers while the process is alive, without asking anything else. */
export const healthz = route(
  {
    method: 'GET',
    path: '/healthz',
    operationId: 'getHealth',
    summary: 'Whether the process is alive',
    tag: 'Health',
    guard: 'public',
    share: 'own',
    response: Status,
    example: { status: 'ok' },
  },
  async () => ({ status: 'ok' }),
)
