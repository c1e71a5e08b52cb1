import { Type } from 'typebox'
import { liveSyncModes } from '../../catalogue/providers.ts'
import { errors, shortened } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { Enum, Nullable } from '../../http/schema.ts'
import {
  dataGranularities,
  describeProviders,
  ProviderDescriptor,
  providerExample,
  settableProviders,
} from './provider.ts'

const SET_SQL = `
  insert into provider_setting as s (provider, is_enabled, live_sync_mode, data_granularity)
  values ($1, $2, $3, $4)
  on conflict (provider) do update
  set is_enabled = coalesce(excluded.is_enabled, s.is_enabled),
      live_sync_mode = coalesce(excluded.live_sync_mode, s.live_sync_mode),
      data_granularity = coalesce(excluded.data_granularity, s.data_granularity),
      updated_at = now()`

// The provider challenges this service meanwhile, so it is done after the answer.
const SUBSCRIBE_SQL = `
  select graphile_worker.add_job(
    'subscribe', payload => json_build_object('provider', $1::text), job_key => 'subscribe:' || $1, max_attempts => 5
  )`

/** Changes the settings of one provider; absent and null fields stay unchanged (contract 6.2). */
export const updateProvider = route(
  {
    method: 'PUT',
    path: '/api/v1/oauth/providers/{provider}',
    operationId: 'updateProvider',
    summary: 'Change the settings of a provider',
    description:
      'Absent and null fields stay unchanged. With the mode `webhook`, Pulsebase subscribes to a provider that takes subscriptions, at this service, unless that was done before.',
    tag: 'Providers',
    guard: 'developer',
    params: Type.Object({ provider: Type.String() }),
    body: Type.Object({
      is_enabled: Type.Optional(Nullable(Type.Boolean())),
      live_sync_mode: Type.Optional(Nullable(Enum(liveSyncModes, { title: 'LiveSyncMode' }))),
      data_granularity: Type.Optional(Nullable(Enum(dataGranularities, { title: 'DataGranularity' }))),
    }),
    bodyExample: { is_enabled: true },
    response: ProviderDescriptor,
    example: providerExample,
    errors: { 400: 'Unknown provider, or its live sync mode cannot be set' },
  },
  async ({ params, body }, { db, notices }) => {
    const name = params.provider
    const provider = settableProviders.get(name)
    if (!provider) throw errors.badRequest(`Unknown provider: ${shortened(name)}`)
    if (body.live_sync_mode && !provider.liveSyncConfigurable) {
      throw errors.badRequest(`Provider '${name}' does not support live sync mode configuration`)
    }
    await db.query(SET_SQL, [name, body.is_enabled ?? null, body.live_sync_mode ?? null, body.data_granularity ?? null])
    if (body.live_sync_mode === 'webhook' && notices.noticesOf(name)?.subscriptions)
      await db.query(SUBSCRIBE_SQL, [name])
    return (await describeProviders(db)).find((one) => one.provider === name)
  },
)
