// What mappings compute, by other means: second by second, and with pencil and paper.
import fc from 'fast-check'
import t from 'tap'
import { workoutType as ouraWorkout } from '../../server/providers/oura/workouts.ts'
import { workoutType as whoopWorkout } from '../../server/providers/whoop/workouts.ts'
import { batchOf, rowsOf } from '../support/parcels.ts'
import { runs } from '../support/thorough.ts'

const AT = '2026-03-11T09:00:00Z'
const MIDNIGHT = Date.UTC(2026, 2, 10)

const page = (stream: string, data: object[]) => ({ stream, at: AT, body: { data, records: data } })
const utc = (ms: number) => new Date(ms).toISOString()

const letters: Record<string, string> = { 1: 'deep', 2: 'light', 3: 'rem', 4: 'awake' }

t.test('Oura: the stages of a night are its hypnogram, second by second', async (t) => {
  const phases = (most: number) =>
    fc.array(fc.constantFrom('1', '2', '3', '4', '2', '0', 'x'), { maxLength: most }).map((list) => list.join(''))
  const nights = fc.record({
    seconds: fc.integer({ min: 1, max: 4_000 }),
    fine: fc.option(phases(150)),
    coarse: phases(16),
  })
  const property = fc.property(nights, ({ seconds, fine, coarse }) => {
    const period = {
      id: 'a',
      type: 'long_sleep',
      bedtime_start: utc(MIDNIGHT),
      bedtime_end: utc(MIDNIGHT + seconds * 1000),
      sleep_phase_30_sec: fine,
      sleep_phase_5_min: coarse,
    }
    const [night] = batchOf('oura', [page('sleep', [period])]).events.nights
    const drawn: (string | undefined)[] = Array(seconds).fill(undefined)
    const stages = night?.stages ?? []
    for (const [stage, startMs, endMs] of stages) {
      for (let second = (startMs - MIDNIGHT) / 1000; second < (endMs - MIDNIGHT) / 1000; second += 1) {
        if (second >= seconds || drawn[second] !== undefined) return false
        drawn[second] = stage
      }
    }
    const [text, step] = fine ? [fine, 30] : [coarse, 300]
    const expected = drawn.map((_, second) => letters[text[Math.floor(second / step)] ?? ''])
    const isJoined = stages.every(([stage, startMs], place) => {
      const before = stages[place - 1]
      return !before || before[0] !== stage || before[2] !== startMs
    })
    return isJoined && drawn.every((stage, second) => stage === expected[second])
  })
  fc.assert(property, { seed: 15, numRuns: runs(150, 5_000) })
  t.pass()
})

t.test('Oura: sums of a day and of a night', async (t) => {
  const day = { id: 'd', day: '2026-03-10', timestamp: '2026-03-10T04:00:00+05:45' }
  // high, medium, low: seconds; whole minutes of their sum.
  const active: [(number | null)[], number | null][] = [
    [[1260, 2860, 14060], 303],
    [[59, 59, 59], 2],
    [[null, 60, null], 1],
    [[0, 0, 0], 0],
    [[null, null, null], null],
  ]
  const minutes = active.map(([[high, medium, low]]) => {
    const fields = { high_activity_time: high, medium_activity_time: medium, low_activity_time: low }
    const [columns] = batchOf('oura', [page('daily_activity', [{ ...day, ...fields }])]).samples
    return columns?.value[0] ?? null
  })
  t.strictSame(
    minutes,
    active.map(([, expected]) => expected),
  )
  // total, active: what is left of the total.
  const basal: [unknown, unknown, number | null][] = [
    [2602, 553, 2049],
    [553, 553, 0],
    [500, 553, null],
    [null, 553, null],
    [2602, null, null],
    ['2602', 553, null],
  ]
  const rest = basal.map(([total, part]) => {
    const fields = { total_calories: total, active_calories: part }
    const { samples } = rowsOf(batchOf('oura', [page('daily_activity', [{ ...day, ...fields }])]))
    const line = (samples as string[]).find((one) => one.startsWith('basal_energy day 2026-03-09T18:15:00Z '))
    return line ? Number(line.split(' ')[3]) : null
  })
  t.strictSame(
    rest,
    basal.map(([, , expected]) => expected),
  )
  // deep, light, REM, total: asleep.
  const slept: [(number | null)[], number | null][] = [
    [[3060, 17160, 3000, 23220], 23220],
    [[3060, 17160, 3000, 1], 23220],
    [[null, 17160, 3000, 23220], 23220],
    [[null, null, null, null], null],
  ]
  const asleep = slept.map(([[deep, light, rem, total]]) => {
    const period = {
      id: 'a',
      bedtime_start: '2026-03-09T23:00:00+01:00',
      bedtime_end: '2026-03-10T07:00:00+01:00',
      deep_sleep_duration: deep,
      light_sleep_duration: light,
      rem_sleep_duration: rem,
      total_sleep_duration: total,
    }
    return batchOf('oura', [page('sleep', [period])]).events.nights[0]?.asleepS
  })
  t.strictSame(
    asleep,
    slept.map(([, expected]) => expected),
  )
})

t.test('zones: of the instant itself, or of the field beside it; without either there is none', async (t) => {
  const night = {
    id: 'a',
    score_state: 'PENDING_SCORE',
    nap: false,
    start: '2026-03-09T22:00:00.000Z',
    end: '2026-03-10T05:00:00.000Z',
  }
  const whoop = ['+01:00', '-03:30', '+05:45', 'Z', '+14:00', '+0100', '', null, 60, '+25:00', 'Europe/Berlin'].map(
    (zone) => batchOf('whoop', [page('sleep', [{ ...night, timezone_offset: zone }])]).events.nights[0]?.zoneMin,
  )
  t.strictSame(whoop, [60, -210, 345, 0, 840, 60, null, null, null, null, null])
  const oura = ['+01:00', '-03:30', '+05:45', 'Z', '+14:00', ''].map((zone) => {
    const period = { id: 'a', bedtime_start: `2026-03-08T22:00:00${zone}`, bedtime_end: `2026-03-09T05:00:00${zone}` }
    const [found] = batchOf('oura', [page('sleep', [period])]).events.nights
    return [found?.zoneMin, (Date.UTC(2026, 2, 8, 22) - (found?.startMs ?? 0)) / 60_000]
  })
  t.strictSame(oura, [
    [60, 60],
    [-210, -210],
    [345, 345],
    [0, 0],
    [840, 840],
    [null, 0],
  ])
  // The night in which clocks go forward and the one in which they go back: zone and length are those of the start.
  const changes = [
    ['2026-03-08T00:30:00-05:00', '2026-03-08T08:30:00-04:00', 7],
    ['2025-11-02T00:30:00-04:00', '2025-11-02T08:30:00-05:00', 9],
  ].map(([start, end, hours]) => {
    const [found] = batchOf('oura', [page('sleep', [{ id: 'a', bedtime_start: start, bedtime_end: end }])]).events
      .nights
    return ((found?.endMs ?? 0) - (found?.startMs ?? 0)) / 3_600_000 === hours ? found?.zoneMin : undefined
  })
  t.strictSame(changes, [-300, -240])
})

t.test('WHOOP: kilojoules are kilocalories with two decimals, milliseconds whole seconds', async (t) => {
  const record = { id: 'a', score_state: 'SCORED', start: '2026-03-10T10:00:00.000Z', end: '2026-03-10T11:00:00.000Z' }
  const calories = (kilojoule: number) =>
    batchOf('whoop', [page('workout', [{ ...record, score: { kilojoule } }])]).events.workouts[0]?.caloriesKcal
  t.strictSame([1569.34, 4.184, 418.4, 0, 8288.297].map(calories), [375.08, 1, 100, 0, 1980.95])
  const energy = fc.property(fc.double({ min: 0, max: 100_000, noNaN: true }), (kilojoule) => {
    const kcal = calories(kilojoule) ?? Number.NaN
    return (
      Math.abs(kcal * 4.184 - kilojoule) <= 0.005 * 4.184 + 1e-6 && Math.abs(kcal * 100 - Math.round(kcal * 100)) < 1e-6
    )
  })
  fc.assert(energy, { seed: 15, numRuns: runs(100, 5_000) })
  const stages = fc.tuple(...['light_sleep', 'slow_wave_sleep', 'rem_sleep', 'awake'].map(() => fc.nat(20_000_000)))
  const totals = fc.property(
    stages,
    fc.option(fc.nat(100)),
    ([light = 0, deep = 0, rem = 0, awake = 0], efficiency) => {
      const inBed = light + deep + rem + awake + 1
      const summary = {
        total_light_sleep_time_milli: light,
        total_slow_wave_sleep_time_milli: deep,
        total_rem_sleep_time_milli: rem,
        total_awake_time_milli: awake,
        total_in_bed_time_milli: inBed,
      }
      const score = { stage_summary: summary, sleep_efficiency_percentage: efficiency }
      const [night] = batchOf('whoop', [page('sleep', [{ ...record, score }])]).events.nights
      const whole = (ms: number) => (ms - (ms % 1000)) / 1000
      const expected = [light, deep, rem, awake, light + deep + rem, inBed].map(whole)
      const got = [night?.lightS, night?.deepS, night?.remS, night?.awakeS, night?.asleepS, night?.inBedS]
      const percent = efficiency ?? ((light + deep + rem) * 100) / inBed
      return (
        expected.every((one, place) => one === got[place]) &&
        Math.abs((night?.efficiencyPercent ?? -9) - percent) <= 0.00501
      )
    },
  )
  fc.assert(totals, { seed: 15, numRuns: runs(100, 5_000) })
})

t.test('sports are known by any spelling, and by number where there is no name', async (t) => {
  const oura = [
    'trail_running',
    ' Trail Running',
    'trailRunning',
    'TRAIL-RUNNING',
    'hiit',
    'HIIT',
    'breathwork',
    'rest',
    '',
    'quidditch',
  ]
  t.strictSame(oura.map(ouraWorkout), [
    'trail_running',
    'trail_running',
    'trail_running',
    'trail_running',
    'cardio_training',
    'cardio_training',
    'meditation',
    'recovery',
    'other',
    'other',
  ])
  const whoop: [string | undefined, number | undefined, string][] = [
    ['hiking-rucking', undefined, 'hiking'],
    ['Hiking/Rucking', undefined, 'hiking'],
    ['hiking_rucking', 71, 'hiking'],
    ['weightlifting_msk', 123, 'strength_training'],
    ['powerlifting_MSK', undefined, 'strength_training'],
    ['muay-thai', undefined, 'martial_arts'],
    ['hot_tub', undefined, 'recovery'],
    ['barre3', undefined, 'group_exercise'],
    [undefined, 0, 'running'],
    ['quidditch', -1, 'generic'],
    ['quidditch', 99_999, 'other'],
    [undefined, undefined, 'other'],
  ]
  t.strictSame(
    whoop.map(([name, id]) => whoopWorkout(name, id)),
    whoop.map(([, , type]) => type),
  )
})
