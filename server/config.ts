import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { providerNames } from './catalogue/providers.ts'
import { networkList } from './networks.ts'
import { cloudProviders, notifyingProviders } from './providers/index.ts'
import { limitProblem, limitSettings } from './providers/limits.ts'
import type { Granularity, Provider } from './providers/provider.ts'
import { scopeProblem } from './providers/scopes.ts'

/** OAuth client and addresses of one provider; absent values keep the provider's own. */
export interface ProviderConfig {
  clientId?: string
  clientSecret?: string
  /** What it was before: notices may still be signed with it. */
  previousClientSecret?: string
  authorizeUrl?: string
  tokenUrl?: string
  apiUrl?: string
  /** What is asked for, in place of the connector's scopes; as the provider writes it. */
  defaultScope?: string
  /** Values of the further variables that the connector names, by these names. */
  more?: Readonly<Record<string, string>>
}

/** Everything the environment decides, read once at start. */
export interface Config {
  port: number
  host: string
  /** Absent: the embedded database in `dataDir` is started. */
  databaseUrl?: string
  /** Streaming replicas of it, which answer reads of a user. */
  databaseReadUrls: string[]
  dataDir: string
  role: 'all' | 'api' | 'worker'
  /** How many processes serve behind the port. */
  webConcurrency: number
  /** Absent only with the embedded database, where it is generated into `dataDir`. */
  secretKey?: string
  /** What it was before: opens the tokens that are not yet sealed again. */
  previousSecretKey?: string
  adminEmail: string
  adminPassword?: string
  bootstrapApiKey?: string
  apiBaseUrl: string
  /** Whether the web console is served. */
  consoleEnabled: boolean
  /** Accepted header names of the API key; the first is the documented one. */
  apiKeyHeaders: string[]
  outgoingWebhooksEnabled: boolean
  eventFeedEnabled: boolean
  webhooksAllowHttp: boolean
  webhooksAllowNetworks: string[]
  /** Days events, their deliveries and the feed are kept. */
  webhookMessageRetentionDays: number
  /** Days the attempts to deliver them are kept. */
  webhookAttemptRetentionDays: number
  corsOrigins: string[]
  /** How often accounts at cloud providers are pulled, in seconds, and whether a new connection brings the last 90 days. */
  syncIntervalSeconds: number
  /** How often those of providers with the mode `webhook` are, in seconds. */
  reconcileIntervalSeconds: number
  historicalSyncOnConnect: boolean
  /** How finely providers are asked for what is measured all day, where they can be asked for less. */
  dataGranularity: Granularity
  /** Whether workouts of cloud providers are asked for with their samples, zones and route. */
  ingestWorkoutSamples: boolean
  /** Providers whose data is deleted when a person withdraws access there. */
  deleteDataOnDeauthorisation: string[]
  /** Origins that a browser may be sent to once its person has connected a provider; empty = any with https. */
  oauthRedirectOrigins: string[]
  /** Networks of the proxies in front of us, whose `X-Forwarded-For` is believed. */
  trustedProxies: string[]
  /** How rollups are kept; `auto`: as continuous aggregates where the database has them. */
  rollupStrategy: 'auto' | 'continuous' | 'per_series'
  logLevel: string
  /** Days that the bodies of uploads are kept; 0 = only until they are imported. */
  uploadRetentionDays: number
  /** How often scores that are behind are computed, and of how many days before today. */
  sleepScoreIntervalSeconds: number
  resilienceScoreIntervalSeconds: number
  scoreBackfillDays: number
  /**
   * Logins, failed or successful, per address and minute, and per account and quarter of an hour. The first also limits
   * redemptions of invitation codes, acceptances of invitations and wrong credentials of applications; the second
   * acceptances of one invitation.
   */
  loginAttemptsPerMinute: number
  loginAttemptsPerAccount: number
  /** Syncs of cloud providers that may be asked for, for each user and hour. */
  syncTriggersPerHour: number
  providers: Record<string, ProviderConfig>
}

/** A setting that stops the start; the message names the variable and what it should be. */
export class ConfigError extends Error {
  constructor(variable: string, expectation: string) {
    super(`${variable} ${expectation}`)
    this.name = 'ConfigError'
  }
}

const PLACEHOLDERS = /^(change-?me|changethis|secret|password|test|default|placeholder)/i
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/**
 * Turns environment variables into one typed object.
 * @throws ConfigError naming the first variable that cannot be used.
 */
export function loadConfig(env: Record<string, string | undefined>): Config {
  const text = (name: string) => env[name]?.trim() || undefined
  const port = integer(env, 'PORT', 8000, [0, 65535])
  const databaseUrl = text('DATABASE_URL')
  if (databaseUrl && !isDatabaseUrl(databaseUrl)) {
    throw new ConfigError('DATABASE_URL', 'must be an address such as postgres://user:password@host:5432/database')
  }
  const secretKeys = secrets(env, databaseUrl !== undefined)
  const adminPassword = text('ADMIN_PASSWORD')
  if (adminPassword && adminPassword.length < 12) {
    throw new ConfigError('ADMIN_PASSWORD', 'must have at least 12 characters')
  }
  const bootstrapApiKey = text('BOOTSTRAP_API_KEY')
  if (bootstrapApiKey && bootstrapApiKey.length < 24) {
    throw new ConfigError('BOOTSTRAP_API_KEY', 'must have at least 24 characters')
  }
  const adminEmail = text('ADMIN_EMAIL') ?? 'admin@localhost'
  if (!/^[^@\s]+@[^@\s]+$/.test(adminEmail)) throw new ConfigError('ADMIN_EMAIL', 'must be an email address')
  return {
    port,
    host: text('HOST') ?? '127.0.0.1',
    databaseReadUrls: databaseReadUrls(env, databaseUrl),
    dataDir: resolve(text('DATA_DIR') ?? 'data'),
    ...{ role: roleOf(env, databaseUrl), webConcurrency: integer(env, 'WEB_CONCURRENCY', 1, [1, 64]) },
    adminEmail,
    apiBaseUrl: url(env, 'API_BASE_URL') ?? `http://localhost:${port}`,
    consoleEnabled: flag(env, 'CONSOLE_ENABLED', true),
    apiKeyHeaders: headerNames(text('API_KEY_HEADERS') ?? 'X-Service-API-Key'),
    outgoingWebhooksEnabled: flag(env, 'OUTGOING_WEBHOOKS_ENABLED'),
    ...{ eventFeedEnabled: flag(env, 'EVENT_FEED_ENABLED'), webhooksAllowHttp: flag(env, 'WEBHOOKS_ALLOW_HTTP') },
    webhooksAllowNetworks: networks(env, 'WEBHOOKS_ALLOW_NETWORKS'),
    webhookMessageRetentionDays: integer(env, 'WEBHOOK_MESSAGE_RETENTION_DAYS', 30, [1, 36_500]),
    webhookAttemptRetentionDays: integer(env, 'WEBHOOK_ATTEMPT_RETENTION_DAYS', 90, [1, 36_500]),
    ...{ corsOrigins: corsOrigins(env), oauthRedirectOrigins: redirectOrigins(env) },
    ...{ trustedProxies: proxies(env), logLevel: choice(env, 'LOG_LEVEL', LOG_LEVELS, 'info') },
    rollupStrategy: choice(env, 'ROLLUP_STRATEGY', ['auto', 'continuous', 'per_series'] as const, 'auto'),
    uploadRetentionDays: integer(env, 'UPLOAD_RETENTION_DAYS', 30, [0, 36_500]),
    sleepScoreIntervalSeconds: integer(env, 'SLEEP_SCORE_INTERVAL_SECONDS', 600, [10, 86_400]),
    resilienceScoreIntervalSeconds: integer(env, 'RESILIENCE_SCORE_INTERVAL_SECONDS', 600, [10, 86_400]),
    scoreBackfillDays: integer(env, 'SCORE_BACKFILL_DAYS', 30, [1, 366]),
    loginAttemptsPerMinute: integer(env, 'LOGIN_ATTEMPTS_PER_MINUTE', 10, [1, 100_000]),
    loginAttemptsPerAccount: integer(env, 'LOGIN_ATTEMPTS_PER_ACCOUNT', 5, [1, 100_000]),
    ...clouds(env),
    ...(databaseUrl && { databaseUrl }),
    ...secretKeys,
    ...(adminPassword && { adminPassword }),
    ...(bootstrapApiKey && { bootstrapApiKey }),
  }
}

function roleOf(env: Env, databaseUrl: string | undefined): Config['role'] {
  const role = choice(env, 'ROLE', ['all', 'api', 'worker'] as const, 'all')
  if (role === 'all' || databaseUrl) return role
  throw new ConfigError(
    'ROLE',
    'can only be all without DATABASE_URL: the embedded database is of one service, which then does everything',
  )
}

function secrets(env: Env, required: boolean): Pick<Config, 'secretKey' | 'previousSecretKey'> {
  const secretKey = secret('SECRET_KEY', env.SECRET_KEY?.trim() || undefined, required)
  const previousSecretKey = secret('SECRET_KEY_PREVIOUS', env.SECRET_KEY_PREVIOUS?.trim() || undefined, false)
  return { ...(secretKey && { secretKey }), ...(previousSecretKey && { previousSecretKey }) }
}

function secret(name: string, value: string | undefined, required: boolean): string | undefined {
  if (value === undefined) {
    if (!required) return undefined
    throw new ConfigError(name, 'is required with DATABASE_URL: set 32 or more random characters')
  }
  if (value.length < 32 || PLACEHOLDERS.test(value) || new Set(value).size < 8) {
    throw new ConfigError(name, 'must be 32 or more random characters, for example from: openssl rand -hex 32')
  }
  return value
}

type Env = Record<string, string | undefined>

function integer(env: Env, name: string, fallback: number, [min, max]: readonly [number, number]): number {
  const value = env[name]?.trim()
  if (!value) return fallback
  const number = Number(value)
  if (!/^\d+$/.test(value) || number < min || number > max) {
    throw new ConfigError(name, `must be a whole number from ${min} to ${max}`)
  }
  return number
}

function flag(env: Env, name: string, byDefault = false): boolean {
  const value = env[name]?.trim().toLowerCase()
  if (!value) return byDefault
  if (['false', '0', 'no', 'off'].includes(value)) return false
  if (['true', '1', 'yes', 'on'].includes(value)) return true
  throw new ConfigError(name, 'must be true or false')
}

function choice<T extends string>(env: Env, name: string, options: readonly T[], fallback: T): T {
  const value = env[name]?.trim()
  if (!value) return fallback
  const found = options.find((option) => option === value)
  if (!found) throw new ConfigError(name, `must be one of ${options.join(', ')}`)
  return found
}

function url(env: Env, name: string): string | undefined {
  const value = env[name]?.trim()
  if (!value) return undefined
  if (!/^https?:\/\//.test(value) || !URL.canParse(value)) throw new ConfigError(name, 'must be an http(s) address')
  return value.replace(/\/+$/, '')
}

/** An address that cannot be parsed must stop the start: the driver's own error would show it, password and all. */
const isDatabaseUrl = (text: string) => /^postgres(ql)?:\/\//.test(text) && URL.canParse(text)

function databaseReadUrls(env: Env, databaseUrl: string | undefined): string[] {
  const name = 'DATABASE_READ_URL'
  const urls = list(env[name])
  if (!urls.every(isDatabaseUrl)) {
    throw new ConfigError(name, 'must be a comma list of addresses such as postgres://user:password@host:5432/database')
  }
  if (urls.length > 0 && !databaseUrl) throw new ConfigError(name, 'needs DATABASE_URL, the address of the primary')
  return urls
}

const list = (value: string | undefined) => (value ?? '').split(',').flatMap((item) => item.trim() || [])

function headerNames(value: string): string[] {
  const names = list(value)
  if (
    names.length === 0 ||
    names.some((name) => !/^[a-z0-9-]+$/i.test(name) || name.toLowerCase() === 'authorization')
  ) {
    throw new ConfigError('API_KEY_HEADERS', 'must be a comma list of header names other than Authorization')
  }
  return names
}

function networks(env: Env, name: string): string[] {
  const ranges = list(env[name])
  try {
    if (!ranges.every((range) => /^[^/]+\/\d+$/.test(range))) throw new Error('not a CIDR range')
    networkList(ranges)
  } catch {
    throw new ConfigError(name, 'must be a comma list of CIDR ranges such as 10.0.0.0/8')
  }
  return ranges
}

function proxies(env: Env): string[] {
  const ranges = networks(env, 'TRUSTED_PROXIES')
  if (ranges.some((range) => /\/0+$/.test(range))) {
    throw new ConfigError('TRUSTED_PROXIES', 'must not contain every address: then any client could claim any address')
  }
  return ranges
}

function corsOrigins(env: Env): string[] {
  const origins = list(env.CORS_ORIGINS)
  const isOrigin = (text: string) => URL.canParse(text) && new URL(text).origin === text
  if (origins.every((origin) => origin === '*' || isOrigin(origin))) return origins
  throw new ConfigError('CORS_ORIGINS', 'must be * or a comma list of origins such as https://app.example.org')
}

/** Plain http only on this machine, where nobody else sees what passes. */
function redirectOrigins(env: Env): string[] {
  const origins = list(env.OAUTH_REDIRECT_ORIGINS)
  const usable = (origin: string) =>
    /^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:|$))/.test(origin) &&
    URL.canParse(origin) &&
    new URL(origin).origin === origin
  if (origins.every(usable)) return origins
  throw new ConfigError('OAUTH_REDIRECT_ORIGINS', 'must be a comma list of origins such as https://app.example.org')
}

function clouds(
  env: Env,
): Pick<
  Config,
  | 'syncIntervalSeconds'
  | 'reconcileIntervalSeconds'
  | 'historicalSyncOnConnect'
  | 'dataGranularity'
  | 'ingestWorkoutSamples'
  | 'deleteDataOnDeauthorisation'
  | 'syncTriggersPerHour'
  | 'providers'
> {
  return {
    syncIntervalSeconds: integer(env, 'SYNC_INTERVAL_SECONDS', 3_600, [60, 604_800]),
    reconcileIntervalSeconds: integer(env, 'RECONCILE_INTERVAL_SECONDS', 21_600, [60, 604_800]),
    historicalSyncOnConnect: flag(env, 'HISTORICAL_SYNC_ON_CONNECT', true),
    dataGranularity: choice(env, 'DEFAULT_DATA_GRANULARITY', ['raw', 'hourly', 'daily'] as const, 'raw'),
    ingestWorkoutSamples: flag(env, 'INGEST_WORKOUT_SAMPLES'),
    deleteDataOnDeauthorisation: deauthorised(env),
    syncTriggersPerHour: integer(env, 'SYNC_TRIGGERS_PER_HOUR', 8, [1, 100_000]),
    providers: providerConfigs(env),
  }
}

function deauthorised(env: Env): string[] {
  const names = list(env.DELETE_DATA_ON_DEAUTHORISATION)
  const known = [...cloudProviders.keys()]
  if (names.every((name) => known.includes(name))) return names
  throw new ConfigError('DELETE_DATA_ON_DEAUTHORISATION', `must be a comma list of ${known.join(', ')}`)
}

function providerConfigs(env: Env): Record<string, ProviderConfig> {
  const configs: Record<string, ProviderConfig> = {}
  for (const provider of providerNames) {
    const cloud = cloudProviders.get(provider)
    const { formerPrefix, settings = [] } = cloud ?? {}
    const config: ProviderConfig = {}
    const of = (name: string) => settingName(env, name, [provider.toUpperCase(), formerPrefix])
    const text = (name: string) => env[of(name)]?.trim()
    const [clientId, clientSecret] = [text('CLIENT_ID'), text('CLIENT_SECRET')]
    const authorizeUrl = url(env, of('AUTHORIZE_URL'))
    const tokenUrl = url(env, of('TOKEN_URL'))
    const apiUrl = url(env, of('API_URL'))
    const [defaultScope, previousClientSecret] = [text('DEFAULT_SCOPE'), text('CLIENT_SECRET_PREVIOUS')]
    const limits = cloud ? limitSettings(cloud) : []
    const named = [...settings, ...limits, ...(notifyingProviders.get(provider)?.secrets ?? [])]
    const more = named.flatMap((name) => {
      const value = name.endsWith('_FILE') ? contentOf(of(name), text(name)) : text(name)
      return value ? [[name, value] as const] : []
    })
    if (clientId) config.clientId = clientId
    if (clientSecret) config.clientSecret = clientSecret
    if (previousClientSecret) config.previousClientSecret = previousClientSecret
    if (authorizeUrl) config.authorizeUrl = authorizeUrl
    if (tokenUrl) config.tokenUrl = tokenUrl
    if (apiUrl) config.apiUrl = apiUrl
    if (defaultScope) config.defaultScope = defaultScope
    if (more.length > 0) config.more = Object.fromEntries(more)
    checkProvider(cloud, config)
    if (Object.keys(config).length > 0) configs[provider] = config
  }
  return configs
}

/** The variable of a provider's setting: with the first of its prefixes that has one. */
function settingName(env: Env, name: string, [usual, former]: readonly [string, string | undefined]): string {
  const [given, other] = [`${usual}_${name}`, `${former}_${name}`]
  return former !== undefined && !env[given]?.trim() && env[other]?.trim() ? other : given
}

/** What a file holds that a variable names. @throws ConfigError */
function contentOf(variable: string, path: string | undefined): string | undefined {
  if (!path) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(
      variable,
      `must be the path of a file that can be read (${(error as { code?: string }).code})`,
    )
  }
}

/** @throws ConfigError for what can never lead to a connection */
function checkProvider(provider: Provider | undefined, { defaultScope, more = {} }: ProviderConfig): void {
  if (!provider) return
  const prefix = provider.id.toUpperCase()
  for (const [name, value] of Object.entries(more)) {
    const own = provider.settings?.includes(name) ? provider.settingProblem?.(name, value) : undefined
    const problem = limitSettings(provider).includes(name) ? limitProblem(value) : own
    if (problem) throw new ConfigError(`${prefix}_${name}`, problem)
  }
  const problem = defaultScope && scopeProblem(provider.oauth({ more }), defaultScope)
  if (problem) throw new ConfigError(`${prefix}_DEFAULT_SCOPE`, problem)
}
