// Notices that carry the data themselves, of several people in one body, and what people change at the provider.
import { createHmac } from 'node:crypto'
import t from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { notify, openAll, openMeans } from '../../support/notices.ts'
import { createUser, oneEngine, startImports, storedSamples } from '../../support/sdk.ts'

const START = Date.UTC(2026, 2, 9, 23) / 1000
const KEY = 'unguessable'
const SUUNTO_SECRET = 'shared'

const garmin = { clientId: 'consumer', clientSecret: 'hush', more: { WEBHOOK_PATH_SECRET: KEY } }

/** A user who has connected an account, without a consent. */
async function connected(app: TestApp, account: string, provider = 'garmin'): Promise<string> {
  const user = await createUser(app)
  await app.db.query(
    `with granted as (
       insert into provider_grant (provider, account_id, scope, granted_at)
       values ($3, $2, 'HEALTH_EXPORT', now() - interval '1 hour') returning id
     )
     insert into connection (user_id, provider, grant_id, provider_user_id, scope, created_at)
     select $1, $3, id, $2, 'HEALTH_EXPORT', now() - interval '1 hour' from granted`,
    [user, account, provider],
  )
  return user
}

async function started(t: Parameters<typeof startTestApp>[0], engine: Parameters<typeof startTestApp>[1]) {
  const app = await startTestApp(t, engine, { providers: { garmin } })
  await startImports(t, app)
  const means = openMeans(t, app)
  const send = async (body: object) => {
    const headers = { 'garmin-client-id': 'consumer' }
    const query = 'dailies' in body ? `?k=${KEY}` : `/${KEY}`
    const { status } = await notify(app, 'garmin', JSON.stringify(body), { headers, query })
    if (status !== 200) throw new Error(`answered ${status}`)
  }
  const opened = async () => {
    await openAll(means, 'garmin')
    const waiting = `select count(*) as n from upload where status = 'queued'`
    const isImported = async () => (await app.db.one<{ n: number }>(waiting)).n === 0
    if (!(await waitUntil(isImported, 20_000, 20))) throw new Error('it was not imported')
  }
  const tell = async (body: object) => {
    await send(body)
    await opened()
  }
  return { app, tell, send, opened }
}

const common = { startTimeInSeconds: START, startTimeOffsetInSeconds: 3_600 }
const night = (userId: string, validation: string, seconds: number) => ({
  ...{ userId, summaryId: 'night', ...common, durationInSeconds: seconds, validation },
})

oneEngine(t, 'half a night of Suunto that is repeated does not take the place of the night', async (t, engine) => {
  const suunto = { clientId: 'watch', clientSecret: 'hush', more: { WEBHOOK_SECRET: SUUNTO_SECRET } }
  const app = await startTestApp(t, engine, { providers: { suunto } })
  await startImports(t, app)
  const means = openMeans(t, app)
  await connected(app, 'anna', 'suunto')
  const tell = async (hours: number) => {
    const times = { BedtimeStart: '2026-03-10T00:00:00.000+01:00', BedtimeEnd: `2026-03-10T0${hours}:00:00.000+01:00` }
    const samples = [{ timestamp: times.BedtimeStart, entryData: { ...times, SleepId: 7, Duration: hours * 3_600 } }]
    const body = JSON.stringify({ type: 'SUUNTO_247_SLEEP_CREATED', username: 'anna', samples })
    const headers = { 'x-hmac-sha256-signature': createHmac('sha256', SUUNTO_SECRET).update(body).digest('hex') }
    t.equal((await notify(app, 'suunto', body, { headers })).status, 200)
    await openAll(means, 'suunto')
    const waiting = `select count(*) as n from upload where status = 'queued'`
    t.ok(await waitUntil(async () => (await app.db.one<{ n: number }>(waiting)).n === 0, 20_000, 20))
    return (await app.db.query<{ s: number }>('select asleep_s as s from sleep_part')).map(({ s }) => s / 3_600)
  }
  t.strictSame([await tell(4), await tell(8), await tell(4), await tell(9)], [[4], [8], [8], [9]])
})

oneEngine(t, 'a body of several people is stored for each of them', async (t, engine) => {
  const { app, tell, send, opened } = await started(t, engine)
  const [anna, bert] = [await connected(app, 'anna'), await connected(app, 'bert')]
  const pulse = (userId: string, value: number) => ({
    userId,
    summaryId: 'd',
    ...common,
    timeOffsetHeartRateSamples: { 15: value },
  })

  await t.test('and kept a while for whoever is not known', async (t) => {
    await tell({ dailies: [pulse('anna', 61), pulse('bert', 62), pulse('cleo', 63), { userId: 'nul\0' }, null] })
    const values = await Promise.all(
      [anna, bert].map(async (user) => (await storedSamples(app.db, user)).map(({ value }) => value)),
    )
    t.strictSame(values, [[61], [62]])
    t.strictSame(await app.db.query('select state, account from notification'), [{ state: 'held', account: 'cleo' }])
    const synced = `select last_synced_at > created_at as moved from connection`
    t.strictSame(await app.db.query(synced), [{ moved: true }, { moved: true }], 'it counts as a sync')
  })

  await t.test('a guess of a night that comes late does not take the place of the night', async (t) => {
    await tell({ sleeps: [night('anna', 'AUTO_TENTATIVE', 3_600)] })
    await tell({ sleeps: [night('anna', 'ENHANCED_FINAL', 28_800)] })
    await tell({ sleeps: [night('anna', 'AUTO_TENTATIVE', 7_200)] })
    t.strictSame(await app.db.query('select rank, asleep_s from sleep_part'), [{ rank: 4, asleep_s: 28_800 }])
  })

  await t.test(
    'nor does the state of a day that comes behind a later one, or a workout behind its correction',
    async (t) => {
      const day = (hours: number, steps: number) => ({
        ...{ userId: 'anna', summaryId: `d${hours}`, ...common, calendarDate: '2026-03-10' },
        ...{ durationInSeconds: hours * 3_600, steps },
      })
      const workout = (distanceInMeters: number) => ({
        ...{ userId: 'anna', summaryId: 'w', activityId: 7, activityType: 'RUNNING', ...common },
        ...{ durationInSeconds: 1_800, distanceInMeters },
      })
      const known = async () => [
        (await storedSamples(app.db, anna)).flatMap(({ type, value }) => (type === 'steps' ? [value] : [])),
        (await app.db.query<{ m: number }>('select distance_m as m from workout')).map(({ m }) => m),
      ]
      await tell({ dailies: [day(10, 4_000)], activities: [workout(5_000)] })
      await tell({ dailies: [day(24, 9_000)], manuallyUpdatedActivities: [workout(5_200)] })
      await tell({ dailies: [day(14, 6_000)], activities: [workout(5_000)] })
      t.strictSame(await known(), [[9_000], [5_200]])
      await tell({ dailies: [day(10, 4_000), day(24, 9_100)], manuallyUpdatedActivities: [workout(5_300)] })
      t.strictSame(await known(), [[9_100], [5_300]], 'what is as new counts')
      const { userId: _, ...details } = { ...workout(5_000), summaryId: 'w-detail' }
      await tell({ activityDetails: [{ userId: 'anna', summaryId: 'w-detail', activityId: 7, summary: details }] })
      t.strictSame(await known(), [[9_100], [5_300]], 'nor do details of before')
      const [connection] = await app.db.query<{ connectionId: string; grantId: string }>(
        'select id as "connectionId", grant_id as "grantId" from connection where user_id = $1',
        [anna],
      )
      // As after a disconnection that deleted what there was.
      await app.db.query('delete from workout')
      await app.db.transaction((tx) =>
        app.deps.oauth.connected(tx, { provider: 'garmin', userId: anna, isNew: false, ...connection! }),
      )
      await tell({ dailies: [day(23, 8_900)], activities: [workout(5_100)] })
      t.strictSame(await known(), [[8_900], [5_100]], 'after a new consent everything may come again')
    },
  )

  await t.test('the skin of a night has one deviation, at its start as the person corrected it', async (t) => {
    const skin = (later: number, avgDeviationCelsius: number) => ({
      ...{ userId: 'anna', summaryId: 'st', startTimeInSeconds: START + later, startTimeOffsetInSeconds: 3_600 },
      ...{ durationInSeconds: 20_000, avgDeviationCelsius },
    })
    const known = async () =>
      (await storedSamples(app.db, anna)).flatMap(({ type, value }) =>
        type === 'skin_temperature_deviation' ? [value] : [],
      )
    await tell({ skinTemp: [skin(0, 0.4)] })
    await tell({ skinTemp: [skin(1_800, 0.5), skin(86_400, -0.1)] })
    t.strictSame((await known()).sort(), [-0.1, 0.5])
    await app.db.query('delete from sample')
    await Promise.all([skin(0, 0.4), skin(1_800, 0.5)].map((one) => send({ skinTemp: [one] })))
    await send({ skinTemp: [skin(3_600, 0.6)] })
    await opened()
    t.strictSame(await known(), [0.6], 'nor have those of one parcel more')
  })

  await t.test('an hour in several notices adds up; of one quarter of it the last notice counts', async (t) => {
    const HOUR_S = 3_600
    const epoch = (slot: number, activityType: string, steps: number) => ({
      ...{ userId: 'anna', summaryId: `e-${slot}-${activityType}`, startTimeOffsetInSeconds: 3_600 },
      ...{ startTimeInSeconds: START + 40 * HOUR_S + slot * 900, durationInSeconds: 900, activityType, steps },
    })
    const quarter = (slot: number, steps: number) => [epoch(slot, 'WALKING', steps), epoch(slot, 'RUNNING', 10)]
    const known = async () =>
      (await storedSamples(app.db, anna))
        .filter(({ type, ts }) => type === 'steps' && Date.parse(ts) >= (START + 40 * HOUR_S) * 1000)
        .map(({ value }) => value)
    await tell({ epochs: [...quarter(0, 100), ...quarter(1, 200)] })
    await tell({ epochs: [...quarter(2, 300), ...quarter(3, 400)] })
    t.strictSame(await known(), [110, 210, 310, 410])
    await tell({ epochs: [...quarter(1, 200), ...quarter(3, 450)] })
    t.strictSame(await known(), [110, 210, 310, 460], 'again, or more of it')
    await tell({ epochs: [epoch(2, 'WALKING', 300)] })
    t.strictSame(await known(), [110, 210, 300, 460], 'without the other ways of moving (docs/providers.md)')
  })

  await t.test('files of activities are taken, and neither stored nor asked for', async (t) => {
    const before = await storedSamples(app.db, anna)
    const callbackURL = 'https://apis.garmin.com/wellness-api/rest/activityFile?id=1&token=T'
    await tell({
      activityFiles: [
        { userId: 'anna', summaryId: '7-file', activityId: 7, fileType: 'FIT', callbackURL, manual: false },
      ],
    })
    t.strictSame(await storedSamples(app.db, anna), before)
    t.strictSame(
      await app.db.query(
        `select from sync_task where kind = 'object' union all select from notification where account = 'anna'`,
      ),
      [],
    )
    const { values } = await app.deps.metrics.noticesOpened.get()
    t.match(
      values.filter(
        ({ labels }) => ['ignored', 'malformed'].includes(String(labels.outcome)) && labels.provider === 'garmin',
      ),
      [{ labels: { outcome: 'malformed' }, value: 0 }, { labels: { outcome: 'ignored' } }],
    )
  })

  await t.test('cycles and movement', async (t) => {
    await tell({
      mct: [
        { userId: 'anna', summaryId: 'c', periodStartDate: '2026-03-01', cycleLength: 28, currentPhaseType: 'LUTEAL' },
      ],
      moveIQActivities: [
        { userId: 'anna', summaryId: 'm', ...common, durationInSeconds: 600, activityType: 'Walking' },
      ],
    })
    t.strictSame(await app.db.query('select external_id, zone_offset_min, current_phase_type from menstrual_cycle'), [
      { external_id: 'c', zone_offset_min: null, current_phase_type: 'luteal' },
    ])
    t.strictSame(await app.db.query('select type, zone_offset_min from activity'), [
      { type: 'moveiq_walking', zone_offset_min: 60 },
    ])
  })

  await t.test('the newest permissions count, whatever comes last', async (t) => {
    const scopes = async (permissions: string[], secondsAgo: number) => {
      const change = { userId: 'anna', permissions, changeTimeInSeconds: Math.floor(Date.now() / 1000) - secondsAgo }
      await tell({ userPermissionsChange: [change] })
      const sql = `select g.scope as granted, c.scope as shown from connection c join provider_grant g on g.id = c.grant_id
                   where c.user_id = $1`
      return Object.values(await app.db.one<{ granted: string; shown: string | null }>(sql, [anna]))
    }
    t.strictSame(await scopes(['MCT_EXPORT', 'ACTIVITY_EXPORT'], 60), Array(2).fill('ACTIVITY_EXPORT MCT_EXPORT'))
    t.strictSame(await scopes(['HEALTH_EXPORT'], 120), Array(2).fill('ACTIVITY_EXPORT MCT_EXPORT'), 'an earlier change')
    t.strictSame(
      await scopes(['HEALTH_EXPORT'], 7_200),
      Array(2).fill('ACTIVITY_EXPORT MCT_EXPORT'),
      'before the consent',
    )
    t.strictSame(await scopes(['HEALTH_EXPORT'], -1e6), Array(2).fill('HEALTH_EXPORT'), 'of a clock that is wrong')
    await app.db.query(`update provider_grant set scope_at = scope_at - interval '10 seconds'`)
    t.strictSame(await scopes([], 1), ['', null], 'which does not count for longer')
  })

  await t.test('who leaves has left; of who came, or came back, lately the tokens have to say so', async (t) => {
    await app.db.query(`update provider_grant set granted_at = now() - interval '8 days' where account_id = 'anna'`)
    await tell({ deregistrations: [{ userId: 'anna' }, { userId: 'bert' }] })
    const sql = `select c.status, g.doubted_at is not null as doubted from connection c left join provider_grant g on g.id = c.grant_id
                 where c.user_id = $1`
    const standing = await Promise.all(
      [anna, bert].map((user) => app.db.one<{ status: string; doubted: boolean }>(sql, [user])),
    )
    t.strictSame(
      standing.map(({ status }) => status),
      ['revoked', 'active'],
    )
    t.equal(standing[1]?.doubted, true)
  })
})
