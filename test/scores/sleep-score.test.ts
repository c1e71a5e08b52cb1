// The sleep score of contract 14.2: examples worked out by hand, and random nights against straight-line code.
import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { bedtimeS, type ScoredSleep, sleepScore } from '../../server/scores/sleep-score.ts'
import { runs } from '../support/thorough.ts'

const MIN = 60
const HOUR = 3600
const ELEVEN = Date.UTC(2026, 1, 23, 23) / 1000

/** Eight hours from 23:00 UTC, with enough deep and REM sleep and no time awake. */
const perfect: ScoredSleep = {
  startS: ELEVEN,
  zoneMin: null,
  asleepS: 8 * HOUR,
  deepS: 90 * MIN,
  remS: 90 * MIN,
  awakeS: 0,
  stages: null,
}
/** Eleven hours past noon. */
const USUAL = [11 * HOUR]

const scoreOf = (fields: Partial<ScoredSleep>, earlier = USUAL) => sleepScore({ ...perfect, ...fields }, earlier)

t.test('a perfect night has 100 points', async (t) => {
  t.strictSame(scoreOf({}), { value: 100, duration: 100, stages: 100, consistency: 100, interruptions: 100 })
})

t.test('all parts together', async (t) => {
  // 0.4 * 85 + 0.2 * (70 + 85 + 55) = 76
  const stages = [
    ['light', 0, 60 * MIN],
    ['awake', 60 * MIN, 90 * MIN],
    ['deep', 90 * MIN, 120 * MIN],
    ['awake', 120 * MIN, 145 * MIN],
    ['rem', 145 * MIN, 200 * MIN],
  ] as const
  const night = { startS: ELEVEN + 30 * MIN, asleepS: 6 * HOUR, deepS: 45 * MIN, remS: 81 * MIN, stages }
  t.strictSame(scoreOf(night), { value: 76, duration: 85, stages: 70, consistency: 85, interruptions: 55 })
})

t.test('duration', async (t) => {
  // 100 (1 + e^-3) / (1 + e^-1.5) = 85.8 at six hours; 100 (1 + e^-1.6) / (1 + e^-0.8) = 82.9 at ten.
  const expected = { 4: 19, 5: 52, 6: 85, 7: 100, 8: 100, 9: 100, 10: 82, 12: 50, 24: 50 }
  for (const [hours, points] of Object.entries(expected))
    t.equal(scoreOf({ asleepS: Number(hours) * HOUR })?.duration, points, `${hours} h`)
  for (const asleepS of [null, 0, -1, 24 * HOUR + 1]) t.equal(scoreOf({ asleepS }), null, `${asleepS} s is no night`)
})

t.test('stages', async (t) => {
  t.equal(scoreOf({ deepS: 200 * MIN, remS: 0 })?.stages, 50)
  t.equal(scoreOf({ deepS: 45 * MIN, remS: 46 * MIN })?.stages, 50, '(50 + 51) / 2')
  t.equal(scoreOf({ deepS: null, remS: null })?.stages, 0, 'what is not told')
})

t.test('consistency', async (t) => {
  const at = (minutes: number, earlier = USUAL) => scoreOf({ startS: ELEVEN + minutes * MIN }, earlier)?.consistency
  const expected = {
    0: 100,
    15: 100,
    16: 99,
    30: 85,
    75: 42,
    120: 0,
    300: 0,
    '-15': 100,
    '-20': 95,
    '-36': 80,
    '-120': 80,
  }
  for (const [minutes, points] of Object.entries(expected)) t.equal(at(Number(minutes)), points, `${minutes} min`)
  t.equal(at(0, []), 0, 'no night before')
  t.equal(at(0, [10 * HOUR, 12 * HOUR]), 100, 'between two')
  t.equal(at(0, [9 * HOUR, 11 * HOUR, 20 * HOUR]), 100, 'the middle of three')
  t.equal(at(75, [12.25 * HOUR]), 100, 'a quarter past midnight')
})

t.test('bedtimes are local', async (t) => {
  t.equal(bedtimeS({ startS: ELEVEN, zoneMin: null }), 11 * HOUR)
  t.equal(bedtimeS({ startS: ELEVEN, zoneMin: 90 }), 12.5 * HOUR)
  t.equal(bedtimeS({ startS: ELEVEN, zoneMin: -12 * 60 }), 23 * HOUR)
  t.equal(bedtimeS({ startS: -HOUR, zoneMin: null }), 11 * HOUR, 'before 1970')
})

t.test('interruptions', async (t) => {
  const awake = (...minutes: number[]) => {
    const stages = minutes.flatMap((length, place) => {
      const startS = place * 100 * MIN
      return [
        ['light', startS, startS + 10 * MIN] as const,
        ['awake', startS + 10 * MIN, startS + (10 + length) * MIN] as const,
      ]
    })
    return scoreOf({ awakeS: 999 * MIN, stages: [...stages, ['rem', 9000 * MIN, 9010 * MIN]] })?.interruptions
  }
  t.equal(awake(20), 100, 'twenty minutes in one')
  t.equal(awake(10, 10), 95)
  t.equal(awake(6, 7, 7), 90)
  t.equal(awake(6, 6, 6, 6), 75, '80 - 4/70 of 80, and none for four')
  t.equal(awake(5, 5, 5, 5), 100, 'five minutes are no awakening')
  t.equal(awake(55), 60)
  t.equal(awake(90), 20)
  t.equal(awake(200, 200, 200, 200), 0)
  t.equal(scoreOf({ awakeS: 55 * MIN })?.interruptions, 60, 'without intervals')
  t.equal(scoreOf({ awakeS: null })?.interruptions, 100, 'not told')
  const around = [
    ['awake', 0, 60 * MIN],
    ['light', 60 * MIN, 400 * MIN],
    ['awake', 400 * MIN, 500 * MIN],
  ] as const
  t.equal(scoreOf({ stages: around })?.interruptions, 100, 'before and after sleep')
})

/** Contract 14.2 again, line by line. */
function oracle(asleep: number, deep: number, rem: number, late: number, awakenings: number[]) {
  const h = asleep / 60
  const curve = (k: number, m: number, a: number) =>
    (100 * (1 + Math.E ** (k * (a - m)))) / (1 + Math.E ** (k * (h - m)))
  let duration = 100
  if (h < 7) duration = Math.trunc(curve(-1.5, 5, 7))
  if (h > 9) duration = Math.max(50, Math.trunc(curve(0.8, 11, 9)))
  const stages = Math.trunc(
    (Math.trunc(Math.min(100, (deep * 100) / 90)) + Math.trunc(Math.min(100, (rem * 100) / 90))) / 2,
  )
  let consistency = 100
  if (late > 15) consistency -= ((late - 15) * 100) / 105
  if (late < -15) consistency -= Math.min(20, ((-late - 15) * 100) / 105)
  consistency = Math.max(0, Math.trunc(consistency))
  const awake = awakenings.reduce((sum, minutes) => sum + minutes, 0)
  const n = awakenings.filter((minutes) => minutes > 5).length
  const points = n <= 1 ? 20 : n === 2 ? 15 : n === 3 ? 10 : 0
  const lost = awake > 20 ? ((awake - 20) * 80) / 70 : 0
  const interruptions = Math.trunc(Math.max(0, 80 - lost) + points)
  const value = Math.trunc((40 * duration + 20 * stages + 20 * consistency + 20 * interruptions) / 100)
  return { value, duration, stages, consistency, interruptions }
}

t.test('any night', async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1440 }),
      fc.integer({ min: 0, max: 200 }),
      fc.integer({ min: 0, max: 200 }),
      fc.integer({ min: -300, max: 600 }),
      fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 8 }),
      fc.integer({ min: -1080, max: 1080 }),
      (asleep, deep, rem, late, awakenings, zoneMin) => {
        const startS = ELEVEN + (late - zoneMin) * MIN
        const stages = [
          ['awake', startS, startS + 500] as const,
          ...awakenings.flatMap((minutes, place) => [
            ['light', startS + place * 10_000 + 500, startS + place * 10_000 + 600] as const,
            ['awake', startS + place * 10_000 + 600, startS + place * 10_000 + 600 + minutes * MIN] as const,
          ]),
          ['rem', startS + 90_000, startS + 90_100] as const,
        ]
        const night = { startS, zoneMin, asleepS: asleep * MIN, deepS: deep * MIN, remS: rem * MIN, awakeS: 0, stages }
        deepStrictEqual(sleepScore(night, USUAL), oracle(asleep, deep, rem, late, awakenings))
      },
    ),
    { numRuns: runs(100, 500) },
  )
})
