import t from 'tap'
import { archive } from '../../server/rollups/archive.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import {
  body,
  createUser,
  eachEngine,
  heartRate,
  importBody,
  oneEngine,
  PHONE,
  startImports,
  steps,
} from '../support/sdk.ts'
import { sleepBody, stage } from '../support/sleep.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const NOW = Date.now()

const stats = async (app: TestApp) => (await app.request('GET', '/api/v1/dashboard/stats', { auth: 'developer' })).body
const samples = async (app: TestApp) => (await app.db.one<{ n: number }>('select count(*) as n from sample')).n

oneEngine(t, 'operators see how much there is', async (t, engine) => {
  const app = await startTestApp(t, engine)
  t.strictSame(await stats(app), {
    total_users: { count: 0 },
    active_conn: { count: 0 },
    data_points: { count: 0, archived: 0 },
    event_records: { count: 0, workouts: 0, sleep: 0, menstrual_cycles: 0, meals: 0 },
    connections_coverage: { users_with_active: 0, users_with_multi_active: 0, top_providers: [] },
  })
  await startImports(t, app)
  const [ada, grace] = [await createUser(app), await createUser(app)]
  await createUser(app)
  const night = NOW - 40 * HOUR_MS
  await importBody(app, ada, sleepBody([stage('light', night, night + HOUR_MS)]))
  await importBody(app, grace, body([heartRate(NOW - HOUR_MS, 60), steps(NOW - HOUR_MS, 5, { source: PHONE })]))
  await app.db.query(
    `insert into connection (user_id, provider, status)
     values ($1, 'oura', 'active'), ($1, 'garmin', 'revoked'), ($2, 'whoop', 'active'), ($2, 'strava', 'active')`,
    [ada, grace],
  )
  t.strictSame(await stats(app), {
    total_users: { count: 3 },
    active_conn: { count: 5 },
    data_points: { count: 2, archived: 0 },
    event_records: { count: 1, workouts: 0, sleep: 1, menstrual_cycles: 0, meals: 0 },
    connections_coverage: {
      users_with_active: 2,
      users_with_multi_active: 2,
      top_providers: [
        { provider: 'apple', count: 2 },
        { provider: 'oura', count: 1 },
        { provider: 'strava', count: 1 },
      ],
    },
  })
})

eachEngine(t, 'samples are counted exactly, before and after their rollups, and when they went', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const exact = async (message: string) => {
    const { data_points } = await stats(app)
    t.equal(data_points.count, await samples(app), message)
    return data_points
  }
  const times = Array.from({ length: 150 }, (_, n) => NOW - 150 * DAY_MS + n * 16 * HOUR_MS)
  await importBody(app, user, body(times.map((ms, n) => heartRate(ms, 50 + (n % 80), { id: `rate ${n}` }))))
  await exact('all of it dirty')
  while (await refreshRollups(app.db));
  t.match(await exact('none of it dirty'), { count: 150, archived: 0 })
  const again = times.slice(70, 80).map((ms) => heartRate(ms + 1000, 60))
  await importBody(app, user, body([...again, heartRate(times[3] as number, 99), steps(NOW - HOUR_MS, 7)]))
  t.match(await exact('some of it dirty'), { count: 161 })
  await importBody(app, user, body([], { data: { deleted: [{ id: 'rate 1' }, { id: 'rate 140' }] } }))
  t.match(await exact('deleted'), { count: 159 })
  while (await refreshRollups(app.db));
  t.match(await exact('and refreshed'), { count: 159 })

  const archival = { archive_after_days: 100, delete_after_days: null }
  await app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body: archival })
  while (await archive(app.db, NOW, () => {}));
  const archived = await exact('archived')
  t.ok(archived.archived > 25)
  t.equal(archived.count + archived.archived, 159, 'nothing is lost')
  await importBody(app, user, body([heartRate(NOW - 2 * HOUR_MS, 60)]))
  t.match(await exact('dirty beside the archive'), { count: archived.count + 1, archived: archived.archived })
  const deletion = { archive_after_days: null, delete_after_days: 100 }
  await app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body: deletion })
  while (await archive(app.db, NOW, () => {}));
  t.match(await exact('deleted for good'), { archived: 0 })
  await app.request('DELETE', `/api/v1/users/${user}`, { auth: 'developer' })
  t.match(await stats(app), { total_users: { count: 0 }, data_points: { count: 0, archived: 0 } })
})

oneEngine(t, 'the portal learns how the instance is configured', async (t, engine) => {
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true, uploadRetentionDays: 7 })
  const answer = await app.request('GET', '/api/v1/config', { auth: 'developer' })
  t.equal(answer.status, 200)
  t.strictSame(answer.body, {
    outgoing_webhooks_enabled: true,
    event_feed_enabled: false,
    upload_retention_days: 7,
  })
})
