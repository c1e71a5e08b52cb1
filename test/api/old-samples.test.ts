// Samples from long ago: weights of 1985, and those of 1970 from a clock that was never set. They are stored, rolled
// up, summed by day, counted and deleted like recent ones.
import t from 'tap'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp } from '../support/app.ts'
import { body, createUser, eachEngine, importBody, record, startImports, steps, timeseries } from '../support/sdk.ts'

const DAY_MS = 86_400_000
const FIRST = Date.UTC(1970, 0, 2)
const WEIGHED = Date.UTC(1985, 6, 13, 7, 30)

eachEngine(t, 'samples from 1970-01-02 on are read everywhere', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const weights = Array.from({ length: 6 }, (_, n) =>
    record('HKQuantityTypeIdentifierBodyMass', WEIGHED + n * 1200 * DAY_MS, 70 + n / 2, { unit: 'kg', id: `w${n}` }),
  )
  const walked = [
    steps(FIRST, 100, { zoneOffset: '-12:00' }),
    steps(FIRST + 3_600_000, 50, { zoneOffset: '+14:00' }),
    steps(WEIGHED, 700, { zoneOffset: '+02:00' }),
  ]
  t.match(await importBody(app, user, body([...weights, ...walked])), { status: 'success', inserted: 9 })
  t.match(await importBody(app, user, body([...weights, ...walked])), { status: 'success', unchanged: 9 })

  const answers = async () => {
    const range = { start_time: '1970-01-01', end_time: '2010-01-01' }
    const raw = await timeseries(app, user, { ...range, limit: 1000 })
    const hours = await timeseries(app, user, { ...range, types: 'steps', resolution: '1hour' })
    const days = await app.request(
      'GET',
      `/api/v1/users/${user}/summaries/activity?start_date=1970-01-01&end_date=1985-12-31`,
    )
    const timeline = await app.request('GET', `/api/v1/users/${user}/summaries/data/timeline?group_by=series_type`)
    return {
      raw: raw.body.data.map((row: { timestamp: string; value: number }) => [row.timestamp, row.value]),
      hours: hours.body.data.map((row: { timestamp: string; value: number }) => [row.timestamp, row.value]),
      days: days.body.data.map((row: { date: string; steps: number }) => [row.date, row.steps]),
      timeline: timeline.body.series.map(({ key, buckets }: { key: string; buckets: unknown[] }) => [
        key,
        buckets.length,
      ]),
    }
  }
  const wanted = {
    raw: [...weights, ...walked]
      .map(({ startDate, value }) => [startDate, value] as [string, number])
      .sort(([a, value], [b, other]) => (a < b ? -1 : a > b ? 1 : value - other)),
    hours: [
      ['1970-01-02T00:00:00Z', 100],
      ['1970-01-02T01:00:00Z', 50],
      ['1985-07-13T07:00:00Z', 700],
    ],
    days: [
      ['1970-01-01', 100],
      ['1970-01-02', 50],
      ['1985-07-13', 700],
    ],
    timeline: [
      ['weight', 6],
      ['steps', 2],
    ],
  }
  t.strictSame(await answers(), wanted, 'from the samples')
  while (await refreshRollups(app.db)) t.comment('rollups are refreshed')
  t.equal((await app.db.query('select 1 from rollup_dirty')).length, 0)
  t.strictSame(await answers(), wanted, 'from the rollups')

  const deleted = weights.slice(0, 2).map(({ id, type }) => ({ id, type }))
  t.match(await importBody(app, user, body([], { data: { deleted } })), { status: 'success', deleted: 2 })
  t.strictSame((await answers()).raw.length, 7)
})
