import { route } from '../../http/route.ts'
import { Archival, archivalExample, readArchival } from './archival.ts'

/** How long data is kept, and how much is stored (contract 13). */
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
