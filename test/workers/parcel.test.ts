// Parcels: their bytes, and what of a provider's answer cannot be stored, whatever that is.
import { readdirSync, readFileSync } from 'node:fs'
import { brotliCompressSync, constants } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { type Batch, countSamples, REJECTIONS_KEPT } from '../../server/batch/columns.ts'
import type { MapPart } from '../../server/providers/part.ts'
import { parseExactJson } from '../../workers/exact-json.ts'
import { decodeParcel, encodeParcel, mapParts, type ParcelPart, readParcel } from '../../workers/parcel.ts'
import { batchOf, rowsOf, storedPart, type TestPart } from '../support/parcels.ts'
import { runs } from '../support/thorough.ts'

const DAY_MS = 86_400_000
const AT = '2026-03-11T09:00:00Z'
const bytes = (text: string) => Buffer.from(text)

const anyPart = fc.record({
  stream: fc.string(),
  args: fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<never>,
  atMs: fc.nat(2 ** 48),
  zone: fc.option(fc.string()),
  body: fc.uint8Array({ maxLength: 60 }).map((body) => Buffer.from(body)),
})

t.test('a parcel is read as it was written', async (t) => {
  const read = fc.property(fc.array(anyPart, { maxLength: 6 }), (parts: ParcelPart[]) => {
    const found = decodeParcel(encodeParcel(parts))?.map((part) => ({ ...part, body: [...part.body] }))
    // JSON knows no -0.
    const written = parts.map((part) => ({
      ...part,
      args: JSON.parse(JSON.stringify(part.args)),
      body: [...part.body],
    }))
    return JSON.stringify(found) === JSON.stringify(written)
  })
  fc.assert(read, { seed: 15, numRuns: runs(200, 5_000) })
  const line = '{"stream":"a","args":null,"at":1,"zone":null,"bytes":3}\n'
  t.equal(encodeParcel([{ stream: 'a', args: null, atMs: 1, zone: null, body: bytes('{ }') }]).toString(), `${line}{ }`)
  const damaged = [
    line,
    `${line}{}`,
    `${line}{ }x`,
    `${line}{ }{"stream":"a"}\n`,
    line.replace('3', '-1'),
    line.replace('3', '1.5'),
    line.replace('"a"', '7'),
    line.replace('"args":null,', ''),
    line.replace('"zone":null', '"zone":1'),
    'null\n',
    '[]\n',
    'x',
  ]
  t.strictSame(
    damaged.filter((text) => decodeParcel(bytes(text)) !== undefined),
    [],
  )
})

t.test('a stored parcel is read, or it is said why not', async (t) => {
  const parcel = encodeParcel([storedPart({ stream: 'daily_sleep', at: AT, body: { data: [] } })])
  const code = (task: Parameters<typeof readParcel>[0]) => {
    const result = readParcel(task)
    return result.ok ? result.batch.received : result.code
  }
  const compressed = brotliCompressSync(parcel)
  t.equal(code({ bytes: parcel, encoding: 'identity', provider: 'oura' }), 0)
  t.equal(code({ bytes: compressed, encoding: 'br', provider: 'oura' }), 0)
  t.equal(code({ bytes: compressed.subarray(0, -3), encoding: 'br', provider: 'oura' }), 'damaged')
  t.equal(code({ bytes: parcel.subarray(0, -1), encoding: 'identity', provider: 'oura' }), 'damaged')
  t.equal(
    code({
      bytes: brotliCompressSync(Buffer.alloc(40_000_000), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
      encoding: 'br',
      provider: 'oura',
    }),
    'too_large',
  )
  t.equal(code({ bytes: parcel, encoding: 'identity', provider: 'apple' }), 'no_provider')
  t.equal(code({ bytes: parcel, encoding: 'identity', provider: 'constructor' }), 'no_provider')
})

/** Integers beyond 2^53 as their digits. */
const inText = (_key: string, value: unknown) =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value as number) < 1e21 ? String(value) : value

t.test('integers that a double cannot hold are read digit by digit, everything else as JSON says', async (t) => {
  const parsed = (text: string) => {
    const result = parseExactJson(bytes(text))
    return typeof result === 'string' ? result : result.value
  }
  const integers = fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), fc.nat(40), (number, space) => {
    const [got] = parsed(`${' '.repeat(space)}[${number}]`) as [unknown]
    const isSafe = number >= BigInt(Number.MIN_SAFE_INTEGER) && number <= BigInt(Number.MAX_SAFE_INTEGER)
    return got === (isSafe ? Number(number) : String(number))
  })
  fc.assert(integers, { seed: 15, numRuns: runs(300, 5_000) })
  const digits = fc.oneof(
    fc.constantFrom('"', '\\', '12345678901234567890', ': 9007199254740993,', 'é', '\n'),
    fc.string(),
  )
  const documents = fc.property(fc.jsonValue({ maxDepth: 2 }), fc.array(digits), (value, words) => {
    const document = { value, words: words.join(''), [words.join('')]: 1.2345678901234567, big: 1e300 }
    return JSON.stringify(parsed(JSON.stringify(document))) === JSON.stringify(document, inText)
  })
  fc.assert(documents, { seed: 15, numRuns: runs(60, 5_000) })
  t.strictSame(
    parsed('{"id":9007199254740993,"a":-9007199254740993,"f":0.12345678901234567890,"e":1e25,"s":"9007199254740993"}'),
    {
      id: '9007199254740993',
      a: '-9007199254740993',
      f: 0.12345678901234568,
      e: 1e25,
      s: '9007199254740993',
    },
  )
  t.equal(parsed('<html>not found</html>'), 'not_json')
  t.equal(parsed(''), 'not_json')
  t.equal(parsed('{"a":01234567890123456789}'), 'not_json')
  t.equal(parsed(`${'['.repeat(500)}${']'.repeat(500)}`), 'too_deep')
  t.strictSame(parsed('\uFEFF{}'), {}, 'a byte order mark is none of it')
})

/** What the columns of a batch must be, whatever a provider sent. */
function misfits(batch: Batch, atMs: number): string[] {
  const wrong: string[] = []
  const expect = (holds: boolean, what: string) => {
    if (!holds) wrong.push(what)
  }
  const isTime = (ms: number) => Number.isInteger(ms) && ms >= DAY_MS && ms <= atMs + 10 * DAY_MS
  const isWhole = (value: number | null | undefined) =>
    value === null || value === undefined || (Number.isInteger(value) && Math.abs(value) < 2 ** 31)
  const { events, samples } = batch
  for (const { timeMs, value } of samples) {
    expect(timeMs.every(isTime), 'time of samples')
    expect(
      value.every((one) => Math.abs(one) <= 1e18),
      'values',
    )
  }
  const timed = [...events.nights, ...events.workouts, ...events.wholeCycles]
  expect(
    timed.every((one) => isTime(one.startMs) && isTime(one.endMs) && one.endMs >= one.startMs),
    'times of events',
  )
  expect(
    timed.every(({ externalId }) => externalId !== null && externalId.length > 0 && externalId.length <= 100),
    'ids',
  )
  for (const night of events.nights) {
    const { asleepS, inBedS, awakeS, lightS, deepS, remS, efficiencyPercent, stages, startMs, endMs } = night
    expect([asleepS, inBedS, awakeS, lightS, deepS, remS].every(isWhole), 'seconds of a night')
    expect(efficiencyPercent === null || (efficiencyPercent >= 0 && efficiencyPercent <= 100), 'efficiency')
    const bounds = [startMs, ...(stages ?? []).flatMap(([, lo, hi]) => [lo, hi]), endMs]
    expect(
      bounds.every((ms, place) => ms >= (bounds[place - 1] ?? ms)),
      'stages',
    )
  }
  expect(
    events.workouts.every((one) => isWhole(one.durationSeconds) && isWhole(one.steps)),
    'seconds of a workout',
  )
  expect(
    events.scores.every((one) => isTime(one.timeMs) && (one.value === null || Number.isFinite(one.value))),
    'scores',
  )
  expect(
    events.scores.every((one) => one.externalId.length <= 120 && (one.qualifier?.length ?? 0) <= 32),
    'words',
  )
  expect(
    events.currents.every((one) => Number.isFinite(one.value)),
    'current values',
  )
  expect(
    events.spans.every((one) => one.hiMs > one.loMs && one.hiMs - one.loMs <= DAY_MS),
    'spans',
  )
  const stored =
    countSamples(samples) +
    batch.duplicates +
    [events.nights, events.workouts, events.scores, events.wholeCycles, events.currents, events.deletions].reduce(
      (sum, list) => sum + list.length,
      0,
    )
  expect(batch.received === stored + batch.ignored + batch.rejected, 'the account')
  expect(batch.rejections.length === Math.min(batch.rejected, REJECTIONS_KEPT), 'rejections')
  expect(batch.rejected === 0 || events.spans.every(({ atMs: said }) => said === atMs), 'what a page lists')
  return [...new Set(wrong)]
}

/** Bodies of the golden files: what providers send when nothing is wrong. */
const GOLDEN = new URL('../providers/', import.meta.url)
const bodies = ['oura', 'whoop'].flatMap((provider) => {
  const folder = new URL(`${provider}/golden/`, GOLDEN)
  return readdirSync(folder).flatMap((file) => {
    const { parts }: { parts: TestPart[] } = JSON.parse(readFileSync(new URL(file, folder), 'utf8'))
    return parts.map((part) => ({ provider, part }))
  })
})

/** Values that no document should have. */
const absurd = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    '61',
    'x'.repeat(70_000),
    '\u0000',
    '2026-03-07',
    '0001-01-01T00:00:00Z',
    '2026-03-07T10:00:00Z',
    '9999-12-31T23:59:59+99:99',
    0,
    -0,
    -1,
    0.5,
    1e15,
    -1e15,
    1e16,
    1e308,
    true,
    [],
    [[]],
    {},
    { id: 1 },
    '__proto__',
    'constructor',
    '+01:00',
    9007199254740991,
  ),
  fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<unknown>,
)

/** Replaces, removes or adds something at a random place. */
function spoiled(value: unknown, places: readonly number[], what: unknown): unknown {
  const [place = 0, ...further] = places
  if (Array.isArray(value) && value.length > 0 && further.length > 0) {
    const at = place % (value.length + 1)
    if (at === value.length) return [...value, what]
    return value.map((one, index) => (index === at ? spoiled(one, further, what) : one))
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && further.length > 0) {
    const keys = Object.keys(value)
    const key = keys[place % Math.max(1, keys.length)] ?? 'unknown_field'
    if (place % 11 === 10) return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
    return { ...value, [key]: spoiled((value as Record<string, unknown>)[key], further, what) }
  }
  return what
}

t.test('whatever a provider sends, nothing is thrown, and what is stored can be stored', async (t) => {
  const places = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 6 })
  const changes = fc.array(fc.tuple(places, absurd), { minLength: 1, maxLength: 3 })
  const property = fc.property(fc.nat(bodies.length - 1), changes, (which, spoils) => {
    const { provider, part } = bodies[which]!
    const body = spoils.reduce<unknown>((value, [path, what]) => spoiled(value, path, what), part.body)
    const batch = batchOf(provider, [{ ...part, body }])
    const wrong = misfits(batch, Date.parse(part.at))
    if (wrong.length > 0) throw new Error(`${wrong}: ${JSON.stringify(rowsOf(batch)).slice(0, 2_000)}`)
    JSON.stringify(batch)
  })
  fc.assert(property, { seed: 15, numRuns: runs(600, 50_000) })
  const untouched = bodies.flatMap(({ provider, part }) => misfits(batchOf(provider, [part]), Date.parse(part.at)))
  t.strictSame(untouched, [])
})

t.test('an answer that is not JSON costs its part only', async (t) => {
  const good = storedPart({
    stream: 'daily_spo2',
    at: AT,
    body: { data: [{ day: '2026-03-07', spo2_percentage: { average: 97 } }] },
  })
  const others = ['<html>', '{"data":[', `${'['.repeat(100)}`, '', '\u0000'].map((text) => ({
    ...good,
    body: bytes(text),
  }))
  const result = readParcel({ bytes: encodeParcel([...others, good]), encoding: 'identity', provider: 'oura' })
  t.ok(result.ok)
  if (!result.ok) return
  const { samples, rejections } = rowsOf(result.batch)
  t.strictSame(samples, ['oxygen_saturation 2026-03-07T00:00:00Z 97 -'])
  t.strictSame(rejections, Array(others.length).fill('daily_spo2: json_invalid'))
})

t.test('many rejections are counted, some are listed', async (t) => {
  const rows = Array.from({ length: 5_000 }, (_, place) =>
    place === 3 ? { bpm: 60, timestamp: AT } : { bpm: '60', timestamp: AT },
  )
  const batch = batchOf('oura', [{ stream: 'heartrate', at: AT, body: { data: rows } }])
  t.strictSame(
    [batch.received, batch.rejected, batch.rejections.length, countSamples(batch.samples)],
    [5_000, 4_999, REJECTIONS_KEPT, 1],
  )
  t.strictSame(batch.rejections[0], {
    collection: 'heartrate',
    index: 0,
    id: null,
    loc: ['heartrate', 'data', 0, 'bpm'],
    type: 'float_type',
    msg: 'Input should be a valid number',
  })
  t.strictSame(batch.unstored, [{ collection: 'heartrate', type: null, reason: 'float_type', items: 4_999 }])
})

/** A provider of which other parts of `Out` are used than the folders use today. */
const map: MapPart = ({ args }, out) => {
  const start = { ms: Date.parse(AT) - 3 * DAY_MS, zoneMin: 60 }
  out.source('Scale\u0000 1', ' App  X ')
  for (const item of out.whole()) {
    out.cycle({
      externalId: 'c1',
      start,
      endMs: start.ms + 28 * DAY_MS,
      dayInCycle: item.number('day'),
      cycleLength: 28.9,
      currentPhaseType: 'FOLLICULAR',
      isPredictedCycle: true,
    })
    out.workout({
      externalId: 'w1',
      type: 'running',
      start,
      endMs: start.ms + 1000,
      partial: true,
      steps: 10.9,
      durationSeconds: args === 'broken' ? -1 : undefined,
      zoneSeconds: [1, undefined, 3],
    })
    out.only({ total: 'steps' }, start.ms, start.ms + DAY_MS)
    out.only('nights', start.ms, start.ms + DAY_MS + 1)
    out.gone('w0')
  }
}

t.test('a record that has one value of a series keeps the last one, wherever that is', async (t) => {
  const start = { ms: Date.parse(AT) - 3 * DAY_MS, zoneMin: 60 }
  const nights: MapPart = (_, out) => {
    out.source('Mat', 'App', 'sleep_monitor')
    for (const [hours, record] of [
      [7, 'a'],
      [31, 'b'],
      [8, 'a'],
      [9, 'a'],
      [6, 'c'],
    ] as const) {
      out.once('resting_heart_rate', { ...start, ms: start.ms + hours * 3_600_000 }, 40 + hours, record)
      out.once('respiratory_rate', start, undefined, record)
      out.sample('heart_rate', { ...start, ms: start.ms + hours * 3_600_000 }, 60, record)
    }
    out.only({ series: 'weight', devices: 'all' }, start.ms, start.ms + 1_000)
    out.only({ series: 'height' }, start.ms, start.ms + 1_000)
  }
  const batch = mapParts([storedPart({ stream: 'own', at: AT, body: {} })], 'withings', nights)
  const { sources, samples, spans } = rowsOf(batch) as Record<string, unknown[]>
  t.strictSame(sources, ['Mat|App|sleep_monitor'], 'the kind of device that is told counts before its name')
  t.strictSame(
    samples?.filter((one) => String(one).startsWith('resting')),
    ['08T15:00:00Z 46', '08T18:00:00Z 49', '09T16:00:00Z 71'].map((one) => `resting_heart_rate 2026-03-${one} 60`),
  )
  t.strictSame(
    batch.samples.map(({ once = false, timeMs }) => [once, timeMs.length]),
    [
      [false, 5],
      [true, 3],
    ],
  )
  t.strictSame(
    (spans as { what: string; devices?: string }[]).map(({ what, devices }) => [what, devices]),
    [
      ['weight', 'all'],
      ['height', undefined],
    ],
  )
})

t.test('whole cycles, parts of workouts, spans of totals, deletions', async (t) => {
  const read = (args: string, body: unknown) =>
    rowsOf(mapParts([storedPart({ stream: 'own', at: AT, args, body })], 'withings', map))
  t.match(read('', { day: 12 }), {
    sources: ['Scale 1|App X|scale'],
    wholeCycles: [
      {
        externalId: 'c1',
        start: '2026-03-08T09:00:00Z',
        end: '2026-04-05T09:00:00Z',
        dayInCycle: 12,
        cycleLength: 28,
        currentPhaseType: 'FOLLICULAR',
        isPredictedCycle: true,
      },
    ],
    workouts: [
      {
        externalId: 'w1',
        steps: 10,
        durationSeconds: 1,
        partial: true,
        hrZones: '{"zones":[{"zone":0,"seconds":1},{"zone":2,"seconds":3}]}',
      },
    ],
    deletions: [{ externalId: 'w0' }],
    spans: [{ what: 'steps day', lo: '2026-03-08T09:00:00Z', hi: '2026-03-09T09:00:00Z', at: AT }],
  })
  const broken = read('broken', { day: 'twelve' })
  t.strictSame(broken.rejections, ['own.day: float_type', 'own.durationSeconds: implausible_value'])
  t.equal(broken.spans, undefined, 'a part of which anything was rejected says nothing of what is gone')
})
