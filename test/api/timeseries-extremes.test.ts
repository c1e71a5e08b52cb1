// The lowest and the highest sample of each bucket, and how many there are: as counted from the raw samples.

import { unpack } from 'msgpackr'
import t from 'tap'
import { archive } from '../../server/rollups/archive.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp } from '../support/app.ts'
import {
  body,
  createUser,
  eachEngine,
  heartRate,
  importBody,
  iso,
  PHONE,
  startImports,
  steps,
  timeseries,
} from '../support/sdk.ts'
import { COUNTS_STATEMENTS, ofOneProcess } from '../support/several.ts'
import { hearStatements } from '../support/statements.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const START_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS - 200 * DAY_MS
const WIDTHS = { '1min': MINUTE_MS, '5min': 5 * MINUTE_MS, '15min': 15 * MINUTE_MS, '1hour': HOUR_MS }
type Width = keyof typeof WIDTHS

interface Sample {
  timestamp: string
  type: string
  value: number
  source: { source: string }
  min?: number
  max?: number
  count?: number
}

eachEngine(t, 'buckets with their extremes', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const byHand = { metadata: { HKWasUserEntered: '1' } }
  const records = Array.from({ length: 400 }, (_, n) => [
    heartRate(START_MS + n * 97_000, 50 + ((n * 37) % 90)),
    steps(START_MS + n * 131_000, (n * 17) % 40, n % 5 === 0 ? byHand : {}),
    ...(n % 3 === 0 ? [heartRate(START_MS + n * 97_000 + 3_000, 60 + (n % 7), { source: PHONE })] : []),
    // It cannot be true: no bucket counts it.
    ...(n === 9 ? [heartRate(START_MS + n * 97_000 + 9_000, 5_000)] : []),
  ]).flat()
  await importBody(app, user, body(records))
  const range = { start_time: iso(START_MS + 7 * MINUTE_MS), end_time: iso(START_MS + 9 * HOUR_MS + 20_000) }
  const ask = async (query: object): Promise<Sample[]> => {
    const { status, body: answer } = await timeseries(app, user, { ...range, limit: 1000, ...query })
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(answer)}`)
    return answer.data
  }
  const raw = (await ask({ types: 'heart_rate,steps' })).concat(
    await (async () => {
      const { body: first } = await timeseries(app, user, { ...range, limit: 1000 })
      return first.pagination.next_cursor ? ask({ cursor: first.pagination.next_cursor }) : []
    })(),
  )
  const counted = (width: Width) => {
    const buckets = new Map<string, number[]>()
    for (const { timestamp, type, value, source } of raw.filter((one) => one.value !== 5_000)) {
      const at = Math.floor(Date.parse(timestamp) / WIDTHS[width]) * WIDTHS[width]
      const key = `${iso(at)} ${type} ${source.source}`
      buckets.set(key, [...(buckets.get(key) ?? []), value])
    }
    return new Map(
      [...buckets].map(([key, values]) => [key, [Math.min(...values), Math.max(...values), values.length]]),
    )
  }
  const shown = (samples: Sample[]) =>
    new Map(
      samples.map(({ timestamp, type, source, min, max, count }) => [
        `${timestamp} ${type} ${source.source}`,
        [min, max, count],
      ]),
    )
  const sorted = (map: Map<string, unknown>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1))
  const check = async (when: string) => {
    for (const width of Object.keys(WIDTHS) as Width[]) {
      const [plain, found] = [await ask({ resolution: width }), await ask({ resolution: width, include: 'extremes' })]
      t.strictSame(sorted(shown(found)), sorted(counted(width)), `${width} ${when}`)
      t.strictSame(
        found.map(({ min: _, max: __, count: ___, ...rest }) => rest),
        plain,
        'nothing else changes, and without it nothing is there',
      )
    }
  }
  await check('from samples')
  await refreshRollups(app.db)
  await check('from rollups')
  await importBody(app, user, body([heartRate(START_MS + HOUR_MS + 97_000 * 2, 140)]))
  raw.push(...(await ask({ types: 'heart_rate' })).filter(({ value }) => value === 140))
  await check('from both')

  await t.test('page by page, forth and back, and of the best source only', async (t) => {
    for (const query of [{}, { filter_by_priority: true }, { types: 'steps' }]) {
      const all = await ask({ ...query, resolution: '15min', include: 'extremes' })
      t.ok(all.every(({ min = 1, max = 0, count = 0 }) => min <= max && count > 0))
      const asked = { ...range, ...query, resolution: '15min', include: 'extremes', limit: 7 }
      const pages: Sample[] = []
      let answer = (await timeseries(app, user, asked)).body
      for (;;) {
        pages.push(...answer.data)
        if (answer.pagination.next_cursor === null) break
        answer = (await timeseries(app, user, { ...asked, cursor: answer.pagination.next_cursor })).body
      }
      t.strictSame(pages, all)
      const back = (await timeseries(app, user, { ...asked, cursor: answer.pagination.previous_cursor })).body.data
      const end = all.length - answer.data.length
      t.strictSame(back, all.slice(end - 7, end))
    }
    const filtered = await ask({ filter_by_priority: true, resolution: '1hour', include: 'extremes', types: 'steps' })
    t.strictSame(shown(filtered), shown(await ask({ resolution: '1hour', include: 'extremes', types: 'steps' })))
  })

  await t.test('in every format', async (t) => {
    const query = { ...range, resolution: '1hour', include: 'extremes', types: 'heart_rate' }
    const rows = await ask({ resolution: '1hour', include: 'extremes', types: 'heart_rate' })
    const accept = (type: string) => timeseries(app, user, query, { headers: { Accept: type } })
    const { columns } = (await accept('application/vnd.pulsebase.columns+json')).body
    const expected = {
      min: rows.map(({ min }) => min),
      max: rows.map(({ max }) => max),
      count: rows.map(({ count }) => count),
    }
    t.match(columns, expected)
    const parameters = new URLSearchParams(Object.entries(query))
    const packed = await fetch(`${app.url}/api/v1/users/${user}/timeseries?${parameters}`, {
      headers: { 'X-Service-API-Key': app.apiKey, Accept: 'application/msgpack' },
    })
    t.match(unpack(new Uint8Array(await packed.arrayBuffer())).columns, columns)
    const lines = (await accept('text/csv')).body.trimEnd().split('\r\n')
    t.match(lines[0], /,implausible,min,max,count$/)
    t.strictSame(
      lines.slice(1).map((line: string) => line.split(',').slice(-3).map(Number)),
      rows.map(({ min, max, count }) => [min, max, count]),
    )
    const without = await timeseries(app, user, { ...range, resolution: '1hour' }, { headers: { Accept: 'text/csv' } })
    t.match(without.body, /,implausible\r\n/)
  })

  await t.test(
    'costs nothing where nobody asks, and one statement where somebody does',
    ofOneProcess(COUNTS_STATEMENTS),
    async (t) => {
      const heard = hearStatements(app.db.pool)
      await ask({ resolution: '15min' })
      t.notOk(heard().some((text) => text.includes('extreme')))
      await ask({ resolution: '15min', include: 'extremes', provider: 'apple' })
      t.equal(heard().filter((text) => text.includes('bucket_extremes')).length, 1)
      for (const [query, status] of [
        [{ include: 'extremes' }, 400],
        [{ include: 'extremes', resolution: 'raw' }, 400],
        [{ include: 'median', resolution: '1hour' }, 422],
      ] as const)
        t.equal((await timeseries(app, user, { ...range, ...query })).status, status)
      t.strictSame((await timeseries(app, user, { ...range, include: 'extremes' })).body, {
        detail: 'include=extremes takes a resolution other than raw.',
      })
    },
  )

  const whole = (width: Width) =>
    ask({ start_time: iso(START_MS), end_time: iso(START_MS + DAY_MS), resolution: width, include: 'extremes' })

  await t.test('also of archived samples', async (t) => {
    const before = await Promise.all(
      (['15min', '1hour'] as const).map(async (width) => sorted(shown(await whole(width)))),
    )
    await app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body: { archive_after_days: 60 } })
    while (await archive(app.db, Date.now(), () => {}));
    for (const [at, width] of (['15min', '1hour'] as const).entries())
      t.strictSame(sorted(shown(await whole(width))), before[at], width)
    t.strictSame(await ask({ resolution: '1min', include: 'extremes' }), [])
  })
})
