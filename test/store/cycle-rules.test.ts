// Cycles from observations: sdk-types 9, compared with an oracle that walks from day to day.
import fc from 'fast-check'
import t from 'tap'
import { type Cycle, cyclesOf, type Observation } from '../../server/store/cycle-rules.ts'
import { runs } from '../support/thorough.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const APRIL = Date.UTC(2025, 3, 1)

/** An observation at 10:00 of a day of April 2025; higher numbers continue into the next months. */
const on = (day: number, fields: Partial<Observation> = {}): Observation => {
  const startMs = APRIL + (day - 1) * DAY_MS + 10 * HOUR_MS
  return {
    sourceId: 1,
    kind: 'flow',
    level: 'medium',
    cycleStart: null,
    startMs,
    endMs: startMs,
    zoneMin: null,
    ...fields,
  }
}
const flow = (...days: number[]) => days.map((day) => on(day))
const test = (day: number, level = 'positive') => on(day, { kind: 'ovulation_test', level })
const mucus = (day: number) => on(day, { kind: 'cervical_mucus', level: 'egg_white' })

const byTime = (observations: readonly Observation[]) => observations.toSorted((a, b) => a.startMs - b.startMs)
const cycles = (...observations: Observation[]) => cyclesOf(byTime(observations), 'apple')
const starts = (found: readonly Cycle[]) => found.map(({ external_id }) => external_id.slice('cycle-apple-'.length))
const phase = (...observations: Observation[]) => cycles(...observations).at(-1)?.current_phase_type

t.test('a period begins on a day that is marked, or after two days without flow', async (t) => {
  t.strictSame(starts(cycles()), [])
  t.strictSame(starts(cycles(...flow(1, 2, 3))), ['2025-04-01'])
  t.strictSame(starts(cycles(...flow(1, 3, 5))), ['2025-04-01'], 'one day without flow is none')
  t.strictSame(starts(cycles(...flow(1, 4))), ['2025-04-01', '2025-04-04'])
  t.strictSame(starts(cycles(on(1), on(2, { cycleStart: true }))), ['2025-04-01', '2025-04-02'])
  t.strictSame(starts(cycles(on(1), on(29, { cycleStart: false }))), ['2025-04-01'], 'marked as none')
  t.strictSame(starts(cycles(on(1, { cycleStart: false }), on(29, { cycleStart: true }))), ['2025-04-29'])
  const contradicting = [on(1), on(29, { cycleStart: false }), on(29, { cycleStart: true }), on(29)]
  t.strictSame(starts(cycles(...contradicting)), ['2025-04-01', '2025-04-29'])
  t.strictSame(starts(cycles(on(1, { level: 'none' }), test(3), mucus(4))), [], 'without flow there is no cycle')
  t.strictSame(starts(cycles(on(1, { level: 'none', cycleStart: true }), on(2))), ['2025-04-02'])
  t.strictSame(starts(cycles(on(1, { kind: 'intermenstrual_bleeding', level: null }))), [])
})

t.test('the example of sdk-types 9 is two cycles', async (t) => {
  const zone = { zoneMin: 120 }
  const found = cycles(
    on(1, { cycleStart: true, ...zone }),
    ...[2, 3, 4, 5, 30].map((day) => on(day, { cycleStart: false, ...zone })),
    on(6, { level: 'none', cycleStart: false, ...zone }),
    on(29, { cycleStart: true, sourceId: 2, ...zone }),
    mucus(13),
    test(14),
  )
  const common = { zone_offset_min: 120, cycle_length: 28 }
  t.strictSame(found, [
    {
      ...{ ...common, external_id: 'cycle-apple-2025-04-01', source_id: 1, period_length: 5 },
      start_ms: Date.UTC(2025, 2, 31, 22),
      end_ms: Date.UTC(2025, 3, 28, 22),
      current_phase_type: 'ovulatory',
      day_in_cycle: 14,
      predicted_cycle_length: null,
      is_predicted_cycle: false,
      last_updated_ms: Date.UTC(2025, 3, 14, 10),
    },
    {
      ...{ ...common, external_id: 'cycle-apple-2025-04-29', source_id: 2, period_length: 2 },
      start_ms: Date.UTC(2025, 3, 28, 22),
      end_ms: Date.UTC(2025, 3, 30, 22),
      current_phase_type: 'menstrual',
      day_in_cycle: 2,
      predicted_cycle_length: 28,
      is_predicted_cycle: true,
      last_updated_ms: Date.UTC(2025, 3, 30, 10),
    },
  ])
})

t.test('an interval covers its days', async (t) => {
  const interval = (kind: 'flow' | 'period', from: number, hours: number, zoneMin: number | null = null) =>
    cycles(on(1, { kind, startMs: APRIL + from * HOUR_MS, endMs: APRIL + (from + hours) * HOUR_MS, zoneMin }))
  const length = (...of: Parameters<typeof interval>) => interval(...of)[0]?.period_length
  t.equal(length('period', 20, 14), 2, 'a night is two days')
  t.equal(length('period', 0, 24), 1, 'a day ends where the next begins')
  t.equal(length('period', 0, 5 * 24), 5)
  t.equal(length('period', 10, 0), 1)
  t.equal(length('period', 22, 5 * 24, 120), 5, 'local days')
  t.equal(length('period', 22, 4 * 24 + 1, 120), 4, 'of which the last has 25 hours, at the end of summer time')
  t.equal(length('flow', 22, 4 * 24 + 1, 120), 4)
  t.equal(length('period', 23, 4 * 24 - 1, 60), 4, 'or 23, at its beginning')
  t.equal(length('period', 0, 4 * 24 + 1.5), 5)
  t.equal(length('flow', 20, 14), 1, 'flow of a day is that of the day it begins')
  t.equal(length('flow', 22, 25), 1, 'a day of 25 hours is a day')
  t.equal(length('flow', 0, 4 * 24 - 1), 4, 'a whole period as one sample')
  t.match(interval('period', 10, 72), [{ day_in_cycle: 4, last_updated_ms: APRIL + 3 * DAY_MS }])
  const marked = on(1, { kind: 'flow', cycleStart: true, endMs: APRIL + 4 * DAY_MS })
  t.strictSame(starts(cycles(marked)), ['2025-04-01'], 'only its first day is marked')
})

t.test('a day is a local one', async (t) => {
  const late = { startMs: APRIL + 23 * HOUR_MS, endMs: APRIL + 23 * HOUR_MS }
  t.strictSame(starts(cycles(on(1, late))), ['2025-04-01'])
  t.strictSame(starts(cycles(on(1, { ...late, zoneMin: 60 }))), ['2025-04-02'])
  t.strictSame(starts(cycles(on(1, { startMs: APRIL, endMs: APRIL, zoneMin: -1 }))), ['2025-03-31'])
  t.match(cycles(on(1, { ...late, zoneMin: 60 })), [{ start_ms: late.startMs, end_ms: late.startMs + DAY_MS }])
})

t.test('the phase is told as far as it is known', async (t) => {
  const closed = [...flow(1, 2, 3), ...flow(29, 30, 31)]
  t.equal(phase(...flow(1, 2)), 'menstrual')
  t.equal(phase(...flow(1, 2), mucus(9)), null, 'nothing tells how long this cycle is')
  t.equal(phase(...flow(1, 2), test(13, 'negative')), null)
  t.equal(phase(...flow(1, 2), test(13)), 'ovulatory')
  t.equal(phase(...flow(1, 2), test(13), mucus(14)), 'luteal')
  t.equal(phase(...flow(1), test(2), test(3)), 'ovulatory')
  for (const [day, expected] of [
    [3, 'menstrual'],
    [4, 'follicular'],
    [12, 'follicular'],
    [13, 'ovulatory'],
    [14, 'ovulatory'],
    [15, 'ovulatory'],
    [16, 'luteal'],
    [40, 'luteal'],
  ] as const) {
    t.equal(phase(...closed, mucus(28 + day)), expected, `day ${day} of a predicted cycle`)
  }
  t.equal(cycles(...closed, mucus(20))[0]?.current_phase_type, 'luteal', 'a closed cycle as of what was last seen')
  t.equal(phase(...closed, test(28 + 10), mucus(28 + 11)), 'luteal')
})

t.test('an open cycle is predicted by the median of those before', async (t) => {
  const predicted = (...lengths: number[]) => {
    const days = [1]
    for (const length of lengths) days.push((days.at(-1) as number) + length)
    const open = cycles(...flow(...days)).at(-1)
    return [open?.cycle_length, open?.predicted_cycle_length, open?.is_predicted_cycle]
  }
  t.strictSame(predicted(), [null, null, false])
  t.strictSame(predicted(30), [30, 30, true])
  t.strictSame(predicted(20, 90, 30), [30, 30, true])
  t.strictSame(predicted(28, 31), [30, 30, true], 'half a day counts as one')
  t.strictSame(predicted(28, 30, 26, 40), [29, 29, true])
})

/** The rules applied day by day, for observations of one day each. */
function walked(observations: readonly Observation[]): unknown[] {
  const local = ({ startMs, zoneMin }: Observation) => Math.floor((startMs / 60_000 + (zoneMin ?? 0)) / 1440)
  const at = (day: number) => observations.filter((one) => local(one) === day)
  const flows = (day: number) => at(day).filter(({ kind, level }) => kind === 'flow' && level !== 'none')
  const known = observations.map(local)
  const firstDay = Math.min(...known)
  const lastDay = Math.max(...known)
  const begins = (day: number) => {
    const marks = flows(day).map(({ cycleStart }) => cycleStart)
    if (marks.length === 0) return false
    if (marks.includes(true)) return true
    return !marks.includes(false) && flows(day - 1).length === 0 && flows(day - 2).length === 0
  }
  const first: number[] = []
  for (let day = firstDay; day <= lastDay; day += 1) if (begins(day)) first.push(day)
  const lengths = first
    .slice(1)
    .map((day, index) => day - (first[index] as number))
    .sort((a, b) => a - b)
  const middle = lengths.length / 2
  const around = Number.isInteger(middle) ? [lengths[middle - 1], lengths[middle]] : [lengths[Math.floor(middle)]]
  const median =
    lengths.length === 0 ? null : Math.round(around.reduce<number>((sum, n) => sum + (n ?? 0), 0) / around.length)
  return first.map((start, index) => {
    const next = first[index + 1]
    const until = next ?? lastDay + 1
    let period = 1
    let flowEnd = start
    let seen = start
    let test = Number.NaN
    let inPeriod = true
    for (let day = start; day < until; day += 1) {
      if (at(day).length > 0) seen = day
      if (flows(day).length > 0) flowEnd = day
      if (inPeriod && flows(day).length > 0) period = day - start + 1
      if (flows(day).length === 0 && (day + 1 >= until || flows(day + 1).length === 0)) inPeriod = false
      if (at(day).some(({ kind, level }) => kind === 'ovulation_test' && level === 'positive')) test = day
    }
    const length = next === undefined ? median : next - start
    const day = seen - start + 1
    const center = length === null ? Number.NaN : length - 14
    let phase: string | null = null
    if (day < center) phase = 'follicular'
    if (day > center || seen > test) phase = 'luteal'
    if (seen === test || Math.abs(day - center) <= 1) phase = 'ovulatory'
    if (day <= period) phase = 'menstrual'
    const source = flows(start)[0]
    const midnight = (number: number) => (number * 1440 - (source?.zoneMin ?? 0)) * 60_000
    return {
      external_id: `cycle-x-${new Date(start * DAY_MS).toISOString().slice(0, 10)}`,
      source_id: source?.sourceId,
      start_ms: midnight(start),
      end_ms: midnight(next ?? flowEnd + 1),
      zone_offset_min: source?.zoneMin,
      current_phase_type: phase,
      day_in_cycle: day,
      cycle_length: length,
      predicted_cycle_length: next === undefined ? median : null,
      period_length: period,
      is_predicted_cycle: next === undefined && median !== null,
      last_updated_ms: Math.max(...at(seen).map(({ startMs }) => startMs)),
    }
  })
}

t.test('cycles are those a walk from day to day finds', async (t) => {
  const observation = fc
    .record({
      hour: fc.nat(24 * 90),
      sourceId: fc.nat(2),
      kind: fc.constantFrom('flow', 'flow', 'flow', 'ovulation_test', 'cervical_mucus', 'intermenstrual_bleeding'),
      level: fc.constantFrom(null, 'light', 'none', 'positive', 'negative'),
      cycleStart: fc.constantFrom(null, null, null, null, true, false),
      zoneMin: fc.constantFrom(null, 0, 120, -330),
    })
    .map(({ hour, ...rest }) => {
      const startMs = APRIL + hour * HOUR_MS
      return { ...rest, startMs, endMs: startMs } as Observation
    })
  let found = 0
  const property = fc.property(fc.array(observation, { maxLength: 40, size: 'max' }), (observations) => {
    const ordered = byTime(observations)
    const derived = cyclesOf(ordered, 'x')
    found += derived.length
    return JSON.stringify(derived) === JSON.stringify(ordered.length === 0 ? [] : walked(ordered))
  })
  t.doesNotThrow(() => fc.assert(property, { seed: 3, numRuns: runs(200, 2_000) }))
  t.ok(found > runs(500, 5_000), `${found} cycles were compared`)
})
