// The cost of an archive grows with the samples, also where the planner has no statistics of them, as after a first import.
import t from 'tap'
import { compressChunks } from '../../server/db/compress.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp } from '../support/app.ts'
import { countHandled } from '../support/handled-rows.ts'
import { createUser, eachEngine } from '../support/sdk.ts'
import { addSources, DAY_MS, MINUTE_MS, write } from '../support/summaries.ts'

/** The end of a month of the archive, in the past. */
const FLOOR_MS = 690 * 30 * DAY_MS
const DAYS = 40
const STEPS = 80
const MANUAL = 5_000

eachEngine(t, 'rows that an archive handles', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const [sourceId = 0] = await addSources(app.db, user, [
    { provider: 'apple', device: 'Watch7,5', source: 'Watch', type: 'watch' },
  ])
  // By day, a sample every two minutes is measured, and one every six entered by hand: enough for quarter hours to be kept.
  const samples = Array.from({ length: DAYS }, (_, day) =>
    Array.from({ length: 360 }, (_, place) => {
      const ms = FLOOR_MS - (day + 1) * DAY_MS + (480 + 2 * place) * MINUTE_MS
      const measured = { sourceId, seriesId: STEPS, ms, value: 20, zone: 60 }
      return place % 3 === 0 ? [measured, { ...measured, seriesId: STEPS + MANUAL, ms: ms + 1_000 }] : [measured]
    }),
  ).flat(2)
  await write(app.db, user, samples)
  while (await refreshRollups(app.db));
  while (await compressChunks(app.db));
  await app.db.query('update archival set raw_floor = to_timestamp($1)', [FLOOR_MS / 1000])
  const rows = await app.db.transaction((tx) =>
    countHandled(tx, async () => {
      const { done } = await tx.one<{ done: boolean }>('select archive_user($1, to_timestamp($2), true) as done', [
        user,
        FLOOR_MS / 1000,
      ])
      t.ok(done)
    }),
  )
  const [kept] = await app.db.rows<[minutes: number, shared: number]>(
    'select sum(cardinality(minute_marks))::int4, sum(cardinality(shared_marks))::int4 from rollup_local_day',
  )
  t.strictSame(kept, [DAYS * (360 + 120), DAYS * 120 * 3])
  t.ok(rows > 10 * samples.length && rows < 60 * samples.length, `${rows} for ${samples.length} samples`)
})
