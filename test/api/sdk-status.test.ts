// What a phone's developer learns about an upload that went wrong: types that are not stored, unknown fields,
// impossible values, and whether anything was stored at all.
import t from 'tap'
import { startTestApp } from '../support/app.ts'
import { body, createUser, heartRate, importBody, record, startImports, steps } from '../support/sdk.ts'
import { type Engine, engines } from '../support/servers.ts'

const NOON = Date.UTC(2026, 1, 24, 12)

const [engine] = engines()

t.test('the status of an upload', async (t) => {
  const app = await startTestApp(t, engine as Engine)
  await startImports(t, app)

  await t.test('names what was probably meant', async (t) => {
    const user = await createUser(app)
    const ask = async (provider: string, ...types: string[]) => {
      const batch = await importBody(
        app,
        user,
        body(
          types.map((type) => record(type, NOON, 1)),
          { provider },
        ),
      )
      const named = batch.ignored_types as { type: string; likely: string | null; known_to: string[] }[]
      return named.map(({ type, likely, known_to }) => [type, likely, known_to.join(' ')])
    }
    const apple = 'HKQuantityTypeIdentifier'
    const found = [
      ...(await ask('apple', `${apple}HeartRat`, `${apple}hearrtate`, 'heartRate', 'StepCuont', `${apple}Moonphase`)),
      ...(await ask('apple', 'HEART_RATE', 'HYDRATION', 'HKCategoryTypeIdentifierSexualActivity')),
      ...(await ask(
        'health_connect',
        'heart_rate',
        'STEPCOUNT',
        'STEPS',
        `${apple}HeartRate`,
        'TOTAL_CALORIES_BURNED',
      )),
    ]
    t.strictSame(found, [
      [`${apple}HeartRat`, `${apple}HeartRate`, ''],
      [`${apple}Moonphase`, null, ''],
      [`${apple}hearrtate`, `${apple}HeartRate`, ''],
      ['StepCuont', `${apple}StepCount`, ''],
      ['heartRate', `${apple}HeartRate`, ''],
      ['HEART_RATE', `${apple}HeartRate`, 'samsung health_connect'],
      ['HKCategoryTypeIdentifierSexualActivity', null, ''],
      ['HYDRATION', null, 'samsung health_connect'],
      [`${apple}HeartRate`, 'HEART_RATE', 'apple'],
      ['STEPCOUNT', 'STEP_COUNT', ''],
      ['STEPS', null, ''],
      ['TOTAL_CALORIES_BURNED', null, ''],
      ['heart_rate', 'HEART_RATE', ''],
    ])
  })

  await t.test('lists fields that were not read', async (t) => {
    const user = await createUser(app)
    const extra = { record: [heartRate(NOON, 60)], Workout: [], rings: 7 }
    const content: Record<string, unknown> = {
      ...body([heartRate(NOON, 60)]),
      sdkversion: '1',
      records: [1, 2, 3],
      device: { os: 'x', v: 1 },
    }
    Object.assign(content.data as object, extra)
    t.strictSame((await importBody(app, user, content)).unknown_fields, [
      { field: 'records', items: 3, likely: 'data.records' },
      { field: 'device', items: 2, likely: null },
      { field: 'data.record', items: 1, likely: 'data.records' },
      { field: 'sdkversion', items: null, likely: 'sdkVersion' },
      { field: 'data.Workout', items: 0, likely: 'data.workouts' },
      { field: 'data.rings', items: null, likely: null },
    ])
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`${'x'.repeat(500)}${n}\u0000`, [1]]))
    const batch = await importBody(app, user, { ...body([heartRate(NOON, 61)]), ...many })
    const listed = batch.unknown_fields as { field: string }[]
    t.strictSame([listed.length, Math.max(...listed.map(({ field }) => field.length))], [20, 100])
    const types = Array.from({ length: 500 }, (_, n) => record(`${'y'.repeat(500)}${n}`, NOON, 1))
    const ignored = await importBody(app, user, body(types))
    t.equal((ignored.ignored_types as unknown[]).length, 20)
    t.match((ignored.ignored_types as unknown[])[0], { type: null, items: 400 })
  })

  await t.test('says skipped where nothing of it is of a kind that is stored', async (t) => {
    const user = await createUser(app)
    const unknown = record('HKQuantityTypeIdentifierX', NOON, 1)
    const cases: [content: unknown, status: string][] = [
      [body([]), 'success'],
      [{ provider: 'apple' }, 'success'],
      [{ provider: 'apple', device: 'x', data: { records: [], routes: [] } }, 'success'],
      [body([steps(NOON, 5)]), 'success'],
      [body([steps(NOON, 5)]), 'success'],
      [body([steps(NOON, 6), unknown]), 'success'],
      [body([], { data: { deleted: [{ id: 'nobody knows it' }] } }), 'success'],
      [body([unknown]), 'skipped'],
      [body([], { data: { sleep: [{ stage: 'dreaming' }] } }), 'skipped'],
      [{ provider: 'apple', records: [steps(NOON, 5)] }, 'skipped'],
      [{ provider: 'apple', data: { record: [steps(NOON, 5)] } }, 'skipped'],
      [body([unknown, steps(NOON, null)]), 'failed'],
      [body([unknown, steps(NOON, null), steps(NOON, 6)]), 'partial'],
    ]
    const found = []
    const runs = []
    for (const [content] of cases) {
      const { status, run_id } = await importBody(app, user, content)
      found.push(status)
      const run = await app.request('GET', `/api/v1/sync/history/${run_id}`)
      runs.push(run.body.status)
      const error = status === 'failed' ? 'Nothing was stored: dropped by validation.' : null
      t.equal(run.body.error, error, `what went wrong with one that is called ${status}`)
    }
    const wanted = cases.map(([, status]) => status)
    t.strictSame(found, wanted)
    t.strictSame(runs, wanted, 'and so does its run')
  })

  await t.test('lets a run say what went wrong only while nothing of it is stored', async (t) => {
    const user = await createUser(app)
    const session = { syncType: 'historical', syncSessionId: 'one export' }
    const said = []
    for (const value of [null, 6]) {
      const { run_id } = await importBody(app, user, body([steps(NOON, value)], session))
      const { status, error } = (await app.request('GET', `/api/v1/sync/history/${run_id}`)).body
      said.push([status, error])
    }
    t.strictSame(said, [
      ['failed', 'Nothing was stored: dropped by validation.'],
      ['partial', null],
    ])
  })
})
