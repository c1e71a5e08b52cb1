// What charts compute, without a browser.
import t from 'tap'
import type { Schemas } from '../../console/api/client.ts'
import { stepsOf, usualRanges, weekMeans } from '../../console/charts/days.ts'
import { type Night, nightOf, regularityOf } from '../../console/charts/sleep.ts'
import { DAY_MS, HOUR_MS } from '../../console/charts/time.ts'

/** A night of a date in 2026, from some hour of the evening before. */
function night(day: number, hour: number, hours: number): Night {
  const from = Date.UTC(2026, 1, day) - DAY_MS + hour * HOUR_MS
  const session = {
    id: String(day),
    start_time: new Date(from).toISOString(),
    end_time: new Date(from + hours * HOUR_MS).toISOString(),
    zone_offset: null,
    is_nap: false,
  }
  return nightOf(session as Schemas['SleepSession'])
}

t.test('the regularity of sleep', async (t) => {
  const equal = Array.from({ length: 7 }, (_, day) => night(day + 1, 23, 8))
  t.equal(regularityOf(equal), 100)
  t.equal(regularityOf(equal.slice(1)), undefined, 'six nights say nothing')
  const shifted = Array.from({ length: 8 }, (_, day) => night(day + 1, day % 2 === 0 ? 20 : 28, 8))
  t.equal(
    regularityOf(shifted)?.toFixed(6),
    (-100 + 200 * (8 / 24)).toFixed(6),
    'eight hours are equal, sixteen are not',
  )
  const holes = [1, 2, 3, 5, 6, 7, 9].map((day) => night(day, 23, 8))
  t.equal(regularityOf(holes), 100, 'a night that is missing is not one awake')
})

t.test('means, usual ranges and steps of days', async (t) => {
  t.strictSame(weekMeans([1, 2, null, 6, null, null, null, null]), [null, null, null, 3, 3, 3, 3, null])
  const ranges = usualRanges([...Array(7).fill(10), 99, ...Array(7).fill(20)])
  t.strictSame(ranges.slice(0, 8), [null, null, null, null, null, null, null, [10, 10]])
  t.ok((ranges[8]?.[1] ?? 0) > 40, 'the day itself is not part of what was usual')
  t.strictSame(stepsOf([null, ...Array.from({ length: 11 }, (_, n) => n)]), [null, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5])
})
