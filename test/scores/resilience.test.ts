// The resilience of contract 14.3: examples worked out by hand, and random days against straight-line code.
import { equal, ok } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type MeasuredNight, meansAsleep, resilience } from '../../server/scores/resilience.ts'

const DAY = 86_400
const TODAY = Date.UTC(2026, 1, 24) / 1000
const today = TODAY / DAY

t.test('the variation of the days, and what it is worth', async (t) => {
  t.strictSame(resilience([50, 50, 50, 50, 50]), { variation: 0, days: 5, score: 100 })
  // Mean 50, squares 100 + 25 + 0 + 25 + 100 = 250, by four, its root 7.905694, by 50.
  t.strictSame(resilience([40, 45, 50, 55, 60]), { variation: 0.158114, days: 5, score: 73 })
  t.strictSame(resilience([20, 35, 50, 65, 80, 50, 50]), { variation: 0.387298, days: 7, score: 4 })
  t.strictSame(resilience([10, 90, 10, 90, 10])?.score, 0, 'never less')
})

t.test('needs five days', async (t) => {
  t.equal(resilience([]), null)
  t.equal(resilience([50, 51, 52, 53]), null)
  t.equal(resilience([0, 0, 0, 0, 0]), null, 'nothing to vary from')
})

t.test('any days', async () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 1, max: 300, noNaN: true }), { minLength: 5, maxLength: 7 }), (means) => {
      let mean = 0
      for (const value of means) mean += value / means.length
      let variance = 0
      for (const value of means) variance += ((value - mean) * (value - mean)) / (means.length - 1)
      const percent = (100 * Math.sqrt(variance)) / mean
      const score = percent <= 7 ? 100 : percent >= 40 ? 0 : (100 * (40 - percent)) / 33
      const found = resilience(means)
      equal(found?.days, means.length)
      ok(Math.abs((found?.variation ?? 9) - percent / 100) < 1e-6)
      ok(Math.abs((found?.score ?? 999) - score) < 0.501)
    }),
  )
})

/** A night from two hours before midnight UTC to six hours after; `rank` and `place` are those of the series. */
const night = (
  samples: [hour: number, value: number, rank?: number, place?: number][],
  stages: MeasuredNight['stages'] = null,
) => ({
  startS: TODAY - 2 * 3600,
  endS: TODAY + 6 * 3600,
  stages,
  samples: samples.map(([hour, value, rank = 1, place = rank]) => ({
    ...{ series: `series ${place}`, rank, place, value },
    at: TODAY + hour * 3600,
  })),
})

t.test('measurements count on their UTC day', async (t) => {
  t.strictSame(
    [
      ...meansAsleep([
        night([
          [-1, 40],
          [1, 50],
          [2, 60],
        ]),
      ]),
    ],
    [
      [today - 1, 40],
      [today, 55],
    ],
  )
})

t.test('measurements count in intervals of sleep', async (t) => {
  const stages = [
    ['in_bed', TODAY - 7200, TODAY - 3600],
    ['light', TODAY - 3600, TODAY],
    ['awake', TODAY, TODAY + 3600],
    ['deep', TODAY + 3600, TODAY + 7200],
    ['rem', TODAY + 7200, TODAY + 10_800],
    ['sleeping', TODAY + 14_400, TODAY + 18_000],
  ] as const
  const samples = [-1.5, -1, 0, 1, 2, 3, 4, 5].map((hour): [number, number] => [hour, 2 ** (hour + 2)])
  t.strictSame(
    [...meansAsleep([night(samples, stages)])],
    [
      [today - 1, 2],
      [today, (8 + 16 + 64) / 3],
    ],
    'from their start on, until their end',
  )
  t.strictSame([...meansAsleep([night(samples, [['awake', TODAY, TODAY + 3600]])])], [], 'nobody slept')
})

t.test('of each night the best series counts, of equal ones that with most measurements', async (t) => {
  const mean = (...samples: Parameters<typeof night>[0]) => meansAsleep([night(samples)]).get(today)
  t.equal(mean([1, 40, 1], [2, 90, 2], [3, 90, 2]), 40)
  t.equal(mean([2, 90, 2]), 90)
  t.equal(mean([1, 40, 3, 3], [2, 90, 3, 4], [3, 80, 3, 4]), 85)
  t.equal(mean([2, 90, 3, 4], [1, 40, 3, 3]), 40, 'and of these the first')
})

t.test('what lies in two nights counts once', async (t) => {
  const one = night([
    [1, 40],
    [2, 60],
  ])
  t.strictSame([...meansAsleep([one, { ...one, samples: one.samples.slice(0, 1) }])], [[today, 50]])
})
