import { Type } from 'typebox'
import { gated } from '../../db/database.ts'
import { route } from '../../http/route.ts'
import { Enum, Nullable } from '../../http/schema.ts'
import { startSync as startPull } from '../../intake/pulls/tasks.ts'
import type { Stream } from '../../providers/provider.ts'
import { ProviderUserPath } from './connected.ts'
import { dataTypes, requireOnDemand, streamsOf } from './families.ts'
import { followRun, type StreamReport } from './follow.ts'
import { startErrors, startRun } from './start.ts'
import { askedFields, optionsOf, windowOf } from './window.ts'

const StreamOutcome = Type.Object({ status: Type.String(), error: Nullable(Type.String()) }, { title: 'StreamOutcome' })

const Streams = Type.Record(Type.String(), StreamOutcome, { description: 'Status by stream' })

/** Asks a provider for the data of a user now (contract 7.1). */
export const startSync = route(
  {
    method: 'POST',
    path: '/api/v1/providers/{provider}/users/{user_id}/sync',
    operationId: 'startSync',
    summary: 'Ask a provider for the data of a user now',
    description:
      'Starts a run, named by `task_id`; GET /api/v1/sync/history/{task_id} says how it goes. While one runs that brings ' +
      'the same, that one is returned. Without a range the last 30 days are asked for. With async=false the answer waits ' +
      'for the end, 55 seconds at most; a run that goes on after that, or has to wait longer, is answered with success ' +
      'false and why.',
    tag: 'Sync',
    guard: 'key',
    share: 'own',
    params: ProviderUserPath,
    query: Type.Object({
      data_type: Enum(dataTypes, { default: 'all' }),
      async: Type.Boolean({ default: true, description: 'False: wait for the end' }),
      ...askedFields,
    }),
    response: Type.Object(
      {
        success: Type.Boolean(),
        async: Type.Boolean(),
        task_id: Type.String(),
        message: Type.Optional(Type.String()),
        details: Type.Optional(Type.Object({ workouts: Type.Optional(Streams), data_247: Type.Optional(Streams) })),
      },
      { title: 'SyncStarted' },
    ),
    example: {
      success: true,
      async: true,
      task_id: 'sync_oura_7d1f2c1e-9c0b-4b8e-8a53-0b7f5f1f6c11',
      message: 'Sync task queued for oura. Check task status for results.',
    },
    errors: startErrors,
  },
  async ({ params, query, ctx }, deps) => {
    const { provider, user_id: userId } = params
    const { data_type: dataType } = query
    const requireAble = () => requireOnDemand(provider, dataType)
    const window = windowOf(query, Date.now())
    const started = await startRun(deps, { params, ctx, requireAble }, (tx, connected) => {
      const { granted, refused } = streamsOf(connected, dataType)
      const { grantId } = connected
      return startPull(tx, { grantId, userId, streams: granted, refused, window, options: optionsOf(query) })
    })
    const { runKey } = started
    const queued = {
      ...{ success: true, async: true, task_id: runKey },
      message: `Sync task queued for ${provider}. Check task status for results.`,
    }
    if (query.async) return queued
    const following = { userId, runKey, client: ctx.res }
    const run = await followRun(gated(deps.db, deps.gates.stream, userId), following)
    if (!run) return queued
    const details = detailsOf(run.streams, deps.oauth.clients.get(provider)?.provider.streams ?? [])
    if (run.status === 'in_progress') {
      const message = `The sync of ${provider} has not ended. See GET /api/v1/sync/history/${runKey}.`
      return { success: false, async: true, task_id: runKey, message, details }
    }
    const success = run.streams.every(({ status }) => status === 'success') && run.status !== 'failed'
    return { success, async: false, task_id: runKey, details }
  },
)

/** The reports of a run by family; one of which nothing was asked is left out. */
function detailsOf(reports: readonly StreamReport[], streams: readonly Stream[]) {
  const of = (family: Stream['family']) => {
    const names = new Set(streams.filter((one) => one.family === family).map(({ name }) => name))
    const own = reports.filter(({ stream }) => names.has(stream))
    return own.length === 0
      ? undefined
      : Object.fromEntries(own.map(({ stream, status, error }) => [stream, { status, error }]))
  }
  return { workouts: of('workouts'), data_247: of('247') }
}
