import { generateKeyPairSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { ConfigError, loadConfig } from '../server/config.ts'
import { configWarnings } from '../server/config-warnings.ts'
import { oauthClients } from '../server/provider-client/clients.ts'
import { cloudProviders } from '../server/providers/index.ts'

const KEY = '7f3c1d9be20a4658'.repeat(4)
const DATABASE = { DATABASE_URL: 'postgres://pulsebase@localhost/pulsebase', SECRET_KEY: KEY }

/** Variables that replace a limit, by what they replace. */
const LIMITS = [
  'SENSORBIO_REQUESTS_PER_SECOND',
  'SUUNTO_REQUESTS_PER_SECOND',
  'SUUNTO_REQUESTS_PER_MINUTE',
  'SUUNTO_REQUESTS_PER_WEEK',
  'ULTRAHUMAN_REQUESTS_PER_SECOND',
  'ULTRAHUMAN_ACCOUNT_REQUESTS_PER_SECOND',
  'WITHINGS_REQUESTS_PER_MINUTE',
]

/** Each value is rejected with a message that starts with the variable's name and says `expectation`. */
function refuses(t: Test, variable: string, expectation: RegExp, ...values: string[]) {
  for (const value of values) {
    const message = new RegExp(`^${variable} ${expectation.source}`)
    t.throws(() => loadConfig({ ...DATABASE, [variable]: value }), { name: 'ConfigError', message }, value)
  }
}

t.test('an empty environment is a complete configuration, with the embedded database', async (t) => {
  t.strictSame(loadConfig({}), {
    port: 8000,
    databaseReadUrls: [],
    host: '127.0.0.1',
    dataDir: resolve('data'),
    role: 'all',
    webConcurrency: 1,
    adminEmail: 'admin@localhost',
    apiBaseUrl: 'http://localhost:8000',
    consoleEnabled: true,
    apiKeyHeaders: ['X-Service-API-Key'],
    outgoingWebhooksEnabled: false,
    eventFeedEnabled: false,
    webhooksAllowHttp: false,
    webhooksAllowNetworks: [],
    webhookMessageRetentionDays: 30,
    webhookAttemptRetentionDays: 90,
    corsOrigins: [],
    syncIntervalSeconds: 3600,
    reconcileIntervalSeconds: 21_600,
    historicalSyncOnConnect: true,
    dataGranularity: 'raw',
    ingestWorkoutSamples: false,
    deleteDataOnDeauthorisation: [],
    oauthRedirectOrigins: [],
    trustedProxies: [],
    rollupStrategy: 'auto',
    logLevel: 'info',
    uploadRetentionDays: 30,
    sleepScoreIntervalSeconds: 600,
    resilienceScoreIntervalSeconds: 600,
    scoreBackfillDays: 30,
    loginAttemptsPerMinute: 10,
    loginAttemptsPerAccount: 5,
    syncTriggersPerHour: 8,
    providers: {},
  })
})

t.test('a variable that is empty or blank counts as unset', async (t) => {
  const names = variables()
  for (const value of ['', '  ']) {
    t.strictSame(loadConfig(Object.fromEntries(names.map((name) => [name, value]))), loadConfig({}))
  }
})

t.test('PORT', async (t) => {
  t.match(loadConfig({ PORT: '18000' }), { port: 18_000, apiBaseUrl: 'http://localhost:18000' })
  t.equal(loadConfig({ PORT: '0' }).port, 0, 'any free one')
  refuses(t, 'PORT', /must be a whole number from 0 to 65535$/, 'abc', '-1', '65536', '80.5', '1e3', '0x50', '8000 ;')
})

t.test('HOST and DATA_DIR', async (t) => {
  t.match(loadConfig({ HOST: '0.0.0.0', DATA_DIR: '/var/lib/pulse base' }), {
    host: '0.0.0.0',
    dataDir: '/var/lib/pulse base',
  })
  t.equal(loadConfig({ DATA_DIR: 'elsewhere' }).dataDir, resolve('elsewhere'), 'below the working directory')
})

t.test('DATABASE_URL', async (t) => {
  for (const url of [DATABASE.DATABASE_URL, 'postgresql:///pulsebase?host=/var/run/postgresql']) {
    t.equal(loadConfig({ ...DATABASE, DATABASE_URL: url }).databaseUrl, url)
  }
  refuses(t, 'DATABASE_URL', /must be an address such as postgres:/, 'localhost', 'mysql://x/y', 'postgres://h:port/x')
  try {
    loadConfig({ ...DATABASE, DATABASE_URL: 'postgres://pulsebase:hunter2@host:port/x' })
  } catch (error) {
    t.notMatch(String(error), /hunter2/, 'no value is shown')
  }
})

t.test('DATABASE_READ_URL', async (t) => {
  const urls = ['postgres://pulsebase@replica1/pulsebase', 'postgresql://pulsebase@replica2/pulsebase']
  t.strictSame(loadConfig({ ...DATABASE, DATABASE_READ_URL: urls.join(' , ') }).databaseReadUrls, urls)
  t.strictSame(loadConfig(DATABASE).databaseReadUrls, [])
  refuses(
    t,
    'DATABASE_READ_URL',
    /must be a comma list of addresses such as postgres:/,
    'localhost',
    `${urls[0]},mysql://x`,
  )
  t.throws(() => loadConfig({ DATABASE_READ_URL: urls[0] }), { message: /^DATABASE_READ_URL needs DATABASE_URL/ })
})

t.test('SECRET_KEY', async (t) => {
  t.equal(loadConfig(DATABASE).secretKey, KEY)
  t.equal(loadConfig({ SECRET_KEY: KEY }).secretKey, KEY)
  const { DATABASE_URL } = DATABASE
  t.throws(() => loadConfig({ DATABASE_URL }), { message: /^SECRET_KEY is required with DATABASE_URL/ })
  t.throws(() => loadConfig({ DATABASE_URL, SECRET_KEY: ' ' }), { message: /^SECRET_KEY is required/ })
  const weak = [KEY.slice(0, 31), 'a'.repeat(64), 'abcabc'.repeat(8)]
  const placeholders = ['changeme', 'change-me', 'secret', 'password', 'default'].map((word) => `${word}-${KEY}`)
  refuses(t, 'SECRET_KEY', /must be 32 or more random characters, for example from: openssl rand -hex 32$/, ...weak)
  refuses(t, 'SECRET_KEY', /must be 32 or more random characters/, ...placeholders)
  t.throws(() => loadConfig({ SECRET_KEY: 'short' }), ConfigError, 'a given one is checked without DATABASE_URL too')
})

t.test('ROLE', async (t) => {
  for (const role of ['all', 'api', 'worker']) t.equal(loadConfig({ ...DATABASE, ROLE: role }).role, role)
  t.equal(loadConfig({ ROLE: 'all' }).role, 'all')
  for (const ROLE of ['api', 'worker'])
    t.throws(() => loadConfig({ ROLE }), {
      name: 'ConfigError',
      message: /^ROLE can only be all without DATABASE_URL: /,
    })
  refuses(t, 'ROLE', /must be one of all, api, worker$/, 'x', 'API', 'api,worker')
})

t.test('ADMIN_EMAIL, ADMIN_PASSWORD and BOOTSTRAP_API_KEY', async (t) => {
  const given = { ADMIN_EMAIL: 'ops@example.org', ADMIN_PASSWORD: 'x'.repeat(12), BOOTSTRAP_API_KEY: 'k'.repeat(24) }
  t.match(loadConfig(given), {
    adminEmail: given.ADMIN_EMAIL,
    adminPassword: given.ADMIN_PASSWORD,
    bootstrapApiKey: given.BOOTSTRAP_API_KEY,
  })
  refuses(t, 'ADMIN_EMAIL', /must be an email address$/, 'ops', 'a@b@c', 'a b@c')
  refuses(t, 'ADMIN_PASSWORD', /must have at least 12 characters$/, 'x'.repeat(11))
  refuses(t, 'BOOTSTRAP_API_KEY', /must have at least 24 characters$/, 'k'.repeat(23))
})

t.test('API_BASE_URL', async (t) => {
  t.equal(
    loadConfig({ API_BASE_URL: 'https://health.example.org/base//' }).apiBaseUrl,
    'https://health.example.org/base',
  )
  refuses(t, 'API_BASE_URL', /must be an http\(s\) address$/, 'health.example.org', 'ftp://example.org', 'https://')
})

t.test('WEB_CONCURRENCY', async (t) => {
  t.equal(loadConfig({ WEB_CONCURRENCY: '4' }).webConcurrency, 4)
  refuses(t, 'WEB_CONCURRENCY', /must be a whole number from 1 to 64$/, '0', '65', '1.5', 'auto')
})

t.test('API_KEY_HEADERS', async (t) => {
  const headers = ['X-My-Key', 'X-Open-Wearables-API-Key']
  t.strictSame(loadConfig({ API_KEY_HEADERS: ` ${headers.join(' , ')},` }).apiKeyHeaders, headers)
  const expectation = /must be a comma list of header names other than Authorization$/
  refuses(t, 'API_KEY_HEADERS', expectation, ',', 'X-Key, Authorization', 'authorization', 'X Key', 'X-Key:')
})

t.test('OUTGOING_WEBHOOKS_ENABLED, EVENT_FEED_ENABLED, CONSOLE_ENABLED and WEBHOOKS_ALLOW_HTTP', async (t) => {
  const flags = {
    OUTGOING_WEBHOOKS_ENABLED: 'outgoingWebhooksEnabled',
    EVENT_FEED_ENABLED: 'eventFeedEnabled',
    CONSOLE_ENABLED: 'consoleEnabled',
    WEBHOOKS_ALLOW_HTTP: 'webhooksAllowHttp',
  } as const
  for (const [variable, field] of Object.entries(flags)) {
    for (const yes of ['true', '1', 'yes', 'on', 'TRUE']) t.equal(loadConfig({ [variable]: yes })[field], true)
    for (const no of ['false', '0', 'no', 'off', 'False']) t.equal(loadConfig({ [variable]: no })[field], false)
    refuses(t, variable, /must be true or false$/, 'enabled', '2')
  }
})

t.test('WEBHOOKS_ALLOW_NETWORKS', async (t) => {
  const ranges = ['10.0.0.0/8', 'fd00::/8', '192.168.1.7/32']
  t.strictSame(loadConfig({ WEBHOOKS_ALLOW_NETWORKS: ranges.join(', ') }).webhooksAllowNetworks, ranges)
  const wrong = ['10.0.0.0', '10.0.0.0/33', '10.0.0/8', 'fd00::/129', 'example.org/8', '10.0.0.0/8,x', '10.0.0.0/ 8']
  refuses(t, 'WEBHOOKS_ALLOW_NETWORKS', /must be a comma list of CIDR ranges such as 10\.0\.0\.0\/8$/, ...wrong)
})

t.test('TRUSTED_PROXIES', async (t) => {
  const ranges = ['127.0.0.1/32', '10.0.0.0/8', '::1/128', 'fd00::/8']
  t.strictSame(loadConfig({ TRUSTED_PROXIES: ranges.join(' , ') }).trustedProxies, ranges)
  const wrong = ['127.0.0.1', 'proxy.example.org', '10.0.0.0/33', '10.0.0.0/8/8', '10.0.0.0/8;::1/128', 'true', '*']
  refuses(t, 'TRUSTED_PROXIES', /must be a comma list of CIDR ranges such as 10\.0\.0\.0\/8$/, ...wrong)
  refuses(t, 'TRUSTED_PROXIES', /must not contain every address/, '0.0.0.0/0', '::/0', '10.0.0.0/8,0.0.0.0/00')
})

t.test('SECRET_KEY_PREVIOUS', async (t) => {
  t.equal(loadConfig({ SECRET_KEY_PREVIOUS: KEY }).previousSecretKey, KEY)
  t.notOk(loadConfig({}).previousSecretKey)
  refuses(t, 'SECRET_KEY_PREVIOUS', /must be 32 or more random characters/, 'short')
})

t.test('OAUTH_REDIRECT_ORIGINS', async (t) => {
  const origins = ['https://app.example.org', 'http://localhost:3000']
  t.strictSame(loadConfig({ OAUTH_REDIRECT_ORIGINS: origins.join(', ') }).oauthRedirectOrigins, origins)
  const wrong = [
    'app.example.org',
    'https://app.example.org/',
    'https://*.example.org/x',
    'http://app.example.org',
    '*',
  ]
  refuses(t, 'OAUTH_REDIRECT_ORIGINS', /must be a comma list of origins such as https:\/\/app\.example\.org$/, ...wrong)
})

t.test('CORS_ORIGINS', async (t) => {
  const origins = ['https://portal.example.org', 'http://localhost:3000']
  t.strictSame(loadConfig({ CORS_ORIGINS: origins.join(', ') }).corsOrigins, origins)
  t.strictSame(loadConfig({ CORS_ORIGINS: '*' }).corsOrigins, ['*'])
  const wrong = ['portal.example.org', 'https://portal.example.org/', 'https://*.example.org/x', 'all']
  refuses(t, 'CORS_ORIGINS', /must be \* or a comma list of origins such as https:\/\/app\.example\.org$/, ...wrong)
})

t.test('ROLLUP_STRATEGY', async (t) => {
  for (const strategy of ['auto', 'continuous', 'per_series']) {
    t.equal(loadConfig({ ROLLUP_STRATEGY: strategy }).rollupStrategy, strategy)
  }
  refuses(t, 'ROLLUP_STRATEGY', /must be one of auto, continuous, per_series$/, 'none', 'Auto')
})

t.test('UPLOAD_RETENTION_DAYS', async (t) => {
  t.equal(loadConfig({ UPLOAD_RETENTION_DAYS: '0' }).uploadRetentionDays, 0)
  refuses(t, 'UPLOAD_RETENTION_DAYS', /must be a whole number from 0 to 36500$/, '-1', '1.5', 'never', '36501')
})

t.test('SLEEP_SCORE_INTERVAL_SECONDS, RESILIENCE_SCORE_INTERVAL_SECONDS and SCORE_BACKFILL_DAYS', async (t) => {
  const intervals = { SLEEP_SCORE_INTERVAL_SECONDS: '60', RESILIENCE_SCORE_INTERVAL_SECONDS: '3600' }
  const config = loadConfig({ ...intervals, SCORE_BACKFILL_DAYS: '366' })
  t.match(config, { sleepScoreIntervalSeconds: 60, resilienceScoreIntervalSeconds: 3600, scoreBackfillDays: 366 })
  for (const variable of Object.keys(intervals)) {
    refuses(t, variable, /must be a whole number from 10 to 86400$/, '9', '86401', 'never')
  }
  refuses(t, 'SCORE_BACKFILL_DAYS', /must be a whole number from 1 to 366$/, '0', '367', '1.5')
})

t.test('WEBHOOK_MESSAGE_RETENTION_DAYS and WEBHOOK_ATTEMPT_RETENTION_DAYS', async (t) => {
  const config = loadConfig({ WEBHOOK_MESSAGE_RETENTION_DAYS: '7', WEBHOOK_ATTEMPT_RETENTION_DAYS: '1' })
  t.match(config, { webhookMessageRetentionDays: 7, webhookAttemptRetentionDays: 1 })
  for (const variable of ['WEBHOOK_MESSAGE_RETENTION_DAYS', 'WEBHOOK_ATTEMPT_RETENTION_DAYS']) {
    refuses(t, variable, /must be a whole number from 1 to 36500$/, '0', 'never')
  }
})

t.test('LOG_LEVEL', async (t) => {
  t.equal(loadConfig({ LOG_LEVEL: 'debug' }).logLevel, 'debug')
  refuses(t, 'LOG_LEVEL', /must be one of fatal, error, warn, info, debug, trace, silent$/, 'verbose', 'INFO')
})

t.test('LOGIN_ATTEMPTS_PER_MINUTE and LOGIN_ATTEMPTS_PER_ACCOUNT', async (t) => {
  const config = loadConfig({ LOGIN_ATTEMPTS_PER_MINUTE: '30', LOGIN_ATTEMPTS_PER_ACCOUNT: '7' })
  t.match(config, { loginAttemptsPerMinute: 30, loginAttemptsPerAccount: 7 })
  for (const variable of ['LOGIN_ATTEMPTS_PER_MINUTE', 'LOGIN_ATTEMPTS_PER_ACCOUNT']) {
    refuses(t, variable, /must be a whole number from 1 to 100000$/, '0', 'none')
  }
})

t.test('SYNC_TRIGGERS_PER_HOUR', async (t) => {
  t.equal(loadConfig({ SYNC_TRIGGERS_PER_HOUR: '100' }).syncTriggersPerHour, 100)
  refuses(t, 'SYNC_TRIGGERS_PER_HOUR', /must be a whole number from 1 to 100000$/, '0', 'none')
})

t.test('SYNC_INTERVAL_SECONDS, RECONCILE_INTERVAL_SECONDS and HISTORICAL_SYNC_ON_CONNECT', async (t) => {
  t.match(loadConfig({}), { syncIntervalSeconds: 3600, historicalSyncOnConnect: true })
  const config = loadConfig({ SYNC_INTERVAL_SECONDS: '900', HISTORICAL_SYNC_ON_CONNECT: 'false' })
  t.match(config, { syncIntervalSeconds: 900, historicalSyncOnConnect: false })
  refuses(t, 'SYNC_INTERVAL_SECONDS', /must be a whole number from 60 to 604800$/, '59', 'hourly')
  t.equal(loadConfig({ RECONCILE_INTERVAL_SECONDS: '7200' }).reconcileIntervalSeconds, 7_200)
  refuses(t, 'RECONCILE_INTERVAL_SECONDS', /must be a whole number from 60 to 604800$/, '59', 'daily')
  refuses(t, 'HISTORICAL_SYNC_ON_CONNECT', /must be true or false$/, 'maybe')
})

t.test('INGEST_WORKOUT_SAMPLES', async (t) => {
  t.equal(loadConfig({ INGEST_WORKOUT_SAMPLES: 'true' }).ingestWorkoutSamples, true)
  refuses(t, 'INGEST_WORKOUT_SAMPLES', /must be true or false$/, 'all')
})

t.test('DELETE_DATA_ON_DEAUTHORISATION', async (t) => {
  t.strictSame(loadConfig({}).deleteDataOnDeauthorisation, [])
  t.strictSame(loadConfig({ DELETE_DATA_ON_DEAUTHORISATION: 'strava, oura' }).deleteDataOnDeauthorisation, [
    'strava',
    'oura',
  ])
  refuses(
    t,
    'DELETE_DATA_ON_DEAUTHORISATION',
    /must be a comma list of garmin, .*strava, oura[a-z_, ]*$/,
    'true',
    'apple',
  )
})

t.test('<PROVIDER>_CLIENT_ID and its companions', async (t) => {
  const config = loadConfig({
    OURA_CLIENT_ID: 'id',
    OURA_CLIENT_SECRET: 'hush',
    OURA_AUTHORIZE_URL: 'http://localhost:9000/authorize',
    OURA_DEFAULT_SCOPE: ' daily workout ',
    OURA_AUTH_HOST: ' legacy ',
    OURA_CLIENT_SECRET_PREVIOUS: 'before',
    OURA_WEBHOOK_VERIFICATION_TOKEN: 'ours',
    STRAVA_WEBHOOK_VERIFY_TOKEN: 'ours',
    STRAVA_WEBHOOK_KEY: 'k',
    STRAVA_WEBHOOK_SIGNING_SECRET: 'signs',
    STRAVA_WEBHOOK_SIGNATURE_TOLERANCE_SECONDS: '60',
    GARMIN_AUTH_HOST: 'legacy',
    GARMIN_WEBHOOK_PATH_SECRET: 'in the address',
    SUUNTO_SUBSCRIPTION_KEY: 'key',
    SUUNTO_WEBHOOK_SECRET: 'signs',
    WITHINGS_INTRADAY: 'true',
    WITHINGS_REQUESTS_PER_MINUTE: '1500',
    WITHINGS_WEBHOOK_TOKEN: 'in the address',
    GOOGLE_HEALTH_TOKEN_URL: 'http://localhost:9000/token/',
    GOOGLE_HEALTH_API_URL: 'http://localhost:9000/api',
  })
  t.strictSame(config.providers, {
    garmin: { more: { WEBHOOK_PATH_SECRET: 'in the address' } },
    suunto: { more: { SUBSCRIPTION_KEY: 'key', WEBHOOK_SECRET: 'signs' } },
    withings: { more: { INTRADAY: 'true', REQUESTS_PER_MINUTE: '1500', WEBHOOK_TOKEN: 'in the address' } },
    google_health: { tokenUrl: 'http://localhost:9000/token', apiUrl: 'http://localhost:9000/api' },
    oura: {
      clientId: 'id',
      clientSecret: 'hush',
      authorizeUrl: 'http://localhost:9000/authorize',
      defaultScope: 'daily workout',
      previousClientSecret: 'before',
      more: { AUTH_HOST: 'legacy', WEBHOOK_VERIFICATION_TOKEN: 'ours' },
    },
    strava: {
      more: {
        WEBHOOK_SIGNING_SECRET: 'signs',
        WEBHOOK_SIGNATURE_TOLERANCE_SECONDS: '60',
        WEBHOOK_VERIFY_TOKEN: 'ours',
        WEBHOOK_KEY: 'k',
      },
    },
  })
  refuses(t, 'OURA_API_URL', /must be an http\(s\) address$/, 'api.ouraring.com')
  refuses(t, 'OURA_AUTH_HOST', /must be one of moi, legacy$/, 'x', 'Moi', 'constructor')
  refuses(t, 'WITHINGS_INTRADAY', /must be true or false$/, 'yes', '1')
  for (const name of LIMITS) refuses(t, name, /must be a whole number from 1 to 99999$/, '0', '1.5', '100000', 'many')
  refuses(t, 'STRAVA_WEBHOOK_SIGNATURE_TOLERANCE_SECONDS', /must be a whole number from 1 to 999999$/, '0', '5 min')
})

t.test('limits that an operator has agreed on replace ours', async (t) => {
  const ids = ['sensorbio', 'suunto', 'ultrahuman', 'withings']
  const limits = (more: Record<string, string>) => {
    const registered = ids.flatMap((id) => ['ID', 'SECRET'].map((name) => [`${id.toUpperCase()}_CLIENT_${name}`, 'x']))
    const clients = oauthClients(cloudProviders, loadConfig({ ...Object.fromEntries(registered), ...more }))
    return ids.map((id) =>
      clients.get(id)?.provider.api.budgets.map(({ per, seconds, limit }) => `${limit} in ${seconds} s per ${per}`),
    )
  }
  t.strictSame(limits({}), [
    ['2 in 1 s per application'],
    ['1 in 1 s per application'],
    ['5 in 1 s per application', '1 in 1 s per account'],
    ['100 in 60 s per application'],
  ])
  t.strictSame(limits(Object.fromEntries(LIMITS.map((name, i) => [name, String(1500 + i)]))), [
    ['1500 in 1 s per application'],
    ['1501 in 1 s per application', '1502 in 60 s per application', '1503 in 604800 s per application'],
    ['1504 in 1 s per application', '1505 in 1 s per account'],
    ['1506 in 60 s per application'],
  ])
})

t.test('GOOGLE_HEALTH_ and its former prefix', async (t) => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const key = JSON.stringify({
    client_email: 'ours@project.iam.gserviceaccount.com',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  })
  const file = join(t.testdir({ 'key.json': key, 'other.json': '{}' }), 'key.json')
  // GOOGLE_HEALTH_WEBHOOK_SECRET, GOOGLE_HEALTH_WEBHOOK_SECRET_PREVIOUS and all that are refused below.
  const settings = {
    ...{ CLIENT_ID: 'id', CLIENT_SECRET: 's', PROJECT_ID: '4711', SERVICE_ACCOUNT_FILE: file, SUBSCRIBER_ID: 'ours' },
    ...{ USE_RECONCILE: 'false', WEBHOOK_SECRET: 'hush', WEBHOOK_SECRET_PREVIOUS: 'before' },
  }
  const prefixed = (prefix: string) =>
    Object.fromEntries(Object.entries(settings).map(([name, value]) => [`${prefix}_${name}`, value]))
  const { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, ...more } = { ...settings, SERVICE_ACCOUNT_FILE: key }
  const expected = { google_health: { clientId, clientSecret, more } }
  for (const prefix of ['GOOGLE_HEALTH', 'GOOGLE'])
    t.strictSame(loadConfig(prefixed(prefix)).providers, expected, prefix)
  const both = {
    GOOGLE_CLIENT_ID: 'former',
    GOOGLE_HEALTH_CLIENT_ID: 'id',
    GOOGLE_HEALTH_PROJECT_ID: ' ',
    GOOGLE_PROJECT_ID: '1',
  }
  t.strictSame(loadConfig(both).providers, { google_health: { clientId: 'id', more: { PROJECT_ID: '1' } } })
  t.strictSame(configWarnings({ ...prefixed('GOOGLE_HEALTH'), GOOGLE_PROJECT_ID: '4711' }), [
    'GOOGLE_PROJECT_ID is a former name: set GOOGLE_HEALTH_PROJECT_ID instead',
  ])
  t.strictSame(configWarnings(prefixed('GOOGLE_HEALTH')), [])
  refuses(t, 'GOOGLE_HEALTH_SERVICE_ACCOUNT_FILE', /must be the path of a file that can be read/, '/nowhere/key.json')
  const other = file.replace('key.json', 'other.json')
  refuses(t, 'GOOGLE_HEALTH_SERVICE_ACCOUNT_FILE', /must be the path of a JSON key/, other)
  refuses(t, 'GOOGLE_HEALTH_PROJECT_ID', /must be the number/, 'my-project')
  refuses(t, 'GOOGLE_HEALTH_SUBSCRIBER_ID', /must be 4 to 36/, 'Ours')
  refuses(t, 'GOOGLE_HEALTH_USE_RECONCILE', /must be true or false/, 'yes')
})

t.test('DEFAULT_DATA_GRANULARITY', async (t) => {
  t.equal(loadConfig({ DEFAULT_DATA_GRANULARITY: 'daily' }).dataGranularity, 'daily')
  refuses(t, 'DEFAULT_DATA_GRANULARITY', /must be one of raw, hourly, daily/, 'weekly')
})

t.test('scopes of ones own have to be enough for a connection', async (t) => {
  refuses(
    t,
    'OURA_DEFAULT_SCOPE',
    /must contain daily or heartrate or .* such as extapi:personal /,
    'bogus',
    'personal',
  )
  refuses(t, 'OURA_DEFAULT_SCOPE', /must have single spaces between scopes/, 'daily,workout')
  refuses(t, 'STRAVA_DEFAULT_SCOPE', /must have "," without spaces between scopes/, 'read activity:read')
  refuses(t, 'WHOOP_DEFAULT_SCOPE', /must contain offline,/, 'read:profile read:sleep')
  const enough = { OURA_DEFAULT_SCOPE: 'extapi:daily', STRAVA_DEFAULT_SCOPE: 'read,activity:read' }
  t.strictSame(loadConfig(enough).providers, {
    oura: { defaultScope: 'extapi:daily' },
    strava: { defaultScope: 'read,activity:read' },
  })
})

t.test('what is probably a mistake is named at the start, and stops nothing', async (t) => {
  const cases: [Record<string, string>, string[]][] = [
    [{ PATH: '/bin', HOME: '/', OURA_API_URL: 'http://localhost', GOOGLE_APPLICATION_CREDENTIALS: 'x', OURA: 'x' }, []],
    [{ OURA_CLIENTID: 'x' }, ['OURA_CLIENTID is no setting and has no effect; did you mean OURA_CLIENT_ID?']],
    [{ OURA_AUTHHOST: 'x' }, ['OURA_AUTHHOST is no setting and has no effect; did you mean OURA_AUTH_HOST?']],
    [{ oura_api_url: 'x' }, ['oura_api_url is no setting and has no effect; did you mean OURA_API_URL?']],
    [{ OURRA_API_URL: 'x' }, ['OURRA_API_URL is no setting and has no effect; did you mean OURA_API_URL?']],
    [{ POLAR_FAVOURITE_COLOUR: 'x', POLAR_OTHER: ' ' }, ['POLAR_FAVOURITE_COLOUR is no setting and has no effect']],
    [
      { APPLE_CLIENT_ID: 'x' },
      ['Settings that begin with APPLE_ have no effect: apple has no sign-in, phones upload its data'],
    ],
    [{ WHOOP_CLIENT_ID: 'x' }, ['Nobody can connect whoop until WHOOP_CLIENT_SECRET is set, too']],
    [
      { OURA_DEFAULT_SCOPE: 'extapi:daily extapi:dayly' },
      ['OURA_DEFAULT_SCOPE asks for dayly, which nothing is read with'],
    ],
  ]
  t.strictSame(
    cases.map(([env]) => configWarnings(env)),
    cases.map(([, warnings]) => warnings),
  )
})

t.test('every variable is tested above', async (t) => {
  const tests = await readFile(fileURLToPath(import.meta.url), 'utf8')
  const untested = variables().filter((name) => !tests.includes(name))
  t.strictSame(
    untested.filter(
      (name) =>
        !/_(CLIENT_ID|CLIENT_SECRET|CLIENT_SECRET_PREVIOUS|AUTHORIZE_URL|TOKEN_URL|API_URL|DEFAULT_SCOPE)$/.test(name),
    ),
    [],
  )
})

/** The names of all variables the service reads. */
function variables(): string[] {
  const names = new Set<string>()
  loadConfig(new Proxy({}, { get: (_, name) => void names.add(String(name)) }))
  // Former names are those with another prefix.
  return [...names].filter((name) => !/^GOOGLE_(?!HEALTH_)/.test(name))
}
