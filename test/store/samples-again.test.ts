// Samples that come again are compared where they are stored: nothing that differs may be taken for the same.
import fc from 'fast-check'
import t from 'tap'
import { NO_ZONE, type SampleColumns } from '../../server/batch/columns.ts'
import { digestOf } from '../../server/db/digest.ts'
import { writeSamples } from '../../server/store/samples.ts'
import { startTestApp } from '../support/app.ts'
import { createUser, eachEngine } from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'

const STEPS = 80

interface Row {
  ms: number
  value: number
  zone: number | null
  lastsS: number
}

const row = fc.record<Row>({
  ms: fc.integer({ min: Date.UTC(2025, 0, 1), max: Date.UTC(2025, 2, 1) }),
  value: fc.oneof(fc.double({ noNaN: true, min: 0, max: 1e15 }), fc.integer({ min: 0, max: 200 })),
  zone: fc.oneof(
    fc.constant(null),
    fc.integer({ min: -72, max: 72 }).map((quarters) => quarters * 15),
  ),
  lastsS: fc.oneof(fc.constant(0), fc.integer({ min: 61, max: 86_400 })),
})
const rows = fc.uniqueArray(row, { selector: ({ ms }) => ms, minLength: 1, maxLength: 40 })

const columnsOf = (list: readonly Row[]): SampleColumns => {
  const sorted = [...list].sort((a, b) => a.ms - b.ms)
  return {
    source: 0,
    seriesId: STEPS,
    timeMs: Float64Array.from(sorted, ({ ms }) => ms),
    value: Float64Array.from(sorted, ({ value }) => value),
    zoneMin: Int16Array.from(sorted, ({ zone }) => zone ?? NO_ZONE),
    lastsS: sorted.some(({ lastsS }) => lastsS > 0) ? Int32Array.from(sorted, ({ lastsS }) => lastsS) : null,
    zoneTaken: null,
    origins: null,
  }
}

/** One field of one row made another one. */
const changes: readonly ((one: Row) => Row)[] = [
  (one) => ({ ...one, value: one.value + Math.max(one.value * Number.EPSILON, Number.MIN_VALUE) }),
  (one) => ({ ...one, zone: one.zone === null ? 0 : null }),
  (one) => ({ ...one, zone: (one.zone ?? 0) + 15 }),
  (one) => ({ ...one, lastsS: one.lastsS + 1 }),
]

eachEngine(t, 'samples that come again', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const source = async () =>
    (
      await app.db.one<{ id: number }>(
        `insert into data_source (user_id, provider, source) values ($1, 'apple', gen_random_uuid()::text) returning id`,
        [user],
      )
    ).id
  const write = (list: readonly Row[], sourceId: number) =>
    app.db.transaction((tx) => writeSamples(tx, [columnsOf(list)], [sourceId]))

  await t.test('are the same only if every field of every one is', async (t) => {
    const property = fc.asyncProperty(rows, fc.nat(), fc.constantFrom(...changes), async (list, place, change) => {
      const sourceId = await source()
      const columns = columnsOf(list)
      const [first] = await write(list, sourceId)
      if (first?.inserted !== list.length) return false
      const [lo, hi] = [columns.timeMs[0] as number, columns.timeMs.at(-1) as number]
      const { digest } = await app.db.one<{ digest: Buffer }>('select digest from stored_digests($1, $2, $3, $4)', [
        [sourceId],
        [STEPS],
        [lo / 1000],
        [hi / 1000],
      ])
      if (!digest.equals(digestOf(columns))) return false
      const before = await app.db.rows('select ctid, xmin from sample where source_id = $1 order by ts', [sourceId])
      if ((await write(list, sourceId)).length > 0) return false
      const after = await app.db.rows('select ctid, xmin from sample where source_id = $1 order by ts', [sourceId])
      if (JSON.stringify(after) !== JSON.stringify(before)) return false
      const at = place % list.length
      const [again] = await write(
        list.map((one, index) => (index === at ? change(one) : one)),
        sourceId,
      )
      return again?.inserted === 0 && again.updated === 1
    })
    await t.resolves(fc.assert(property, { seed: 7, numRuns: runs(30, 1_000) }))
  })

  await t.test('as many others in their place are no repetition', async (t) => {
    const sourceId = await source()
    const list = [0, 1, 2, 3].map((n): Row => ({ ms: Date.UTC(2025, 0, 1, n), value: n, zone: null, lastsS: 0 }))
    await write(list, sourceId)
    const moved = list.map((one, n) => (n === 1 ? { ...one, ms: one.ms + 1 } : one))
    t.match(await write(moved, sourceId), [{ inserted: 1, updated: 0 }])
  })
})
