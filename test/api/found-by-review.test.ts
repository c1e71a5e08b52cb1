// One test for each defect that a reviewer or a newcomer found, so that none returns.
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { startTestApp } from '../support/app.ts'
import {
  body,
  createUser,
  heartRate,
  importBody,
  oneEngine,
  startImports,
  storedSamples,
  upload,
  waitForBatch,
} from '../support/sdk.ts'
import { engines } from '../support/servers.ts'
import { summary } from '../support/summaries.ts'
import { runs } from '../support/thorough.ts'

const NOON = Date.UTC(2026, 1, 24, 12)

oneEngine(t, 'uploads and reads', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)

  await t.test('the same X-Request-Id with another body is another upload', async (t) => {
    const user = await createUser(app)
    const headers = { 'X-Request-Id': 'one-for-all' }
    const first = await upload(app, user, body([heartRate(NOON, 60)]), { headers })
    const second = await upload(app, user, body([heartRate(NOON + 1000, 61)]), { headers })
    t.not(first.body.batch_id, second.body.batch_id)
    await waitForBatch(app, user, first.body.batch_id)
    await waitForBatch(app, user, second.body.batch_id)
    t.equal((await storedSamples(app.db, user)).length, 2)
  })

  await t.test('pages go back from the end of time', async (t) => {
    const user = await createUser(app)
    const { body: accepted } = await upload(
      app,
      user,
      body([0, 1, 2, 3].map((n) => heartRate(NOON + n * 1000, 60 + n))),
    )
    await waitForBatch(app, user, accepted.batch_id)
    const path = `/api/v1/users/${user}/timeseries?start_time=1970-01-01&end_time=9999-12-31&limit=2`
    for (const resolution of ['raw', '1min']) {
      const first = await app.request('GET', `${path.replace('limit=2', 'limit=1')}&resolution=${resolution}`)
      t.equal(first.status, 200)
      if (!first.body.pagination.next_cursor) continue
      const next = await app.request(
        'GET',
        `${path.replace('limit=2', 'limit=1')}&resolution=${resolution}&cursor=${first.body.pagination.next_cursor}`,
      )
      const back = await app.request(
        'GET',
        `${path}&resolution=${resolution}&cursor=${next.body.pagination.previous_cursor}`,
      )
      t.equal(back.status, 200)
      t.strictSame(back.body.data, first.body.data)
    }
  })

  await t.test('a page back is the first one when nothing is left before', async (t) => {
    const user = await createUser(app)
    const { body: accepted } = await upload(
      app,
      user,
      body([0, 1, 2].map((n) => heartRate(NOON + n * 60_000, 60 + n, { id: `beat ${n}` }))),
    )
    await waitForBatch(app, user, accepted.batch_id)
    const path = `/api/v1/users/${user}/timeseries?start_time=1970-01-01&end_time=9999-12-31&limit=1`
    const page = async (resolution: string, cursor?: string) => {
      const query = `&resolution=${resolution}${cursor ? `&cursor=${cursor}` : ''}`
      const { data, pagination } = (await app.request('GET', path + query)).body
      return { values: data.map(({ value }: { value: number }) => value), pagination }
    }
    const resolutions = ['raw', '1min']
    const back: string[] = []
    for (const one of resolutions) {
      const second = await page(one, (await page(one)).pagination.next_cursor)
      t.strictSame(second.values, [61])
      back.push(second.pagination.previous_cursor)
    }
    const deletion = await upload(app, user, body([], { data: { deleted: [{ id: 'beat 0' }] } }))
    await waitForBatch(app, user, deletion.body.batch_id)
    for (const [index, one] of resolutions.entries()) {
      const first = await page(one, back[index])
      t.strictSame(first.values, [61])
      t.match(first.pagination, { previous_cursor: null, has_more: true, total_count: 2 })
      t.strictSame((await page(one, first.pagination.next_cursor)).values, [62])
    }
  })

  await t.test('a value no sum could hold is dropped, and the good ones stay readable', async (t) => {
    const user = await createUser(app)
    const records = [heartRate(NOON, 1.7e308), heartRate(NOON + 1000, -1e16), heartRate(NOON + 2000, 60)]
    const { body: accepted } = await upload(app, user, body(records))
    const batch = await waitForBatch(app, user, accepted.batch_id)
    t.match(batch, { inserted: 1, dropped_count: 2, dropped: [{ type: 'implausible_value' }, { index: 1 }] })
    const read = await app.request(
      'GET',
      `/api/v1/users/${user}/timeseries?start_time=2026-01-01&end_time=2026-12-31&resolution=1hour`,
    )
    t.match(read.body.data, [{ value: 60 }])
  })

  await t.test('an upload cannot bring more sources than a person could have', async (t) => {
    const user = await createUser(app)
    const records = Array.from({ length: 600 }, (_, n) =>
      heartRate(NOON + n * 1000, 60, { source: { name: `Watch ${n}` } }),
    )
    const { body: accepted } = await upload(app, user, body(records))
    const batch = await waitForBatch(app, user, accepted.batch_id)
    t.match(batch, { inserted: 200, dropped_count: 400, dropped: [{ index: 200, type: 'too_many_sources' }] })
    const reason = 'too_many_sources'
    const record = (type: string, n: number, of: string, more: object) => ({
      ...heartRate(NOON + n * 3_600_000, 61),
      ...{ type, id: `${of} ${n}`, source: { name: of }, ...more },
    })
    const [mindful, water] = ['HKCategoryTypeIdentifierMindfulSession', 'HKQuantityTypeIdentifierDietaryWater']
    const night = { startDate: '2026-02-24T22:00:00Z', endDate: '2026-02-25T06:00:00Z', stage: 'deep' }
    const run = { startDate: '2026-02-25T10:00:00Z', endDate: '2026-02-25T11:00:00Z', type: 'running' }
    const of = (name: string) => ({ source: { name } })
    const more = await upload(app, user, {
      provider: 'apple',
      data: {
        records: [
          record('HKQuantityTypeIdentifierHeartRate', 1, 'Watch 3', {}),
          record('HKQuantityTypeIdentifierHeartRate', 2, 'Watch 600', {}),
          record('HKQuantityTypeIdentifierHeartRate', 3, 'Watch 601', {}),
          record(mindful, 4, 'Watch 602', {}),
          record(water, 5, 'Watch 603', { unit: 'mL' }),
        ],
        sleep: [
          { ...night, ...of('Watch 3') },
          { ...night, ...of('Watch 604') },
        ],
        workouts: [
          { ...run, ...of('Watch 3') },
          { ...run, ...of('Watch 605') },
        ],
      },
    })
    const rest = await waitForBatch(app, user, more.body.batch_id)
    const msg = (n: number) => `${n === 1 ? '1 item' : `${n} items`} of further sources; a user may have at most 200`
    t.match(rest, { status: 'partial', received: 9, inserted: 3, dropped_count: 6 })
    t.strictSame(
      rest.dropped.map(({ collection, index, type, msg }) => [collection, index, type, msg]),
      [
        ['sleep', null, reason, msg(1)],
        ['workouts', null, reason, msg(1)],
        ['records', null, reason, msg(4)],
      ],
    )
    const sources = await app.request('GET', `/api/v1/users/${user}/data-sources`)
    t.equal(sources.body.total, 200, 'neither one upload nor several')
    const coverage = await app.request(
      'GET',
      `/api/v1/users/${user}/coverage?start_date=2026-02-24&end_date=2026-02-26`,
    )
    const rejected = coverage.body.days.filter((day: { rejected: number }) => day.rejected > 0)
    t.strictSame(
      rejected.map(({ type, received, rejected }: Record<string, unknown>) => [type, received, rejected]),
      [
        ['activity', 1, 1],
        ['heart_rate', 603, 402],
        ['hydration', 1, 1],
        ['sleep', 2, 1],
        ['workout', 2, 1],
      ],
    )
  })

  await t.test('a batch imported again keeps the kind of its upload', async (t) => {
    const user = await createUser(app)
    const content = body([heartRate(NOON, 60)], { syncType: 'historical', syncSessionId: 'session-1' })
    const { body: accepted } = await upload(app, user, content)
    await waitForBatch(app, user, accepted.batch_id)
    const again = await app.request('POST', `/api/v1/sdk/users/${user}/sync/batches/${accepted.batch_id}/import`)
    await waitForBatch(app, user, again.body.batch_id)
    const sent = await upload(app, user, content)
    t.equal(sent.body.run_id, `sdk_session-1_${user}`)
  })

  await t.test('a deleted user leaves no job behind', async (t) => {
    const user = await createUser(app)
    await upload(app, user, body([heartRate(NOON, 60)]))
    t.equal((await app.request('DELETE', `/api/v1/users/${user}`, { auth: 'developer' })).status, 200)
    // A running one ends by itself.
    const jobs = () =>
      app.db.query(`select 1 from graphile_worker._private_jobs where payload ->> 'user_id' = $1`, [user])
    t.ok(await waitUntil(async () => (await jobs()).length === 0, 60_000))
  })
})

oneEngine(t, 'a day with 20,000 sessions of sleep holds nobody up', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  await importBody(app, user, body([heartRate(NOON, 61)]))
  await app.db.query(
    `insert into sleep (user_id, source_id, session, start_at, end_at, is_nap, asleep_s)
     select d.user_id, d.id, n::text, b.at, b.at + interval '0.9 s', false, 1
     from data_source d
     cross join generate_series(1, 20000) n
     cross join lateral (select to_timestamp($2::float8) + n * interval '1 s' as at) b
     where d.user_id = $1`,
    [user, NOON / 1000 - 100],
  )
  await app.db.query('update app_user set revision = revision + 1 where id = $1', [user])
  const before = process.cpuUsage()
  const { body: page } = await summary(app, user, 'sleep', { start_date: '2026-02-24', end_date: '2026-02-24' })
  const { user: micros } = process.cpuUsage(before)
  t.match(page.data, [{ duration_minutes: Math.floor(20_000 / 60), avg_heart_rate_bpm: 61 }])
  t.ok(micros < 1_000_000, `${Math.round(micros / 1000)} ms of CPU`)
})

t.test('bodies of other routes', async (t) => {
  const app = await startTestApp(t, engines()[0]!)
  const send = (init: RequestInit) =>
    fetch(`${app.url}/api/v1/users`, {
      method: 'POST',
      ...init,
      headers: { 'X-Service-API-Key': app.apiKey, 'Content-Type': 'application/json', ...init.headers },
    })

  await t.test('none at all is a missing body', async (t) => {
    const answer = await send({})
    t.equal(answer.status, 422)
    t.match(await answer.json(), { detail: [{ type: 'missing', loc: ['body'] }] })
  })

  await t.test('an encoding that is not offered is refused', async (t) => {
    const answer = await send({ body: gzipSync('{}'), headers: { 'Content-Encoding': 'br' } })
    t.equal(answer.status, 415)
  })

  await t.test('a gzip bomb is refused without waiting for a time limit', async (t) => {
    const bomb = gzipSync(
      Buffer.concat([Buffer.from('{"first_name":"'), Buffer.alloc(runs(30_000_000, 300_000_000), 'a')]),
      { level: 1 },
    )
    const slow = AbortSignal.timeout(8_000)
    const answer = await send({ body: bomb, headers: { 'Content-Encoding': 'gzip' }, signal: slow })
    t.equal(answer.status, 413)
  })
})
