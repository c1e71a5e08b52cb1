// How stages form sessions, and their sums: sdk-types 7.
import fc from 'fast-check'
import t from 'tap'
import { type SleepStageName, sleepStages } from '../../../server/batch/columns.ts'
import { coveredOf, napsOf } from '../../../server/store/sleep/day.ts'
import { type Session, type Stage, sessionsOf } from '../../../server/store/sleep/sessions.ts'
import { runs } from '../../support/thorough.ts'

const MIN = 60_000
const HOUR = 60 * MIN
/** Ten in the evening, UTC. */
const TEN = Date.UTC(2026, 1, 23, 22)

/** A stage by minutes after ten. */
const stage = (name: SleepStageName, from: number, until: number, fields: Partial<Stage> = {}): Stage => ({
  sourceId: 1,
  session: '',
  stage: name,
  startMs: TEN + from * MIN,
  endMs: TEN + until * MIN,
  zoneMin: 0,
  externalId: null,
  score: null,
  ...fields,
})

/** A session as minutes after ten. */
const figuresOf = ({ startMs, endMs, asleepS, inBedS }: Session) => [
  (startMs - TEN) / MIN,
  (endMs - TEN) / MIN,
  asleepS / 60,
  inBedS / 60,
]

const byStart = (sessions: Session[]) => sessions.sort((a, b) => a.startMs - b.startMs || a.sourceId - b.sourceId)
const sessionFigures = (...stages: Stage[]) => byStart(sessionsOf(stages)).map(figuresOf)

t.test('a gap of two hours belongs to the night, a longer one does not', async (t) => {
  t.strictSame(sessionFigures(stage('light', 0, 60), stage('deep', 180, 200)), [[0, 200, 80, 80]])
  t.strictSame(sessionFigures(stage('light', 0, 60), stage('deep', 181, 200)), [
    [0, 60, 60, 60],
    [181, 200, 19, 19],
  ])
  t.strictSame(
    sessionFigures(stage('deep', 270, 300), stage('light', 0, 60), stage('in_bed', 150, 200)),
    [[0, 300, 90, 90]],
    'time in bed bridges',
  )
  t.strictSame(
    sessionFigures(stage('light', 0, 300), stage('deep', 10, 20), stage('rem', 400, 410)),
    [[0, 410, 310, 310]],
    'the last end counts',
  )
})

t.test('lying awake does not start a session, but continues one', async (t) => {
  t.strictSame(sessionFigures(stage('awake', 0, 60)), [])
  t.strictSame(sessionFigures(stage('awake', 0, 60), stage('light', 60, 120), stage('awake', 120, 130)), [
    [60, 130, 60, 70],
  ])
  t.strictSame(sessionFigures(stage('light', 0, 60), stage('awake', 200, 210), stage('light', 320, 400)), [
    [0, 60, 60, 60],
    [320, 400, 80, 80],
  ])
})

t.test('time in bed is sleep only if nothing else is known', async (t) => {
  t.strictSame(sessionFigures(stage('in_bed', 0, 480)), [[0, 480, 480, 480]])
  t.strictSame(sessionFigures(stage('in_bed', 0, 480), stage('sleeping', 30, 400)), [[30, 400, 370, 480]])
})

t.test('sleep without detail counts where no stage covers it', async (t) => {
  t.strictSame(
    sessionFigures(stage('in_bed', 0, 480), stage('sleeping', 30, 400), stage('deep', 60, 90)),
    [[30, 400, 370, 480]],
    'eight hours of one app beside half an hour of another are more than half an hour',
  )
  const [session] = sessionsOf([stage('sleeping', 0, 480), stage('awake', 100, 110), stage('deep', 470, 490)])
  t.match(session, { asleepS: 480 * 60, awakeS: 600, deepS: 1200, efficiencyPercent: 97.96 })
  t.strictSame(
    session?.stages.map(([name, from, until]) => [name, (from - TEN) / MIN, (until - TEN) / MIN]),
    [
      ['sleeping', 0, 100],
      ['awake', 100, 110],
      ['sleeping', 110, 470],
      ['deep', 470, 490],
    ],
  )
  t.strictSame(sessionFigures(stage('sleeping', 0, 480), stage('awake', 100, 110)), [[0, 480, 470, 480]])
})

t.test('a gap inside a night is neither sleep nor time in bed', async (t) => {
  for (const given of [{}, { session: 'night' }]) {
    const parts = [stage('light', 0, 120, given), stage('awake', 120, 150, given), stage('deep', 240, 480, given)]
    const [session, ...others] = sessionsOf(parts)
    t.strictSame(others, [])
    t.match(session, {
      startMs: TEN,
      endMs: TEN + 480 * MIN,
      asleepS: 360 * 60,
      inBedS: 390 * 60,
      efficiencyPercent: 92.31,
    })
  }
  t.strictSame(
    sessionFigures(
      stage('light', 0, 120),
      stage('deep', 240, 480),
      stage('in_bed', 0, 130, { sourceId: 2 }),
      stage('in_bed', 235, 490, { sourceId: 2 }),
    ),
    [[0, 480, 360, 385]],
    'nor if the phone recorded nobody in bed',
  )
})

t.test('a nap stays separate from the night unless the gap is short', async (t) => {
  const evening = (until: number) => stage('light', -160, until)
  const night = stage('light', 0, 480)
  t.strictSame(sessionFigures(evening(-60), night), [
    [-160, -60, 100, 100],
    [0, 480, 480, 480],
  ])
  t.strictSame(sessionFigures(evening(-15), night), [[-160, 480, 625, 625]])
  t.strictSame(
    sessionFigures(stage('light', -110, -60), night),
    [[-110, 480, 530, 530]],
    'from 20:10 on it belongs to the night',
  )
  t.strictSame(sessionFigures(stage('light', -110, -60, { zoneMin: -60 }), night).length, 2, 'by the local clock')
  const morning = (from: number, until: number) => stage('light', 600 + from, 600 + until)
  t.strictSame(
    sessionFigures(morning(0, 90), morning(120, 285)),
    [[600, 885, 255, 255]],
    'the longest part is not a nap',
  )
  t.strictSame(sessionFigures(morning(120, 180), morning(200, 250), morning(270, 310)).length, 3)
})

t.test('naps are short, by day, and not the only sleep of a day', async (t) => {
  const naps = (...stages: Stage[]) => {
    const sessions = byStart(sessionsOf(stages))
    const found = napsOf(sessions, new Set())
    return sessions.map((session) => found.has(session))
  }
  const night = stage('light', 0, 480)
  const at = (hour: number, minutes: number, fields = {}) =>
    stage('light', (hour + 2) * 60, (hour + 2) * 60 + minutes, fields)
  t.strictSame(naps(night, at(13, 30)), [false, true])
  t.strictSame(naps(at(13, 30)), [false], 'the only sleep of the day')
  t.strictSame(naps(night, at(13, 179)), [false, true])
  t.strictSame(naps(night, at(13, 180)), [false, false], 'three hours are not a nap')
  t.strictSame(naps(night, at(9, 30)), [false, true], 'from nine on')
  t.strictSame(naps(night, at(8.95, 30)), [false, false], 'not before')
  t.strictSame(naps(night, at(19.9, 30)), [false, true])
  t.strictSame(naps(night, at(20, 30)), [false, false])
  t.strictSame(naps(night, at(20, 30, { zoneMin: -60 })), [false, true], 'by the local clock')
  t.strictSame(naps(at(11, 30), at(15, 30)), [false, true], 'if equally long, the first is the sleep of the day')
  const watch = { sourceId: 2 }
  t.strictSame(naps(night, at(13, 20, watch)), [false, true], 'the only sleep of the watch, but not of the person')
  t.strictSame(naps(at(10, 360), at(11, 90, watch)), [false, false], 'a part of the sleep of the day is not a nap')
  t.strictSame(naps(at(10, 30), at(10.1, 20, watch)), [false, false], 'two devices recorded it')
})

t.test('of sessions of one source that overlap the longest counts, stages twice', async (t) => {
  const given = (session: string, from: number, until: number, name: SleepStageName = 'sleeping', sourceId = 1) =>
    sessionsOf([stage(name, from, until, { session, sourceId })])
  const covered = (...lists: Session[][]) => [...coveredOf(lists.flat())].map(({ session }) => session).sort()
  t.strictSame(covered(given('a', 0, 480), given('b', 0, 300), given('c', 0, 530)), ['a', 'b'], 'stored three times')
  t.strictSame(covered(given('a', 0, 480), given('b', 0, 300, 'light')), ['a'], 'stages count twice')
  t.strictSame(covered(given('a', 0, 480), given('b', 0, 230, 'light')), ['b'], 'but do not hide a night')
  t.strictSame(covered(given('a', 0, 480), given('b', 480, 600)), [], 'beside each other')
  t.strictSame(covered(given('a', 0, 480), given('b', 0, 480, 'sleeping', 2)), [], 'of two sources')
  t.strictSame(covered(given('a', 0, 480), given('b', 0, 480)), ['b'], 'one of two equals')
  t.strictSame(covered(given('a', 0, 200, 'light'), given('b', 0, 480), given('c', 220, 480, 'light')), ['b'])
  t.strictSame(covered(given('a', 0, 200, 'light'), given('b', 100, 480), given('c', 470, 500)), ['b'])
  t.strictSame(
    covered(given('a', 0, 150), given('b', 120, 300), given('c', 270, 540)),
    ['b'],
    'what does not count covers nothing',
  )
  const long = sessionsOf([0, 1440, 2880].map((from) => stage('sleeping', from, from + 1440, { session: 'long' })))
  t.strictSame(covered(long, given('a', 0, 480)), [], 'a session that ends a day later is another sleep')
  const many = Array.from({ length: 30_000 }, (_, n) => given(`n${n}`, n % 100, 480 + (n % 1000))).flat()
  t.equal(coveredOf(many).size, many.length - 1, 'however many there are')
})

t.test('time in bed from a phone is added to the night of the watch', async (t) => {
  const phone = { sourceId: 2 }
  const watch = stage('light', 30, 400)
  t.strictSame(sessionFigures(watch, stage('in_bed', 0, 480, phone)), [[30, 400, 370, 480]])
  t.strictSame(sessionFigures(watch, stage('in_bed', 0, 20, phone), stage('in_bed', 25, 480, phone)), [
    [30, 400, 370, 475],
  ])
  t.strictSame(
    sessionFigures(watch, stage('in_bed', 401, 480, phone)).length,
    2,
    'without overlap it is a separate session',
  )
  t.strictSame(
    sessionFigures(watch, stage('in_bed', 0, 480, phone), stage('light', 20, 100, { sourceId: 3 })),
    [
      [20, 100, 80, 480],
      [30, 400, 370, 480],
    ],
    'and to every other device',
  )
  t.strictSame(
    sessionFigures(watch, stage('in_bed', 0, 480, phone), stage('light', 20, 410, phone)),
    [
      [20, 410, 390, 480],
      [30, 400, 370, 370],
    ],
    'but not that of a device that records sleep itself',
  )
  t.strictSame(
    sessionFigures(stage('light', 30, 100), stage('light', 300, 400), stage('in_bed', 0, 450, phone)),
    [
      [30, 100, 70, 300],
      [300, 400, 100, 150],
    ],
    'divided where the second begins',
  )
})

t.test('a session that the platform defines stays as it is', async (t) => {
  const given = { session: 'night' }
  t.strictSame(sessionFigures(stage('light', 0, 60, given), stage('deep', 600, 660, given)), [[0, 660, 120, 120]])
  t.strictSame(sessionFigures(stage('light', 0, 60, given), stage('deep', 60, 90, { session: 'other' })).length, 2)
  const [session] = sessionsOf([
    stage('in_bed', 0, 10, given),
    stage('light', 10, 60, given),
    stage('in_bed', 60, 65, given),
  ])
  t.match(session, { asleepS: 3000, inBedS: 3900, startMs: TEN, endMs: TEN + 65 * MIN })
  t.strictSame(
    session?.stages.map(([name]) => name),
    ['in_bed', 'light', 'in_bed'],
  )
})

t.test('zone and score of a session', async (t) => {
  const [session] = sessionsOf([
    stage('light', 0, 10, { zoneMin: null, score: 70 }),
    stage('deep', 10, 20, { zoneMin: 60, score: 78 }),
    stage('rem', 20, 30, { zoneMin: 120 }),
  ])
  t.match(session, { zoneMin: 60, score: 78 })
})

/** Minutes of twelve hours from 20:30 on, in which nothing is a nap. */
const MINUTES = 720
const anyStages = fc.array(
  fc
    .tuple(fc.constantFrom(...sleepStages), fc.nat(MINUTES - 1), fc.integer({ min: 1, max: 90 }))
    .map(([name, from, length]) => stage(name, from - 90, Math.min(from + length, MINUTES) - 90)),
  { maxLength: 14 },
)

const inOrder = (stages: readonly Stage[]) =>
  [...stages].sort(
    (a, b) => a.startMs - b.startMs || a.endMs - b.endMs || sleepStages.indexOf(a.stage) - sleepStages.indexOf(b.stage),
  )

/** The stage in every minute; the first one counts. */
function paint(stages: readonly Stage[], shown: (name: SleepStageName) => boolean): (SleepStageName | undefined)[] {
  const minutes = new Array<SleepStageName | undefined>(MINUTES).fill(undefined)
  for (const { stage: name, startMs, endMs } of inOrder(stages)) {
    if (!shown(name)) continue
    for (let minute = (startMs - TEN) / MIN + 90; minute < (endMs - TEN) / MIN + 90; minute += 1)
      minutes[minute] ??= name
  }
  return minutes
}

const DETAIL = ['light', 'deep', 'rem']

/** Totals of one session, counted minute by minute. */
function countMinutes(stages: readonly Stage[], given: boolean) {
  const has = (...names: string[]) => stages.some((one) => names.includes(one.stage))
  const slept = has(...DETAIL, 'sleeping') ? [...DETAIL, 'sleeping'] : ['in_bed']
  const exact = paint(stages, (name) => name === 'awake' || DETAIL.includes(name))
  const vague = paint(stages, (name) => name === (slept.includes('in_bed') ? 'in_bed' : 'sleeping'))
  const minutes = exact.map((name, minute) => name ?? vague[minute])
  const all = paint(stages, () => true)
  const count = (...names: string[]) => minutes.filter((name) => name && names.includes(name)).length
  const asleep = count(...slept)
  const bed = given ? all.filter(Boolean).length : paint(stages, (name) => name === 'in_bed').filter(Boolean).length
  const within = given ? all : minutes
  return {
    start: within.findIndex(Boolean),
    end: within.findLastIndex(Boolean) + 1,
    asleep,
    awake: count('awake'),
    light: count('light'),
    deep: count('deep'),
    rem: count('rem'),
    inBed: Math.max(bed, asleep + count('awake')),
  }
}

const counted = ({ startMs, endMs, ...session }: Session) => ({
  start: (startMs - TEN) / MIN + 90,
  end: (endMs - TEN) / MIN + 90,
  asleep: session.asleepS / 60,
  awake: (session.awakeS ?? 0) / 60,
  light: (session.lightS ?? 0) / 60,
  deep: (session.deepS ?? 0) / 60,
  rem: (session.remS ?? 0) / 60,
  inBed: session.inBedS / 60,
})

/** Groups by comparing every pair, and drops lying awake at the start of groups until nothing changes. */
function groupsByPairs(stages: readonly Stage[]): Stage[][] {
  const near = (a: Stage, b: Stage) => a.startMs - b.endMs <= 2 * HOUR && b.startMs - a.endMs <= 2 * HOUR
  const left = inOrder(stages)
  const groups: Stage[][] = []
  while (left.length > 0) {
    const group = left.splice(0, 1)
    for (let more = true; more; ) {
      more = false
      for (const one of [...left]) {
        if (!group.some((member) => near(member, one))) continue
        group.push(...left.splice(left.indexOf(one), 1))
        more = true
      }
    }
    groups.push(inOrder(group))
  }
  return groups.flatMap((group) => {
    const first = group.findIndex((one) => one.stage !== 'awake')
    return first < 0 ? [] : first === 0 ? [group] : groupsByPairs(group.slice(first))
  })
}

t.test('totals equal those counted minute by minute', async (t) => {
  const property = fc.property(anyStages, (stages) => {
    const expected = groupsByPairs(stages).map((group) => countMinutes(group, false))
    t.strictSame(
      byStart(sessionsOf(stages)).map(counted),
      expected.sort((a, b) => a.start - b.start),
    )
    const given = stages.map((one) => ({ ...one, session: 'night' }))
    t.strictSame(sessionsOf(given).map(counted), stages.length > 0 ? [countMinutes(stages, true)] : [])
    return t.passing()
  })
  t.doesNotThrow(() => fc.assert(property, { seed: 7, numRuns: runs(50, 400) }))
})

t.test('stages of a session never overlap, and add up to its totals', async (t) => {
  const property = fc.property(anyStages, fc.boolean(), (stages, given) => {
    const input = given ? stages.map((one) => ({ ...one, session: 'night' })) : stages
    return sessionsOf(input).every((session) => {
      const parts = session.stages
      const sum = (...names: string[]) =>
        parts.reduce((total, [name, from, until]) => total + (names.includes(name) ? until - from : 0), 0) / 1000
      return (
        parts.every(([, from, until], place) => from < until && from >= (parts[place - 1]?.[2] ?? session.startMs)) &&
        (parts.at(-1)?.[2] ?? 0) <= session.endMs &&
        sum('light', 'deep', 'rem', 'sleeping') === session.asleepS &&
        sum('awake') === (session.awakeS ?? 0) &&
        (session.efficiencyPercent ?? 0) <= 100
      )
    })
  })
  t.doesNotThrow(() => fc.assert(property, { seed: 8, numRuns: runs(150, 2_000) }))
})

t.test('sessions do not depend on the order of stages, and a very long one is handled', async (t) => {
  const sources = fc.array(
    fc.record({ of: anyStages, sourceId: fc.constantFrom(1, 2, 3), session: fc.constantFrom('', '', 'a', 'b') }),
    { maxLength: 4 },
  )
  const property = fc.property(sources, fc.infiniteStream(fc.nat()), (lists, random) => {
    const stages = lists.flatMap(({ of, sourceId, session }) => of.map((one) => ({ ...one, sourceId, session })))
    const once = [...new Map(stages.map((one) => [JSON.stringify(one), one])).values()]
    const shuffled = once
      .map((one) => [random.next().value as number, one] as const)
      .sort(([a], [b]) => a - b)
      .map(([, one]) => one)
    const key = (session: Session) => JSON.stringify(session)
    t.strictSame(sessionsOf(shuffled).map(key).sort(), sessionsOf(once).map(key).sort())
    return t.passing()
  })
  t.doesNotThrow(() => fc.assert(property, { seed: 9, numRuns: runs(40, 300) }))

  const count = runs(3_000, 60_000)
  const weeks = Array.from({ length: count }, (_, place) =>
    stage(place % 2 ? 'deep' : 'light', place * 2, place * 2 + 1),
  )
  t.strictSame(sessionsOf(weeks).map(figuresOf), [[0, 2 * count - 1, count, count]])
  const phone = weeks.map((one) => ({
    ...one,
    sourceId: 2,
    stage: 'in_bed' as const,
    startMs: one.startMs + MIN,
    endMs: one.endMs + MIN,
  }))
  t.strictSame(sessionsOf([...weeks, ...phone]).map(figuresOf), [[0, 2 * count - 1, count, count]])
  const apart = Array.from({ length: count / 2 }, (_, place) => stage('light', place * 140, place * 140 + 10))
  const bed = apart.map((one) => ({ ...one, sourceId: 2, stage: 'in_bed' as const, endMs: one.endMs + HOUR }))
  t.equal(sessionsOf([...apart, ...bed]).length, count / 2)
})
