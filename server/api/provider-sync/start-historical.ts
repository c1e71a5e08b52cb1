import { Type } from 'typebox'
import { providerByName } from '../../catalogue/providers.ts'
import type { Transaction } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Instant, Uuid } from '../../http/schema.ts'
import { startHistory } from '../../intake/pulls/tasks.ts'
import { hasPast } from '../../intake/pulls/windows.ts'
import type { Window } from '../../providers/provider.ts'
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
      '/api/v1/sync/history/{task_id} says how it goes.',
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
        method: Type.String({ description: '`pull_api`: the provider is asked' }),
        task_id: Type.String(),
        message: Type.String(),
        days: Type.Integer(),
        start_date: Instant(),
        end_date: Instant(),
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
    const { runKey, fromMs, untilMs } = await startRun(deps, { params, ctx, requireAble }, async (tx, connected) => {
      const { id: connectionId, grantId, client } = connected
      if (!client.provider.streams?.some(hasPast)) throw unsupported(provider)
      const { granted, refused } = streamsOf(connected, 'all')
      const asked = { grantId, connectionId, userId: user_id, days: query.days, refused }
      const started = await startHistory(tx, asked, granted)
      return started?.running ? { ...started, ...(await spanOf(tx, user_id, started.runKey)) } : started
    })
    return {
      ...{ success: true, provider, user_id, method: 'pull_api', task_id: runKey },
      message: `Historical sync queued for ${provider}.`,
      ...{
        days: Math.round((untilMs - fromMs) / DAY_MS),
        start_date: isoInstant(fromMs),
        end_date: isoInstant(untilMs),
      },
    }
  },
)

/** What a run that was started before asks for. */
const spanOf = (tx: Transaction, userId: string, runKey: string) =>
  tx.one<Window>(
    `select date_part('epoch', window_start) * 1000 as "fromMs", date_part('epoch', window_end) * 1000 as "untilMs"
     from sync_run where user_id = $1 and run_key = $2`,
    [userId, runKey],
  )

const unsupported = (provider: string) => errors.badRequest(`Provider '${provider}' does not support historical sync.`)
