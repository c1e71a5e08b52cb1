import t from 'tap'
import { loadConfig } from '../../server/config.ts'
import { planPulls } from '../../server/intake/pulls/plan.ts'
import { cloudProviders } from '../../server/providers/index.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { engines } from '../support/servers.ts'

const [engine] = engines()
if (!engine) throw new Error('no engine')
const app = await startTestApp(t, engine, {
  providers: loadConfig({ OURA_CLIENT_ID: 'id', OURA_CLIENT_SECRET: 'hush' }).providers,
})
t.beforeEach(() => app.db.query('delete from provider_setting'))

interface Descriptor {
  provider: string
  is_enabled: boolean
  live_sync_mode: string | null
  [field: string]: unknown
}

const list = async (app: TestApp, query = ''): Promise<Descriptor[]> =>
  (await app.request('GET', `/api/v1/oauth/providers${query}`, { auth: 'none' })).body
const names = (descriptors: Descriptor[]) => descriptors.map(({ provider }) => provider)
const set = (app: TestApp, provider: string, body: unknown) =>
  app.request('PUT', `/api/v1/oauth/providers/${provider}`, { auth: 'developer', body })
const setAll = (app: TestApp, body: unknown) =>
  app.request('PUT', '/api/v1/oauth/providers', { auth: 'developer', body })

t.test('everybody may see the providers', async (t) => {
  const all = await list(app)
  t.strictSame(
    names(all),
    (
      'apple samsung garmin health_connect google_health polar suunto whoop strava oura fitbit ultrahuman sensorbio ' +
      'withings'
    ).split(' '),
  )
  t.strictSame(all[9], {
    provider: 'oura',
    name: 'Oura',
    has_cloud_api: true,
    has_connector: true,
    is_enabled: true,
    icon_url: '/static/provider-icons/oura.svg',
    live_sync_mode: 'webhook',
    live_sync_configurable: true,
    data_granularity: null,
  })
  t.strictSame(names(all.filter(({ has_connector }) => !has_connector)), [], 'each has a connector')
  t.match(all[0], { has_cloud_api: false, live_sync_mode: null, live_sync_configurable: false })
  for (const { icon_url } of all) t.equal((await app.request('GET', String(icon_url), { auth: 'none' })).status, 200)
  const off = all.filter(({ is_enabled }) => !is_enabled)
  t.strictSame(names(off), ['fitbit'], 'its API has ended')
  t.notOk(names(await list(app, '?enabled_only=true')).includes('fitbit'))
  t.strictSame(names(await list(app, '?cloud_only=yes')), names(all.filter((one) => one.has_cloud_api)))
  t.equal((await app.request('GET', '/api/v1/oauth/providers?cloud_only=x')).status, 422)
  t.equal((await app.request('GET', '/api/v1/oauth/providers?enabled=true')).status, 422)
})

t.test('a provider is set, and what is not given stays', async (t) => {
  const answer = await set(app, 'oura', { is_enabled: false, live_sync_mode: 'pull', data_granularity: 'hourly' })
  t.equal(answer.status, 200)
  const given = { provider: 'oura', is_enabled: false, live_sync_mode: 'pull', data_granularity: 'hourly' }
  t.match(answer.body, given)
  for (const body of [{}, { is_enabled: null, live_sync_mode: null, data_granularity: null }]) {
    t.match((await set(app, 'oura', body)).body, given)
  }
  t.match((await set(app, 'oura', { is_enabled: true })).body, { ...given, is_enabled: true })
  t.match(
    (await list(app)).find(({ provider }) => provider === 'oura'),
    { ...given, is_enabled: true },
  )
  t.match((await set(app, 'fitbit', { data_granularity: 'daily' })).body, { is_enabled: false })
  t.match((await set(app, 'fitbit', { is_enabled: true })).body, { is_enabled: true, data_granularity: 'daily' })
  t.match((await set(app, 'strava', { data_granularity: 'raw' })).body, { live_sync_mode: 'webhook' })

  for (const provider of ['google', 'OURA', 'unknown', 'internal', 'toString']) {
    const refused = await set(app, provider, { is_enabled: true })
    t.equal(refused.status, 400, provider)
    t.strictSame(refused.body, { detail: `Unknown provider: ${provider}` })
  }
  t.equal((await set(app, 'oura%00', { is_enabled: true })).status, 422)
  for (const [provider, mode] of [
    ['garmin', 'webhook'],
    ['apple', 'pull'],
  ]) {
    const refused = await set(app, String(provider), { live_sync_mode: mode, is_enabled: false })
    t.equal(refused.status, 400)
    t.strictSame(refused.body, { detail: `Provider '${provider}' does not support live sync mode configuration` })
  }
  t.equal((await list(app)).find(({ provider }) => provider === 'garmin')?.is_enabled, true, 'nothing was changed')
  for (const body of [{ is_enabled: 'yes' }, { live_sync_mode: 'push' }, { data_granularity: 'weekly' }, []]) {
    t.equal((await set(app, 'oura', body)).status, 422, JSON.stringify(body))
  }
})

t.test('several are enabled and disabled together, or none', async (t) => {
  const answer = await setAll(app, { providers: { polar: false, garmin: false, fitbit: true } })
  t.equal(answer.status, 200)
  t.strictSame(answer.body, await list(app))
  t.strictSame(names(answer.body.filter((one: Descriptor) => !one.is_enabled)), ['garmin', 'polar'])
  for (const unknown of ['google', 'unknown', 'constructor', '']) {
    const refused = await setAll(app, { providers: { oura: false, [unknown]: true } })
    t.equal(refused.status, 400, unknown)
    t.strictSame(refused.body, { detail: `Unknown provider: ${unknown}` })
  }
  t.strictSame(await list(app), answer.body, 'nothing was changed')
  t.equal((await setAll(app, { providers: {} })).status, 200)
  for (const body of [
    {},
    { providers: null },
    { providers: [] },
    { providers: { oura: 'x' } },
    { providers: { oura: null } },
  ]) {
    t.equal((await setAll(app, body)).status, 422, JSON.stringify(body))
  }
  const loc = (await setAll(app, { providers: { oura: 1 } })).body.detail[0].loc
  t.strictSame(loc, ['body', 'providers', 'oura'])
})

t.test('settings made at once are all kept', async (t) => {
  const answers = await Promise.all([
    setAll(app, { providers: { polar: false, oura: false } }),
    setAll(app, { providers: { oura: false, polar: false } }),
    set(app, 'polar', { live_sync_mode: 'pull' }),
    set(app, 'oura', { data_granularity: 'daily' }),
  ])
  t.ok(answers.every(({ status }) => status === 200))
  const all = await list(app)
  t.match(
    all.find(({ provider }) => provider === 'polar'),
    { is_enabled: false, live_sync_mode: 'pull' },
  )
  t.match(
    all.find(({ provider }) => provider === 'oura'),
    { is_enabled: false, data_granularity: 'daily' },
  )
})

t.test('connections show how live data arrives', async (t) => {
  const user = (await app.request('POST', '/api/v1/users', { body: {} })).body.id
  await app.db.query(`insert into connection (user_id, provider) values ($1, 'oura'), ($1, 'apple')`, [user])
  const modes = async () =>
    Object.fromEntries(
      (await app.request('GET', `/api/v1/users/${user}/connections`)).body.map((one: Descriptor) => [
        one.provider,
        one.live_sync_mode,
      ]),
    )
  t.strictSame(await modes(), { oura: 'webhook', apple: null })
  await set(app, 'oura', { live_sync_mode: 'pull' })
  t.strictSame(await modes(), { oura: 'pull', apple: null })
})

t.test('the mode says how often a provider is asked', async (t) => {
  const user = (await app.request('POST', '/api/v1/users', { body: {} })).body.id
  await app.db.query(
    `with made as (
       insert into provider_grant (provider, account_id, granted_at) values ('oura', 'a', now()) returning id
     )
     insert into connection (user_id, provider, grant_id) select $1, 'oura', id from made`,
    [user],
  )
  const hours = async () => {
    await app.db.query('update provider_grant set next_pull_at = now()')
    const { oauth, config } = app.deps
    await planPulls({ db: app.db, clients: oauth.clients, ...config })
    const sql = `select date_part('epoch', next_pull_at - now()) / 3600 as hours from provider_grant`
    return Math.round((await app.db.one<{ hours: number }>(sql)).hours)
  }
  t.equal(await hours(), 1, 'every hour, unless somebody sets something else')
  await set(app, 'oura', { live_sync_mode: 'webhook' })
  t.equal(await hours(), 1, 'no notification has come yet')
  await app.db.query(`insert into notice_source values ('oura', now())`)
  t.ok([5, 6, 7].includes(await hours()), 'every six hours, in case that a notification is lost')
  await app.db.query(`update provider_grant set missed_at = now()`)
  t.equal(await hours(), 1, 'one was lost')
  await app.db.query(`update provider_grant set missed_at = now() - interval '25 hours'`)
  t.ok([5, 6, 7].includes(await hours()), 'a day ago')
  await app.db.query(`update notice_source set opened_at = now() - interval '25 hours'`)
  t.equal(await hours(), 1, 'none has come for a day')
  await set(app, 'oura', { live_sync_mode: 'pull' })
  t.equal(await hours(), 1)
})

t.test('everybody may see what providers send', async (t) => {
  const answer = await app.request('GET', '/api/v1/meta/coverage', { auth: 'none' })
  t.equal(answer.status, 200)
  const { body } = answer
  const phones = 'apple samsung garmin health_connect google_health'
  const all = `${phones} polar suunto whoop strava oura fitbit ultrahuman sensorbio withings`.split(' ')
  t.strictSame(body.providers, all, 'whose data this version reads')
  const metrics = body.timeseries.flatMap((category: { metrics: unknown[] }) => category.metrics)
  const codes = metrics.map(({ code }: { code: string }) => code)
  t.equal(new Set(codes).size, codes.length)
  t.equal(codes.length, 140, 'each series type once')
  t.equal(body.timeseries[0].name, 'Heart & Cardiovascular')
  const metric = (name: string) => metrics.find(({ code }: { code: string }) => code === name)
  t.strictSame(metric('heart_rate'), {
    code: 'heart_rate',
    unit: 'bpm',
    lowest: 6,
    highest: 300,
    description: 'Heart rate',
    providers: all.filter((name) => name !== 'whoop' && name !== 'fitbit'),
  })
  const field = (list: { code: string; providers: string[] }[], name: string) =>
    list.find(({ code }) => code === name)?.providers
  const lists: Record<string, { code: string; providers: string[] }[]> = { ...body, series: metrics }
  const wrong = Object.entries({
    'series heart_rate_variability_sdnn': 'apple garmin google_health withings',
    'series heart_rate_variability_rmssd':
      'samsung garmin health_connect google_health polar suunto whoop oura fitbit ultrahuman sensorbio withings',
    'series recovery_score': 'whoop',
    'series skin_temperature_trend_deviation': 'oura',
    'series garmin_body_battery': 'garmin',
    'workout_fields duration_seconds': all.filter((name) => name !== 'ultrahuman').join(' '),
    'workout_fields name': `${phones} suunto strava oura fitbit sensorbio`,
    'workout_fields distance_meters': all.filter((name) => name !== 'ultrahuman').join(' '),
    'workout_fields steps_count': `${phones} suunto fitbit withings`,
    'workout_fields avg_heart_rate_bpm': `${phones} polar suunto whoop strava fitbit sensorbio withings`,
    'workout_fields segments': 'apple samsung health_connect',
    'workout_fields intensity': 'oura',
    'workout_fields hr_zones': 'google_health polar whoop fitbit',
    'workout_fields moving_time_seconds':
      'samsung garmin health_connect google_health strava fitbit sensorbio withings',
    'meal_fields dietary_fat_trans': 'samsung health_connect google_health',
    'sleep_fields deep': all.filter((name) => name !== 'strava').join(' '),
    'health_scores sleep':
      'samsung garmin health_connect polar suunto whoop oura ultrahuman sensorbio withings internal',
    'health_scores recovery': 'polar suunto whoop ultrahuman sensorbio',
    'health_scores readiness': 'polar oura',
    'health_scores strain': 'polar whoop',
    'health_scores resilience': 'oura internal',
  }).flatMap(([place, expected]) => {
    const [list = '', code = ''] = place.split(' ')
    const found = field(lists[list] ?? [], code)?.join(' ')
    return found === expected ? [] : [`${place}: ${found}`]
  })
  t.strictSame(wrong, [])
  t.strictSame(field(body.health_scores, 'body_battery'), ['garmin'])
})

t.test('of each of the eleven clouds everybody may see what its answers bring', async (t) => {
  const { body } = await app.request('GET', '/api/v1/meta/coverage', { auth: 'none' })
  type List = { code: string; providers: string[] }[]
  const metrics: List = body.timeseries.flatMap((category: { metrics: List }) => category.metrics)
  t.equal(cloudProviders.size, 11)
  for (const [id, { brings }] of cloudProviders) {
    const { series, scores, meals, workouts, nights } = brings
    const codes = (list: List) => list.flatMap(({ code, providers }) => (providers.includes(id) ? [code] : [])).sort()
    const told = [metrics, body.health_scores, body.meal_fields].map(codes)
    const brought = [series, scores, meals ? [...meals, 'name', 'meal_type'] : []].map((names) => [...names].sort())
    t.strictSame(told, brought, id)
    const fields = [body.workout_fields, body.sleep_fields].map((list) => codes(list).length)
    t.strictSame(fields, [workouts.length > 0 ? workouts.length + 1 : 0, nights.length], `${id}, with the duration`)
  }
})
