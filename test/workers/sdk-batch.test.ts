// From the parsed body of an upload to columns: sdk-payload 4, 5.3, 9; sdk-types 1, 6, 9.
import fc from 'fast-check'
import t from 'tap'
import { type Batch, NO_ZONE } from '../../server/batch/columns.ts'
import { SampleStreams } from '../../server/batch/sample-streams.ts'
import { DAILY_TOTAL_OFFSET, seriesById, seriesByName } from '../../server/catalogue/series.ts'
import type { SdkProvider } from '../../server/providers/index.ts'
import { readSdkBatch } from '../../workers/sdk-batch.ts'
import { body, heartRate, iso, PHONE, record, type SdkRecord, steps } from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const DAY_MS = 86_400_000

const read = (records: unknown[], provider: SdkProvider = 'apple', nowMs = NOON + DAY_MS) =>
  readSdkBatch({ body: body(records), decode: (text) => text, sources: [], firstSource: 0 }, provider, nowMs)

/** Samples as text: series, time, value, zone, source. */
function described({ samples, sources }: Batch): string[] {
  return samples.flatMap(({ source, seriesId, timeMs, value, zoneMin }) =>
    Array.from(timeMs, (ms, index) => {
      const { type } = seriesById.get(seriesId % DAILY_TOTAL_OFFSET) ?? {}
      const zone = zoneMin[index] === NO_ZONE ? '-' : zoneMin[index]
      const daily = seriesId > DAILY_TOTAL_OFFSET ? ' day' : ''
      return `${type}${daily} ${new Date(ms).toISOString()} ${value[index]} ${zone} ${sources[source]?.source}`
    }),
  )
}

t.test('an instant is read from any ISO 8601 spelling with time of day', async (t) => {
  const times: [text: string, utc: string, zone?: number][] = [
    ['2026-02-24T12:00:00Z', '2026-02-24T12:00:00.000Z'],
    ['2026-02-24T12:00:00.5Z', '2026-02-24T12:00:00.500Z'],
    ['2026-02-24T12:00:00.123456789Z', '2026-02-24T12:00:00.123Z'],
    ['2026-02-24T12:00Z', '2026-02-24T12:00:00.000Z'],
    ['2026-02-24 12:00:00', '2026-02-24T12:00:00.000Z'],
    ['2026-02-24T12:00:00', '2026-02-24T12:00:00.000Z'],
    ['2026-02-24T13:00:00+01:00', '2026-02-24T12:00:00.000Z', 60],
    ['2026-02-24T06:30:00-0530', '2026-02-24T12:00:00.000Z', -330],
    ['2024-02-29T23:59:59Z', '2024-02-29T23:59:59.000Z'],
    ['1970-01-02T00:00:00Z', '1970-01-02T00:00:00.000Z'],
    ['1985-07-13T12:00:00Z', '1985-07-13T12:00:00.000Z'],
  ]
  for (const [text, utc, zone] of times) {
    const batch = read([heartRate(0, 60, { startDate: text, endDate: text })])
    t.strictSame(described(batch), [`heart_rate ${utc} 60 ${zone ?? '-'} Watch of Ada`], text)
  }
  // The form that every SDK writes is read digit by digit: that must accept neither more nor less.
  const digits = fc.noBias(fc.integer({ min: 0, max: 99 })).map((number) => String(number).padStart(2, '0'))
  const parts = fc.tuple(fc.constantFrom('1970', '1999', '2024', '2025'), digits, digits, digits, digits, digits)
  const nearly = fc.tuple(parts, fc.nat(19), fc.constantFrom('', 'x', ' ', '-', 'Z', '9', '/', ':'))
  const property = fc.property(nearly, ([[year, month, day, hour, minute, second], place, other]) => {
    const whole = `${year}-${month}-${day}T${hour}:${minute}:${second}Z`
    for (const text of [whole, whole.slice(0, place) + other + whole.slice(place + 1)]) {
      const { samples, rejected } = read([heartRate(0, 60, { startDate: text, endDate: text })])
      const ms = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?Z?$/.test(text)
        ? Date.parse(`${text.slice(0, 19).replace('Z', '').replace(' ', 'T')}Z`)
        : Number.NaN
      const valid =
        ms >= Date.UTC(1970, 0, 2) &&
        ms < Date.UTC(2027, 0, 1) &&
        new Date(ms).toISOString().startsWith(text.slice(0, 10))
      if (valid !== (samples.length === 1) || (valid && samples[0]?.timeMs[0] !== ms)) return false
      if (valid === (rejected === 1)) return false
    }
    return true
  })
  t.doesNotThrow(() => fc.assert(property, { seed: 1, numRuns: runs(300, 2_000) }))
})

t.test('a zone offset is read if it is unambiguous, and otherwise the record is kept without it', async (t) => {
  const summer = Date.UTC(2025, 6, 1)
  const zones: [zoneOffset: unknown, minutes: number | null, ms?: number, metadata?: unknown][] = [
    ...(
      ['+02:00', '+0200', '+02', '+2', 'UTC+2', 'GMT+02:00', 'utc+02', ' +02:00 ', '+02:00:00', '+2:00'] as const
    ).map((text): [string, number] => [text, 120]),
    ...(['Z', 'z', 'UTC', 'GMT', 'utc', 'UT', 'Etc/UTC', '+00:00', '-00:00', 'UTC+0'] as const).map(
      (text): [string, number] => [text, 0],
    ),
    ['-05:30', -330],
    ['\u221205:30', -330],
    ['+0530', 330],
    ['+18:00', 1080],
    ['-18:00', -1080],
    // The zone of a place has an offset at any instant.
    ['Europe/Berlin', 60],
    ['Europe/Berlin', 120, summer],
    ['America/Argentina/Buenos_Aires', -180],
    ['Asia/Kathmandu', 345],
    [null, 120, summer, { HKTimeZone: 'Europe/Berlin' }],
    ['somewhere', 120, summer, [{ HKTimeZone: 'Europe/Berlin' }]],
    ['+01:00', 60, summer, { HKTimeZone: 'Asia/Kathmandu' }],
    [null, null, summer, { HKTimeZone: 'Europe/Atlantis' }],
    [null, null, summer, { HKTimeZone: 7 }],
    // Hours, minutes or seconds; a plus sign that was lost; nonsense.
    ...(
      [
        120,
        7200,
        '120',
        '2',
        ' 02:00',
        '02:00',
        '+25:00',
        '+18:01',
        '-18:01',
        '+02:60',
        '+020',
        '+200',
        'CEST',
        'Berlin',
      ] as const
    ).map((zone): [unknown, null] => [zone, null]),
    ...['', null, undefined, {}, [], true, 'Europe/', '../etc/passwd', 'A'.repeat(3000)].map(
      (zone): [unknown, null] => [zone, null],
    ),
  ]
  const span = (ms: number) => ({ startDate: iso(ms), endDate: iso(ms + 3_600_000) })
  const wrong: unknown[] = []
  for (const [zoneOffset, minutes, ms = NOON, metadata = null] of zones) {
    const item = { ...span(ms), zoneOffset, metadata, source: PHONE, id: 'x' }
    const { samples, events, rejected } = readSdkBatch(
      {
        body: body([heartRate(ms, 60, { zoneOffset, metadata })], {
          data: {
            records: [heartRate(ms, 60, { zoneOffset, metadata })],
            sleep: [{ ...item, stage: 'deep' }],
            workouts: [{ ...item, type: 'running' }],
            deleted: [{ id: 'gone', type: 'HKQuantityTypeIdentifierHeartRate', zoneOffset }],
          },
        }),
        decode: (text) => text,
        sources: [],
        firstSource: 0,
      },
      'apple',
      NOON + DAY_MS,
    )
    const zoneOf = samples[0]?.zoneMin[0]
    const found = [
      zoneOf === NO_ZONE ? null : zoneOf,
      ...[...events.sleep, ...events.workouts].map(({ zoneMin }) => zoneMin),
      events.deletions.length,
      rejected,
    ]
    const wanted = [minutes, minutes, minutes, 1, 0]
    if (JSON.stringify(found) !== JSON.stringify(wanted)) wrong.push([zoneOffset, metadata, found])
  }
  t.strictSame(wrong, [])
})

t.test('without a zone, that of the start counts, unless it may be how a library writes UTC', async (t) => {
  const zones = [
    ['2026-02-24T00:30:00+02:00', 120],
    ['2026-02-24T00:30:00.25-0530', -330],
    ['2026-02-24 00:30 +13:00', 780],
    ['2026-02-24T00:30:00+00:00', null],
    ['2026-02-24T00:30:00-00:00', null],
    ['2026-02-24T00:30:00Z', null],
    ['2026-02-24T00:30:00', null],
  ] as const
  const told = { zoneOffset: '+01:00', metadata: { HKTimeZone: 'Asia/Kathmandu' } }
  for (const [startDate, zone] of zones) {
    const record = { ...heartRate(NOON, 60), startDate, endDate: '2026-02-24T12:00:00Z', zoneOffset: null }
    const found = [{}, { zoneOffset: 'nowhere' }, { metadata: told.metadata }, told].map((fields) =>
      zoneOf({ ...record, ...fields }),
    )
    t.strictSame(found, [zone, zone, 345, 60], startDate)
  }
  function zoneOf(record: object): number | null | undefined {
    const zoneMin = read([record]).samples[0]?.zoneMin[0]
    return zoneMin === NO_ZONE ? null : zoneMin
  }
})

t.test('a value may be numeric text', async (t) => {
  for (const [value, number] of [
    ['62.5', 62.5],
    [' 62.5 ', 62.5],
    ['+62', 62],
    ['6.2e1', 62],
    ['.5', 0.5],
    [-3, -3],
    [0, 0],
  ] as const) {
    t.equal(read([heartRate(NOON, value)]).samples[0]?.value[0], number, String(value))
  }
})

t.test('a text of any length that is no number costs no more than reading it', async (t) => {
  const digits = '1'.repeat(1_000_000)
  for (const value of [`${digits}x`, `${digits}.${digits}e`, ' '.repeat(1_000_000), `.${digits} .`]) {
    const batch = read([heartRate(NOON, value), heartRate(NOON, 61)])
    t.same([batch.rejected, batch.samples[0]?.value[0]], [1, 61], `${value.slice(0, 3)}…${value.slice(-3)}`)
  }
})

t.test('a daily rate is the total of its local day, at any hour', async (t) => {
  const rate = (text: string, value: number, zoneOffset: string | null) =>
    record('BASAL_METABOLIC_RATE', Date.parse(text), value, { zoneOffset, unit: 'kcal/day' })
  const batch = read(
    [
      rate('2026-02-23T22:00:00Z', 1, '+02:00'),
      rate('2026-02-24T21:59:59Z', 2, '+02:00'),
      rate('2026-02-23T21:59:59Z', 3, '+02:00'),
      rate('2026-02-24T12:00:00Z', 4, null),
      rate('2026-02-24T04:59:59Z', 5, '-05:00'),
    ],
    'samsung',
  )
  t.strictSame(described(batch), [
    'basal_energy day 2026-02-22T22:00:00.000Z 3 120 Watch of Ada',
    'basal_energy day 2026-02-23T05:00:00.000Z 5 -300 Watch of Ada',
    'basal_energy day 2026-02-23T22:00:00.000Z 2 120 Watch of Ada',
    // The nearest record with a zone is in New York.
    'basal_energy day 2026-02-24T05:00:00.000Z 4 -300 Watch of Ada',
  ])
  t.equal(batch.duplicates, 1)
})

t.test('a rejected daily rate counts on the day of a valid one in its place', async (t) => {
  const rate = (value: unknown, zoneOffset: string) =>
    record('BASAL_METABOLIC_RATE', Date.parse('2026-02-23T23:00:00Z'), value, { zoneOffset, unit: 'kcal/day' })
  const batch = read([rate(1, '+00:30'), rate('x', '+00:30'), rate('x', '+02:00'), rate(2, 'here')], 'samsung')
  t.strictSame(
    batch.days,
    { basal_energy: { '2026-02-22': 2, '2026-02-23': 1 } },
    'the last one takes the zone of the first',
  )
  t.strictSame(batch.rejectedDays, {
    basal_energy: { '2026-02-22': { float_parsing: 1 }, '2026-02-23': { float_parsing: 1 } },
  })
})

t.test('a nutrient that names a meal is not a sample yet, everything else is', async (t) => {
  const protein = (fields: SdkRecord) =>
    record('HKQuantityTypeIdentifierDietaryProtein', NOON, 9, { unit: 'g', ...fields })
  const batch = read([
    protein({ id: 'p', parentId: 'meal' }),
    record('HKCorrelationTypeIdentifierFood', NOON, 1, { id: 'meal' }),
    protein({ parentId: 'other meal', zoneOffset: '+02:00' }),
    protein({ parentId: null }),
    protein({ parentId: '' }),
    heartRate(NOON, 71, { parentId: 'meal' }),
    record('HKQuantityTypeIdentifierDietaryWater', NOON, 0.35, { unit: 'L', parentId: 'meal' }),
    protein({ value: 'a lot', parentId: 'meal' }),
  ])
  t.match(batch, { received: 8, duplicates: 1, ignored: 0, rejected: 1, rejections: [{ index: 7 }] })
  const at = { source: 0, startMs: NOON, endMs: NOON }
  const proteinId = seriesByName.get('dietary_protein')?.id
  t.strictSame(batch.events.nutrients, [
    { ...at, externalId: 'p', zoneMin: 120, meal: 'meal', seriesId: proteinId, value: 9 },
    { ...at, externalId: null, zoneMin: 120, meal: 'other meal', seriesId: proteinId, value: 9 },
    { ...at, externalId: null, zoneMin: 120, meal: 'meal', seriesId: seriesByName.get('hydration')?.id, value: 350 },
  ])
  t.strictSame(batch.events.meals, [{ ...at, externalId: 'meal', zoneMin: 120, title: null, mealType: null }])
  t.strictSame(described(batch), [
    'heart_rate 2026-02-24T12:00:00.000Z 71 120 Watch of Ada',
    'dietary_protein 2026-02-24T12:00:00.000Z 9 120 Watch of Ada',
  ])
})

t.test('a meal has a title and a type if its metadata is readable', async (t) => {
  const meal = (fields: SdkRecord) => read([record('HKCorrelationTypeIdentifierFood', NOON, 1, { id: 'm', ...fields })])
  const cases: [metadata: unknown, title: string | null, mealType: string | null][] = [
    [{ title: ' Greek  yogurt ', mealType: ' Breakfast ' }, 'Greek yogurt', 'breakfast'],
    [[{ other: 1 }, { title: 'Soup' }, { mealType: 'LUNCH', title: 'ignored' }], 'Soup', 'lunch'],
    [{ title: 12, mealType: null }, null, null],
    [{ title: '\u0000', mealType: '' }, null, null],
    [{ title: 'x'.repeat(300), mealType: 'Y'.repeat(300) }, 'x'.repeat(255), 'y'.repeat(64)],
    [JSON.parse('{"__proto__":{"title":"x"},"constructor":1}'), null, null],
    [[[{ title: 'deep' }], null, 'text', 3], null, null],
    ['text', null, null],
    [7, null, null],
    [null, null, null],
    [undefined, null, null],
  ]
  for (const [metadata, title, mealType] of cases) {
    t.match(meal({ metadata }).events.meals, [{ title, mealType }], JSON.stringify(metadata)?.slice(0, 60))
  }
  t.match(meal({ endDate: '2026-02-24T11:00:00Z' }).events.meals, [{ startMs: NOON, endMs: NOON }])
  t.match(meal({ id: 'y'.repeat(101) }).events.meals, [{ externalId: /^sha256:[0-9a-f]{64}$/ }])
  for (const id of [null, undefined, '', ' ', 7]) {
    t.match(meal({ id }), { rejected: 1, rejections: [{ loc: ['data', 'records', 0, 'id'], type: 'missing' }] })
  }
})

t.test('observations of a cycle and sessions are read with their times, or rejected', async (t) => {
  const flow = (fields: SdkRecord) => record('HKCategoryTypeIdentifierMenstrualFlow', NOON, 3, fields)
  for (const [value, cycleStart] of [
    ['1', true],
    [' TRUE ', true],
    [true, true],
    [1, true],
    ['0', false],
    ['false', false],
    [false, false],
    [0, false],
    ['yes', null],
    [{ toString: 1, valueOf: 2 }, null],
    [null, null],
    [[], null],
  ] as const) {
    const { events } = read([flow({ metadata: { HKMenstrualCycleStart: value } })])
    t.match(events.cycles, [{ kind: 'flow', level: 'medium', cycleStart }], String(JSON.stringify(value)))
  }
  t.match(read([flow({ metadata: 'HKMenstrualCycleStart' })]).events.cycles, [{ cycleStart: null }])

  const bad = (item: SdkRecord, provider: SdkProvider = 'apple') => {
    const { rejected, rejections, events } = read([item], provider)
    if (rejected === 0) return events
    return `${rejections[0]?.loc.at(-1)} ${rejections[0]?.type}`
  }
  t.equal(bad(flow({ value: 6 })), 'value enum')
  t.equal(bad(flow({ value: 2.5 })), 'value enum')
  t.equal(bad(flow({ value: 'heavy' })), 'value float_parsing')
  t.equal(bad(flow({ value: null })), 'value missing')
  t.equal(bad(flow({ endDate: iso(NOON - 1000) })), 'endDate end_before_start')
  t.equal(bad(flow({ startDate: iso(NOON - 61 * DAY_MS) })), 'endDate implausible_duration')
  t.match(bad(record('MENSTRUATION_FLOW', NOON, 9), 'samsung'), { cycles: [{ kind: 'flow', level: null }] })
  t.match(bad(record('MENSTRUATION_PERIOD', NOON, null), 'samsung'), { cycles: [{ kind: 'period', level: null }] })
  t.match(bad(record('SEXUAL_ACTIVITY', NOON, 1), 'samsung'), { cycles: [] })

  const mindful = (fields: SdkRecord) => record('HKCategoryTypeIdentifierMindfulSession', NOON, 0, fields)
  t.match(bad(mindful({ id: 'M', startDate: iso(NOON - 300_000), zoneOffset: '-05:30' })), {
    activities: [
      { source: 0, type: 'meditation', externalId: 'M', startMs: NOON - 300_000, endMs: NOON, zoneMin: -330 },
    ],
  })
  t.equal(bad(mindful({ endDate: iso(NOON - 1000) })), 'endDate end_before_start')
  t.equal(bad(mindful({ startDate: iso(NOON - DAY_MS - 1000) })), 'endDate implausible_duration')
  t.equal(bad(mindful({ endDate: iso(NOON + 3 * DAY_MS) })), 'endDate implausible_timestamp')
})

t.test('a source is its device and its writer, in every spelling', async (t) => {
  const cases: [source: unknown, model: string, name: string, version: string | null][] = [
    [{ name: 'N', deviceName: 'D', appId: 'A', deviceModel: 'M' }, 'M', 'N', null],
    [{ name: ' ', deviceName: 'D', appId: 'A', productType: 'P' }, 'P', 'D', null],
    [{ name: null, appId: 'A', bundleIdentifier: 'B' }, '', 'A', null],
    [{ bundleIdentifier: 'B', deviceSoftwareVersion: '11.4' }, '', 'B', '11.4'],
    [{ device_name: 'D', device_model: 'M', device_software_version: '7' }, 'M', 'D', '7'],
    [
      {
        app_id: 'A',
        product_type: 'P',
        operating_system_version: { major_version: 1, minor_version: 2, patch_version: 3 },
      },
      'P',
      'A',
      '1.2.3',
    ],
    [
      { name: 'N', operatingSystemVersion: { majorVersion: 18, minorVersion: 4 }, deviceSoftwareVersion: '9' },
      '',
      'N',
      '9',
    ],
    [{ name: 'N', operatingSystemVersion: 'x' }, '', 'N', null],
    [{ name: `  a \t b\u0000${'c'.repeat(200)}` }, '', `a b${'c'.repeat(97)}`, null],
    [null, '', '', null],
    ['watch', '', '', null],
    [[], '', '', null],
  ]
  for (const [source, deviceModel, name, softwareVersion] of cases) {
    const { sources } = read([heartRate(NOON, 60, { source })])
    t.match(sources, [{ deviceModel, source: name, softwareVersion }], JSON.stringify(source)?.slice(0, 80))
  }
})

t.test('records of one device are one source, with its most specific description', async (t) => {
  const version = (patchVersion: number) => ({
    operatingSystemVersion: { majorVersion: 11, minorVersion: 4, patchVersion },
  })
  const { sources, samples } = read([
    heartRate(NOON, 60, { source: { name: 'Strap', deviceType: 'chest_strap', ...version(0) } }),
    steps(NOON, 1, { source: PHONE }),
    heartRate(NOON + 1000, 61, { source: { name: 'Strap', appId: 'other', ...version(1) } }),
    heartRate(NOON + 2000, 62, { source: { name: 'Strap', deviceType: 'unknown' } }),
    heartRate(NOON + 3000, 63, { source: { name: 'strap' } }),
  ])
  t.match(sources, [
    { source: 'Strap', deviceType: 'chest_strap', softwareVersion: '11.4.1' },
    { source: 'Phone of Ada' },
    { source: 'strap', deviceType: 'unknown' },
  ])
  t.strictSame(
    samples.map(({ source, timeMs }) => [source, timeMs.length]),
    [
      [0, 3],
      [1, 1],
      [2, 1],
    ],
  )
})

t.test('an upload has at most 200 sources, even if they change', async (t) => {
  const from = (n: number, source: object) => heartRate(NOON + n * 1000, 60, { source })
  const many = read(Array.from({ length: 40_000 }, (_, n) => from(n, { name: `source ${n % 20_000}` })))
  t.equal(many.sources.length, 200)
  t.match(many, { received: 40_000, rejected: 39_600 }, 'records of the first 200 are kept')
  t.match(many.rejections[0], { index: 200, loc: ['data', 'records', 200, 'source'], type: 'too_many_sources' })
  const updates = Array.from({ length: 2000 }, (_, n) => from(n, { name: 'watch', deviceSoftwareVersion: `1.${n}` }))
  t.match(read(updates), { rejected: 0, sources: [{ softwareVersion: '1.1999' }] }, 'a new version is not a new source')
})

t.test('bad items never cost good ones', async (t) => {
  const good = heartRate(NOON, 60)
  const kinds = [
    'HKCorrelationTypeIdentifierFood',
    'HKCategoryTypeIdentifierMenstrualFlow',
    'HKCategoryTypeIdentifierMindfulSession',
    'HKQuantityTypeIdentifierDietaryProtein',
  ]
  const thing = fc.oneof(
    fc.anything({ maxDepth: 2 }),
    fc.constant('2026-02-24T12:00:00Z'),
    fc.constant(null),
    fc.constantFrom(...kinds),
  )
  const bad = fc.oneof(
    fc.anything({ maxDepth: 2 }),
    fc.dictionary(fc.constantFrom(...Object.keys(good)), thing).map((fields) => ({ ...good, ...fields })),
    fc
      .dictionary(fc.constantFrom('name', 'deviceModel', 'operatingSystemVersion'), thing)
      .map((source) => ({ ...good, source })),
  )
  const property = fc.property(fc.array(bad), (items) => {
    // As parsed from JSON: no functions, no undefined.
    const records = JSON.parse(JSON.stringify([heartRate(NOON - 1000, 1), ...items, heartRate(NOON - 2000, 2)]) ?? '[]')
    const batch = read(records)
    const samples = batch.samples.reduce((sum, { timeMs }) => sum + timeMs.length, 0)
    const events = Object.values(batch.events).reduce((sum, items) => sum + items.length, 0)
    if (batch.received !== records.length) return false
    if (samples + events + batch.duplicates + batch.ignored + batch.rejected !== batch.received) return false
    return batch.samples.some(({ timeMs }) => timeMs[0] === NOON - 2000 && timeMs.includes(NOON - 1000))
  })
  t.doesNotThrow(() => fc.assert(property, { seed: 2, numRuns: runs(100, 500) }))
})

t.test(
  'samples are in ascending order, the last of each instant, implausible and manual ones separately',
  async (t) => {
    // Heart rates, at rest too, and steps have manual twins, steps have lengths; 4 has neither.
    const sample = fc.record({
      source: fc.nat(2),
      series: fc.constantFrom(1, 2, 4, 80),
      ms: fc.nat(40).map((n) => n * 60_000),
      value: fc.constantFrom(-1, 0, 5.9, 6, 10, 60, 61, 300, 300.1, 600, 1e9),
      zone: fc.constantFrom(null, 0, -330),
      minutes: fc.constantFrom(-1, 0, 1, 2, 20),
      isManual: fc.boolean(),
    })
    const orders = [
      (a: { ms: number }, b: { ms: number }) => a.ms - b.ms,
      (a: { ms: number }, b: { ms: number }) => b.ms - a.ms,
      () => 0,
    ]
    const storedAs = (series: number, value: number, isManual: boolean) => {
      const ranges: Record<number, [number, number]> = { 1: [6, 300], 2: [10, 300], 4: [-100, 250], 80: [0, 500_000] }
      const [lowest, highest] = ranges[series] as [number, number]
      if (value < lowest || value > highest) return series + 20_000
      return isManual && series !== 4 ? series + 5_000 : series
    }
    /** In seconds: a minute is stored if it continues into the next quarter hour, but not if it ends with its own. */
    const lengthOf = (series: number, ms: number, minutes: number) =>
      series === 80 && minutes > 0 && (minutes > 1 || ((ms / 60_000) % 15) + minutes > 15) ? minutes * 60 : 0
    const property = fc.property(fc.array(sample, { maxLength: 60 }), fc.nat(2), (added, order) => {
      const list = added.toSorted(orders[order])
      const streams = new SampleStreams()
      const expected = new Map<string, (number | undefined)[]>()
      for (const { source, series, ms, value, zone, minutes, isManual } of list) {
        const span = { startMs: ms, endMs: ms + minutes * 60_000, zoneMin: zone }
        streams.of(source, series).add(span, value, null, isManual)
        const length = lengthOf(series, ms, minutes)
        expected.set(`${source} ${series} ${ms}`, [storedAs(series, value, isManual), value, zone ?? NO_ZONE, length])
      }
      const { samples, duplicates } = streams.finish()
      if (duplicates !== list.length - expected.size) return false
      const found = samples.flatMap(({ source, seriesId, timeMs, value, zoneMin, lastsS }) =>
        Array.from(timeMs, (ms, index) => {
          if (index > 0 && ms <= (timeMs[index - 1] as number)) throw new Error('not ascending')
          return [`${source} ${seriesId % 5_000} ${ms}`, [seriesId, value[index], zoneMin[index], lastsS?.[index] ?? 0]]
        }),
      )
      const keys = samples.map(({ source, seriesId }) => source * 100_000 + seriesId)
      if (keys.some((key, index) => index > 0 && key <= (keys[index - 1] as number))) return false
      return JSON.stringify(found.sort()) === JSON.stringify([...expected].sort())
    })
    t.doesNotThrow(() => fc.assert(property, { seed: 3, numRuns: runs(200, 1_000) }))
  },
)
