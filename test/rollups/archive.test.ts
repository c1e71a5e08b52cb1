// Retention: samples are deleted, their sums stay; nothing returns and nothing erases them (contract 13, 12.7).
import t, { type Test } from 'tap'
import { archive, floors } from '../../server/rollups/archive.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { ingestLockKey } from '../../server/store/lock.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import {
  body,
  createUser,
  eachEngine,
  heartRate,
  importBody,
  onceIsEnough,
  PHONE,
  startImports,
  steps,
  timeseries,
} from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const MONTH_MS = 30 * DAY_MS
const NOW = Date.now()
/** Samples before it are older than 60 days. */
const FLOOR = Math.floor((NOW - 60 * DAY_MS) / MONTH_MS) * MONTH_MS
/** Time between two heart rates, including one at the floor. */
const EVERY_MS = runs(8, 2) * HOUR_MS
/** In the quarter hour of the last archived sample. */
const ARCHIVED = FLOOR - EVERY_MS + 1000
const iso = (ms: number) => new Date(ms).toISOString()
const isoSecond = (ms: number) => `${iso(ms).slice(0, 19)}Z`

const settings = (app: TestApp, values: object) =>
  app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body: values })

/** Two devices, a heart rate every few hours for a year, at the floor too; steps on a few days. */
async function filled(app: TestApp): Promise<string> {
  const user = await createUser(app)
  const times = (everyMs: number) =>
    Array.from({ length: Math.floor((365 * DAY_MS) / everyMs) }, (_, n) => FLOOR - 300 * DAY_MS + n * everyMs)
  const zoneOffset = '+02:00'
  await importBody(app, user, body(times(EVERY_MS).map((ms, n) => heartRate(ms, 50 + (n % 80), { zoneOffset }))))
  await importBody(
    app,
    user,
    body(times(5 * DAY_MS).map((ms, n) => steps(ms + 60_000 * n, 10 + n, { source: PHONE, zoneOffset }))),
  )
  return user
}

interface Answers {
  [question: string]: unknown
}

/** Every read that still includes archived data. */
async function aggregated(app: TestApp, user: string): Promise<Answers> {
  const range = { start_time: iso(FLOOR - 301 * DAY_MS), end_time: iso(FLOOR + 80 * DAY_MS), limit: 1000 }
  const pages = async (query: Record<string, string | boolean>) => {
    const data: unknown[] = []
    let cursor: string | undefined
    let total = -1
    do {
      const { body } = await timeseries(app, user, { ...range, ...query, cursor })
      data.push(...body.data)
      total = body.pagination.total_count
      cursor = body.pagination.next_cursor ?? undefined
    } while (cursor)
    if (total !== data.length) throw new Error(`total_count is ${total} of ${data.length}`)
    return data
  }
  const summary = (path: string) => app.request('GET', `/api/v1/users/${user}/summaries/data${path}`)
  return {
    hours: await pages({ resolution: '1hour' }),
    quarters: await pages({ resolution: '15min', types: 'steps' }),
    best: await pages({ resolution: '1hour', filter_by_priority: true }),
    days: (await summary('/timeline')).body,
    weeks: (await summary('/timeline?bucket=week&group_by=series_type')).body,
    part: (await summary(`/timeline?start_date=${(FLOOR - 40 * DAY_MS) / 1000}&end_date=${FLOOR / 1000}`)).body,
    summary: (await summary('')).body,
  }
}

const rawTimes = async (app: TestApp, user: string) => {
  const range = { start_time: iso(FLOOR - 301 * DAY_MS), end_time: iso(FLOOR + 80 * DAY_MS), limit: 1000 }
  const { body } = await timeseries(app, user, range)
  const minutes = await timeseries(app, user, { ...range, resolution: '1min' })
  if (minutes.body.pagination.total_count !== body.pagination.total_count) throw new Error('minutes do not match')
  return {
    first: Date.parse(body.data[0]?.timestamp),
    total: body.pagination.total_count,
    etag: (await timeseries(app, user, range)).headers.get('etag'),
  }
}

eachEngine(t, 'archival', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await filled(app)
  const before = await aggregated(app, user)
  const raw = await rawTimes(app, user)

  await t.test('does nothing until it is set', async (t) => {
    t.equal(await archive(app.db, NOW), false)
    t.strictSame(await rawTimes(app, user), raw)
    const { body } = await app.request('GET', '/api/v1/settings/archival', { auth: 'developer' })
    t.match(body, {
      settings: { archive_after_days: null, delete_after_days: null },
      storage: { growth_class: 'linear' },
    })
  })

  await t.test('drops samples and keeps what they add up to', async (t) => {
    t.match((await settings(app, { archive_after_days: 60 })).body, {
      settings: { archive_after_days: 60, delete_after_days: null },
      storage: { growth_class: 'linear_efficient' },
    })
    await finish(t, app)
    const kept = await rawTimes(app, user)
    t.ok(kept.first >= FLOOR, 'raw samples start at the floor')
    t.ok(kept.total > 0 && kept.total < raw.total)
    t.not(kept.etag, raw.etag, 'what a client holds is not valid any more')
    const stored = await app.db.one<{ n: number }>('select count(*) as n from sample where ts < to_timestamp($1)', [
      FLOOR / 1000,
    ])
    t.equal(stored.n, 0, 'they are gone')
    t.strictSame(await aggregated(app, user), before)
  })

  await t.test('refuses samples of quarter hours that are archived, and only those', async (t) => {
    const late = heartRate(ARCHIVED, 200)
    const batch = await importBody(app, user, body([late, heartRate(FLOOR, 201), late]))
    t.match(batch, { status: 'partial', received: 3, inserted: 0, updated: 1, dropped_count: 1, duplicates: 1 })
    t.match(batch.dropped, [{ index: null, type: 'archived', msg: /^1 sample of archived quarter hours/ }])
    t.match(await importBody(app, user, body([heartRate(ARCHIVED, 200)])), { status: 'failed', dropped_count: 1 })
    await importBody(
      app,
      user,
      body([heartRate(FLOOR, 50 + (((300 * DAY_MS) / EVERY_MS) % 80), { zoneOffset: '+02:00' })]),
    )
    await refreshRollups(app.db)
    t.strictSame(await aggregated(app, user), before, 'nothing was refreshed behind the floor')
  })

  await t.test('leaves what an import has under way to another time, and nobody else', async (t) => {
    const other = await createUser(app)
    await importBody(app, other, body([heartRate(FLOOR + DAY_MS, 60)]))
    await settings(app, { archive_after_days: 30 })
    const importing = await app.db.pool.connect()
    await importing.query('begin')
    await importing.query(`select pg_advisory_xact_lock(${ingestLockKey('$1')})`, [other])
    // Enough time to process everybody once.
    while (await archive(app.db, NOW, () => {}, 2000));
    t.ok((await rawTimes(app, user)).first > FLOOR + DAY_MS, 'nobody else has to wait')
    t.equal((await rawTimes(app, other)).total, 1, 'nothing of the one is touched')
    await importing.query('rollback')
    importing.release()
    await finish(t, app)
    t.equal((await rawTimes(app, other)).total, 0)
    t.equal((await app.request('GET', `/api/v1/users/${other}/summaries/data`)).body.total_data_points, 1)
  })

  await t.test('deletes what is beyond the horizon, rollups too', async (t) => {
    t.match((await settings(app, { archive_after_days: 30, delete_after_days: 200 })).body, {
      storage: { growth_class: 'bounded' },
    })
    // Within a run, and from one to the next, the same ETag never stands for two answers.
    const told = new Map<string, string>()
    const look = async () => {
      const range = `start_date=${iso(FLOOR - 301 * DAY_MS).slice(0, 10)}&end_date=${iso(NOW).slice(0, 10)}&limit=100`
      const hours = { start_time: iso(FLOOR - 301 * DAY_MS), end_time: iso(NOW), limit: 1000, resolution: '1hour' }
      const answers = [
        await timeseries(app, user, hours),
        await app.request('GET', `/api/v1/users/${user}/summaries/activity?${range}`),
      ]
      for (const [place, { headers, body }] of answers.entries()) {
        const key = `${place} ${headers.get('etag')}`
        t.match(key, /"/)
        t.equal(JSON.stringify(body), told.get(key) ?? JSON.stringify(body))
        told.set(key, JSON.stringify(body))
      }
    }
    await look()
    await finish(t, app, look)
    await look()
    t.equal(told.size, 4, 'one answer of before and one of after')
    const horizon = Math.floor((NOW - 200 * DAY_MS) / MONTH_MS) * MONTH_MS
    const { days, hours, summary } = await aggregated(app, user)
    const expected = (before.hours as { timestamp: string }[]).filter(
      ({ timestamp }) => Date.parse(timestamp) >= horizon,
    )
    t.strictSame(hours, expected)
    t.ok(
      (days as { series: { buckets: string[][] }[] }).series.every(
        ({ buckets }) => Date.parse(buckets[0]?.[0] ?? '') >= horizon,
      ),
    )
    t.equal((summary as { total_data_points: number }).total_data_points, expected.length)
    for (const table of ['sample', 'rollup_15min', 'rollup_1hour', 'rollup_1day']) {
      const column = table === 'sample' ? 'ts' : 'bucket'
      const { n } = await app.db.one<{ n: number }>(
        `select count(*) as n from ${table} where ${column} < to_timestamp($1)`,
        [horizon / 1000],
      )
      t.equal(n, 0, table)
    }
    const localDays = await app.db.query('select day from rollup_local_day where day_ends(day) <= to_timestamp($1)', [
      horizon / 1000,
    ])
    t.strictSame(localDays, [])
  })

  await t.test('deletes no events and no scores', onceIsEnough(engine), async (t) => {
    const person = await createUser(app)
    const hour = (ms: number) => ({ startDate: isoSecond(ms), endDate: isoSecond(ms + HOUR_MS) })
    const night = (ms: number) => ({
      ...hour(ms),
      id: `n${ms}`,
      parentId: `n${ms}`,
      stage: 'deep',
      values: [{ type: 'sleepScore', value: 61 }],
    })
    const run = (ms: number) => ({ ...hour(ms), id: `w${ms}`, type: 'running' })
    const meal = (ms: number) => ({ ...hour(ms), id: `m${ms}`, type: 'HKCorrelationTypeIdentifierFood' })
    const carbs = (ms: number) => ({
      ...hour(ms),
      id: `c${ms}`,
      parentId: `m${ms}`,
      type: 'HKQuantityTypeIdentifierDietaryCarbohydrates',
      unit: 'g',
      value: 50,
    })
    const times = [NOW - 900 * DAY_MS, NOW - 2 * DAY_MS]
    const records = [...times.map(meal), ...times.map(carbs)]
    await importBody(app, person, body([], { data: { records, sleep: [], workouts: times.map(run) } }))
    const sleep = { provider: 'samsung', data: { records: [], sleep: times.map(night), workouts: [] } }
    await importBody(app, person, body([], sleep))
    const kinds = ['events/workouts', 'events/sleep', 'events/meals', 'summaries/sleep', 'health-scores']
    const read = async () => {
      const range = `start_date=${iso(NOW - 1000 * DAY_MS).slice(0, 10)}&end_date=${iso(NOW).slice(0, 10)}`
      return Promise.all(kinds.map((kind) => app.request('GET', `/api/v1/users/${person}/${kind}?${range}`)))
    }
    const before = await read()
    for (const [place, { body }] of before.entries()) t.equal(body.data.length, 2, `${kinds[place]}`)
    await finish(t, app)
    const after = await read()
    t.match(after[2]?.body.data[1].nutrients, { dietary_carbohydrates: { value: 50 } })
    for (const [place, { body }] of after.entries()) t.strictSame(body, before[place]?.body, `${kinds[place]}`)
    const stages = `select 1 from sleep_stage where source_id in (select id from data_source where user_id = $1)`
    t.equal((await app.db.query(stages, [person])).length, 2)
    const again = await importBody(app, person, body([], sleep))
    t.match(again, { status: 'success', inserted: 0, updated: 0 }, 'what is old comes again as what it was')
    t.match(
      await importBody(
        app,
        person,
        body([], { ...sleep, data: { ...sleep.data, sleep: [night(NOW - 950 * DAY_MS)] } }),
      ),
      {
        status: 'success',
        inserted: 1,
      },
    )
    await archive(app.db, NOW)
    t.equal((await read())[1]?.body.data.length, 3, 'and what comes so late stays')
  })

  await t.test('never goes back', async (t) => {
    await settings(app, {})
    const answers = await aggregated(app, user)
    await finish(t, app)
    t.strictSame(await aggregated(app, user), answers)
    t.match(await importBody(app, user, body([heartRate(ARCHIVED, 200)])), { status: 'failed' })
  })

  await t.test('shows the operator where it stands', async (t) => {
    const metric = async (name: string) => {
      const { body } = await app.request('GET', '/metrics', { auth: 'none' })
      return Number(new RegExp(`^${name} (.+)$`, 'm').exec(body)?.[1])
    }
    await refreshRollups(app.db)
    t.equal(await metric('pulsebase_rollup_dirty_ranges'), 0)
    t.equal(await metric('pulsebase_rollup_lag_seconds'), 0)
    await importBody(app, user, body([heartRate(NOW - HOUR_MS, 60), heartRate(NOW - 5 * DAY_MS, 61)]))
    t.equal(await metric('pulsebase_rollup_dirty_ranges'), 2)
    t.ok((await metric('pulsebase_rollup_lag_seconds')) > 0)
    t.ok((await metric('pulsebase_sample_bytes')) > 8192)
    t.equal(await metric('pulsebase_sample_compression_ratio'), 0)

    const { body: answer } = await app.request('GET', '/api/v1/settings/archival', { auth: 'developer' })
    const { storage } = answer
    const { total } = await app.db.one<{ total: number }>('select pg_database_size(current_database()) as total')
    t.ok(Math.abs(storage.total_bytes - total) < 5e6, 'the size of the database')
    const parts = [
      'live_data_bytes',
      'live_index_bytes',
      'archive_data_bytes',
      'archive_index_bytes',
      'other_tables_bytes',
    ]
    t.equal(
      parts.reduce((sum, part) => sum + storage[part], 0),
      storage.total_bytes,
    )
    t.match(storage.total_pretty, /^\d+\.\d MB$/)
  })

  await t.test('is for developers, within its limits', onceIsEnough(engine), async (t) => {
    t.equal((await app.request('GET', '/api/v1/settings/archival')).status, 401)
    for (const values of [{ archive_after_days: 0 }, { archive_after_days: 3651 }, { delete_after_days: '9' }, []]) {
      t.equal((await settings(app, values)).status, 422)
    }
    t.match((await app.request('POST', '/api/v1/settings/archival/run', { auth: 'developer' })).body, {
      status: 'dispatched',
    })
  })
})

/** One piece at a time, as the job does. */
async function finish(t: Test, app: TestApp, between = async () => {}): Promise<void> {
  let runs = 1
  for (; await archive(app.db, NOW, () => {}, 1); runs += 1) await between()
  t.ok(runs < 1000, `${runs} runs`)
}

t.test('floors are the same whole months for both engines', async (t) => {
  const at = Date.UTC(2026, 10, 22)
  const none = { archive_after_days: null, delete_after_days: null }
  t.strictSame(floors(none, at), { rawMs: null, rollupMs: null })
  const day = (ms: number | null) => (ms === null ? null : ms / MONTH_MS)
  const months = Math.floor((at - 90 * DAY_MS) / MONTH_MS)
  t.equal(day(floors({ ...none, archive_after_days: 90 }, at).rawMs), months)
  t.equal(
    floors({ archive_after_days: 90, delete_after_days: 30 }, at).rawMs,
    floors({ ...none, delete_after_days: 30 }, at).rawMs,
  )
  t.ok(at - (floors({ ...none, archive_after_days: 90 }, at).rawMs ?? 0) >= 90 * DAY_MS, 'never early')
})
