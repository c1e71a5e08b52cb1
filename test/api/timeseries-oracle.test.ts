// Every answer of the timeseries route against straight-line code over the uploaded records: random sources,
// series, zone offsets, overlaps, daily totals, ranges, filters, resolutions and page sizes (contract 1.4, 5.1, D-14,
// 12.1). The seed is fixed; a failure prints the query that fails.
import fc from 'fast-check'
import t from 'tap'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { body, createUser, eachEngine, record, startImports, timeseries, upload, waitForAll } from '../support/sdk.ts'
import { runs, THOROUGH } from '../support/thorough.ts'
import { nearestZone } from '../support/zones.ts'

const SEED = 20_260_224
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const BASE = Date.UTC(2026, 1, 20)
const DAYS = 5

interface Source {
  provider: 'apple' | 'samsung' | 'health_connect'
  fields: Record<string, unknown> | null
  metadata: Record<string, unknown>
}

// Provider, the source object of the phone, and the source by sdk-payload 9.
const sources: readonly Source[] = [
  ['apple', 'Watch7,5', 'Watch of Ada', 'watch', 'Apple Watch Ultra 2'],
  ['apple', 'iPhone17,1', 'Phone of Ada', 'phone', 'iPhone 16 Pro'],
  ['apple', 'iPhone17,1', 'App, "quoted"', 'phone', 'iPhone 16 Pro'],
  ['samsung', 'SM-L315F', 'Galaxy Watch7', 'watch', 'Galaxy Watch7 44mm LTE'],
  ['health_connect', 'Body+', 'com.withings.wiscale2', 'scale', 'Body+'],
  ['health_connect', '', 'com.onepeloton.callisto', 'unknown', null],
].map(([provider, device, name, deviceType, deviceName]) => ({
  provider: provider as Source['provider'],
  fields: { deviceModel: device || null, name, deviceType },
  metadata: { provider, source: name, device: device || null, device_type: deviceType, device_name: deviceName },
}))

/** Contract 2.3 and 2.4, for the devices and providers above. */
const providerRank: Record<string, number> = { apple: 1, health_connect: 8, samsung: 10 }
const deviceRank: Record<string, number> = { watch: 1, phone: 4, scale: 5 }

/**
 * Wire types with their place in the order of series, unit, aggregation and plausible range: sdk-types 2 and 4, contract
 * 2.6, catalogue.
 */
const series = {
  heart_rate: {
    id: 1,
    unit: 'bpm',
    how: 'avg',
    range: [6, 300],
    apple: 'HKQuantityTypeIdentifierHeartRate',
    android: 'HEART_RATE',
  },
  six_minute_walk_test_distance: {
    id: 61,
    unit: 'meters',
    how: 'max',
    range: [0, 2_500],
    apple: 'HKQuantityTypeIdentifierSixMinuteWalkTestDistance',
    android: '',
  },
  steps: {
    id: 80,
    unit: 'count',
    how: 'sum',
    range: [0, 500_000],
    apple: 'HKQuantityTypeIdentifierStepCount',
    android: 'STEP_COUNT',
  },
  // A rate per day on Android: the total of its local day. An amount on iOS.
  basal_energy: {
    id: 82,
    unit: 'kcal',
    how: 'sum',
    range: [0, 12_000],
    apple: 'HKQuantityTypeIdentifierBasalEnergyBurned',
    android: 'BASAL_METABOLIC_RATE',
  },
} as const
type SeriesType = keyof typeof series
const types = Object.keys(series) as SeriesType[]

interface Sent {
  source: number
  type: SeriesType
  ms: number
  zone: number | null
  value: number
}

const zoneText = (zone: number) =>
  `${zone < 0 ? '-' : '+'}${String(Math.floor(Math.abs(zone) / 60)).padStart(2, '0')}:${String(Math.abs(zone) % 60).padStart(2, '0')}`

const sent: fc.Arbitrary<Sent> = fc
  .noBias(
    fc.record({
      source: fc.nat(sources.length - 1),
      type: fc.constantFrom(...types),
      // Many on the edges of minutes, hours and days, some with milliseconds.
      ms: fc
        .tuple(
          fc.nat(DAYS * 24 * 4 - 1),
          fc.constantFrom(0, 0, 1, 14),
          fc.constantFrom(0, 0, 1000, 59_000, 59_999, 30_123),
        )
        .map(([quarter, minute, rest]) => BASE + (quarter * 15 + minute) * MINUTE_MS + rest),
      zone: fc.constantFrom(null, 0, 60, 60, -330, 840, -720, 1080, -1080),
      // Heart rates above 300 and negative values of the others are implausible.
      value: fc.oneof(
        { weight: 9, arbitrary: fc.integer({ min: 80, max: 3200 }).map((value) => value / 4) },
        { weight: 1, arbitrary: fc.constantFrom(-5, -0.25, 6, 300, 300.25, 0, 600_000) },
      ),
    }),
  )
  .filter(({ source, type }) => sources[source]?.provider === 'apple' || series[type].android !== '')

interface Row {
  source: number
  type: SeriesType
  ms: number
  zone: number | null
  value: number
  daily: boolean
  implausible: boolean
}

/** The stored samples after all uploads: for each instant of a series of a source, the last one. */
function stored(uploads: Sent[][]): Row[] {
  const rows = new Map<string, Row>()
  for (const upload of uploads.flatMap(byProvider)) {
    const marks = upload.filter((one): one is Sent & { zone: number } => one.zone !== null)
    const before = new Map(rows)
    for (const one of upload) {
      const { source, type } = one
      // There are so many records that one of the same upload is always within a day; the nearest one counts.
      const zone = one.zone ?? (nearestZone(marks, one.ms)?.zone as number)
      const daily = type === 'basal_energy' && sources[source]?.provider !== 'apple'
      const shift = zone * MINUTE_MS
      const ms = daily ? Math.floor((one.ms + shift) / DAY_MS) * DAY_MS - shift : one.ms
      const [lowest, highest] = series[type].range
      const implausible = one.value < lowest || one.value > highest
      const known = before.get(`${source} ${type} ${ms}`)
      const keepsZone = one.zone === null && !daily && known?.implausible === implausible
      rows.set(`${source} ${type} ${ms}`, { ...one, ms, zone: keepsZone ? known.zone : zone, daily, implausible })
    }
  }
  return [...rows.values()]
}

/** One upload for each provider, in this order. */
const byProvider = (records: Sent[]): Sent[][] =>
  Object.keys(providerRank).map((provider) => records.filter(({ source }) => sources[source]?.provider === provider))

interface Query {
  startMs: number
  endMs: number
  types: SeriesType[]
  resolution: string
  provider?: string | undefined
  source?: number | undefined
  deviceModel?: string | undefined
  sourceName?: string | undefined
  priority: boolean
}

const WIDTHS: Record<string, number> = {
  '1min': MINUTE_MS,
  '5min': 5 * MINUTE_MS,
  '15min': 15 * MINUTE_MS,
  '1hour': 60 * MINUTE_MS,
}

/** Occasionally one of these. */
const seldom = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

const query: fc.Arbitrary<Query> = fc.noBias(
  fc.record({
    startMs: fc.integer({ min: -DAY_MS, max: DAYS * DAY_MS }).map((ms) => BASE + ms),
    endMs: fc.integer({ min: 0, max: (DAYS + 1) * DAY_MS }).map((ms) => BASE + ms),
    types: fc.oneof(fc.constant<SeriesType[]>([]), fc.subarray(types)),
    resolution: fc.constantFrom('raw', 'raw', 'raw', ...Object.keys(WIDTHS)),
    provider: seldom(fc.constantFrom('apple', 'samsung', 'health_connect', 'garmin')),
    source: seldom(fc.nat(sources.length - 1)),
    deviceModel: seldom(fc.constantFrom('Watch7,5', 'iPhone17,1', 'none')),
    sourceName: seldom(fc.constantFrom('Phone of Ada', 'App, "quoted"', 'none')),
    priority: fc.boolean(),
  }),
)

/** The local day of each row: a quarter hour of a series of a source belongs to the day of its latest sample. */
function localDays(rows: Row[]): Map<Row, number> {
  const quarter = (row: Row) => Math.floor(row.ms / (15 * MINUTE_MS)) * 15 * MINUTE_MS
  const key = (row: Row) => `${row.source} ${row.type} ${row.daily} ${row.implausible} ${quarter(row)}`
  const latest = new Map<string, Row>()
  for (const row of rows) if (row.ms >= (latest.get(key(row))?.ms ?? row.ms)) latest.set(key(row), row)
  return new Map(
    rows.map((row) => {
      const zone = latest.get(key(row))?.zone ?? 0
      return [row, Math.floor((quarter(row) + zone * MINUTE_MS) / DAY_MS)]
    }),
  )
}

/** The rows a query must give, in order; `keys` are the sources' places in the order of keys. */
function answer(rows: Row[], asked: Query, keys: readonly number[]): (Row & { isDaily: boolean | null })[] {
  const width = WIDTHS[asked.resolution]
  const wanted = rows.filter((row) => {
    const { provider, device, source } = sources[row.source]?.metadata ?? {}
    if (width && row.daily) return false
    if ((width || asked.priority) && row.implausible) return false
    if (asked.types.length > 0 && !asked.types.includes(row.type)) return false
    if (asked.provider !== undefined && provider !== asked.provider) return false
    if (asked.source !== undefined && row.source !== asked.source) return false
    if (asked.deviceModel !== undefined && device !== asked.deviceModel) return false
    return asked.sourceName === undefined || source === asked.sourceName
  })
  const days = localDays(rows)
  const typeAndDay = (row: Row) => `${row.type} ${days.get(row)}`
  const best = new Map<string, number>()
  for (const row of asked.priority ? wanted : []) {
    const sofar = best.get(typeAndDay(row))
    if (sofar === undefined || compareSources(row.source, sofar, keys) < 0) best.set(typeAndDay(row), row.source)
  }
  const inRange = wanted.filter(
    (row) =>
      row.ms >= asked.startMs && row.ms < asked.endMs && (!asked.priority || best.get(typeAndDay(row)) === row.source),
  )
  const found = width ? buckets(inRange, width) : inRange
  const key = (row: Row) => keys[row.source] ?? 0
  const seriesKey = (row: Row) => series[row.type].id + (row.daily ? 10_000 : 0) + (row.implausible ? 20_000 : 0)
  return found
    .sort((a, b) => a.ms - b.ms || seriesKey(a) - seriesKey(b) || key(a) - key(b))
    .map((row) => ({ ...row, isDaily: width || series[row.type].how !== 'sum' ? null : row.daily }))
}

function compareSources(a: number, b: number, keys: readonly number[]): number {
  const rank = (source: number) => {
    const { provider, device, device_type } = sources[source]?.metadata ?? {}
    return {
      provider: providerRank[String(provider)] ?? 99,
      device: deviceRank[String(device_type)] ?? 99,
      text: [String(device ?? ''), String(sources[source]?.metadata.source ?? '')] as const,
    }
  }
  const [left, right] = [rank(a), rank(b)]
  const byText = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)
  return (
    left.provider - right.provider ||
    left.device - right.device ||
    byText(left.text[0], right.text[0]) ||
    byText(left.text[1], right.text[1]) ||
    (keys[a] ?? 0) - (keys[b] ?? 0)
  )
}

function buckets(rows: Row[], width: number): Row[] {
  const members = new Map<string, Row[]>()
  for (const row of rows) {
    const key = `${Math.floor(row.ms / width)} ${row.type} ${row.source}`
    members.set(key, [...(members.get(key) ?? []), row])
  }
  return [...members.values()].map((bucket) => {
    bucket.sort((a, b) => a.ms - b.ms)
    const last = bucket.at(-1) as Row
    const values = bucket.map(({ value }) => value)
    const total = values.reduce((sum, value) => sum + value, 0)
    const { how } = series[last.type]
    const value = how === 'sum' ? total : how === 'max' ? Math.max(...values) : total / values.length
    return { ...last, ms: Math.floor(last.ms / width) * width, value }
  })
}

const instant = (ms: number) => {
  const text = new Date(ms).toISOString()
  return ms % 1000 === 0 ? text.replace('.000', '') : text.replace('Z', '000Z')
}

const sample = (row: Row & { isDaily: boolean | null }) => ({
  timestamp: instant(row.ms),
  zone_offset: row.zone === null ? null : zoneText(row.zone),
  type: row.type,
  value: row.value,
  unit: series[row.type].unit,
  source: sources[row.source]?.metadata,
  is_daily_total: row.isDaily,
  ...(row.implausible && { implausible: true }),
})

interface Data {
  app: TestApp
  user: string
  rows: Row[]
  /** Keys and ids of those of `sources` that are stored. */
  keys: number[]
  ids: string[]
}

/** The rollups do not include the changes of the last upload. */
async function uploaded(app: TestApp, uploads: Sent[][]): Promise<Data> {
  const user = await createUser(app)
  for (const [index, one] of uploads.entries()) {
    if (index === uploads.length - 1) {
      await waitForAll(app, user)
      await refreshRollups(app.db)
    }
    for (const own of byProvider(one)) {
      const provider = sources[own[0]?.source as number]?.provider
      const records = own.map(({ source, type, ms, zone, value }) =>
        record(provider === 'apple' ? series[type].apple : series[type].android, ms, value, {
          startDate: new Date(ms).toISOString(),
          endDate: new Date(ms).toISOString(),
          zoneOffset: zone === null ? null : zoneText(zone),
          source: sources[source]?.fields,
        }),
      )
      await upload(app, user, body(records, { provider }))
    }
  }
  await waitForAll(app, user)
  const known = await app.db.query<{ id: number; uid: string; device_model: string; source: string }>(
    'select id, uid, device_model, source from data_source where user_id = $1',
    [user],
  )
  const found = sources.map(({ metadata }) =>
    known.find((row) => row.device_model === (metadata.device ?? '') && row.source === metadata.source),
  )
  return {
    app,
    user,
    rows: stored(uploads),
    keys: found.map((row) => row?.id ?? 0),
    ids: found.map((row) => row?.uid ?? '00000000-0000-4000-8000-000000000000'),
  }
}

const parameters = (asked: Query, { ids }: Data) => ({
  start_time: new Date(asked.startMs).toISOString(),
  end_time: new Date(asked.endMs).toISOString(),
  types: asked.types,
  resolution: asked.resolution,
  provider: asked.provider,
  data_source_id: asked.source === undefined ? undefined : ids[asked.source],
  device_model: asked.deviceModel,
  source: asked.sourceName,
  filter_by_priority: asked.priority,
})

/** Pages to the end and back; throws if an answer differs from the oracle's. */
async function check(data: Data, asked: Query, limit: number): Promise<number> {
  const expected = answer(data.rows, asked, data.keys).map(sample)
  const read = async (cursor?: string) => {
    const answer = await timeseries(data.app, data.user, { ...parameters(asked, data), limit, cursor })
    if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const pages = [await read()]
  const fail = (what: string): never => {
    throw new Error(`${what}, with ${JSON.stringify({ asked, limit })}\n${JSON.stringify(pages.at(-1)).slice(0, 2000)}`)
  }
  const same = (page: { data: unknown[] }, from: number) => {
    const wanted = expected.slice(from, from + limit)
    if (JSON.stringify(page.data) !== JSON.stringify(wanted)) fail(`rows ${from}… are not ${JSON.stringify(wanted)}`)
  }
  for (let from = 0; ; from += limit) {
    const page = pages.at(-1)
    const { next_cursor: next, previous_cursor: previous, has_more: more, total_count: total } = page.pagination
    same(page, from)
    if (total !== expected.length) fail(`total_count is not ${expected.length}`)
    if (more !== from + limit < expected.length || more !== (next !== null)) fail('has_more or next_cursor is wrong')
    if ((previous !== null) !== from > 0) fail('previous_cursor is wrong')
    if (page.metadata.sample_count !== page.data.length) fail('sample_count is wrong')
    if (page.metadata.resolution !== (asked.resolution === 'raw' ? null : asked.resolution)) fail('resolution is wrong')
    if (next === null) break
    pages.push(await read(next))
  }
  // Back: from the last page, every page before it, the first one perhaps shorter.
  let before = (pages.length - 1) * limit
  let cursor = pages.at(-1).pagination.previous_cursor
  while (cursor !== null) {
    const page = await read(cursor)
    pages.push(page)
    const from = Math.max(0, before - limit)
    const wanted = expected.slice(from, before)
    if (JSON.stringify(page.data) !== JSON.stringify(wanted)) fail(`backward rows are not ${from}…${before}`)
    if (page.pagination.total_count !== expected.length) fail('backward total_count is wrong')
    if (page.pagination.next_cursor === null) fail('rows follow, but there is no next_cursor')
    before = from
    cursor = page.pagination.previous_cursor
    if ((cursor !== null) !== before > 0) fail('backward previous_cursor is wrong')
    if (cursor === null) {
      const forward = await read(page.pagination.next_cursor)
      if (JSON.stringify(forward.data) !== JSON.stringify(expected.slice(wanted.length, wanted.length + limit)))
        fail('turning round does not lead on')
    }
  }
  return expected.length
}

eachEngine(t, 'answers are those of the oracle', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const uploads = fc.array(fc.array(sent, { minLength: 300, maxLength: 300 }), { minLength: 3, maxLength: 3 })
  const [first, second] = fc.sample(uploads, { numRuns: 2, seed: SEED }) as [Sent[][], Sent[][]]
  const data = await uploaded(app, first)
  // Another user with the same devices at the same times must not appear anywhere.
  const other = await uploaded(app, second)

  await t.test('for random queries and page sizes', async (t) => {
    let rows = 0
    await fc.assert(
      fc.asyncProperty(
        query,
        fc.noBias(fc.integer({ min: 20, max: 200 })),
        fc.boolean(),
        async (asked, limit, theirs) => {
          rows += await check(theirs ? other : data, asked, limit)
        },
      ),
      { seed: SEED, numRuns: runs(15, 45) },
    )
    t.ok(rows > runs(100, 500), `${rows} rows compared`)
  })

  t.ok((await app.db.query('select 1 from rollup_dirty')).length > 0, 'with outdated rollups')
  await refreshRollups(app.db)
  t.equal((await app.db.query('select 1 from rollup_dirty')).length, 0, 'from here on they are up to date')

  await t.test('in every page size', async (t) => {
    const all = { startMs: BASE - 2 * DAY_MS, endMs: BASE + 7 * DAY_MS, types: [], resolution: 'raw', priority: false }
    for (const resolution of ['raw', '15min', '1hour']) {
      for (const priority of [false, true]) {
        const asked = {
          ...all,
          startMs: BASE + DAY_MS,
          endMs: BASE + DAY_MS * (priority ? 1.2 : 1.13),
          resolution,
          priority,
        }
        const count = answer(data.rows, asked, data.keys).length
        t.ok(count > 3, `${count} rows`)
        const limits = Array.from({ length: count + 1 }, (_, n) => n + 1)
        const few = [priority ? 3 : 2, 7, count - 1, count, count + 1]
        for (const limit of limits.filter((one) => THOROUGH || few.includes(one))) await check(data, asked, limit)
      }
    }
    t.equal(await check(data, all, 1000), data.rows.length)
    t.equal(await check(other, all, 50), other.rows.length)
  })
})
