// Values entered by hand: stored as a twin of their series, and read like the series itself.
import t from 'tap'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { body, createUser, heartRate, importBody, iso, oneEngine, record, startImports, steps } from '../support/sdk.ts'
import { stage } from '../support/sleep.ts'
import { MINUTE_MS, summary } from '../support/summaries.ts'

const DAY = Date.parse('2026-05-04T00:00:00Z')
const at = (hour: number, minute = 0) => DAY + (hour * 60 + minute) * MINUTE_MS
const ENTERED = { metadata: { HKWasUserEntered: '1' } }
const HK = 'HKQuantityTypeIdentifier'
/** Of which nights and recovery are made, with their units and stored ids. */
const VITALS = [
  ['RestingHeartRate', 'bpm', 5002],
  ['HeartRateVariabilitySDNN', 'ms', 5003],
  ['OxygenSaturation', '%', 5020],
  ['RespiratoryRate', 'count/min', 5024],
] as const
const oxygen = (ms: number, value: number, fields = {}) =>
  record(`${HK}OxygenSaturation`, ms, value, { unit: '%', ...fields })

const read = async (app: TestApp, user: string, query: Record<string, string | number>) => {
  const all = { start_time: '2026-05-01', end_time: '2026-05-08', ...query }
  const text = new URLSearchParams(Object.entries(all).map(([key, value]): [string, string] => [key, String(value)]))
  return (await app.request('GET', `/api/v1/users/${user}/timeseries?${text}`)).body
}

const stored = (app: TestApp, user: string) =>
  app.db.rows<[series: number, value: number]>(
    'select s.series_id, s.value from sample s join data_source d on d.id = s.source_id where d.user_id = $1 order by s.ts, s.series_id',
    [user],
  )

oneEngine(t, 'manual entries', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)

  await t.test('are marked by the platform, in any of its ways', async (t) => {
    const user = await createUser(app)
    const manual = [
      { source: { recordingMethod: 'manual', name: 'a' } },
      { source: { recording_method: ' Manual', name: 'a' } },
      { metadata: { HKWasUserEntered: true } },
      { metadata: { HKWasUserEntered: '1' } },
      { metadata: [{ other: 1 }, { HKWasUserEntered: 'true' }] },
    ]
    const measured = [
      { source: { recordingMethod: 'automatic', name: 'a' } },
      { source: { recordingMethod: 'unknown', name: 'a' } },
      { metadata: { HKWasUserEntered: '0' } },
      { metadata: { HKWasUserEntered: false } },
      { metadata: 'HKWasUserEntered' },
      {},
    ]
    const records = [...manual, ...measured].map((fields, n) => steps(at(8, n), 10, fields))
    const others = [
      // Out of range, and in a series without such a twin.
      steps(at(9), -5, ENTERED),
      record(`${HK}BodyMass`, at(9, 1), 70, { unit: 'kg', ...ENTERED }),
      heartRate(at(9, 2), 60, ENTERED),
      ...VITALS.map(([type, unit], n) => record(`${HK}${type}`, at(9, 3 + n), 60, { unit, ...ENTERED })),
    ]
    await importBody(app, user, body([...records, ...others]))
    t.strictSame(
      (await stored(app, user)).map(([series]) => series),
      [...manual.map(() => 5080), ...measured.map(() => 80), 20_080, 41, 5001, ...VITALS.map(([, , id]) => id)],
    )
    const other = await createUser(app)
    const source = { appId: 'com.example', recordingMethod: 'manual' }
    const byMethod = [record('HEART_RATE_VARIABILITY', at(9), 60, { unit: 'ms', source })]
    const data = { records: byMethod, sleep: [], workouts: [] }
    await importBody(app, other, body([], { provider: 'google', data }))
    t.strictSame(await stored(app, other), [[5007, 60]])
  })

  await t.test('are read like measured values', async (t) => {
    const user = await createUser(app)
    const records = [
      steps(at(8), 10),
      steps(at(8, 2), 1000, ENTERED),
      steps(at(8, 20), 20),
      steps(at(10), 2000, ENTERED),
      steps(at(11), 30),
      heartRate(at(8), 60),
      heartRate(at(8, 1), 90, ENTERED),
    ]
    await importBody(app, user, body(records))
    for (const state of ['behind', 'up to date']) {
      const raw = await read(app, user, { types: 'steps' })
      t.strictSame(
        raw.data.map(({ value }: { value: number }) => value),
        [10, 1000, 20, 2000, 30],
        state,
      )
      t.equal(raw.pagination.total_count, 5)
      for (const [resolution, wanted] of [
        ['1min', [10, 1000, 20, 2000, 30]],
        ['15min', [1010, 20, 2000, 30]],
        ['1hour', [1030, 2000, 30]],
      ] as const) {
        for (const limit of [1, 2, 100]) {
          const values: number[] = []
          let page = await read(app, user, { types: 'steps', resolution, limit })
          const total = page.pagination.total_count
          for (;;) {
            values.push(...page.data.map(({ value }: { value: number }) => value))
            if (!page.pagination.next_cursor) break
            page = await read(app, user, { types: 'steps', resolution, limit, cursor: page.pagination.next_cursor })
          }
          t.strictSame([values, total], [wanted, wanted.length], `${resolution} by ${limit}, ${state}`)
        }
      }
      const beats = await read(app, user, { types: 'heart_rate', resolution: '15min' })
      t.strictSame(
        beats.data.map(({ value }: { value: number }) => value),
        [75],
      )
      const first = await read(app, user, { types: 'steps', resolution: '1hour', filter_by_priority: 'true' })
      t.strictSame(
        first.data.map(({ value }: { value: number }) => value),
        [1030, 2000, 30],
      )
      const day = { start_date: '2026-05-04', end_date: '2026-05-04', merge: 'none' }
      t.match((await summary(app, user, 'activity', day)).body.data, [{ steps: 3060, heart_rate: { avg_bpm: 75 } }])
      while (await refreshRollups(app.db));
    }
  })

  await t.test(
    'of a night do not count beside what was measured in it, and can be read, counted and deleted',
    async (t) => {
      const user = await createUser(app)
      const night = [stage('light', at(0), at(6))]
      const records = [oxygen(at(2), 96, { id: 'M' }), oxygen(at(2, 5), 60, { id: 'E', ...ENTERED })]
      await importBody(app, user, body([], { data: { records, sleep: night, workouts: [] } }))
      const day = { start_date: '2026-05-04', end_date: '2026-05-04' }
      const shown = async () => {
        const { data } = await read(app, user, { types: 'oxygen_saturation' })
        const [sleep] = (await summary(app, user, 'sleep', day)).body.data
        const [recovery] = (await summary(app, user, 'recovery', day)).body.data
        const { total_data_points } = (await summary(app, user, 'data', day)).body
        const values = data.map(({ value }: { value: number }) => value)
        return [values, sleep.avg_spo2_percent, recovery?.avg_spo2_percent, total_data_points]
      }
      const drop = (id: string) =>
        importBody(app, user, {
          ...body([]),
          data: { records: [], deleted: [{ id, type: `${HK}OxygenSaturation` }] },
        })
      t.strictSame(await shown(), [[96, 60], 96, 96, 2])
      t.match(await drop('M'), { deleted: 1 })
      t.strictSame(await shown(), [[60], 60, 60, 1], 'alone they count')
      t.match(await drop('E'), { deleted: 1 })
      t.strictSame(await shown(), [[], null, undefined, 0])
    },
  )

  await t.test('that were stored as measured before move when they are sent again', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, body([oxygen(at(2), 60, { id: 'E' })]))
    t.strictSame(await stored(app, user), [[20, 60]])
    t.match(await importBody(app, user, body([oxygen(at(2), 60, { id: 'E', ...ENTERED })])), {
      inserted: 0,
      updated: 1,
    })
    t.strictSame(await stored(app, user), [[5020, 60]])
  })

  await t.test('that are corrected, or turn out to be measured, are stored once', async (t) => {
    const user = await createUser(app)
    const send = (value: number, fields = {}) =>
      importBody(app, user, body([steps(at(8), value, { id: 'A', ...fields })]))
    t.match(await send(100), { inserted: 1 })
    t.match(await send(100, ENTERED), { inserted: 0, updated: 1 })
    t.strictSame(await stored(app, user), [[5080, 100]])
    t.match(await send(100, ENTERED), { unchanged: 1 })
    t.match(await send(-1, ENTERED), { updated: 1 })
    t.strictSame(await stored(app, user), [[20_080, -1]])
    t.match(await send(120), { updated: 1 })
    t.strictSame(await stored(app, user), [[80, 120]])
    await send(130, ENTERED)
    const deleted = {
      ...body([]),
      data: { records: [], deleted: [{ id: 'A', type: 'HKQuantityTypeIdentifierStepCount' }] },
    }
    t.match(await importBody(app, user, deleted), { deleted: 1 })
    t.strictSame(await stored(app, user), [])
  })

  await t.test('records with another length have changed', async (t) => {
    const user = await createUser(app)
    const send = (minutes: number) => importBody(app, user, body([steps(at(8), 10, { endDate: iso(at(8, minutes)) })]))
    const lengths = () =>
      app.db.rows<[number | null]>(
        'select s.lasts_s from sample s join data_source d on d.id = s.source_id where d.user_id = $1',
        [user],
      )
    t.match(await send(10), { inserted: 1 })
    t.match(await send(10), { unchanged: 1 })
    t.strictSame(await lengths(), [[600]])
    t.match(await send(20), { updated: 1 })
    t.strictSame(await lengths(), [[1200]])
    t.match(await send(1), { updated: 1 })
    t.strictSame(await lengths(), [[null]], 'a minute counts as an instant')
  })
})
