// How much data a user has: contract 4.5, 4.6, 12.7. Every count is compared with the stored samples.
import t from 'tap'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import {
  body,
  createUser,
  heartRate,
  importBody,
  oneEngine,
  PHONE,
  record,
  type StoredSample,
  startImports,
  steps,
  storedSamples,
} from '../support/sdk.ts'

const DAY_MS = 86_400_000
/** A Tuesday. */
const NOON = Date.UTC(2026, 1, 24, 12)

const isoDay = (ms: number) => new Date(ms).toISOString().slice(0, 10)
const monday = (ms: number) => ms - ((new Date(ms).getUTCDay() + 6) % 7) * DAY_MS

type Series = { key: string; metric: string; buckets: [string, number][] }[]

/** Counts computed from the samples. */
function expectedSeries(
  samples: StoredSample[],
  keyOf: (sample: StoredSample) => string,
  bucketOf: (ms: number) => number = (ms) => ms,
): Series {
  const counts = new Map<string, Map<string, number>>()
  for (const sample of samples) {
    const key = keyOf(sample)
    const buckets = counts.get(key) ?? new Map<string, number>()
    counts.set(key, buckets)
    const bucket = isoDay(bucketOf(Date.parse(sample.ts)))
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1)
  }
  const total = (series: Series[number]) => series.buckets.reduce((sum, [, n]) => sum + n, 0)
  return [...counts]
    .map(([key, buckets]) => ({ key, metric: 'data_points', buckets: [...buckets].sort() }))
    .sort((a, b) => total(b) - total(a) || (a.key < b.key ? -1 : 1))
}

/** Three providers, samples on the edges of days, a year apart, and daily totals. */
async function filled(app: TestApp): Promise<string> {
  const user = await createUser(app)
  const beats = Array.from({ length: 400 }, (_, n) => heartRate(NOON - 30 * DAY_MS + n * 3 * 3_600_000, 60))
  const edges = [0, -1000, DAY_MS - 1000].map((ms) => heartRate(Date.UTC(2026, 1, 1) + ms, 70, { source: PHONE }))
  await importBody(app, user, body([...beats, ...edges, steps(NOON - 400 * DAY_MS, 9), steps(NOON, 5)]))
  const bmr = record('BASAL_METABOLIC_RATE', NOON, 1600, { unit: 'kcal/day', zoneOffset: '+02:00' })
  await importBody(app, user, body([bmr, record('HEART_RATE', NOON, 61)], { provider: 'samsung' }))
  await importBody(app, user, body([record('STEP_COUNT', NOON, 61)], { provider: 'health_connect' }))
  return user
}

oneEngine(t, 'summaries of data', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await filled(app)
  const get = (path: string, options = {}) => app.request('GET', `/api/v1/users/${user}/summaries/data${path}`, options)
  const timeline = async (query = '') => (await get(`/timeline${query}`)).body
  const dirty = () => app.db.query('select 1 from rollup_dirty')

  for (const state of ['before the rollups have caught up', 'when they have', 'with more data on top']) {
    await t.test(state, async (t) => {
      if (state === 'when they have') await refreshRollups(app.db)
      if (state === 'with more data on top') {
        await importBody(app, user, body([heartRate(NOON - 400 * DAY_MS, 60), heartRate(NOON - 29 * DAY_MS - 1, 61)]))
      }
      t.equal((await dirty()).length > 0, state !== 'when they have')
      const samples = await storedSamples(app.db, user)
      const within = (startMs: number, endMs: number) =>
        samples.filter(({ ts }) => Date.parse(ts) >= startMs && Date.parse(ts) < endMs)

      t.strictSame(await timeline(), {
        bucket: 'day',
        group_by: 'provider',
        series: expectedSeries(samples, ({ provider }) => provider),
      })
      t.strictSame(
        (await timeline('?group_by=series_type&bucket=week')).series,
        expectedSeries(samples, ({ type }) => type, monday),
      )
      const start = Date.UTC(2026, 1, 1)
      t.strictSame(
        (await timeline('?start_date=2026-02-01&end_date=2026-02-03')).series,
        expectedSeries(within(start, start + 2 * DAY_MS), ({ provider }) => provider),
        'a date is its midnight, at both ends',
      )
      const [cutStart, cutEnd] = [start + 5_400_000, start + 9 * DAY_MS + 12_345_000]
      t.strictSame(
        (await timeline(`?start_date=${cutStart / 1000}&end_date=${cutEnd / 1000}&provider=apple`)).series,
        expectedSeries(
          within(cutStart, cutEnd).filter(({ provider }) => provider === 'apple'),
          ({ provider }) => provider,
        ),
        'part of a day counts what is in it',
      )

      const { body: summary } = await get('')
      const counts = (of: StoredSample[]) => {
        const byType: Record<string, number> = {}
        for (const { type } of of) byType[type] = (byType[type] ?? 0) + 1
        return byType
      }
      t.equal(summary.total_data_points, samples.length)
      t.same(summary.series_type_counts, counts(samples))
      t.strictSame(
        summary.by_provider.map((one: { provider: string }) => one.provider),
        ['apple', 'samsung', 'health_connect'],
      )
      t.same(summary.by_provider[0].series_counts, counts(samples.filter(({ provider }) => provider === 'apple')))
      const february = await get('?start_date=2026-02-01&end_date=2026-02-01')
      t.equal(february.body.total_data_points, within(start, start + DAY_MS).length, 'the end day is included')
    })
  }

  await t.test('of nothing are empty', async (t) => {
    t.strictSame(await timeline('?group_by=workout_type'), { bucket: 'day', group_by: 'workout_type', series: [] })
    t.strictSame((await timeline('?provider=garmin')).series, [])
    t.strictSame((await timeline('?start_date=2026-03-01&end_date=2026-02-01')).series, [], 'an end before the start')
    const nobody = await createUser(app)
    t.match((await app.request('GET', `/api/v1/users/${nobody}/summaries/data`)).body, {
      user_id: nobody,
      total_data_points: 0,
      series_type_counts: {},
      by_provider: [],
      has_womens_health_data: false,
    })
  })

  await t.test('refuse what they do not know', async (t) => {
    const unknown = '00000000-0000-4000-8000-000000000000'
    for (const path of ['', '/timeline']) {
      const { status, body } = await app.request('GET', `/api/v1/users/${unknown}/summaries/data${path}`)
      t.strictSame([status, body], [404, { detail: `User with ID: ${unknown} not found.` }])
      t.equal((await get(`${path}?start_date=someday`)).status, 400)
      t.equal((await get(`${path}?window=1`)).status, 422)
      t.equal((await get(path, { auth: 'none' })).status, 401)
    }
    t.match((await get('/timeline?bucket=month')).body, {
      detail: [{ type: 'enum', loc: ['query', 'bucket'], msg: "Input should be 'day' or 'week'" }],
    })
    t.equal((await get('/timeline?provider=Apple')).status, 422)
  })
})
