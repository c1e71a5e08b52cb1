// The entry of the worker threads: bytes in, columns or the reason of a rejection out; it never throws.
import { brotliDecompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { parseJsonBytes, parseWhole } from '../../workers/json-bytes.ts'
import { readUpload, type UploadResult, type UploadTask } from '../../workers/sdk-upload.ts'
import { body, heartRate, type SdkRecord } from '../support/sdk.ts'
import { anyCharacter } from '../support/text.ts'
import { runs } from '../support/thorough.ts'

const NOON = Date.UTC(2026, 1, 24, 12)

const read = (content: unknown, task: Partial<UploadTask> = {}): UploadResult => {
  const bytes =
    content instanceof Uint8Array
      ? content
      : Buffer.from(typeof content === 'string' ? content : JSON.stringify(content))
  return readUpload({ bytes, encoding: 'identity', queryProvider: null, provider: null, nowMs: NOON + 1000, ...task })
}

const accepted = (result: UploadResult) => {
  if (!result.ok) throw new Error(result.code)
  return result
}

t.test('the same upload is the same in every encoding, and as it is stored', async (t) => {
  const text = JSON.stringify(body([heartRate(NOON, 60, { source: { name: 'Größe ’ 心 😀' } })], { sdkVersion: 'ü’' }))
  const bytes = Buffer.from(text)
  const first = accepted(read(text))
  t.match(first.batch.sources, [{ source: 'Größe ’ 心 😀' }])
  t.equal(first.envelope.sdkVersion, 'ü’')
  t.equal(first.decodedBytes, bytes.length)
  for (const [encoding, content] of [
    ['gzip', gzipSync(bytes)],
    ['deflate', deflateSync(bytes)],
    ['deflate', deflateRawSync(bytes)],
    ['deflate', deflateRawSync(bytes, { level: 0 })],
    ['deflate', deflateRawSync(bytes, { strategy: constants.Z_FIXED })],
  ] as const) {
    const other = accepted(read(content, { encoding }))
    t.strictSame(other.batch, first.batch, encoding)
    t.equal(brotliDecompressSync(other.stored).toString(), text)
  }
  const again = accepted(read(first.stored, { encoding: 'br', provider: 'apple' }))
  t.strictSame(again.batch, first.batch, 'read from the store')
})

t.test('an upload in pieces is the same, also after another one', async (t) => {
  const one = Buffer.from(JSON.stringify(body([heartRate(NOON, 60, { source: { name: 'Größe ’ 心 😀' } })])))
  const other = Buffer.from(JSON.stringify(body([heartRate(NOON - 1000, 70), heartRate(NOON, 80)])))
  const large = Buffer.concat([one, Buffer.alloc(3 * 1024 * 1024, ' ')])
  const piecesOf = (bytes: Buffer, size: number) =>
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size))
  for (const size of [1, 7, 100, one.length - 1, one.length]) {
    const expected = accepted(read(one))
    const first = accepted(read(one, { bytes: piecesOf(one, size) }))
    const second = accepted(read(other, { bytes: piecesOf(other, size) }))
    t.strictSame(first, expected, `pieces of ${size}`)
    t.strictSame(second, accepted(read(other)))
    t.equal(brotliDecompressSync(first.stored).toString(), one.toString())
  }
  const longer = accepted(read(large, { bytes: piecesOf(large, 65_536) }))
  t.strictSame(longer, accepted(read(large)), 'longer than the memory that is kept')
  const zipped = gzipSync(one)
  t.strictSame(accepted(read(zipped, { bytes: piecesOf(zipped, 9), encoding: 'gzip' })), accepted(read(one)))
})

t.test('a stored upload keeps the provider it was accepted for', async (t) => {
  const content = body([heartRate(NOON, 60, { type: 'HEART_RATE' })], { provider: 'samsung' })
  const first = accepted(read(content, { queryProvider: 'google' }))
  t.equal(first.envelope.provider, 'health_connect')
  const again = accepted(read(first.stored, { encoding: 'br', provider: 'health_connect' }))
  t.strictSame(again.batch, first.batch)
})

t.test('strings mean the same with escapes and without', async (t) => {
  const character = fc.oneof(
    fc.constantFrom(
      '"',
      '\\',
      '\u0000',
      '\n',
      '\u007f',
      '\u0080',
      'ÿ',
      'Ā',
      '’',
      '心',
      '😀',
      '\ufeff',
      '\u2028',
      '\ud800',
    ),
    fc.string({ unit: anyCharacter, maxLength: 3 }),
  )
  const value = fc.array(character, { maxLength: 12 }).map((parts) => parts.join(''))
  const spellings = [
    (text: string) => JSON.stringify(text),
    (text: string) =>
      JSON.stringify(text).replaceAll(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`),
  ]
  const property = fc.property(value, (text) => {
    for (const spelling of spellings) {
      const json = Buffer.from(`{"a":[${spelling(text)}],"b":1}`)
      const parsed = parseJsonBytes(json)
      if (typeof parsed === 'string') return false
      const { a, b } = parsed.body as { a: [string]; b: number }
      // Half of a surrogate pair has no UTF-8 form: as bytes it is a replacement character.
      const expected = JSON.parse(json.toString('utf8')).a[0]
      if (b !== 1 || parsed.decode(a[0]) !== expected) return false
    }
    return true
  })
  t.doesNotThrow(() => fc.assert(property, { seed: 4, numRuns: runs(100, 400) }))
  t.equal(parseJsonBytes(Buffer.from('{"a":')), 'not_json')
  t.equal(parseJsonBytes(Buffer.from('')), 'not_json')
})

t.test('sources taken out of a body mean what they meant in it', async (t) => {
  const text = fc.oneof(
    fc.constantFrom('"source":{', '{"source":{"a":1}}', '\\', '"', '\\"source\\":{', '’', 'source', '},'),
    fc.string({ maxLength: 4 }),
  )
  const source = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom({ name: 'Watch' }, { name: 'Phone', os: { major: 1 } }, {}, { n: '}"{' }) },
    fc.record({ name: text, deep: fc.constantFrom(1, [{}], { a: { b: { c: { d: { e: 1 } } } } }) }),
    fc.constantFrom(null, 5, 'x', [], [{ source: { name: 'Watch' } }]),
  )
  const item = fc.record({ id: text, source, value: fc.integer(), metadata: fc.oneof(text, fc.record({ source })) })
  const spellings: ((body: unknown) => string)[] = [
    (body) => JSON.stringify(body),
    (body) => JSON.stringify(body, null, 1),
    // Whole values that only start like a known source, or continue after it.
    (body) => JSON.stringify(body).replace('{"name":"Watch"}', '{"name":"Watch"}5'),
    (body) => JSON.stringify(body).replace('{"name":"Watch"}', '{"name":"Watch"'),
    (body) => JSON.stringify(body).replace('"source":', '"source":{"name":"Watch"},"source":'),
  ]
  const property = fc.property(fc.array(item, { maxLength: 60 }), fc.constantFrom(...spellings), (items, spelling) => {
    const json = spelling({ data: { records: items } })
    let expected: unknown
    try {
      expected = JSON.parse(json)
    } catch {
      return parseWhole(Buffer.from(json)) === 'not_json'
    }
    const parsed = parseWhole(Buffer.from(json))
    if (typeof parsed === 'string') return false
    const { body, decode, sources, firstSource } = parsed
    const restored = JSON.parse(JSON.stringify(body), (key, value) =>
      key === 'source' && value - firstSource in sources ? sources[value - firstSource] : value,
    )
    return (
      JSON.stringify(restored, (_, value) => (typeof value === 'string' ? decode(value) : value)) ===
      JSON.stringify(expected)
    )
  })
  t.doesNotThrow(() => fc.assert(property, { seed: 9, numRuns: runs(100, 500) }))
  const same = body(Array.from({ length: 2000 }, (_, n) => heartRate(NOON + n * 1000, 60)))
  const parsed = parseWhole(Buffer.from(JSON.stringify(same)))
  if (typeof parsed === 'string') throw new Error(parsed)
  t.equal(parsed.sources.length, 1, 'taken out once')
  t.equal(typeof (parsed.body as { data: { records: SdkRecord[] } }).data.records[1999]?.source, 'number')
})

t.test('no bytes at all make it throw', async (t) => {
  const good = Buffer.from(JSON.stringify(body([heartRate(NOON, 60)])))
  const compressed = gzipSync(good)
  const damaged = fc
    .tuple(fc.constantFrom(good, compressed), fc.array(fc.tuple(fc.nat(compressed.length - 1), fc.nat(255))))
    .map(([bytes, changes]) => {
      const copy = Buffer.from(bytes)
      for (const [place, value] of changes) copy[place] = value
      return copy
    })
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    damaged,
    fc.json().map((text) => Buffer.from(text)),
  )
  const property = fc.property(bytes, fc.constantFrom('identity', 'gzip', 'deflate'), (bytes, encoding) => {
    const result = read(Uint8Array.from(bytes), { encoding: encoding as 'gzip' })
    return result.ok ? result.batch.received >= 0 : typeof result.code === 'string'
  })
  t.doesNotThrow(() => fc.assert(property, { seed: 5, numRuns: runs(100, 500) }))
})

t.test('refusals say why', async (t) => {
  const deep = (depth: number) => `{"provider":"apple","x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  t.match(read(deep(32)), { ok: true })
  t.match(read(deep(33)), { ok: false, code: 'too_deep' })
  t.match(
    read(`{"provider":"apple","x":"${'[{'.repeat(100)}\\"${'['.repeat(100)}"}`),
    { ok: true },
    'brackets in strings',
  )
  t.match(read(`{"provider":"apple","x":[${'[],'.repeat(999_997)}[]]}`), { ok: true })
  t.match(
    read(`{"provider":"apple","x":[${'[],'.repeat(999_998)}[]]}`),
    { ok: false, code: 'too_deep' },
    'too many parts',
  )
  t.match(read('[]'), { ok: false, code: 'not_object' })
  t.match(read('null'), { ok: false, code: 'not_object' })
  t.match(read(''), { ok: false, code: 'not_json' })
  t.match(read('\ufeff{}'), { ok: false, code: 'not_json' })
  t.match(read(gzipSync(Buffer.alloc(33 * 2 ** 20)), { encoding: 'gzip' }), { ok: false, code: 'too_large' })
  t.match(read('x', { encoding: 'gzip' }), { ok: false, code: 'damaged' })
  t.match(read({ provider: `fit\u0000bit${'x'.repeat(100)}` }), {
    ok: false,
    code: 'provider',
    provider: /^fitbitx{44}$/,
  })
  t.match(read({ provider: null }), { ok: false, code: 'no_provider' })
})
