import { Type } from 'typebox'
import { type LiveSyncMode, liveSyncModes, type Provider, providers } from '../../catalogue/providers.ts'
import type { Queryable } from '../../db/database.ts'
import { Enum, Nullable } from '../../http/schema.ts'
import { connectedProviders } from '../../providers/index.ts'

/** How finely 24/7 data of a provider is stored (contract 2.2). */
export const dataGranularities = ['daily', 'hourly', 'raw'] as const

/** A provider as contract 6.1 describes it. */
export const ProviderDescriptor = Type.Object(
  {
    provider: Type.String(),
    name: Type.String(),
    has_cloud_api: Type.Boolean(),
    has_connector: Type.Boolean({ description: 'Whether this version can receive its data' }),
    is_enabled: Type.Boolean(),
    icon_url: Type.String(),
    live_sync_mode: Nullable(Enum(liveSyncModes, { title: 'LiveSyncMode' })),
    live_sync_configurable: Type.Boolean(),
    data_granularity: Nullable(Enum(dataGranularities, { title: 'DataGranularity' })),
  },
  { title: 'ProviderDescriptor' },
)

/** The providers by slug, in definition order, without the sentinels, to which nobody connects. */
export const settableProviders: ReadonlyMap<string, Provider> = new Map(
  providers.filter(({ sentinel }) => !sentinel).map((one) => [one.provider, one]),
)

interface Setting {
  provider: string
  is_enabled: boolean | null
  live_sync_mode: LiveSyncMode | null
  data_granularity: (typeof dataGranularities)[number] | null
}

/** Every provider with its settings, in definition order; the catalogue supplies the defaults. */
export async function describeProviders(db: Queryable) {
  const settings = await db.query<Setting>(
    'select provider, is_enabled, live_sync_mode, data_granularity from provider_setting',
  )
  const byProvider = new Map(settings.map((setting) => [setting.provider, setting]))
  return [...settableProviders.values()].map((one) => {
    const setting = byProvider.get(one.provider)
    return {
      provider: one.provider,
      name: one.name,
      has_cloud_api: one.hasCloudApi,
      has_connector: connectedProviders.has(one.provider),
      is_enabled: setting?.is_enabled ?? one.enabledByDefault,
      icon_url: `/static/provider-icons/${one.provider}.svg`,
      live_sync_mode: setting?.live_sync_mode ?? one.defaultLiveSyncMode,
      live_sync_configurable: one.liveSyncConfigurable,
      data_granularity: setting?.data_granularity ?? null,
    }
  })
}

/** A `ProviderDescriptor` for the API description. */
export const providerExample = {
  provider: 'oura',
  name: 'Oura',
  has_cloud_api: true,
  has_connector: true,
  is_enabled: true,
  icon_url: '/static/provider-icons/oura.svg',
  live_sync_mode: 'webhook',
  live_sync_configurable: true,
  data_granularity: null,
}
