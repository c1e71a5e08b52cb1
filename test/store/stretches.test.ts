// Samples in stretches far apart, as the past comes in pieces: whatever of them is stored already, the rows, the counts, what
// is told of the changes and what rollups lack are those of a model that knows of no stretches.
import t from 'tap'
import type { ChangedSamples } from '../../server/batch/changes.ts'
import type { SampleColumns } from '../../server/batch/columns.ts'
import { writeSamples } from '../../server/store/samples.ts'
import { stretchesOf } from '../../server/store/stretches.ts'
import { startTestApp } from '../support/app.ts'
import { createUser, eachEngine } from '../support/sdk.ts'
import { addSources } from '../support/summaries.ts'

const START = Date.UTC(2026, 1, 1)
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const HEART_RATE = 1
const ROUNDS = 25
const SLOTS = 40

/** Park and Miller's generator: the same numbers on every run. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

function columnsOf(rows: ReadonlyMap<number, number>): SampleColumns {
  const sorted = [...rows].sort(([a], [b]) => a - b)
  return {
    ...{ source: 0, seriesId: HEART_RATE, lastsS: null, zoneTaken: null, origins: null },
    timeMs: Float64Array.from(sorted, ([ms]) => ms),
    value: Float64Array.from(sorted, ([, value]) => value),
    zoneMin: new Int16Array(sorted.length).fill(60),
  }
}

/** An hour by the minute in some of the slots of three hours; a few of the minutes of others. */
function batch(random: () => number): Map<number, number> {
  const rows = new Map<number, number>()
  for (let slot = 0; slot < SLOTS; slot += 1) {
    if (random() > 0.25) continue
    const share = random() < 0.2 ? 0.1 : 1
    for (let minute = 0; minute < 60; minute += 1)
      if (random() < share) rows.set(START + slot * 3 * HOUR_MS + minute * MINUTE_MS, 50 + Math.floor(random() * 3))
  }
  return rows
}

eachEngine(t, 'stretches', async (t, engine) => {
  const { db, ...app } = await startTestApp(t, engine)
  const user = await createUser({ db, ...app })
  const [source] = await addSources(db, user, [
    { provider: 'garmin', device: 'Fenix', source: 'Garmin', type: 'watch' },
  ])
  const random = randomOf(17)
  const model = new Map<number, number>()
  let pieces = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    const rows = batch(random)
    if (rows.size === 0) continue
    const columns = columnsOf(rows)
    pieces += stretchesOf(columns).length
    const news = [...rows].filter(([ms]) => !model.has(ms))
    const changed = [...rows].filter(([ms, value]) => model.has(ms) && model.get(ms) !== value)
    for (const [ms, value] of rows) model.set(ms, value)
    const changes: ChangedSamples[] = []
    await db.query('delete from rollup_dirty')
    const counts = await db.transaction((tx) => writeSamples(tx, [columns], [source as number], changes))
    const sum = (of: 'inserted' | 'updated') => counts.reduce((all, one) => all + one[of], 0)
    t.strictSame([sum('inserted'), sum('updated')], [news.length, changed.length], `round ${round}: counts`)
    const told = changes.flatMap(({ timeMs, value }) => Array.from(timeMs, (ms, at) => [ms, value[at]]))
    t.strictSame(
      told,
      [...news, ...changed].sort(([a], [b]) => a - b),
      `round ${round}: what is told`,
    )
    t.ok(changes.length <= 1, 'as one list')
    const { outside } = await db.one<{ outside: number }>(
      `select count(*) as outside from unnest($1::float8[]) k (ms)
       where not exists (select from rollup_dirty d where d.source_id = $2 and to_timestamp(k.ms / 1000) between d.lo and d.hi)`,
      [told.map(([ms]) => ms as number), source as number],
    )
    t.equal(outside, 0, 'rollups lack it')
  }
  const stored = await db.rows<[number, number, number]>(
    `select date_part('epoch', ts) * 1000, value, zone_offset_min from sample where source_id = $1 order by ts`,
    [source as number],
  )
  t.strictSame(
    stored,
    [...model].sort(([a], [b]) => a - b).map(([ms, value]) => [ms, value, 60]),
  )
  t.ok(pieces > ROUNDS * 4, 'most batches have several stretches')
})
