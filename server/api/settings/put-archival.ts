import { route } from '../../http/route.ts'
import { Archival, ArchivalBody, archivalExample, readArchival } from './archival.ts'

/** Sets how long data is kept; both values are replaced, an absent one means forever (contract 13). */
export const putArchival = route(
  {
    method: 'PUT',
    path: '/api/v1/settings/archival',
    operationId: 'putArchival',
    summary: 'Set what is kept for how long',
    description:
      'The next run removes samples older than archive_after_days, by whole months of 30 days; what they add up to per quarter hour, hour and day stays. It removes samples and rollups older than delete_after_days; events, scores and stored uploads stay. Removed data does not come back. Old samples that arrive late are stored, and archived by the next run, unless their quarter hour is already archived: then they are rejected, even after the setting was cleared. Samples older than delete_after_days are rejected.',
    tag: 'Settings',
    guard: 'developer',
    body: ArchivalBody,
    bodyExample: { archive_after_days: 90, delete_after_days: null },
    response: Archival,
    example: archivalExample,
  },
  async ({ body }, { db }) => {
    await db.query('update archival set archive_after_days = $1, delete_after_days = $2', [
      body.archive_after_days ?? null,
      body.delete_after_days ?? null,
    ])
    return readArchival(db)
  },
)
