// The body summary: contract 4.4, 12.5, D-28.
import t from 'tap'
import { pressureOf } from '../../server/api/summaries/blood-pressure.ts'
import { MANUAL_OFFSET, seriesByName } from '../../server/catalogue/series.ts'
import { archive } from '../../server/rollups/archive.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { body, createUser, importBody, oneEngine, record, startImports, storedSamples } from '../support/sdk.ts'
import { addSources, DAY_MS, MINUTE_MS, seeded, summary, write } from '../support/summaries.ts'

const HOUR_MS = 60 * MINUTE_MS

// Best first.
const SOURCES = [
  { provider: 'apple', device: 'Watch7,5', source: 'Watch', type: 'watch' },
  { provider: 'garmin', device: 'Index S2', source: 'garmin_api', type: 'scale' },
]

const id = (name: string) => seriesByName.get(name)?.id as number

/** Writes samples of this age, in ms: [source, type, age, value]. */
async function measured(app: TestApp, user: string, ids: number[], samples: [number, string, number, number][]) {
  const nowMs = Date.now()
  await write(
    app.db,
    user,
    samples.map(([place, type, ageMs, value]) => ({
      ...{ sourceId: ids[place] as number, seriesId: id(type), ms: nowMs - ageMs, value, zone: 60 },
    })),
  )
  return nowMs
}

const instant = (ms: number) =>
  new Date(ms)
    .toISOString()
    .replace(/\.000Z$/, 'Z')
    .replace(/(\.\d{3})Z$/, '$1000Z')

oneEngine(t, 'body as of now', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const someone = async () => {
    const user = await createUser(app)
    return {
      user,
      ids: await addSources(app.db, user, SOURCES),
      read: async (query = {}) => (await summary(app, user, 'body', query)).body,
    }
  }

  await t.test('is null without a measurement, whatever else is known', async (t) => {
    const { user, ids, read } = await someone()
    t.equal(await read(), null)
    await measured(app, user, ids, [
      [0, 'heart_rate', HOUR_MS, 60],
      [0, 'body_temperature', 5 * HOUR_MS, 37],
      [0, 'resting_heart_rate', 8 * DAY_MS, 50],
    ])
    await app.request('PUT', `/api/v1/users/${user}/personal-record`, { body: { birth_date: '1990-12-10' } })
    const answer = await summary(app, user, 'body', {})
    t.strictSame([answer.status, answer.body], [200, null], 'an age alone, and what is too old')
    t.match(answer.headers.get('content-type'), /^application\/json/)
    await measured(app, user, ids, [[1, 'body_mass_index', 900 * DAY_MS, 0]])
    t.match(await read(), {
      source: { provider: 'garmin', device: 'Index S2', device_type: 'scale' },
      slow_changing: { bmi: 0, weight_kg: null, age: Number },
    })
  })

  await t.test('shows the last of what changes slowly, of the best source at equal times', async (t) => {
    const { user, ids, read } = await someone()
    await measured(app, user, ids, [
      [0, 'weight', 3 * DAY_MS, 80],
      [1, 'weight', 2 * DAY_MS, 72.5],
      [0, 'weight', -HOUR_MS, 90],
      [0, 'height', 700 * DAY_MS, 175.5],
      [1, 'body_fat_percentage', 5 * DAY_MS, 18.5],
      [0, 'body_fat_percentage', 5 * DAY_MS, 17.5],
      [1, 'skeletal_muscle_mass', DAY_MS, 33],
    ])
    const first = await read()
    t.strictSame(first.slow_changing, {
      weight_kg: 72.5,
      height_cm: 175.5,
      body_fat_percent: 17.5,
      muscle_mass_kg: 33,
      bmi: 23.5,
      age: null,
    })
    t.strictSame(first.source.device, 'Index S2')
    await measured(app, user, ids, [
      [0, 'lean_body_mass', 9 * DAY_MS, 58.2],
      [0, 'body_mass_index', 9 * DAY_MS, 24.04],
    ])
    const nowYear = new Date().getUTCFullYear()
    await app.request('PUT', `/api/v1/users/${user}/personal-record`, { body: { birth_date: `${nowYear - 33}-12-31` } })
    const today = new Date().toISOString().slice(5, 10)
    t.match((await read()).slow_changing, { muscle_mass_kg: 58.2, bmi: 24.04, age: today === '12-31' ? 33 : 32 })
  })

  await t.test('averages days over all sources', async (t) => {
    const { user, ids, read } = await someone()
    const random = seeded(7)
    const types = ['resting_heart_rate', 'heart_rate_variability_sdnn', 'heart_rate_variability_rmssd']
    await measured(
      app,
      user,
      ids,
      Array.from({ length: 600 }, () => {
        const type = types[Math.floor(random() * 3)] as string
        // Never within a minute of the ends of the periods.
        const age = Math.floor(random() * 9 * 24) * HOUR_MS + 5 * MINUTE_MS + Math.floor(random() * 50) * MINUTE_MS
        return [Math.floor(random() * 2), type, age, Math.round(random() * 1000) / 10]
      }),
    )
    for (const clean of [false, true]) {
      if (clean) await refreshRollups(app.db)
      const stored = await storedSamples(app.db, user)
      for (const days of [undefined, 1, 3, 7]) {
        const before = Date.now()
        const { averaged } = await read({ average_period: days })
        const [startMs, endMs] = [Date.parse(averaged.period_start), Date.parse(averaged.period_end)]
        t.equal(endMs - startMs, (days ?? 7) * DAY_MS)
        t.ok(endMs >= before && endMs <= Date.now())
        const mean = (type: string) => {
          const values = stored.filter(
            (one) => one.type === type && Date.parse(one.ts) >= startMs && Date.parse(one.ts) < endMs,
          )
          return values.reduce((sum, { value }) => sum + value, 0) / values.length
        }
        t.equal(averaged.period_days, days ?? 7)
        t.ok(Math.abs(averaged.resting_heart_rate_bpm - mean('resting_heart_rate')) <= 0.5)
        t.ok(Number.isInteger(averaged.resting_heart_rate_bpm))
        t.ok(Math.abs(averaged.avg_hrv_sdnn_ms - mean('heart_rate_variability_sdnn')) <= 0.0500001)
        t.ok(Math.abs(averaged.avg_hrv_rmssd_ms - mean('heart_rate_variability_rmssd')) <= 0.0500001)
      }
    }
    t.match(await read(), { source: { provider: 'unknown', source: null, device: null, device_name: null } })
  })

  await t.test('averages what was measured, and entries by hand only where nothing was', async (t) => {
    const { user, ids, read } = await someone()
    const nowMs = await measured(app, user, ids, [
      [0, 'resting_heart_rate', 3 * DAY_MS, 50],
      [0, 'resting_heart_rate', 9 * DAY_MS, 80],
    ])
    const entered = (type: string, ageMs: number, value: number) => ({
      ...{ sourceId: ids[1] as number, seriesId: id(type) + MANUAL_OFFSET, ms: nowMs - ageMs, value, zone: 60 },
    })
    await write(app.db, user, [
      entered('resting_heart_rate', DAY_MS, 110),
      entered('heart_rate_variability_sdnn', DAY_MS, 40),
    ])
    t.match((await read()).averaged, { resting_heart_rate_bpm: 50, avg_hrv_sdnn_ms: 40 })
    t.match((await read({ average_period: 2 })).averaged, { resting_heart_rate_bpm: 110 })
  })

  await t.test('shows the last hours: temperatures, and blood pressure over all measurements', async (t) => {
    const { user, ids, read } = await someone()
    const nowMs = await measured(app, user, ids, [
      [0, 'body_temperature', 3 * HOUR_MS, 36.6],
      [1, 'body_temperature', 2 * HOUR_MS, 37.1],
      [0, 'skin_temperature', 6 * HOUR_MS, 33.3],
      [0, 'blood_pressure_systolic', 2 * HOUR_MS, 121],
      [0, 'blood_pressure_diastolic', 2 * HOUR_MS - 4000, 81],
      [1, 'blood_pressure_systolic', HOUR_MS, 130],
      [1, 'blood_pressure_diastolic', HOUR_MS, 90],
      [0, 'blood_pressure_systolic', 30 * MINUTE_MS, 180],
      [1, 'blood_pressure_diastolic', 30 * MINUTE_MS, 110],
      [0, 'blood_pressure_systolic', 20 * HOUR_MS, 110],
      [0, 'blood_pressure_diastolic', 20 * HOUR_MS, 70],
    ])
    t.strictSame((await read()).latest, {
      body_temperature_celsius: 37.1,
      body_temperature_measured_at: instant(nowMs - 2 * HOUR_MS),
      skin_temperature_celsius: null,
      skin_temperature_measured_at: null,
      blood_pressure: {
        avg_systolic_mmhg: 126,
        avg_diastolic_mmhg: 86,
        max_systolic_mmhg: 130,
        max_diastolic_mmhg: 90,
        min_systolic_mmhg: 121,
        min_diastolic_mmhg: 81,
        reading_count: 2,
      },
      blood_pressure_measured_at: instant(nowMs - HOUR_MS),
    })
    const { latest } = await read({ latest_window_hours: 24 })
    t.match(latest, { skin_temperature_celsius: 33.3, blood_pressure: { reading_count: 3, min_systolic_mmhg: 110 } })
    t.equal(await read({ latest_window_hours: 1 }), null, 'two values of two devices are no measurement')
  })

  await t.test('knows a weight whose sample is archived', async (t) => {
    const { user, ids, read } = await someone()
    await measured(app, user, ids, [
      [0, 'weight', 300 * DAY_MS, 70],
      [0, 'weight', 299 * DAY_MS, 71],
    ])
    await refreshRollups(app.db)
    await app.db.query('update archival set archive_after_days = 60')
    while (await archive(app.db, Date.now()));
    t.strictSame((await storedSamples(app.db, user)).length, 0)
    t.equal((await read()).slow_changing.weight_kg, 71)
  })

  await t.test('of an upload', async (t) => {
    const user = await createUser(app)
    await importBody(
      app,
      user,
      body([record('HKQuantityTypeIdentifierBodyMass', Date.now() - HOUR_MS, 72.5, { unit: 'kg' })]),
    )
    t.match((await summary(app, user, 'body', {})).body, {
      source: { provider: 'apple', device_type: 'watch' },
      slow_changing: { weight_kg: 72.5, bmi: null },
      averaged: { period_days: 7, resting_heart_rate_bpm: null },
    })
  })

  await t.test('refuses what it does not know', async (t) => {
    const user = await createUser(app)
    const issue = async (query: object) => {
      const { status, body } = await summary(app, user, 'body', { ...query })
      return [status, body.detail[0].type]
    }
    for (const field of ['average_period', 'latest_window_hours']) {
      t.strictSame(await issue({ [field]: 0 }), [422, 'greater_than_equal'])
      t.strictSame(await issue({ [field]: field === 'average_period' ? 8 : 25 }), [422, 'less_than_equal'])
      t.strictSame(await issue({ [field]: 'many' }), [422, 'int_parsing'])
    }
    t.strictSame(await issue({ start_date: '2026-01-01' }), [422, 'extra_forbidden'])
    const nobody = '00000000-0000-4000-8000-000000000000'
    const { status, body: refusal } = await summary(app, nobody, 'body', {})
    t.strictSame([status, refusal], [404, { detail: `User with ID: ${nobody} not found.` }])
  })
})

t.test('values of blood pressure are paired with the closest one, once', async (t) => {
  const at = (ms: number, value: number, sourceId = 1) => ({ sourceId, ms, value })
  t.equal(pressureOf([at(0, 120)], [at(5001, 80)]), null)
  t.equal(pressureOf([at(0, 120)], [at(0, 80, 2)]), null, 'of another device')
  t.match(pressureOf([at(0, 120)], [at(5000, 80)]), { reading_count: 1, measuredMs: 5000 })
  t.match(pressureOf([at(0, 120), at(3000, 140)], [at(2500, 90)]), { reading_count: 1, avg_systolic_mmhg: 140 })
  t.match(pressureOf([at(0, 120), at(3000, 140)], [at(2500, 90), at(4000, 100)]), {
    reading_count: 2,
    max_systolic_mmhg: 140,
    avg_diastolic_mmhg: 95,
  })
})
