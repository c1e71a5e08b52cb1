import { route } from '../../http/route.ts'
import { Archival, archivalExample, readArchival } from './archival.ts'

/** What is kept for how long, and what is stored (contract 13). */
export const getArchival = route(
  {
    method: 'GET',
    path: '/api/v1/settings/archival',
    operationId: 'getArchival',
    summary: 'Archival settings and storage',
    tag: 'Settings',
    guard: 'developer',
    share: 'report',
    response: Archival,
    example: archivalExample,
  },
  async (_, { db }) => readArchival(db),
)
