import { Type } from 'typebox'
import { route } from '../../http/route.ts'

/** Applies the archival settings now instead of at night (contract 13). */
export const runArchival = route(
  {
    method: 'POST',
    path: '/api/v1/settings/archival/run',
    operationId: 'runArchival',
    summary: 'Archive now',
    tag: 'Settings',
    guard: 'developer',
    status: 202,
    response: Type.Object({ task_id: Type.String(), status: Type.String() }),
    example: { task_id: '4711', status: 'dispatched' },
  },
  async (_, { db }) => {
    const { id } = await db.one<{ id: number }>(
      `select id from graphile_worker.add_job('archive', job_key => 'cron:archive', job_key_mode => 'replace')`,
    )
    return { task_id: String(id), status: 'dispatched' }
  },
)
