// Records that are read from bytes: the same as parsing them, whatever stands in the body.
import fc from 'fast-check'
import t from 'tap'
import type { SdkProvider } from '../../server/providers/index.ts'
import { parseJsonBytes, parseWhole } from '../../workers/json-bytes.ts'
import { readSdkBatch } from '../../workers/sdk-batch.ts'
import { body, heartRate, PHONE, type SdkRecord, steps, WATCH } from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'

const NOON = Date.UTC(2026, 1, 24, 12)

/** What an upload comes to, read by one way or the other. */
const batchOf = (parsed: ReturnType<typeof parseWhole>, provider: SdkProvider) =>
  typeof parsed === 'string' ? parsed : readSdkBatch(parsed, provider, NOON)

function isSame(bytes: Buffer, provider: SdkProvider = 'apple'): boolean {
  const scanned = JSON.stringify(plain(batchOf(parseJsonBytes(bytes), provider)))
  const expected = JSON.stringify(plain(batchOf(parseWhole(bytes), provider)))
  if (scanned !== expected) throw new Error(`${scanned}\n${expected}`)
  return true
}

/** Columns as lists, so that all of them are compared. */
const plain = (value: unknown): unknown =>
  ArrayBuffer.isView(value)
    ? Array.from(value as Float64Array, (one) => (Object.is(one, -0) ? '-0' : one))
    : Array.isArray(value)
      ? value.map(plain)
      : typeof value === 'object' && value !== null
        ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]))
        : value

const scannedOf = (text: string) => {
  const parsed = parseJsonBytes(Buffer.from(text))
  if (typeof parsed === 'string') throw new Error(parsed)
  return parsed.records
}

const text = (value: unknown) => JSON.stringify(value)
const json = (...values: unknown[]) => values.map(text)

const UUID = '4BB916DA-5A7E-49B9-AD76-26FB84D59AB7'
const HEART_RATE = 'HKQuantityTypeIdentifierHeartRate'
const LONG = 'x'.repeat(101)

/** Values of each field as JSON, first those of an ordinary record. */
const VALUES: Record<string, readonly string[]> = {
  id: [...json(UUID, 'a', `${UUID}-1`, null), ...json('', 'with space', 'é', 'tab\t', LONG, 5, {}, `${UUID}x`)],
  type: [
    ...json(HEART_RATE, 'HKQuantityTypeIdentifierStepCount', 'HKQuantityTypeIdentifierOxygenSaturation'),
    ...json('HKQuantityTypeIdentifierDietaryProtein', 'HKCorrelationTypeIdentifierFood', 'STEP_COUNT_DAILY_TOTAL'),
    ...json('HKCategoryTypeIdentifierMenstrualFlow', 'HKCategoryTypeIdentifierMindfulSession', 'HEART_RATE', 'STEPS'),
    ...json('unknown’', '', 'a\nb', null, 7),
    '"HKQuantityTypeIdentifier\\u0048eartRate"',
  ],
  startDate: [
    ...json('2026-02-24T08:30:00Z', '2026-02-24T08:30:01Z', '2026-02-23T23:59:59Z', '2026-02-24T08:30:00.250Z'),
    ...json('2026-02-24 08:30:00', '2026-02-24T08:30Z', '2026-02-24T08:30:00+02:00', '2026-02-30T08:30:00Z'),
    ...json('2027-02-24T08:30:00Z', '1969-02-24T08:30:00Z', '2026-02-24T24:00:00Z', '2026-02-24T08:6a:00Z', 'now', 5),
    ...json('2026-02-24t08:30:00Z', '2026-02-24T08:30:00z', '2026-02-24T08:30:00+02'),
    ...json('2026-02-24T08:30:00+00:00', '2026-02-24 08:30:00.25 -0530', '2026-02-24T08:30:00 Z'),
    ...json('2026-02-24T08:30:00Z  ', '2026-02-24T08:30:00Ｚ', null),
    '"2026-02-24T08\\u003a30:00Z"',
  ],
  zoneOffset: [
    ...json('+01:00', '-0530', null, 'Z', 'Europe/Berlin', 'UTC+2', '+19:00', '', 'nowhere', 60),
    '"Europe\\/Berlin"',
  ],
  source: [
    ...json(WATCH, PHONE, { ...WATCH, name: 'Ada’s' }, null, {}, { recordingMethod: 'manual', name: 'x' }),
    ...json({ name: { deep: [{}] } }, 'Watch', 5, [], { softwareVersion: '1', operatingSystemVersion: { major: 1 } }),
    '{"name":"A","name":"B"}',
    '{ "name" : "Watch" }',
    '{"name":"Watch"',
  ],
  value: [
    ...[
      '62',
      '0',
      '-0',
      '62.5',
      '0.93',
      '-1.25',
      '1e2',
      '1E-3',
      '123456789012345',
      '1234567890123456',
      '0.1234567890123456',
    ],
    ...[
      '9007199254740993',
      '1e400',
      '01',
      '1.',
      '.5',
      '-',
      '5x',
      'true',
      'null',
      '{}',
      '4.35e15',
      '99999999999999999999',
    ],
    ...json('62', ' 62 ', '6 2', ''),
  ],
  unit: [...json('bpm', 'count', '%', null, 'kg', '', 'µg', 'mi/hr', 5), '"count\\/min"', '"\\x"'],
  parentId: [...json(null, '', 'meal', 5)],
  metadata: [
    ...json(null, {}, { HKMetadataKeySyncIdentifier: 'a', n: 1.5, b: true, no: null }, { HKWasUserEntered: 1 }),
    ...json({ HKWasUserEntered: '1', x: 'y' }, { HKTimeZone: 'Asia/Tokyo' }, [{ HKTimeZone: 'Asia/Tokyo' }], 'x', 5),
    ...json({ HKTimeZone: '+09:00', deep: { x: [] } }, { title: 'Lunch', mealType: 'LUNCH' }, { 'a b': 'é' }),
    '{"a":1,}',
    '{,"a":1}',
    '{"HK\\u0054imeZone":"Asia/Tokyo"}',
    '{"HKTimeZone":"Asia/Tokyo","HKTimeZone":"+02:00"}',
  ],
  stage: json('deep', 5),
  'start Date': json(1),
  '': json('x', null),
  __proto__x: json('x', 1e5, [], true, 'a\\b'),
}
const ORDER = ['id', 'type', 'startDate', 'endDate', 'zoneOffset', 'source', 'value', 'unit', 'parentId', 'metadata']

/** A value of a field: mostly an ordinary one. */
const valueFor = (field: string) => {
  const all = VALUES[field === 'endDate' ? 'startDate' : field] as readonly string[]
  return fc.oneof(
    { weight: 60, arbitrary: fc.constantFrom(...all.slice(0, field === 'parentId' ? 1 : 3)) },
    { weight: 1, arbitrary: fc.constantFrom(...all) },
  )
}

const entry = (field: string) => valueFor(field).map((value) => [field, value] as const)
const usual = fc.tuple(...ORDER.map(entry))
const unusual = fc.tuple(
  usual,
  fc.array(fc.nat(ORDER.length - 1), { maxLength: 2 }),
  fc.array(fc.constantFrom(...Object.keys(VALUES), 'endDate').chain(entry), { maxLength: 2 }),
  fc.nat(ORDER.length),
)

/** A record with fields left out, added, repeated and in another order. */
const someRecord = fc.oneof(
  { weight: 3, arbitrary: usual.map((entries) => entries as (readonly [string, string])[]) },
  {
    weight: 1,
    arbitrary: unusual.map(([entries, without, added, turned]) => {
      const kept = [...entries.filter((_, at) => !without.includes(at)), ...added]
      return [...kept.slice(turned), ...kept.slice(0, turned)]
    }),
  },
)

/** Spaces after commas, colons and braces. */
const spaces = fc.constantFrom('', '', '', ' ', '\n\t', '\r\n ')

const recordText = (entries: readonly (readonly [string, string])[], space: string) =>
  `{${entries.map(([key, value]) => `${space}"${key}":${space}${value}`).join(`${space},`)}${space}}`

const records = fc
  .tuple(
    fc.array(
      fc.oneof(
        { weight: 300, arbitrary: someRecord },
        { weight: 1, arbitrary: fc.constantFrom('5', 'null', '[]', '{}') },
      ),
      {
        maxLength: 12,
      },
    ),
    spaces,
  )
  .map(
    ([items, space]) =>
      `[${items.map((item) => (typeof item === 'string' ? item : recordText(item, space))).join(`${space},${space}`)}${space}]`,
  )

const bodyText = fc
  .tuple(
    records,
    fc.oneof(
      {
        weight: 12,
        arbitrary: fc.constant((list: string) => `{"provider":"apple","data":{"records":${list},"sleep":[]}}`),
      },
      fc.constantFrom<(list: string) => string>(
        (list) => `{"data":{"records" : ${list}},"provider":"apple"}`,
        (list) => `{"data":{"records":${list},"records":[]}}`,
        (list) => `{"data":{"records":[],"records":${list}}}`,
        (list) => `{"records":${list},"data":{"records":${list}}}`,
        (list) => `{"x":"\\"records\\":[","data":{"records":${list}}}`,
        (list) => `{"x":"records","data":{"records":${list}}}`,
        (list) => `{"data":{"records":${list}}`,
        (list) => `{"x":"é\\u00e9","data":{"records":${list}}}`,
        (list) => `{"data":[{"records":${list}}]}`,
        (list) => `${'['.repeat(29)}{"records":${list}}${']'.repeat(29)}`,
      ),
    ),
  )
  .map(([list, around]) => around(list))

t.test('records read from bytes come to what parsing them comes to', async (t) => {
  const providers = fc.constantFrom<SdkProvider>('apple', 'health_connect', 'samsung')
  const property = fc.property(bodyText, providers, (text, provider) => isSame(Buffer.from(text), provider))
  t.doesNotThrow(() => fc.assert(property, { seed: 20, numRuns: runs(600, 60_000) }))
})

t.test('each field, whatever its value, means what it means when it is parsed', async (t) => {
  const ordinary = ORDER.map(
    (field) => [field, VALUES[field === 'endDate' ? 'startDate' : field]?.[0] as string] as const,
  )
  const bodyOf = (...items: (readonly (readonly [string, string])[])[]) =>
    Buffer.from(`{"provider":"apple","data":{"records":[${items.map((item) => recordText(item, ''))}]}}`)
  const different: string[] = []
  const check = (name: string, body: Buffer) => {
    if (!isSame(body)) different.push(name)
  }
  for (const [field, values] of [...Object.entries(VALUES), ['endDate', VALUES.startDate] as const]) {
    const others = ordinary.filter(([name]) => name !== field)
    check(`no ${field}`, bodyOf(ordinary, others))
    for (const value of values as readonly string[]) {
      check(`${field} ${value}`, bodyOf(ordinary, [...others, [field, value] as const], ordinary))
      check(`${field} again ${value}`, bodyOf(ordinary, [...ordinary, [field, value] as const]))
      check(`${field} before ${value}`, bodyOf(ordinary, [[field, value] as const, ...ordinary]))
    }
  }
  t.strictSame(different, [])
})

t.test('damaged bodies are refused as when they are parsed', async (t) => {
  const damaged = fc
    .tuple(
      bodyText,
      fc.array(fc.tuple(fc.nat(), fc.constantFrom(...'"\\{}[],:0e-\n x'), fc.nat(2)), { maxLength: 3, minLength: 1 }),
    )
    .map(([text, changes]) => {
      let bytes = Buffer.from(text)
      for (const [place, character, cut] of changes) {
        const at = place % bytes.length
        bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(character), bytes.subarray(at + cut)])
      }
      return bytes
    })
  const property = fc.property(damaged, (bytes) => isSame(bytes))
  t.doesNotThrow(() => fc.assert(property, { seed: 21, numRuns: runs(500, 60_000) }))
})

t.test('a number is the double that JSON.parse makes of it', async (t) => {
  const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,20})(\.\d{1,22})?([eE][+-]?\d{1,3})?$/)
  const numbers = fc.oneof(
    digits,
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.integer().map(String),
  )
  const property = fc.property(fc.array(numbers, { minLength: 1, maxLength: 20 }), (list) => {
    const all = list.map((value, n) => text(heartRate(NOON - n * 1000, 'N')).replace('"N"', value))
    return isSame(Buffer.from(`{"data":{"records":[${all}]}}`))
  })
  t.doesNotThrow(() => fc.assert(property, { seed: 22, numRuns: runs(200, 20_000) }))
})

t.test('a number of any length is read, and so is the rest of the upload', async (t) => {
  const records = text(body([heartRate(NOON, 60.5), heartRate(NOON - 1000, 61)]))
  for (const digits of [41, 500_000]) {
    const long = `60.${'5'.repeat(digits)}`
    t.ok(isSame(Buffer.from(records.replace('60.5', long))), 'as a value')
    t.ok(isSame(Buffer.from(records.replace('{', `{"also":${long},`))), 'elsewhere')
    t.ok(isSame(Buffer.from(records.replace('"value"', `"metadata":{"n":${long}},"value"`))), 'in metadata')
  }
})

t.test('what ordinary phones send is read from its bytes', async (t) => {
  const all: SdkRecord[] = Array.from({ length: 5_000 }, (_, n) =>
    n % 2 === 0
      ? heartRate(NOON - n * 1000, 60 + (n % 40) / 8, { id: UUID, zoneOffset: '+01:00', unit: 'count/min' })
      : steps(NOON - n * 1000, n, { source: PHONE, metadata: { HKMetadataKeySyncIdentifier: String(n) } }),
  )
  const odd = heartRate(NOON, 60, { id: 'an id with spaces', parentId: 'x' })
  for (const spelled of [
    text(body([...all, odd])),
    JSON.stringify(body([odd, ...all])).replaceAll(/([,:])"/g, '$1 "'),
  ]) {
    const scanned = scannedOf(spelled.replaceAll('/min', '\\/min'))
    t.equal(scanned?.count, 5_001)
    t.equal(scanned?.plain, 5_000)
    t.ok(isSame(Buffer.from(spelled)))
  }
})

t.test('a body of which nothing is ordinary is parsed as a whole', async (t) => {
  const odd = Array.from({ length: 200 }, (_, n) => heartRate(NOON - n * 1000, 60, { parentId: 'x' }))
  t.equal(scannedOf(text(body(odd))), undefined)
  t.equal(scannedOf(text(body([]))), undefined)
  t.equal(scannedOf('{"data":{"sleep":[]}}'), undefined)
})

t.test('many types, units, zones, sources and metadata are not mistaken for each other', async (t) => {
  const all = Array.from({ length: 3_000 }, (_, n) =>
    heartRate(NOON - n * 1000, 60, {
      id: `${UUID}-${n}`,
      type: n % 3 === 0 ? HEART_RATE : `Type${n % 150}`,
      unit: n % 5 === 0 ? 'bpm' : `unit ${n % 120}`,
      zoneOffset: `+0${n % 10}:${String(n % 60).padStart(2, '0')}`,
      source: { name: `Watch ${n % 90}`, deviceModel: 'Watch7,5' },
      metadata: n % 7 === 0 ? { HKWasUserEntered: n % 2, n: n % 80 } : { n },
    }),
  )
  t.ok(isSame(Buffer.from(text(body(all)))))
})
