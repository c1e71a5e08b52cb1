import { Type } from 'typebox'
import { providerByName } from '../../catalogue/providers.ts'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Enum, Nullable, Provider, Uuid } from '../../http/schema.ts'
import { MAX_RETRIES } from '../../intake/pulls/backfill.ts'
import type { PartState } from '../../intake/pulls/parcel.ts'
import { ProviderUserPath, requireConnected } from './connected.ts'

type Shown = 'done' | 'pending' | 'timed_out' | 'failed'

/** How contract 7.3 shows what became of a range; `timed_out`: nothing came. */
const shown: Record<PartState, Shown> = {
  ...{ planned: 'pending', asked: 'pending', receiving: 'pending' },
  ...{ done: 'done', duplicate: 'done', no_data: 'timed_out' },
  ...{ forbidden: 'failed', refused: 'failed', disabled: 'failed', failed: 'failed' },
}

// Of the account: whoever shares it has the same past.
const PARTS_SQL = `
  select p.stream, p.state, coalesce(t.attempts, 0) as attempts
  from backfill_part p
  left join sync_task t
    on t.grant_id = p.grant_id and t.kind = 'backfill' and t.stream = p.stream and t.run_key = p.run_key
  where p.grant_id = $1 and p.run_key = (
    select run_key from backfill_part where grant_id = $1 order by hi desc limit 1
  )
  order by p.stream`

const Count = () => Type.Integer()

/** How far the past has come that a provider sends as notifications (contract 7.3). */
export const getBackfillStatus = route(
  {
    method: 'GET',
    path: '/api/v1/providers/{provider}/users/{user_id}/backfill/status',
    operationId: 'getBackfillStatus',
    summary: 'How far the past has come that a provider sends',
    description:
      'Of the last time that Garmin was asked for the past: `windows` and `summary` by type of data. `timed_out`: nothing ' +
      'came. GET /api/v1/sync/history/{task_id} says more. What begins with `retry_` is always empty.',
    tag: 'Sync',
    guard: 'key',
    share: 'own',
    params: ProviderUserPath,
    response: Type.Object(
      {
        user_id: Uuid(),
        provider: Provider(),
        overall_status: Enum(
          ['pending', 'in_progress', 'complete', 'cancelled', 'retry_in_progress', 'permanently_failed'],
          { title: 'BackfillStatusName', description: '`pending`: it was not asked for yet' },
        ),
        current_window: Count(),
        total_windows: Count(),
        windows: Type.Record(
          Type.String(),
          Type.Record(Type.String(), Enum(['done', 'pending', 'timed_out', 'failed'], { title: 'BackfillTypeStatus' })),
        ),
        summary: Type.Record(
          Type.String(),
          Type.Object({ done: Count(), timed_out: Count(), failed: Count() }, { title: 'BackfillTypeSummary' }),
        ),
        in_progress: Type.Boolean(),
        retry_phase: Type.Boolean(),
        retry_type: Nullable(Type.String()),
        retry_window: Nullable(Type.Integer()),
        attempt_count: Type.Integer({ description: 'Failures so far of the request that failed most often' }),
        max_attempts: Type.Integer({ description: 'How often a request that failed is made again' }),
        permanently_failed: Type.Boolean(),
      },
      { title: 'BackfillStatus' },
    ),
    example: {
      ...{ user_id: '0b0c2f7e-5d5f-4a0b-9c59-3f1f6c6a8e11', provider: 'garmin', overall_status: 'in_progress' },
      ...{ current_window: 0, total_windows: 1, windows: { 0: { dailies: 'done', sleeps: 'pending' } } },
      summary: {
        dailies: { done: 1, timed_out: 0, failed: 0 },
        sleeps: { done: 0, timed_out: 0, failed: 0 },
      },
      ...{ in_progress: true, retry_phase: false, retry_type: null, retry_window: null },
      ...{ attempt_count: 0, max_attempts: MAX_RETRIES, permanently_failed: false },
    },
    errors: {
      400: 'The provider is not configured or disabled, or is asked for its past',
      401: 'Not connected, or access has ended: the person connects again',
    },
  },
  async ({ params }, { db, oauth }) => {
    const { provider, user_id } = params
    const requireAble = () => {
      const client = oauth.clients.get(provider)
      const isAble = client ? client.provider.backfill : providerByName.get(provider)?.hasCloudApi
      if (!isAble) throw errors.badRequest(`Provider '${provider}' does not send its past.`)
    }
    const { grantId } = await requireConnected({ db, oauth }, params, requireAble)
    const parts = await db.query<{ stream: string; state: PartState; attempts: number }>(PARTS_SQL, [grantId])
    const attempts = Math.max(0, ...parts.map((part) => part.attempts))
    const types = parts.map(({ stream, state }) => [stream, shown[state]] as const)
    const has = (status: Shown) => types.some(([, one]) => one === status)
    const inProgress = has('pending')
    const failed = types.length > 0 && types.every(([, one]) => one === 'failed')
    return {
      ...{ user_id, provider, overall_status: overall(types.length > 0, inProgress, failed) },
      ...{ current_window: 0, total_windows: 1, windows: { 0: Object.fromEntries(types) } },
      summary: Object.fromEntries(types.map(([stream, one]) => [stream, counts(one)])),
      ...{ in_progress: inProgress, retry_phase: false, retry_type: null, retry_window: null },
      ...{ attempt_count: attempts, max_attempts: MAX_RETRIES, permanently_failed: failed },
    }
  },
)

function overall(isAsked: boolean, inProgress: boolean, failed: boolean) {
  if (!isAsked) return 'pending'
  if (inProgress) return 'in_progress'
  return failed ? 'permanently_failed' : 'complete'
}

const counts = (status: Shown) => ({
  ...{
    done: Number(status === 'done'),
    timed_out: Number(status === 'timed_out'),
    failed: Number(status === 'failed'),
  },
})
