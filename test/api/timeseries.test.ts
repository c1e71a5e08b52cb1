// The timeseries route: contract 1.3, 1.4, 1.8, 5.1. Random data is in timeseries-oracle.test.ts.
import { unpack } from 'msgpackr'
import t from 'tap'
import { seriesNames } from '../../server/catalogue/series.ts'
import { shortened } from '../../server/errors.ts'
import {
  body,
  createUser,
  heartRate,
  importBody,
  oneEngine,
  PHONE,
  record,
  type SdkRecord,
  sharedApp,
  steps,
  storedSamples,
  timeseries,
  WATCH,
} from '../support/sdk.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** Midnight UTC. */
const DAY = Date.UTC(2026, 1, 24)
const at = (text: string) => Date.parse(`2026-02-24T${text}Z`)

const day = { start_time: '2026-02-24', end_time: '2026-02-24' }
const JSON_TYPE = 'application/json; charset=utf-8'
const COLUMNS = 'application/vnd.pulsebase.columns+json'
const watch = {
  provider: 'apple',
  source: 'Watch of Ada',
  device: 'Watch7,5',
  device_type: 'watch',
  device_name: 'Apple Watch Ultra 2',
}

interface Item {
  timestamp: string
  zone_offset: string | null
  type: string
  value: number
  source: typeof watch
  is_daily_total: boolean | null
}

oneEngine(t, 'timeseries', async (t, engine) => {
  const app = await sharedApp(engine)
  const user = await createUser(app)
  const other = await createUser(app)
  const records = [
    heartRate(at('08:00:00'), 60, { zoneOffset: '+01:00' }),
    heartRate(at('08:00:20'), 90, { zoneOffset: '+01:00' }),
    heartRate(at('08:00:40'), 90, { zoneOffset: '-05:30' }),
    heartRate(at('08:01:00'), 71.25),
    heartRate(at('08:00:30'), 64, { source: PHONE }),
    steps(at('08:00:00'), 100),
    steps(at('08:00:30'), 20),
    steps(at('09:30:00'), 50, { source: PHONE }),
    record('HKQuantityTypeIdentifierActiveEnergyBurned', at('10:00:00'), 12.5, { unit: 'kcal' }),
    heartRate(DAY + DAY_MS - 1000, 55),
    heartRate(DAY + DAY_MS, 56),
  ]
  await importBody(app, user, body(records))
  await importBody(app, other, body([heartRate(at('08:00:00'), 199), steps(at('08:00:30'), 19_999)]))

  const get = (query: Parameters<typeof timeseries>[2], options = {}, of = user) =>
    timeseries(app, of, { ...day, ...query }, options)
  const values = async (query: Parameters<typeof timeseries>[2]) => {
    const { status, body } = await get(query)
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
    return body.data.map(({ value }: Item) => value)
  }
  const raw = (text: string) => app.request('GET', `/api/v1/users/${user}/timeseries?${text}`)

  await t.test('answers with the envelope of the contract', async (t) => {
    const { status, headers, body } = await get({ types: 'heart_rate', limit: 2 })
    t.equal(status, 200)
    t.equal(headers.get('content-type'), JSON_TYPE)
    t.strictSame(body.data, [
      {
        timestamp: '2026-02-24T08:00:00Z',
        zone_offset: '+01:00',
        type: 'heart_rate',
        value: 60,
        unit: 'bpm',
        source: watch,
        is_daily_total: null,
      },
      {
        timestamp: '2026-02-24T08:00:20Z',
        zone_offset: '+01:00',
        type: 'heart_rate',
        value: 90,
        unit: 'bpm',
        source: watch,
        is_daily_total: null,
      },
    ])
    t.match(body.pagination, { next_cursor: /^[\w-]+=*$/, previous_cursor: null, has_more: true, total_count: 6 })
    t.equal(body.pagination.next_cursor.length % 4, 0, 'padded')
    t.strictSame(body.metadata, {
      resolution: null,
      sample_count: 2,
      start_time: '2026-02-24T00:00:00Z',
      end_time: '2026-02-25T00:00:00Z',
    })
    const empty = await get({}, {}, await createUser(app))
    t.strictSame(empty.body.pagination, { next_cursor: null, previous_cursor: null, has_more: false, total_count: 0 })
    t.strictSame(empty.body.data, [])
  })

  await t.test('says of additive series whether a sample is a daily total', async (t) => {
    const { body } = await get({ types: ['steps', 'energy'], limit: 1 })
    t.match(body.data, [{ type: 'steps', value: 100, unit: 'count', zone_offset: '+01:00', is_daily_total: false }])
    const nobodyKnows = await get({ types: 'steps' }, {}, other)
    t.match(nobodyKnows.body.data, [{ value: 19_999, zone_offset: null, is_daily_total: false }])
  })

  await t.test('gives 50 samples unless asked for more', async (t) => {
    const many = await createUser(app)
    await importBody(app, many, body(Array.from({ length: 1001 }, (_, n) => heartRate(DAY + n * 1000, 60 + (n % 9)))))
    t.equal((await get({}, {}, many)).body.data.length, 50)
    t.equal((await get({ limit: 1000 }, {}, many)).body.data.length, 1000)
    for (const [limit, detail] of [
      [0, { type: 'greater_than_equal', msg: 'Input should be greater than or equal to 1', ctx: { ge: 1 } }],
      [1001, { type: 'less_than_equal', msg: 'Input should be less than or equal to 1000', ctx: { le: 1000 } }],
    ] as const) {
      const refused = await get({ limit }, {}, many)
      t.equal(refused.status, 422)
      t.match(refused.body.detail, [{ loc: ['query', 'limit'], ...detail }])
    }
    for (const accept of ['text/csv', COLUMNS, 'application/msgpack']) {
      const { status } = await get({ limit: 1001 }, { headers: { Accept: accept } }, many)
      t.equal(status, 200, accept)
      t.equal((await get({ limit: 200_001 }, { headers: { Accept: accept } }, many)).status, 422)
    }
    const csv = await get({ limit: 1001 }, { headers: { Accept: 'text/csv' } }, many)
    t.equal(csv.body.trim().split('\r\n').length, 1002)
  })

  await t.test('selects series by name, in every spelling of a list', async (t) => {
    const both = [60, 100, 90, 64, 20, 90, 71.25, 50, 55]
    t.strictSame(await values({ types: 'heart_rate,steps' }), both)
    t.strictSame(await values({ types: ['heart_rate', 'steps'] }), both)
    t.strictSame(await values({ types: ['steps', 'heart_rate', 'steps'] }), both)
    t.strictSame(await values({ 'types[]': ['heart_rate', 'steps'] }), both)
    t.strictSame(await values({ types: 'heart_rate', 'types[]': 'steps' }), both)
    t.strictSame(await values({}), [60, 100, 90, 64, 20, 90, 71.25, 50, 12.5, 55], 'none = all')
    t.strictSame(await values({ types: '' }), await values({}))
    t.strictSame(await values({ types: 'energy' }), [12.5])
    t.strictSame(await values({ types: 'active_energy' }), [12.5], 'accepted, not emitted')
    t.equal((await get({ types: 'active_energy' })).body.data[0].type, 'energy')
    t.strictSame(await values({ types: 'vo2_max' }), [])
  })

  await t.test('selects sources by provider, app, device and id', async (t) => {
    t.strictSame(await values({ provider: 'apple', types: 'steps' }), [100, 20, 50])
    t.strictSame(await values({ provider: 'garmin' }), [])
    t.strictSame(await values({ source: 'Phone of Ada' }), [64, 50])
    t.strictSame(await values({ source: 'phone of ada' }), [], 'exactly')
    t.strictSame(await values({ device_model: 'iPhone17,1' }), [64, 50])
    t.strictSame(await values({ device_model: 'iPhone17,1', types: 'steps' }), [50])
    const { items } = (await app.request('GET', `/api/v1/users/${user}/data-sources`)).body
    const phone = items.find((item: { device_model: string }) => item.device_model === 'iPhone17,1')
    t.strictSame(await values({ data_source_id: phone.id }), [64, 50])
    t.strictSame(await values({ data_source_id: phone.id.toUpperCase().replaceAll('-', '') }), [64, 50])
    t.strictSame(await values({ data_source_id: '00000000-0000-4000-8000-000000000000' }), [])
  })

  await t.test('never shows what is not of this user', async (t) => {
    t.notOk((await values({})).some((value: number) => value > 190))
    const theirs = (await app.request('GET', `/api/v1/users/${other}/data-sources`)).body.items[0]
    t.strictSame(await values({ data_source_id: theirs.id }), [])
    const { next_cursor: cursor } = (await get({ limit: 1 }, {}, other)).body.pagination
    const refused = await get({ limit: 1, cursor })
    t.equal(refused.status, 400)
    const unknown = '00000000-0000-4000-8000-000000000000'
    const nobody = await get({}, {}, unknown)
    t.equal(nobody.status, 404)
    t.strictSame(nobody.body, { detail: `User with ID: ${unknown} not found.` })
    const sdk = await get({}, { auth: { bearer: await app.sdkToken(user) } })
    t.equal(sdk.status, 401)
    t.equal((await get({}, { auth: 'none' })).status, 401)
    t.equal((await get({}, { auth: 'developer' })).status, 200)
  })

  await t.test('takes every form of date', async (t) => {
    const from = async (start: string, end: string) => {
      const { status, body } = await raw(`start_time=${start}&end_time=${end}&types=heart_rate`)
      return status === 200 ? body.data.map(({ value }: Item) => value) : body
    }
    const all = [60, 90, 64, 90, 71.25, 55]
    t.strictSame(await from('2026-02-24', '2026-02-24'), all, 'a date as end includes its day')
    t.strictSame(await from('2026-02-24', '2026-02-25T00:00:00Z'), all, 'an instant as end is exclusive')
    t.strictSame(await from('2026-02-24', '2026-02-25'), [...all, 56])
    t.strictSame(await from('2026-02-24T00:00:00', '2026-02-24T23:59:59'), all.slice(0, -1), 'without a zone: UTC')
    t.strictSame(await from('2026-02-24 08:00:20', '2026-02-24 08:00:40'), [90, 64])
    t.strictSame(await from(`${at('08:00:20') / 1000}`, `${at('08:00:40') / 1000}`), [90, 64], 'Unix seconds')
    t.strictSame(await from(`${at('08:00:20') / 1000}.001`, `${at('08:00:40') / 1000}`), [64])
    t.strictSame(await from('2026-02-24T09:00:20%2B01:00', '2026-02-24T03:00:40-05:00'), [90, 64])
    t.strictSame(await from('2026-02-24T09:00:20+01:00', '2026-02-24T09:00:40+01:00'), [90, 64], '+ is a space here')
    t.strictSame(await from('2026-02-24T08:00:20.000000Z', '2026-02-24T08:00:40.000Z'), [90, 64])
    t.strictSame(await from('-1', '1700000000'), [])
    t.strictSame(await from('0001-01-01', '9999-12-31'), [...all, 56])
    t.strictSame(await from('2026-02-25', '2026-02-23'), [], 'the end before the start: nothing')
    t.strictSame(await from('2026-02-24T08:00:00Z', '2026-02-24T08:00:00Z'), [])
    for (const bad of ['yesterday', '2026-02-30', '2026-W09-2', '24.02.2026', '', '2026-02-24T25:00:00Z', '1e400']) {
      const detail = `Invalid datetime format: '${bad}'. Expected ISO 8601 format or Unix timestamp.`
      for (const [start, end] of [
        [bad, '2026-02-24'],
        ['2026-02-24', bad],
      ]) {
        const answer = await raw(new URLSearchParams({ start_time: `${start}`, end_time: `${end}` }).toString())
        t.equal(answer.status, 400)
        t.strictSame(answer.body, { detail })
      }
    }
  })

  await t.test('refuses what it does not know, all failures together', async (t) => {
    const { status, body } = await raw(
      'types=steps&types=heartrate&resolution=2min&limit=5.7&provider=Apple&data_source_id=x&filter_by_priority=maybe&typ=steps',
    )
    t.equal(status, 422)
    const list = seriesNames.map((name) => `'${name}'`)
    const expected = `${list.slice(0, -1).join(', ')} or ${list.at(-1)}`
    const found = body.detail.map(({ loc, type }: { loc: unknown[]; type: string }) => [...loc, type].join(' '))
    t.strictSame(found.sort(), [
      'query data_source_id uuid_parsing',
      'query end_time missing',
      'query filter_by_priority bool_parsing',
      'query limit int_parsing',
      'query provider enum',
      'query resolution enum',
      'query start_time missing',
      'query typ extra_forbidden',
      'query types 1 enum',
    ])
    const of = (name: string) => body.detail.find(({ loc }: { loc: string[] }) => loc[1] === name)
    t.match(of('start_time'), { msg: 'Field required', input: null })
    t.match(of('types'), { msg: `Input should be ${expected}`, input: 'heartrate', ctx: { expected } })
    t.match(of('typ'), { msg: 'Extra inputs are not permitted', input: 'steps' })
    t.match(of('resolution'), { msg: "Input should be 'raw', '1min', '5min', '15min' or '1hour'", input: '2min' })
  })

  await t.test('aggregates in buckets that never mix devices', async (t) => {
    const { body } = await get({ types: 'heart_rate,steps', resolution: '1min' })
    t.strictSame(
      body.data.map(({ timestamp, zone_offset, type, value, source, is_daily_total }: Item) => [
        timestamp.slice(11, 19),
        zone_offset,
        type,
        value,
        source.device,
        is_daily_total,
      ]),
      [
        ['08:00:00', '-05:30', 'heart_rate', 80, 'Watch7,5', null],
        ['08:00:00', '+01:00', 'heart_rate', 64, 'iPhone17,1', null],
        ['08:00:00', '+01:00', 'steps', 120, 'Watch7,5', null],
        ['08:01:00', '-05:30', 'heart_rate', 71.25, 'Watch7,5', null],
        ['09:30:00', '-05:30', 'steps', 50, 'iPhone17,1', null],
        ['23:59:00', '-05:30', 'heart_rate', 55, 'Watch7,5', null],
      ],
      '60, 90, 90 → 80, with the zone of the last, which others take, too',
    )
    t.equal(body.pagination.total_count, 6)
    t.equal(body.metadata.resolution, '1min')
    t.strictSame(await values({ types: 'steps', resolution: '1hour', device_model: 'Watch7,5' }), [120])
    t.strictSame(await values({ types: 'steps', resolution: '15min', start_time: '2026-02-24T08:00:10Z' }), [20, 50])
    const cut = await get({ types: 'steps', resolution: '1hour', start_time: '2026-02-24T08:00:10Z' })
    t.match(cut.body.data[0], { timestamp: '2026-02-24T08:00:00Z', value: 20 }, 'of samples in the range only')
  })

  await t.test('keeps daily totals apart from samples, at the local midnight', async (t) => {
    const android = await createUser(app)
    const source = { deviceModel: 'SM-L315F', name: 'Galaxy Watch7', deviceType: 'watch' }
    const bmr = (ms: number, value: number, zoneOffset: string | null) =>
      record('BASAL_METABOLIC_RATE', ms, value, { unit: 'kcal/day', zoneOffset, source })
    await importBody(app, android, body([bmr(at('05:20:00'), 1600, '+02:00')], { provider: 'samsung' }))
    // A provider that sends both would have stored an intraday sample at the same instant.
    const midnight = '2026-02-23T22:00:00Z'
    await app.db.query(
      `insert into sample (ts, value, source_id, series_id)
       select $2, 70, id, 82 from data_source where user_id = $1`,
      [android, midnight],
    )
    await app.db.query(
      `select note_added(array[id], array[82::int2], array[$2::float8], array[$2::float8]) from data_source where user_id = $1`,
      [android, Date.parse(midnight) / 1000],
    )
    const batch = await importBody(
      app,
      android,
      body(
        [bmr(at('21:59:59'), 1640, '+02:00'), bmr(at('22:00:00'), 1650, '+02:00'), bmr(at('23:00:00'), 1700, null)],
        { provider: 'samsung' },
      ),
    )
    t.match(batch, { inserted: 1, updated: 1, duplicates: 1, received: 3 })
    const range = { start_time: '2026-02-23', end_time: '2026-02-25', types: 'basal_energy' }
    const { body: page } = await timeseries(app, android, range)
    t.strictSame(
      page.data.map(({ timestamp, value, is_daily_total }: Item) => [timestamp, value, is_daily_total]),
      [
        [midnight, 70, false],
        [midnight, 1640, true],
        ['2026-02-24T22:00:00Z', 1700, true],
      ],
      'one instant, two samples; of one local day the last total',
    )
    t.equal(page.pagination.total_count, 3)
    for (const resolution of ['1min', '1hour']) {
      const { body: buckets } = await timeseries(app, android, { ...range, resolution })
      t.match(buckets.data, [{ timestamp: midnight, value: 70, is_daily_total: null }])
      t.equal(buckets.data.length, 1, 'never in a bucket, and no bucket of their own')
      t.equal(buckets.pagination.total_count, 1)
    }
    t.strictSame(
      (await storedSamples(app.db, android)).map(({ daily }) => daily),
      [false, true, true],
    )
  })

  await t.test('with filter_by_priority shows the best source of each local day and series', async (t) => {
    const some = await createUser(app)
    const withZone = (records: SdkRecord[], zoneOffset: string) => records.map((one) => ({ ...one, zoneOffset }))
    const phone = { source: PHONE }
    await importBody(
      app,
      some,
      body([
        // 24 February: steps of both, heart rate of the phone only.
        ...withZone(
          [steps(at('08:00:00'), 1), steps(at('08:00:00'), 2, phone), heartRate(at('08:00:00'), 73, phone)],
          'Z',
        ),
        // 25 February in Tokyo starts at 15:00 UTC; the watch is not worn there.
        ...withZone([steps(at('15:30:00'), 4, phone)], '+09:00'),
        // Still the 24th in New York.
        ...withZone([steps(DAY + DAY_MS + 3 * HOUR_MS, 5), steps(DAY + DAY_MS + 4 * HOUR_MS, 6, phone)], '-05:00'),
      ]),
    )
    const range = { start_time: '2026-02-24', end_time: '2026-02-26', filter_by_priority: true }
    const shown = async (query: object) =>
      (await timeseries(app, some, { ...range, ...query })).body.data.map(({ value }: Item) => value)
    t.strictSame(await shown({}), [73, 1, 4, 5])
    t.strictSame(await shown({ resolution: '1hour' }), [73, 1, 4, 5])
    t.strictSame(await shown({ start_time: '2026-02-25', end_time: '2026-02-25' }), [5], 'the range is no day')
    t.strictSame(await shown({ device_model: 'iPhone17,1' }), [73, 2, 4, 6], 'the best of those asked for')
    t.strictSame(await shown({ filter_by_priority: false }), [73, 1, 2, 4, 5, 6])

    // The same date at both ends of the world is 50 hours long: the better source may lie far outside the range.
    const far = await createUser(app)
    await importBody(
      app,
      far,
      body([
        ...withZone([steps(Date.parse('2026-02-24T00:00:00+14:00'), 7, phone)], '+14:00'),
        ...withZone([steps(Date.parse('2026-02-24T23:59:00-12:00'), 8)], '-12:00'),
      ]),
    )
    const early = { start_time: '2026-02-23T10:00:00Z', end_time: '2026-02-23T10:00:01Z', filter_by_priority: true }
    t.strictSame((await timeseries(app, far, early)).body.data, [])
    t.equal((await timeseries(app, far, { ...early, filter_by_priority: false })).body.data.length, 1)

    // A quarter hour belongs to the day of its latest sample: the phone's belongs to the 25th, which the watch has.
    const moved = await createUser(app)
    await importBody(
      app,
      moved,
      body([
        ...withZone([steps(at('15:01:00'), 9, phone)], 'Z'),
        ...withZone([steps(at('15:14:00'), 10, phone), steps(at('15:20:00'), 11)], '+09:00'),
        ...withZone([steps(at('14:59:00'), 12, phone)], 'Z'),
      ]),
    )
    for (const resolution of ['raw', '1min', '15min', '1hour']) {
      const { data, pagination } = (await timeseries(app, moved, { ...range, resolution })).body
      t.strictSame([data.map(({ value }: Item) => value), pagination.total_count], [[12, 11], 2], resolution)
    }
  })

  await t.test('refuses a cursor that is not its own', async (t) => {
    const query = { types: 'heart_rate', limit: 1 }
    const { next_cursor: cursor } = (await get(query)).body.pagination
    const next = await get({ ...query, cursor })
    t.equal(next.status, 200)
    const { previous_cursor: back } = next.body.pagination
    t.match(back, /^prev_/)
    t.equal((await get({ ...query, cursor, limit: 3 })).status, 200, 'another page size is fine')
    const decoded = Buffer.from(cursor, 'base64url').toString()
    const encoded = (text: string) => Buffer.from(text).toString('base64url')
    const cases: [query: Parameters<typeof timeseries>[2], cursor: string][] = [
      [query, 'garbage'],
      [query, ''.padEnd(5000, 'A')],
      [query, "'; drop table sample; --"],
      [query, cursor.slice(0, -5)],
      [query, `prev_${cursor}`],
      [query, back.slice('prev_'.length)],
      [query, encoded(decoded.replace('2026', '2025'))],
      [query, encoded(decoded.replace('|1.', '|2.'))],
      [query, encoded(decoded.replace('|6|', '|7|'))],
      [{ limit: 1 }, cursor],
      [{ ...query, types: 'steps' }, cursor],
      [{ ...query, resolution: '1hour' }, cursor],
      [{ ...query, filter_by_priority: true }, cursor],
      [{ ...query, end_time: '2026-02-25' }, cursor],
    ]
    for (const [query, cursor] of cases) {
      const answer = await get({ ...query, cursor })
      t.equal(answer.status, 400)
      t.strictSame(answer.body, { detail: `Invalid cursor format: '${shortened(cursor)}'. Expected 'timestamp|id'.` })
    }
    t.equal((await get({ ...query, cursor }, {}, other)).status, 400, 'nor one of another user')
  })

  await t.test('gives the same rows as columns, msgpack and CSV', async (t) => {
    const odd = await createUser(app)
    const names = ['=HYPERLINK("http://x")', '+1', '-1', '@sum', 'a "b", c', 'two\nlines', 'ünïcödé ’', ' plain ']
    const many = names.map((name, n) => heartRate(DAY + n * 1000, n + 60.125, { source: { name, deviceModel: name } }))
    await importBody(
      app,
      odd,
      body([
        ...many,
        ...many.map((one) => ({ ...one, startDate: one.endDate, zoneOffset: '-05:30', source: WATCH })),
        steps(DAY + 500, 7, { startDate: '2026-02-24T00:00:00.5Z', source: null }),
        steps(DAY + 3500, -7),
      ]),
    )
    for (const query of [{ limit: 200 }, { limit: 5 }, { limit: 200, resolution: '1min' }]) {
      const { body: envelope } = await get(query, {}, odd)
      const expected = envelope.data

      const columns = await get(query, { headers: { Accept: COLUMNS } }, odd)
      t.equal(columns.headers.get('content-type'), COLUMNS)
      t.strictSame(fromColumns(columns.body), expected)
      t.strictSame(columns.body.pagination, envelope.pagination)
      t.strictSame(columns.body.metadata, envelope.metadata)

      const msgpack = await fetch(
        `${app.url}/api/v1/users/${odd}/timeseries?${new URLSearchParams({ ...day, ...query } as never)}`,
        { headers: { 'X-Service-API-Key': app.apiKey, Accept: 'application/msgpack' } },
      )
      t.equal(msgpack.headers.get('content-type'), 'application/msgpack')
      t.strictSame(unpack(Buffer.from(await msgpack.arrayBuffer())), columns.body)

      const csv = await get(query, { headers: { Accept: 'text/csv' } }, odd)
      t.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8')
      t.strictSame(fromCsv(csv.body), expected)
      t.equal(csv.headers.get('x-next-cursor'), envelope.pagination.next_cursor)
      t.equal(csv.headers.get('x-total-count'), String(envelope.pagination.total_count))
      t.notMatch(csv.body, /(^|,)"?[=+@][^\d]/m, 'no field is a formula')
      if (!envelope.pagination.next_cursor) continue
      const next = { ...query, cursor: envelope.pagination.next_cursor }
      const csvNext = await get(next, { headers: { Accept: 'text/csv' } }, odd)
      t.strictSame(fromCsv(csvNext.body), (await get(next, {}, odd)).body.data, 'cursors serve all forms')
      t.match(csvNext.headers.get('x-previous-cursor'), /^prev_/)
    }
    t.equal((await get({}, { headers: { Accept: 'text/html' } })).headers.get('content-type'), JSON_TYPE)
    const preferred = await get({}, { headers: { Accept: 'application/json;q=0.5, text/csv' } })
    t.equal(preferred.headers.get('content-type'), 'text/csv; charset=utf-8')
  })

  await t.test('answers 304 until data changes', async (t) => {
    const some = await createUser(app)
    const content = body([heartRate(at('08:00:00'), 60, { source: { name: 'Polar', deviceType: 'unknown' } })])
    await importBody(app, some, content)
    const ask = (etag: string, query: Parameters<typeof timeseries>[2] = {}, headers = {}) =>
      get(query, { headers: { 'If-None-Match': etag, ...headers } }, some)
    const first = await get({}, {}, some)
    const etag = first.headers.get('etag') ?? ''
    t.match(etag, /^W\/"[\w-]+"$/)
    t.equal(first.headers.get('vary'), 'Accept, Accept-Encoding')
    t.match(first.headers.get('cache-control'), 'private')
    const unchanged = await ask(etag)
    t.equal(unchanged.status, 304)
    t.equal(unchanged.body, '')
    t.equal(unchanged.headers.get('etag'), etag)
    t.equal((await ask(`"other", ${etag}`)).status, 304)
    t.equal((await ask('"other"')).status, 200)
    t.equal((await ask(etag, { limit: 3 })).status, 200, 'of another page')
    t.equal((await ask(etag, { resolution: '1min' })).status, 200)
    t.equal((await ask(etag, {}, { Accept: 'text/csv' })).status, 200, 'in another form')
    t.equal((await get({ start_time: 'x' }, { headers: { 'If-None-Match': etag } }, some)).status, 400)

    await importBody(app, some, content)
    t.equal((await ask(etag)).status, 304, 'an identical upload changes nothing')
    await importBody(app, other, content)
    t.equal((await ask(etag)).status, 304, 'nor does one of another user')

    const changes: [string, unknown][] = [
      ['a value', body([heartRate(at('08:00:00'), 61, { source: { name: 'Polar', deviceType: 'unknown' } })])],
      [
        'a zone',
        body([heartRate(at('08:00:00'), 61, { zoneOffset: 'Z', source: { name: 'Polar', deviceType: 'unknown' } })]),
      ],
      [
        'what the device is',
        body([
          heartRate(at('08:00:00'), 61, { zoneOffset: 'Z', source: { name: 'Polar', deviceType: 'chest_strap' } }),
        ]),
      ],
      ['one more', body([heartRate(at('08:00:01'), 61)])],
    ]
    let last = etag
    for (const [what, content] of changes) {
      await importBody(app, some, content)
      const changed = await ask(last)
      t.equal(changed.status, 200, what)
      last = changed.headers.get('etag') ?? ''
      t.equal((await ask(last)).status, 304)
    }
    const { body: page } = await get({}, {}, some)
    t.match(page.data, [
      { value: 61, zone_offset: '+00:00', source: { device_type: 'chest_strap' } },
      { timestamp: '2026-02-24T08:00:01Z' },
    ])
    t.equal(page.pagination.total_count, 2)
  })
})

interface Columns {
  columns: { timestamp_ms: number[]; value: number[]; zone_offset_min: (number | null)[]; series: number[] }
  series: {
    type: string
    unit: string
    is_daily_total: boolean | null
    implausible?: true
    data_source_id: string
    source: object
  }[]
}

const instant = (ms: number) =>
  new Date(ms)
    .toISOString()
    .replace('.000Z', 'Z')
    .replace(/(\.\d{3})Z/, '$1000Z')
const zone = (minutes: number) =>
  `${minutes < 0 ? '-' : '+'}${new Date(Math.abs(minutes) * MINUTE_MS).toISOString().slice(11, 16)}`

/** The items of the envelope, rebuilt from columns. */
function fromColumns({ columns, series }: Columns) {
  return columns.timestamp_ms.map((ms, row) => {
    const { type, unit, source, is_daily_total, implausible } = series[columns.series[row] ?? -1] ?? {}
    const minutes = columns.zone_offset_min[row] ?? null
    const value = columns.value[row]
    return {
      timestamp: instant(ms),
      zone_offset: minutes === null ? null : zone(minutes),
      type,
      value,
      unit,
      source,
      is_daily_total,
      ...(implausible && { implausible }),
    }
  })
}

/** The items of the envelope, read from CSV; removes the quote before a formula. */
function fromCsv(text: string) {
  const [head, ...lines] = parseCsv(text)
  const names =
    'timestamp,zone_offset,type,value,unit,is_daily_total,' +
    'provider,source,device,device_type,device_name,data_source_id,implausible'
  if (head?.join(',') !== names) throw new Error(`head of the CSV: ${head}`)
  const plain = (field = '') => (field === '' ? null : field.replace(/^'(?=[=+\-@\t\r])/, ''))
  return lines.map((fields) => {
    const [timestamp, zone = '', type, value, unit, daily = '', provider, source, device, kind, name] = fields
    return {
      timestamp,
      zone_offset: zone || null,
      type,
      value: Number(value),
      unit,
      source: {
        provider,
        source: plain(source),
        device: plain(device),
        device_type: kind,
        device_name: plain(name),
      },
      is_daily_total: daily === '' ? null : daily === 'true',
      ...(fields[12] === 'true' && { implausible: true }),
    }
  })
}

/** RFC 4180, character by character. */
function parseCsv(text: string): string[][] {
  const lines: string[][] = []
  let line: string[] = []
  let field = ''
  let quoted = false
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index]
    if (quoted && char === '"' && text[index + 1] === '"') {
      field += '"'
      index += 1
    } else if (char === '"') quoted = !quoted
    else if (!quoted && char === ',') {
      line.push(field)
      field = ''
    } else if (!quoted && char === '\r' && text[index + 1] === '\n') {
      lines.push([...line, field])
      line = []
      field = ''
      index += 1
    } else field += char
  }
  if (field !== '' || line.length > 0 || quoted) throw new Error('the CSV ends in the middle')
  return lines
}
