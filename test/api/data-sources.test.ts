// What each device and app has brought, for whoever asks.
import t from 'tap'
import { archive } from '../../server/rollups/archive.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp } from '../support/app.ts'
import { workout } from '../support/event-lists.ts'
import {
  body,
  createUser,
  eachEngine,
  heartRate,
  importBody,
  iso,
  PHONE,
  record,
  startImports,
  steps,
} from '../support/sdk.ts'
import { stage } from '../support/sleep.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** A source that sends nights only. */
const RING = { name: 'Ring of Ada', deviceModel: 'Ring', deviceType: 'ring' }

eachEngine(t, 'data sources with what they have', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const ask = async (query: string, of = user) =>
    (await app.request('GET', `/api/v1/users/${of}/data-sources${query}`)).body
  const now = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  const old = now - 200 * DAY_MS + 7 * MINUTE_MS
  const recent = now - 3 * DAY_MS
  const bySource = async () => {
    const { items } = await ask('?include=data')
    return Object.fromEntries(
      items.map((one: Record<string, string>) => [one.source, [one.first_at, one.last_at, one.counts]]),
    )
  }
  const records = [
    heartRate(old, 60),
    heartRate(old + MINUTE_MS, 61),
    heartRate(recent, 62),
    // It cannot be true: counted nowhere.
    heartRate(recent + MINUTE_MS, 5_000),
    steps(recent, 10, { source: PHONE }),
    steps(recent + HOUR_MS, 12, { source: PHONE, metadata: { HKWasUserEntered: '1' } }),
    record('HKQuantityTypeIdentifierBodyMass', recent, 70, { unit: 'kg', source: PHONE }),
  ]
  const sleep = [stage('deep', recent, recent + 5 * HOUR_MS, { source: RING })]
  const workouts = [workout('running', old - HOUR_MS, 30)]
  await importBody(app, user, body(records, { data: { records, sleep, workouts } }))
  const expected = {
    [PHONE.name]: [iso(recent), iso(recent + HOUR_MS), { steps: 2, weight: 1 }],
    [RING.name]: [iso(recent), iso(recent), { sleep: 1 }],
    'Watch of Ada': [iso(old - HOUR_MS), iso(recent), { heart_rate: 3, workout: 1 }],
  }
  t.strictSame(await bySource(), expected)
  await refreshRollups(app.db)
  t.strictSame(await bySource(), expected, 'the same from rollups')

  const { series_type_counts, total_workouts, total_sleep_events } = (
    await app.request('GET', `/api/v1/users/${user}/summaries/data`)
  ).body
  const all: Record<string, number> = {}
  for (const { counts } of (await ask('?include=data')).items)
    for (const [type, n] of Object.entries<number>(counts)) all[type] = (all[type] ?? 0) + n
  t.strictSame(all, { ...series_type_counts, workout: total_workouts, sleep: total_sleep_events })

  const plain = await ask('')
  t.equal(plain.total, 3)
  for (const item of plain.items) for (const name of ['first_at', 'last_at', 'counts']) t.notOk(name in item, name)

  // Of archived samples, only the quarter hour is known.
  await app.request('DELETE', `/api/v1/users/${user}/events/workouts/${await workoutId()}`)
  await app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body: { archive_after_days: 60 } })
  while (await archive(app.db, Date.now(), () => {}));
  t.strictSame((await bySource())['Watch of Ada'], [iso(now - 200 * DAY_MS), iso(recent), { heart_rate: 3 }])
  await app.db.query('delete from sample where series_id = 1 and ts > $1', [iso(old + DAY_MS)])
  await app.db.query(
    `insert into rollup_dirty (source_id, series_id, lo, hi)
    select source_id, series_id, $1, $1 from source_series where series_id = 1`,
    [iso(recent)],
  )
  const archivedOnly = [iso(now - 200 * DAY_MS), iso(now - 200 * DAY_MS), { heart_rate: 2 }]
  t.strictSame((await bySource())['Watch of Ada'], archivedOnly)

  const nobody = await createUser(app)
  t.strictSame(await ask('?include=data', nobody), { items: [], total: 0 })
  await app.db.query(`insert into data_source (user_id, provider, source) values ($1, 'apple', 'New')`, [nobody])
  t.match(await ask('?include=data', nobody), { items: [{ first_at: null, last_at: null, counts: {} }] })
  for (const [path, status] of [
    [`${user}/data-sources?include=everything`, 422],
    ['00000000-0000-4000-8000-000000000000/data-sources?include=data', 404],
    ['%00/data-sources?include=data', 422],
  ] as const)
    t.equal((await app.request('GET', `/api/v1/users/${path}`)).status, status, path)
  const phone = { bearer: await app.sdkToken(user) }
  t.equal((await app.request('GET', `/api/v1/users/${user}/data-sources?include=data`, { auth: phone })).status, 401)

  async function workoutId() {
    const range = `start_date=${iso(old - DAY_MS)}&end_date=${iso(old)}`
    return (await app.request('GET', `/api/v1/users/${user}/events/workouts?${range}`)).body.data[0].id
  }
})
