// Which event contains which sample, compared with a straightforward recomputation.
import fc from 'fast-check'
import t from 'tap'
import { DAILY_TOTAL_OFFSET, seriesByName } from '../../server/catalogue/series.ts'
import { eventBody } from '../../server/webhooks/body.ts'
import { unpackSamples } from '../../server/webhooks/packed.ts'
import { type ChangedColumns, sampleEvents } from '../../workers/sample-events.ts'

const USER = '00000000-0000-0000-0000-000000000002'
const idOf = (type: string) => seriesByName.get(type)?.id as number

type Sample = [minute: number, value: number]

const columns = (seriesId: number, sourceId: number, device: string | null, samples: Sample[]): ChangedColumns => ({
  seriesId,
  sourceId,
  device,
  timeMs: Float64Array.from(samples, ([minute]) => minute * 60_000),
  value: Float64Array.from(samples, ([, value]) => value),
  zoneMin: Int16Array.from(samples, ([minute]) => (minute % 2 === 0 ? 120 : -32_768)),
})

const stream = fc
  .uniqueArray(fc.tuple(fc.nat(400), fc.double({ noNaN: true, noDefaultInfinity: true })), {
    selector: ([minute]) => minute,
    minLength: 1,
    maxLength: 60,
  })
  .map((samples) => samples.sort(([a], [b]) => a - b))

const part = fc.record({
  type: fc.constantFrom('heart_rate', 'steps'),
  daily: fc.boolean(),
  source: fc.nat(2),
  samples: stream,
})

t.test('every sample is in one event, what changed twice as it was last', async (t) => {
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), (parts) => {
      const last = new Map<string, object>()
      const changed = parts.map(({ type, daily, source, samples }) => {
        const isTotal = daily && type === 'steps'
        for (const [minute, value] of samples) {
          last.set(`${type} ${isTotal} ${source} ${minute}`, {
            timestamp: new Date(minute * 60_000).toISOString().replace('.000', ''),
            zone_offset: minute % 2 === 0 ? '+02:00' : null,
            type,
            value: value === 0 ? 0 : value,
            unit: type === 'steps' ? 'count' : 'bpm',
            source: { provider: 'apple', device: source === 0 ? null : `device ${source}` },
            is_daily_total: type === 'steps' ? isTotal : null,
          })
        }
        const device = source === 0 ? null : `device ${source}`
        return columns(idOf(type) + (isTotal ? DAILY_TOTAL_OFFSET : 0), source, device, samples)
      })
      const events = sampleEvents({ provider: 'apple', changed })
      const bodies = events.map(({ event, data }) =>
        JSON.parse(
          eventBody({ type: event, user_id: USER, scope: null, data: Buffer.from(data), packed: true }).toString(),
        ),
      )
      const text = (samples: object[]) => samples.map((one) => JSON.stringify(one)).sort()
      t.strictSame(text(bodies.flatMap(({ data }) => data.samples)), text([...last.values()]))
      for (const { type, data } of bodies) {
        t.equal(type, `${data.series_type}.created`)
        t.equal(data.sample_count, data.samples.length)
        const times = data.samples.map(({ timestamp }: { timestamp: string }) => Date.parse(timestamp))
        t.ok(times.every((ms: number, at: number) => at === 0 || ms >= times[at - 1]))
      }
    }),
    { numRuns: 60, seed: 6 },
  )
})

t.test('a body stays below 1 MB even when every sample has a device of its own', async (t) => {
  const changed = Array.from({ length: 300 }, (_, source) =>
    columns(
      idOf('heart_rate'),
      source,
      `${'🫀'.repeat(50)}${source}`,
      Array.from({ length: 40 }, (_, at): Sample => [at * 300 + source, -1.234567890123456e-300]),
    ),
  )
  const events = sampleEvents({ provider: 'health_connect', changed })
  t.ok(events.length > 4)
  for (const { event, data, chunk } of events) {
    t.strictSame(chunk?.of, events.length)
    t.ok(
      eventBody({ type: event, user_id: USER, scope: null, data: Buffer.from(data), packed: true }).length < 1_000_000,
    )
  }
  const samples = events.reduce((sum, { data }) => sum + unpackSamples(data).timeMs.length, 0)
  t.equal(samples, 300 * 40)
})
