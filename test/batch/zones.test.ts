import fc from 'fast-check'
import t from 'tap'
import { mergedRuns, nearestRun, ZoneMarks, type ZoneRun } from '../../server/batch/zones.ts'
import { runs } from '../support/thorough.ts'

const HOUR = 3_600_000

t.test('in one upload, every instant takes the zone of the nearest record, with its distance', async (t) => {
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
      // Between two records of one zone within a day of each other, that zone counts as recorded.
      const isBetween = found?.apartMs === 0 || found?.apartMs === apart * HOUR
      const earlier = nearest.reduce((a, b) => (a.hour < b.hour ? a : b))
      return isBetween && found?.zoneMin === earlier.zone
    },
  )
  t.doesNotThrow(() => fc.assert(property, { seed: 6, numRuns: runs(300, 3000) }))
})

t.test('a trip is not lost in the year around it, whichever arrived first', async (t) => {
  const run = (from: number, to: number, zoneMin: number): ZoneRun => ({ loMs: from * HOUR, hiMs: to * HOUR, zoneMin })
  const year = [run(0, 8000, 60), run(8002, 8020, 60), run(9000, 9010, 60)]
  const trip = [run(3000, 3100, -300), run(8990, 9005, 0)]
  for (const merged of [mergedRuns(year, trip), mergedRuns(trip, year)]) {
    t.strictSame(
      [10, 2990, 3000, 3050, 3100, 3101, 8001, 8400, 8900, 8995, 9005, 9006].map(
        (h) => nearestRun(merged, h * HOUR)?.zoneMin,
      ),
      [60, 60, -300, -300, -300, 60, 60, 60, 0, 0, 60, 60],
    )
    t.equal(merged.length, 5, 'records two hours apart are one run')
    t.strictSame(mergedRuns(merged, []), merged)
  }
})

/** Records of uploads within a few hours, so many share an instant. */
const uploads = fc.array(
  fc.array(fc.record({ hour: fc.nat(12), zone: fc.constantFrom(0, 60, -300) }), { minLength: 1, maxLength: 12 }),
  { minLength: 1, maxLength: 4 },
)

t.test('runs are in order and do not overlap, in any order of uploads', async (t) => {
  const property = fc.property(uploads, (uploads) => {
    let merged: ZoneRun[] = []
    return uploads.every((records) => {
      const marks = new ZoneMarks()
      for (const { hour, zone } of records) marks.add(hour * HOUR, zone)
      const own = marks.runs()
      const before = merged
      merged = mergedRuns(before, own)
      const zonesAt = (runs: ZoneRun[], ms: number) =>
        runs.filter(({ loMs, hiMs }) => ms >= loMs && ms <= hiMs).map(({ zoneMin }) => zoneMin)
      const instants = Array.from({ length: 26 }, (_, half) => (half * HOUR) / 2)
      return (
        [own, merged].every((runs) =>
          runs.every((one, at) => one.loMs <= one.hiMs && (runs[at - 1]?.hiMs ?? -1) < one.loMs),
        ) &&
        instants.every((ms) => {
          const known = [...zonesAt(before, ms), ...zonesAt(own, ms)]
          const [now] = zonesAt(merged, ms)
          // Gaps of one zone may be closed.
          return known.length === 0 || known.includes(now as number)
        }) &&
        JSON.stringify(mergedRuns(merged, [])) === JSON.stringify(merged)
      )
    })
  })
  t.doesNotThrow(() => fc.assert(property, { seed: 7, numRuns: runs(300, 3000) }))
})

t.test('a record that arrives again with another zone has the new one', (t) => {
  const run = (zoneMin: number): ZoneRun[] => [{ loMs: 5 * HOUR, hiMs: 6 * HOUR, zoneMin }]
  t.strictSame(mergedRuns(run(60), run(120)), run(120))
  t.end()
})
