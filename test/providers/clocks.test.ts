// Polar writes times of day; the nights say which instants they were. Compared with a walk through the night by the minute.
import fc from 'fast-check'
import t from 'tap'
import { type Nights, zoneOn } from '../../server/providers/polar/nights.ts'
import { batchOf } from '../support/parcels.ts'
import { runs } from '../support/thorough.ts'

const MIN = 60_000
const DAY = 86_400_000
const AT = '2026-03-11T12:00:00Z'
const START = Date.UTC(2026, 2, 1)

const two = (number: number) => String(number).padStart(2, '0')
const zoneText = (zone: number) =>
  `${zone < 0 ? '-' : '+'}${two(Math.floor(Math.abs(zone) / 60))}:${two(Math.abs(zone) % 60)}`
/** An instant as a clock `zone` minutes east of UTC shows it. */
const local = (ms: number, zone: number) => new Date(ms + zone * MIN).toISOString().slice(0, 19)
const clock = (ms: number, zone: number) => local(ms, zone).slice(11, 16)

const stages = ['awake', 'rem', 'light', 'light', 'deep', undefined, 'awake', undefined]

const anyNight = fc.record({
  startS: fc.integer({ min: 0, max: 5 * 86_400 }),
  minutes: fc.integer({ min: 2, max: 23 * 60 }),
  zone: fc.constantFrom(0, 60, 345, -210, -600, 840),
  marks: fc.array(fc.tuple(fc.nat(10_000), fc.constantFrom(0, 1, 2, 3, 4, 5, 6, 9)), { minLength: 1, maxLength: 12 }),
})

t.test('a hypnogram is the stage of every minute of its night, in whatever order it is written', async (t) => {
  const property = fc.property(anyNight, fc.boolean(), ({ startS, minutes, zone, marks }, isReversed) => {
    const startMs = START + startS * 1000
    const endMs = startMs + minutes * MIN
    const firstMinute = Math.floor(startMs / MIN) * MIN
    const codes = new Map<number, number>()
    for (const [place, code] of marks) codes.set(firstMinute + (place % minutes) * MIN, code)
    const written = [...codes].map(([ms, code]) => [clock(ms, zone), code] as const)
    const offset = zoneText(zone)
    const night = {
      date: local(endMs, zone).slice(0, 10),
      sleep_start_time: `${local(startMs, zone)}${offset}`,
      sleep_end_time: `${local(endMs, zone)}${offset}`,
      hypnogram: Object.fromEntries(isReversed ? written.reverse() : written),
    }
    const [stored] = batchOf('polar', [{ stream: 'sleep', at: AT, body: { nights: [night] } }]).events.nights
    const stageAt = (ms: number) => stored?.stages?.find(([, loMs, hiMs]) => loMs <= ms && ms < hiMs)?.[0]
    let code: number | undefined
    for (let ms = firstMinute; ms < endMs; ms += MIN) {
      code = codes.get(ms) ?? code
      const expected = code === undefined ? undefined : stages[code]
      // The minute in which the night began was only partly in it; so may be the last one.
      const seen = stageAt(Math.max(ms, startMs))
      if (seen !== expected) return false
    }
    return stored?.startMs === startMs && stored.zoneMin === zone
  })
  fc.assert(property, { seed: 16, numRuns: runs(150, 5_000) })
  t.pass()
})

t.test('heart rates of a day are at its times of day, in the zone in which the person woke', async (t) => {
  const property = fc.property(
    fc.constantFrom(0, 60, 345, -210, -600, 840),
    fc.array(fc.integer({ min: 0, max: 86_399 }), { minLength: 1, maxLength: 20 }),
    (zone, seconds) => {
      const dayMs = START + 4 * DAY
      const body = {
        heart_rates: [
          {
            date: local(dayMs, 0).slice(0, 10),
            heart_rate_samples: seconds.map((second) => ({
              heart_rate: 60 + (second % 40),
              sample_time: new Date(second * 1000).toISOString().slice(11, 19),
            })),
          },
        ],
      }
      const args = { of: 'data', nights: { '2026-03-05': [dayMs - 3_600_000, dayMs + 3_600_000, zone] } }
      const [columns] = batchOf('polar', [{ stream: 'continuous_heart_rate', at: AT, args, body }]).samples
      const expected = [...new Set(seconds)].sort((a, b) => a - b).map((second) => dayMs + second * 1000 - zone * MIN)
      return JSON.stringify([...(columns?.timeMs ?? [])]) === JSON.stringify(expected)
    },
  )
  fc.assert(property, { seed: 16, numRuns: runs(100, 2_000) })
  t.pass()
})

t.test('where no night is known, the nearest one says the zone, the earlier one of two', async (t) => {
  const nights: Nights = {
    '2026-03-02': [0, 1, -300],
    '2026-03-06': [0, 1, 60],
    '2026-03-09': [0, 1, null],
  }
  const zones = ['2026-02-20', '2026-03-02', '2026-03-03', '2026-03-04', '2026-03-05', '2026-03-09', '2026-03-20'].map(
    (date) => zoneOn(date, nights, 345),
  )
  t.strictSame(zones, [-300, -300, -300, -300, 60, 60, 60])
  t.equal(zoneOn('2026-03-05', {}, 345), 345)
  t.equal(zoneOn('2026-03-05', { '2026-03-05': [0, 1, null] }, null), null)
})
