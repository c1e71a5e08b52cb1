/** Provider slugs in the definition order of contract 2.1, which is also their order in validation messages. */
export const providerNames = [
  'apple',
  'samsung',
  'garmin',
  'health_connect',
  'google_health',
  'polar',
  'suunto',
  'whoop',
  'strava',
  'oura',
  'fitbit',
  'ultrahuman',
  'sensorbio',
  'withings',
  'unknown',
  'internal',
] as const

/** Slug of a provider, including the two sentinels (contract 2.1). */
export type ProviderName = (typeof providerNames)[number]

/** The ways in which live data may arrive (contract 2.2). */
export const liveSyncModes = ['pull', 'webhook'] as const
export type LiveSyncMode = (typeof liveSyncModes)[number]

/** The abilities of a provider (contract 2.1) and its default rank among sources (contract 2.4, lower wins). */
export interface Provider {
  readonly provider: ProviderName
  /** Display name. */
  readonly name: string
  /** For stored rows and filters, but never listed or connected: `unknown`, and `internal` for computed data. */
  readonly sentinel: boolean
  readonly hasCloudApi: boolean
  readonly restPull: boolean
  readonly clientSdk: boolean
  readonly fileImport: boolean
  /** Notifications contain the data. */
  readonly webhookStream: boolean
  /** Notifications say what to fetch. */
  readonly webhookPing: boolean
  /** Notifications contain a one-time address to fetch from. */
  readonly webhookCallback: boolean
  /** How far back a historical sync may reach, in days; null = no limit. */
  readonly maxHistoricalDays: number | null
  readonly liveSyncConfigurable: boolean
  /** Whether it is enabled by default. */
  readonly enabledByDefault: boolean
  /** Null for providers whose data only comes from an SDK or a file. */
  readonly defaultLiveSyncMode: LiveSyncMode | null
  readonly rank: number
}

type Ability =
  | 'cloudApi'
  | 'restPull'
  | 'clientSdk'
  | 'fileImport'
  | 'webhookStream'
  | 'webhookPing'
  | 'webhookCallback'

type Row = readonly [name: string, abilities: readonly Ability[], rank: number, maxHistoricalDays?: number]

// Contract 2.1 and 2.4, health_connect ranked directly after google_health as 2.4 asks.
const rows: Record<ProviderName, Row> = {
  apple: ['Apple Health', ['clientSdk', 'fileImport'], 1],
  samsung: ['Samsung Health', ['clientSdk'], 10],
  garmin: ['Garmin', ['cloudApi', 'webhookStream', 'webhookCallback'], 2, 30],
  health_connect: ['Health Connect', ['clientSdk'], 8],
  google_health: ['Google Health', ['cloudApi', 'restPull', 'webhookPing'], 7],
  polar: ['Polar', ['cloudApi', 'restPull', 'webhookPing'], 3],
  suunto: ['Suunto', ['cloudApi', 'restPull', 'webhookStream'], 4],
  whoop: ['Whoop', ['cloudApi', 'restPull', 'webhookPing'], 5],
  strava: ['Strava', ['cloudApi', 'restPull', 'webhookPing'], 12],
  oura: ['Oura', ['cloudApi', 'restPull', 'webhookPing'], 9],
  fitbit: ['Fitbit', ['cloudApi', 'restPull'], 6],
  ultrahuman: ['Ultrahuman', ['cloudApi', 'restPull'], 13],
  sensorbio: ['Sensor Bio', ['cloudApi', 'restPull'], 11],
  withings: ['Withings', ['cloudApi', 'restPull', 'webhookPing'], 14],
  unknown: ['Unknown', [], 99],
  internal: ['Internal', [], 99],
}

/** Disabled by default: Fitbit's API has ended (contract 2.1). */
const disabledByDefault: ReadonlySet<ProviderName> = new Set(['fitbit'])

/** Every provider in definition order: capabilities and live sync default from contract 2.1. */
export const providers: readonly Provider[] = providerNames.map((provider) => {
  const [name, abilities, rank, maxHistoricalDays = null] = rows[provider]
  const can = (ability: Ability) => abilities.includes(ability)
  const notifies = can('webhookStream') || can('webhookPing')
  return {
    provider,
    name,
    sentinel: abilities.length === 0,
    hasCloudApi: can('cloudApi'),
    restPull: can('restPull'),
    clientSdk: can('clientSdk'),
    fileImport: can('fileImport'),
    webhookStream: can('webhookStream'),
    webhookPing: can('webhookPing'),
    webhookCallback: can('webhookCallback'),
    maxHistoricalDays,
    liveSyncConfigurable: can('restPull') && notifies,
    enabledByDefault: !disabledByDefault.has(provider),
    // Notifications first, with a pull beside them, would be better; no connector receives any yet (contract 2.1).
    defaultLiveSyncMode: can('restPull') ? 'pull' : notifies ? 'webhook' : null,
    rank,
  }
})

/** Capabilities and rank of a slug; undefined for anything that is not a ProviderName (contract 2.1). */
export const providerByName: ReadonlyMap<string, Provider> = new Map(providers.map((row) => [row.provider, row]))
