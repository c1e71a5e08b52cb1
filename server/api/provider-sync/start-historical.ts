import { Type } from 'typebox'
import { providerByName } from '../../catalogue/providers.ts'
import type { Transaction } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Enum, Instant, Uuid } from '../../http/schema.ts'
import { refuseBackfill, startBackfill, type Whose } from '../../intake/pulls/backfill.ts'
import { type Started, startHistory } from '../../intake/pulls/tasks.ts'
import { hasPast } from '../../intake/pulls/windows.ts'
import type { Backfill, Window } from '../../providers/provider.ts'
import { DAY_MS, isoInstant } from '../../time.ts'
import { ProviderUserPath } from './connected.ts'
import { streamsOf } from './families.ts'
import { startErrors, startRun } from './start.ts'

/** Asks a provider for the past of a user (contract 7.2). */
export const startHistoricalSync = route(
  {
    method: 'POST',
    path: '/api/v1/providers/{provider}/users/{user_id}/sync/historical',
    operationId: 'startHistoricalSync',
    summary: 'Ask a provider for the past of a user',
    description:
      'Starts a run, named by `task_id`, that asks for the newest days first and gives way to current data. While one ' +
      'runs for the connection, that one is returned, and goes as far back as is asked for. GET ' +
      '/api/v1/sync/history/{task_id} says how it goes. Garmin sends its past by itself once it was asked: `days` means ' +
      'nothing to it, and what it was asked for before is left out; with nothing left the last run is returned.',
    tag: 'Sync',
    guard: 'key',
    share: 'own',
    params: ProviderUserPath,
    query: Type.Object({ days: Type.Integer({ minimum: 1, maximum: 365, default: 90 }) }),
    response: Type.Object(
      {
        success: Type.Boolean(),
        provider: Type.String(),
        user_id: Uuid(),
        method: Enum(['pull_api', 'webhook_backfill'], {
          title: 'HistoricalSyncMethod',
          description: '`pull_api`: the provider is asked; `webhook_backfill`: it sends its past as notifications',
        }),
        task_id: Type.String(),
        message: Type.String(),
        days: Type.Optional(Type.Integer({ description: 'This and the dates: with `pull_api`' })),
        start_date: Type.Optional(Instant()),
        end_date: Type.Optional(Instant()),
      },
      { title: 'HistoricalSyncStarted' },
    ),
    example: {
      success: true,
      provider: 'oura',
      user_id: '0b0c2f7e-5d5f-4a0b-9c59-3f1f6c6a8e11',
      method: 'pull_api',
      task_id: 'history_oura_7d1f2c1e-9c0b-4b8e-8a53-0b7f5f1f6c11',
      message: 'Historical sync queued for oura.',
      days: 90,
      start_date: '2025-11-26T10:00:00Z',
      end_date: '2026-02-24T10:00:00Z',
    },
    errors: startErrors,
  },
  async ({ params, query, ctx }, deps) => {
    const { provider, user_id } = params
    const requireAble = () => {
      if (!providerByName.get(provider)?.hasCloudApi) throw unsupported(provider)
    }
    const { runKey, span } = await startRun(deps, { params, ctx, requireAble }, async (tx, connected) => {
      const { id: connectionId, grantId, client } = connected
      const { backfill, streams } = client.provider
      if (backfill) return startedBackfill(tx, { grantId, userId: user_id }, backfill)
      if (!streams?.some(hasPast)) throw unsupported(provider)
      const { granted, refused } = streamsOf(connected, 'all')
      const asked = { grantId, connectionId, userId: user_id, days: query.days, refused }
      const started = await startHistory(tx, asked, granted)
      if (!started) return undefined
      const { runKey, running, ...window } = started
      return { runKey, running, span: running ? await spanOf(tx, user_id, runKey) : window }
    })
    const queued = {
      success: true,
      provider,
      user_id,
      task_id: runKey,
      message: `Historical sync queued for ${provider}.`,
    }
    if (!span) return { ...queued, method: 'webhook_backfill' as const }
    const { fromMs, untilMs } = span
    return {
      ...{ ...queued, method: 'pull_api' as const, days: Math.round((untilMs - fromMs) / DAY_MS) },
      ...{ start_date: isoInstant(fromMs), end_date: isoInstant(untilMs) },
    }
  },
)

/** The run that asks for the past; when another user of the account has all of it, one that says so. */
async function startedBackfill(
  tx: Transaction,
  whose: Whose,
  backfill: Backfill,
): Promise<(Started & { span?: Window }) | undefined> {
  const started = await startBackfill(tx, whose, backfill)
  if (started) return started
  const [live] = await tx.query(`select from provider_grant where id = $1 and state = 'live'`, [whose.grantId])
  return live ? refuseBackfill(tx, whose, backfill) : undefined
}

/** What a run that was started before asks for. */
const spanOf = (tx: Transaction, userId: string, runKey: string) =>
  tx.one<Window>(
    `select date_part('epoch', window_start) * 1000 as "fromMs", date_part('epoch', window_end) * 1000 as "untilMs"
     from sync_run where user_id = $1 and run_key = $2`,
    [userId, runKey],
  )

const unsupported = (provider: string) => errors.badRequest(`Provider '${provider}' does not support historical sync.`)
