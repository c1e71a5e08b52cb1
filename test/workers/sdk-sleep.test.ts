// Items of data.sleep: sdk-payload 4.3, 5.3; sdk-types 7.1, 7.4.
import t from 'tap'
import type { SdkProvider } from '../../server/providers/index.ts'
import { readSdkBatch } from '../../workers/sdk-batch.ts'
import { PHONE, WATCH } from '../support/sdk.ts'
import { sleepBody, stage } from '../support/sleep.ts'

const HOUR = 3_600_000
const TEN = Date.UTC(2026, 1, 23, 22)

const read = (sleep: unknown, provider: SdkProvider = 'apple') =>
  readSdkBatch(
    { body: sleepBody(sleep), decode: (text) => text, sources: [], firstSource: 0 },
    provider,
    TEN + 12 * HOUR,
  )

t.test('every spelling of a stage is read, and unknown stages are ignored', async (t) => {
  const spellings = {
    in_bed: ['in_bed', 'inBed', 'IN_BED', 'INBED'],
    awake: ['awake', 'AWAKE'],
    sleeping: ['sleeping', 'asleep', 'Asleep'],
    light: ['light', 'core', 'Light'],
    deep: ['deep', 'DEEP'],
    rem: ['rem', 'REM'],
  }
  for (const [name, texts] of Object.entries(spellings)) {
    for (const text of texts) t.match(read([stage(text, TEN, TEN + HOUR)]).events.sleep, [{ stage: name }], text)
  }
  const nothing = ['unknown', 'UNKNOWN', 'dreaming', '', 'out_of_bed'].map((text) => stage(text, TEN, TEN + HOUR))
  t.match(read(nothing), { received: 5, ignored: 5, rejected: 0, events: { sleep: [] } })
  t.match(read([stage('unknown', TEN, TEN - HOUR)]), { ignored: 1, rejected: 0 }, 'whatever its other fields are')
})

t.test('a stage is read with all its fields', async (t) => {
  const { events, sources } = read([
    stage('light', TEN, TEN + HOUR, { id: 'A', zoneOffset: '+02:00', source: PHONE }),
    stage('deep', TEN + HOUR, TEN + 25 * HOUR - 13 * HOUR, { source: WATCH }),
  ])
  t.strictSame(events.sleep, [
    {
      source: 0,
      externalId: 'A',
      startMs: TEN,
      endMs: TEN + HOUR,
      zoneMin: 120,
      stage: 'light',
      session: '',
      whole: false,
      score: null,
    },
    {
      source: 1,
      externalId: null,
      startMs: TEN + HOUR,
      endMs: TEN + 12 * HOUR,
      // The zone of the nearest record.
      zoneMin: 120,
      stage: 'deep',
      session: '',
      whole: false,
      score: null,
    },
  ])
  t.match(sources, [{ deviceModel: 'iPhone17,1' }, { deviceModel: 'Watch7,5' }])
})

t.test('the session is the one the platform names', async (t) => {
  const sessions = (provider: SdkProvider, fields: Record<string, unknown>) =>
    read([stage('light', TEN, TEN + HOUR, fields)], provider).events.sleep.map(({ session }) => session)
  for (const android of ['samsung', 'health_connect'] as const) {
    t.strictSame(sessions(android, { id: 'n-s1', parentId: 'n' }), ['n'])
    t.strictSame(sessions(android, { id: 'n' }), ['n'], 'a session without stages')
    t.strictSame(sessions(android, {}), ['2026-02-23T22:00:00Z'], 'without any id')
    t.match(sessions(android, { parentId: 'x'.repeat(101) }), [/^sha256:/])
  }
  t.strictSame(sessions('apple', { id: 'A' }), [''], 'gaps tell')
  t.strictSame(sessions('apple', { id: 'A', parentId: 'B' }), ['B'])
})

t.test('a valid score is stored', async (t) => {
  const score = (values: unknown) => read([stage('light', TEN, TEN + HOUR, { values })]).events.sleep[0]?.score
  t.equal(
    score([
      { type: 'other', value: 3 },
      { type: 'sleepScore', value: 78, unit: 'score' },
    ]),
    78,
  )
  t.equal(score([{ type: 'sleepScore', value: '78.5' }]), 78.5)
  t.equal(score([{ type: 'sleepScore', value: 0 }]), 0)
  const none = [
    null,
    undefined,
    'x',
    {},
    [],
    [null],
    [7],
    [{ type: 'sleepScore' }],
    [{ type: 'sleepScore', value: 101 }],
    [{ type: 'sleepScore', value: -1 }],
    [{ type: 'sleepScore', value: 'high' }],
  ]
  for (const values of none) t.equal(score(values), null, JSON.stringify(values))
})

t.test('a bad stage is dropped with its reason', async (t) => {
  const bad: [item: unknown, field: string | undefined, type: string][] = [
    [stage(null, TEN, TEN + HOUR), 'stage', 'missing'],
    [stage(undefined, TEN, TEN + HOUR), 'stage', 'missing'],
    [stage(3, TEN, TEN + HOUR), 'stage', 'string_type'],
    [stage({}, TEN, TEN + HOUR), 'stage', 'string_type'],
    [stage('light', TEN, TEN), 'endDate', 'end_before_start'],
    [stage('light', TEN, TEN - 1000), 'endDate', 'end_before_start'],
    [stage('light', TEN - 24 * HOUR - 1000, TEN), 'endDate', 'implausible_duration'],
    [stage('light', TEN - 7 * 24 * HOUR, TEN), 'endDate', 'implausible_duration'],
    [stage('light', TEN, TEN + HOUR, { startDate: null }), 'startDate', 'missing'],
    [stage('light', TEN, TEN + HOUR, { endDate: '2026-02-24' }), 'endDate', 'datetime_parsing'],
    [stage('light', 0, HOUR), 'startDate', 'implausible_timestamp'],
    ['light', undefined, 'dict_type'],
  ]
  for (const [item, field, type] of bad) {
    const { rejections, events, ...counts } = read([item, stage('deep', TEN, TEN + HOUR)])
    t.match(counts, { received: 2, rejected: 1, ignored: 0 })
    t.match(rejections, [{ collection: 'sleep', index: 0, type, loc: ['data', 'sleep', 0, ...(field ? [field] : [])] }])
    t.match(events.sleep, [{ stage: 'deep' }], 'the other one stays')
  }
  t.match(read([stage('light', TEN - 12 * HOUR, TEN + 12 * HOUR)]), { rejected: 0 }, 'a whole day is the maximum')
})

t.test('the ids of an upload show whether it holds all of a session', async (t) => {
  const wholeOf = (ids: (string | null)[], provider: SdkProvider = 'health_connect', fields = {}) => {
    const items = ids.map((id, n) =>
      stage('light', TEN + n * 60_000, TEN + (n + 1) * 60_000, { id, parentId: 'n', ...fields }),
    )
    return [...new Set(read(items, provider).events.sleep.map(({ whole }) => whole))]
  }
  const table: [ids: (string | null)[], whole: boolean][] = [
    [['n-s0'], true],
    [['n-s2', 'n-s0', 'n-s1'], true],
    [['n-s0-0', 'n-s0-1', 'n-s1-0'], true],
    [['n-s0', 'n-s1-0', 'n-s1-1', 'n-s2'], true],
    [['n-s1', 'n-s2'], false],
    [['n-s0', 'n-s2'], false],
    [['n-s0-1'], false],
    [['n-s0-0', 'n-s2-0'], false],
    [['n-s0', null], false],
    [['n-s0', 'n-s01'], false],
    [['m-s0'], false],
    [['n'], false],
  ]
  t.strictSame(
    table.filter(([ids, whole]) => wholeOf(ids).join() !== String(whole)),
    [],
  )
  t.strictSame(wholeOf(['n'], 'health_connect', { parentId: null }), [true], 'a session without stages')
  t.strictSame(wholeOf(['n-s0'], 'apple', { parentId: null }), [false])
  const other = stage('unknown', TEN, TEN + 60_000, { id: 'n-s1', parentId: 'n' })
  const [first] = read([
    stage('light', TEN, TEN + 1000, { id: 'n-s0', parentId: 'n' }),
    other,
    { ...other, id: 'n-s3' },
  ]).events.sleep
  t.match(first, { whole: false }, 'ignored stages are counted, too')
  const devices = [WATCH, PHONE].map((source, n) =>
    stage('light', TEN + n, TEN + 1000, { id: `n-s${n}`, parentId: 'n', source }),
  )
  t.match(read(devices, 'samsung').events.sleep, [{ whole: false }, { whole: false }])
})
