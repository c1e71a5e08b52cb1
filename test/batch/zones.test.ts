import fc from 'fast-check'
import t from 'tap'
import { mergedRuns, nearestRun, ZoneMarks, type ZoneRun } from '../../server/batch/zones.ts'
import { runs } from '../support/thorough.ts'

const HOUR = 3_600_000

t.test('of one upload, every instant takes the zone of the nearest record, and knows how far that is', async (t) => {
  const record = fc.record({ hour: fc.nat(100), zone: fc.constantFrom(0, 60, -300) })
  const property = fc.property(
    fc.uniqueArray(record, { maxLength: 30, selector: ({ hour }) => hour }),
    fc.integer({ min: -40, max: 140 }),
    (records, hour) => {
      const marks = new ZoneMarks()
      for (const one of records) marks.add(one.hour * HOUR, one.zone)
      const found = nearestRun(marks.runs(), hour * HOUR)
      const apart = Math.min(...records.map((one) => Math.abs(one.hour - hour)))
      const nearest = records.filter((one) => Math.abs(one.hour - hour) === apart)
      if (nearest.length === 0) return found === undefined
      // Between two records of one zone within a day of each other that zone is as good as there.
      const isBetween = found?.apartMs === 0 || found?.apartMs === apart * HOUR
      const earlier = nearest.reduce((a, b) => (a.hour < b.hour ? a : b))
      return isBetween && found?.zoneMin === earlier.zone
    },
  )
  t.doesNotThrow(() => fc.assert(property, { seed: 6, numRuns: runs(300, 3000) }))
})

t.test('runs of several uploads do not overlap, and a trip is not lost in the year around it', async (t) => {
  const run = (from: number, to: number, zoneMin: number): ZoneRun => ({ loMs: from * HOUR, hiMs: to * HOUR, zoneMin })
  const merged = mergedRuns([run(0, 8000, 60), run(3000, 3100, -300), run(8010, 8020, 60), run(9000, 9010, 60)])
  t.strictSame(
    [10, 2990, 3000, 3050, 3100, 3101, 8015, 8400, 8900].map((hour) => nearestRun(merged, hour * HOUR)?.zoneMin),
    [60, 60, -300, -300, -300, 60, 60, 60, 60],
  )
  t.strictSame(merged.at(-2), { ...merged.at(-2), hiMs: 8020 * HOUR }, 'ten hours apart are one run')
  t.equal(merged.length, 4)
  t.strictSame(mergedRuns([...merged, ...merged]), merged, 'known ones change nothing')
})
