// Which nights and naps of a provider make up which session, and what they add up to: contract 12.8.
import fc from 'fast-check'
import t from 'tap'
import { napsOf } from '../../../server/store/sleep/day.ts'
import { type NightPart, type NightSession, nightSessions } from '../../../server/store/sleep/night-rules.ts'
import { isOlder, latestOfEach } from '../../../server/store/versions.ts'
import { runs } from '../../support/thorough.ts'

const MIN = 60_000
/** Ten in the evening, UTC. */
const TEN = Date.UTC(2026, 1, 23, 22)

/** A night by minutes after ten, in which all time is slept lightly. */
const night = (externalId: string, from: number, until: number, fields: Partial<NightPart> = {}): NightPart => ({
  sourceId: 1,
  externalId,
  rank: 0,
  version: null,
  atMs: TEN,
  startMs: TEN + from * MIN,
  endMs: TEN + until * MIN,
  zoneMin: 0,
  asleepS: (until - from) * 60,
  inBedS: (until - from) * 60,
  awakeS: null,
  lightS: (until - from) * 60,
  deepS: null,
  remS: null,
  efficiencyPercent: null,
  isNap: false,
  stages: null,
  ...fields,
})

/** Sessions as `from until: ids`, in minutes after ten; the ids of replaced parts in brackets. */
const told = (parts: readonly NightPart[]) =>
  nightSessions(parts)
    .sort((a, b) => a.startMs - b.startMs)
    .map(({ startMs, endMs, parts }) => {
      const own = parts.filter((part) => part.startMs >= startMs && part.endMs <= endMs)
      const ids = parts.map((part) => (own.includes(part) ? part.externalId : `(${part.externalId})`))
      return `${(startMs - TEN) / MIN} ${(endMs - TEN) / MIN}: ${ids.join(' ')}`
    })

t.test('parts are one session, or not', async (t) => {
  const nap = { isNap: true }
  const unsaid = { isNap: null }
  const cases: [string, NightPart[], string[]][] = [
    ['alone', [night('a', 0, 400)], ['0 400: a']],
    ['two hours apart', [night('b', 320, 480), night('a', 0, 200)], ['0 480: a b']],
    ['more than two hours apart', [night('a', 0, 200), night('b', 321, 480)], ['0 200: a', '321 480: b']],
    ['a nap beside', [night('a', 0, 400), night('b', 410, 440, nap)], ['0 400: a', '410 440: b']],
    ['touching a nap', [night('a', 0, 400), night('b', 400, 440, nap)], ['0 400: a', '400 440: b']],
    ['a nap within', [night('a', 0, 400), night('b', 100, 140, nap)], ['0 400: a b']],
    // Half past one in the afternoon.
    ['an unsaid nap', [night('a', 600, 920), night('b', 930, 970, unsaid)], ['600 920: a', '930 970: b']],
    ['an unsaid night', [night('a', 0, 200, unsaid), night('b', 230, 420, unsaid)], ['0 420: a b']],
    ['another source', [night('a', 0, 200), night('b', 0, 200, { sourceId: 2 })], ['0 200: a', '0 200: b']],
    ['no length', [night('a', 100, 100)], []],
    ['an edge shared', [night('a', 0, 100), night('b', 50, 150)], ['0 150: a b']],
    [
      'edited under a new id',
      [night('a', 0, 400, { version: 1 }), night('b', 30, 420, { version: 2 })],
      ['30 420: b (a)'],
    ],
    ['edited before', [night('a', 0, 400, { version: 3 }), night('b', 30, 420, { version: 2 })], ['0 400: a (b)']],
    ['a higher rank', [night('a', 0, 400, { rank: 1 }), night('b', 30, 420, { version: 2 })], ['0 400: a (b)']],
    ['the same twice', [night('a', 0, 400), night('b', 0, 400, { atMs: TEN + 1 })], ['0 400: b a']],
    [
      'what is replaced bridges nothing',
      [night('a', 0, 300), night('b', 60, 320, { atMs: TEN + 1 }), night('c', 430, 500)],
      ['60 500: b c (a)'],
    ],
  ]
  t.strictSame(
    cases.map(([name, parts]) => [name, told(parts)]),
    cases.map(([name, , expected]) => [name, expected]),
  )
})

const sums = ({ asleepS, inBedS, awakeS, lightS, deepS, efficiencyPercent, saidNap, zoneMin }: NightSession) => ({
  ...{ asleepS, inBedS, awakeS, lightS, deepS, efficiencyPercent, saidNap, zoneMin },
})

t.test('what a session adds up to', async (t) => {
  const [one] = nightSessions([night('a', 0, 100, { asleepS: 4_800, awakeS: 60, efficiencyPercent: 81, zoneMin: 60 })])
  t.match(sums(one!), { asleepS: 4_800, inBedS: 6_000, awakeS: 60, deepS: null, efficiencyPercent: 81, zoneMin: 60 })
  const [rated] = nightSessions([night('a', 0, 100, { asleepS: 4_800 })])
  t.equal(rated?.efficiencyPercent, 80, 'efficiency follows where it is not said')
  const unscored = { asleepS: null, inBedS: null, lightS: null, zoneMin: null }
  const [pending] = nightSessions([night('a', 0, 100, unscored)])
  t.match(sums(pending!), { asleepS: null, inBedS: null, efficiencyPercent: null, zoneMin: null })

  const [two] = nightSessions([
    night('a', 0, 100, { asleepS: 4_800, deepS: 600, efficiencyPercent: 80, zoneMin: null }),
    night('b', 160, 460, { asleepS: 16_200, efficiencyPercent: 90, zoneMin: 120 }),
  ])
  t.match(
    sums(two!),
    {
      asleepS: 21_000,
      inBedS: 24_000,
      lightS: 24_000,
      deepS: 600,
      awakeS: null,
      efficiencyPercent: 87.5,
      zoneMin: 120,
    },
    'sums; efficiency by the time in bed',
  )
  const [half] = nightSessions([night('a', 0, 100, unscored), night('b', 160, 460)])
  t.equal(half?.asleepS, 18_000, 'of what is known')

  const staged = (from: number, until: number, stage: 'light' | 'deep' | 'awake') =>
    [stage, TEN + from * MIN, TEN + until * MIN] as const
  const [overlapping] = nightSessions([
    night('a', 0, 100, { stages: [staged(0, 60, 'light'), staged(60, 100, 'awake')] }),
    night('b', 80, 200, { stages: [staged(80, 200, 'deep')] }),
  ])
  t.match(
    [overlapping?.stages, sums(overlapping!)],
    [
      [staged(0, 60, 'light'), staged(60, 100, 'awake'), staged(100, 200, 'deep')],
      { asleepS: 9_600, inBedS: 12_000, awakeS: 2_400, lightS: 3_600, deepS: 6_000 },
    ],
    'stages count once, and nothing is longer than the session',
  )
  const nap = (isNap: boolean | null) =>
    nightSessions([night('a', 0, 100, { isNap: true }), night('b', 60, 140, { isNap })])
  t.strictSame(
    [true, false, null].map((second) => nap(second).map(({ saidNap }) => saidNap)),
    [[true], [false], [null]],
    'a nap when both are',
  )
})

t.test('what a provider calls a nap is one, and what it does not is none', async (t) => {
  const session = (from: number, until: number, saidNap: boolean | null) => ({
    ...{ sourceId: 1, session: '', startMs: TEN + from * MIN, endMs: TEN + until * MIN, zoneMin: 0, lightS: null },
    ...{ asleepS: (until - from) * 60, awakeS: null, saidNap },
  })
  // From eight in the morning on.
  const [early, ring, phone, other] = [
    session(600, 660, true),
    session(900, 1_020, true),
    session(910, 970, null),
    session(1_100, 1_130, false),
  ]
  const sessions = [early, ring, phone, other] as const
  const naps = napsOf(sessions, new Set())
  t.strictSame(
    sessions.map((one) => naps.has(one)),
    [true, true, true, false],
    'a phone beside the longest nap saw the same nap',
  )
})

const anyParts = fc
  .uniqueArray(
    fc.record({
      id: fc.nat(30),
      source: fc.nat(1),
      from: fc.nat(60),
      length: fc.constantFrom(0, 1, 2, 3, 5, 6, 12, 13, 40),
      rank: fc.nat(1),
      version: fc.constantFrom(null, 1, 2, 3),
      at: fc.nat(3),
      isNap: fc.constantFrom(null, false, false, true),
    }),
    { selector: ({ id }) => id, minLength: 1, maxLength: 14 },
  )
  .map((parts) =>
    parts.map(({ id, source, from, length, at, ...fields }) =>
      night(`night ${id}`, from * 30, (from + length) * 30, { ...fields, sourceId: source, atMs: TEN + at }),
    ),
  )

/** The parts of each session, by comparing all with all. */
function grouped(parts: readonly NightPart[]): string[] {
  const later = (one: NightPart) => [one.rank, one.version ?? one.atMs, one.externalId] as const
  const before = (one: NightPart, other: NightPart) => {
    const [a, b] = [later(one), later(other)]
    return a[0] !== b[0] ? a[0] > b[0] : a[1] !== b[1] ? a[1] > b[1] : a[2] > b[2]
  }
  const shared = (one: NightPart, other: NightPart) =>
    Math.min(one.endMs, other.endMs) - Math.max(one.startMs, other.startMs)
  const long = (one: NightPart) => one.endMs - one.startMs
  const standing: NightPart[] = []
  const groupOf = new Map<NightPart, NightPart>()
  for (const part of parts.filter((one) => long(one) > 0).sort((a, b) => (before(a, b) ? -1 : 1))) {
    const other = standing.find(
      (one) =>
        one.sourceId === part.sourceId && shared(one, part) > long(one) / 2 && shared(one, part) > long(part) / 2,
    )
    if (other) groupOf.set(part, other)
    else standing.push(part)
  }
  const find = (one: NightPart): NightPart => {
    const next = groupOf.get(one)
    return next ? find(next) : one
  }
  const join = (one: NightPart, other: NightPart) => {
    if (find(one) !== find(other)) groupOf.set(find(other), find(one))
  }
  const ofSource = (one: NightPart) => standing.filter(({ sourceId }) => sourceId === one.sourceId)
  for (const one of standing) for (const other of ofSource(one)) if (shared(one, other) > 0) join(one, other)
  const isNap = (one: NightPart) => {
    const hour = new Date(one.startMs).getUTCHours()
    return one.isNap ?? (long(one) < 180 * MIN && hour >= 9 && hour < 20)
  }
  const blocks = () => {
    const lists = new Map<NightPart, NightPart[]>()
    for (const one of standing) lists.set(find(one), [...(lists.get(find(one)) ?? []), one])
    return [...lists.values()].map((list) => ({
      list,
      startMs: Math.min(...list.map(({ startMs }) => startMs)),
      endMs: Math.max(...list.map(({ endMs }) => endMs)),
    }))
  }
  for (const block of blocks()) {
    const [next] = blocks()
      .filter((other) => other.list[0]?.sourceId === block.list[0]?.sourceId && other.startMs >= block.endMs)
      .sort((a, b) => a.startMs - b.startMs)
    if (!next || next.startMs - block.endMs > 120 * MIN) continue
    if (![...block.list, ...next.list].some(isNap)) join(block.list[0]!, next.list[0]!)
  }
  const sessions = new Map<NightPart, string[]>()
  for (const one of parts.filter((one) => long(one) > 0))
    sessions.set(find(one), [...(sessions.get(find(one)) ?? []), one.externalId])
  return [...sessions.values()].map((ids) => ids.sort().join()).sort()
}

t.test('any parts, in any order: as by comparing all with all', async (t) => {
  const property = fc.property(anyParts, fc.array(fc.nat(), { minLength: 14, maxLength: 14 }), (parts, random) => {
    const sessions = nightSessions(parts)
    const ids = sessions
      .map((one) =>
        one.parts
          .map(({ externalId }) => externalId)
          .sort()
          .join(),
      )
      .sort()
    const shuffled = parts
      .map((part, place) => [random[place] as number, part] as const)
      .sort(([a], [b]) => a - b)
      .map(([, part]) => part)
    const same = (list: NightSession[]) =>
      list
        .map(({ parts, ...session }) => JSON.stringify([session, parts.map(({ externalId }) => externalId).sort()]))
        .sort()
    return ids.join(' ') === grouped(parts).join(' ') && same(nightSessions(shuffled)).join() === same(sessions).join()
  })
  fc.assert(property, { seed: 31, numRuns: runs(500, 50_000) })
  t.pass()
})

t.test('many nights at once take no time to compare', async (t) => {
  const parts = Array.from({ length: 20_000 }, (_, n) => night(`${n}`, n / 100, n / 100 + 30 + (n % 7) * 100))
  const compared = nightSessions(parts).flatMap((session) => session.parts)
  t.equal(compared.length, parts.length)
})

t.test('which of two is older', async (t) => {
  const older: [Parameters<typeof isOlder>[0], Parameters<typeof isOlder>[1], boolean][] = [
    [{ version: 1, atMs: 9 }, { version: 2, atMs: 1 }, true],
    [{ version: 2, atMs: 1 }, { version: 1, atMs: 9 }, false],
    [{ version: 2, atMs: 1 }, { version: 2, atMs: 9 }, false],
    [{ version: 2, atMs: 9 }, { version: 2, atMs: 9 }, false],
    [{ version: null, atMs: 1 }, { version: 2, atMs: 9 }, true],
    [{ atMs: 9 }, { version: 2, atMs: 1 }, false],
    [{}, { version: 2, atMs: 1 }, false],
    [{ atMs: 1 }, {}, false],
    // A guess that comes late.
    [{ rank: 1, atMs: 9 }, { rank: 4, atMs: 1 }, true],
    [{ rank: 4, version: 1 }, { rank: 1, version: 2 }, false],
    [{ rank: 4, atMs: 1 }, { rank: 4, atMs: 9 }, true],
    [{ rank: 1, atMs: 9 }, { atMs: 1 }, false],
  ]
  t.strictSame(
    older.map(([one, other]) => isOlder(one, other)),
    older.map(([, , expected]) => expected),
  )
  const items = [
    { id: 'a', atMs: 2 },
    { id: 'b', atMs: 1 },
    { id: 'a', atMs: 1 },
    { id: 'b', atMs: 1, last: true },
  ]
  const { kept, duplicates } = latestOfEach(items, ({ id }) => id)
  t.strictSame([[...kept.values()], duplicates], [[items[0], items[3]], 2])
})
