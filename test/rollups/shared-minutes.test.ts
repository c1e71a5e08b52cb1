// merge=none: minutes in which a source measured something and something was entered by hand count once, and still do when
// samples are archived, in part or all (contract 12.3).
import t from 'tap'
import { archive } from '../../server/rollups/archive.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp } from '../support/app.ts'
import { createUser, eachEngine } from '../support/sdk.ts'
import { addSources, DAY_MS, dateText, MINUTE_MS, summary, write } from '../support/summaries.ts'

const MONTH_MS = 30 * DAY_MS
/** A midnight of UTC at which archived time may end. */
const FLOOR_MS = 690 * MONTH_MS
const DAY = FLOOR_MS / DAY_MS
const MANUAL = 5_000
const STEPS = 80
const RATE = 1
/** Where the floor is at eight in the evening, in minutes. */
const ZONE = -240

type Sample = [series: number, minute: number, value: number]

/** Minutes of which either has too little, or both have enough, or only one has anything; counted from the floor. */
const samplesAround = (minute: number): Sample[] => [
  [STEPS, minute, 20],
  [STEPS + MANUAL, minute + 0.5, 20],
  [STEPS, minute + 1, 40],
  [STEPS + MANUAL, minute + 1.5, 40],
  [STEPS, minute + 2, 10],
  [STEPS + MANUAL, minute + 2.5, 10],
  [STEPS, minute + 5, 40],
  [STEPS + MANUAL, minute + 5.5, 40],
  [STEPS, minute + 3, 40],
  [STEPS + MANUAL, minute + 4, 40],
  [RATE, minute, 100],
  [RATE + MANUAL, minute + 0.5, 180],
  [RATE, minute + 1, 120],
]
/** What they come to: active and sedentary minutes, those of moderate effort, of which 140 and 120 are with 190 at most. */
const AROUND = [5, 1, 2]

eachEngine(t, 'minutes of measured and entered samples', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const [watch = 0, phone = 0] = await addSources(app.db, user, [
    { provider: 'apple', device: 'Watch7,5', source: 'Watch', type: 'watch' },
    { provider: 'apple', device: 'iPhone17,1', source: 'Phone', type: 'phone' },
  ])
  const add = (samples: Sample[], sourceId = watch) =>
    write(
      app.db,
      user,
      samples.map(([seriesId, minute, value]) => {
        return { sourceId, seriesId, ms: FLOOR_MS + minute * MINUTE_MS, value, zone: ZONE }
      }),
    )
  const read = async (day: number) => {
    const query = { start_date: dateText(day), end_date: dateText(day), merge: 'none' }
    const [row] = (await summary(app, user, 'activity', query)).body.data
    return [row.active_minutes, row.sedentary_minutes, row.intensity_minutes?.moderate ?? null]
  }
  const archiveUntil = async (untilMs: number) => {
    await app.db.query('update archival set archive_after_days = 1')
    while (await archive(app.db, untilMs + DAY_MS));
  }
  const twice = AROUND.map((minutes) => minutes * 2)
  const old = DAY - 5

  // The day of the floor has some on both sides; the phone has a day by itself.
  await add([...samplesAround(-90), ...samplesAround(60), ...samplesAround(-5 * 1440)])
  await add(samplesAround(-10 * 1440), phone)
  const days = [DAY - 1, old - 1, DAY - 11]
  const wanted = [twice, AROUND, AROUND]
  const all = () => Promise.all(days.map(read))
  t.strictSame(await all(), wanted, 'nothing is archived')
  await archiveUntil(FLOOR_MS)
  t.strictSame(await all(), wanted, 'a day is archived in part, others are')

  // In a quarter hour of the archived day in which it has nothing yet.
  await add(samplesAround(-5 * 1440 + 30))
  t.strictSame(await read(old - 1), [null, null, null], 'something was added to a day')
  await archiveUntil(FLOOR_MS + MONTH_MS)
  t.strictSame(await all(), [twice, [null, null, null], AROUND], 'all is archived')

  await add([[STEPS + MANUAL, -10 * 1440 + 120, 40]], phone)
  t.strictSame(await read(DAY - 11), [null, null, 2], 'something was entered of an archived day')
})

eachEngine(t, 'what was entered after the measured samples were archived', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await app.db.query('update archival set archive_after_days = 1')
  const archived = async () => {
    while (await archive(app.db, FLOOR_MS + DAY_MS));
  }
  const user = await createUser(app)
  const [watch = 0] = await addSources(app.db, user, [
    { provider: 'apple', device: 'Watch7,5', source: 'Watch', type: 'watch' },
  ])
  const add = (series: number, ms: number, value: number) =>
    write(app.db, user, [{ sourceId: watch, seriesId: series, ms: FLOOR_MS + ms, value, zone: null }])
  const read = async (day: number) => {
    const query = { start_date: dateText(DAY + day), end_date: dateText(DAY + day), merge: 'none' }
    return (await summary(app, user, 'activity', query)).body.data[0].active_minutes
  }
  for (const day of [-3, -2, -1]) await add(STEPS, day * DAY_MS, 20)
  await archived()
  await add(STEPS + MANUAL, -3 * DAY_MS + 20 * MINUTE_MS, 40)
  await add(STEPS + MANUAL, -2 * DAY_MS + 14 * MINUTE_MS, 40)
  const wanted = [1, null, 0]
  const all = () => Promise.all([-3, -2, -1].map(read))
  t.strictSame(await all(), wanted, 'they are known unless both have something in a quarter hour')
  await archived()
  t.strictSame(await all(), wanted, 'and when what was entered is archived as well')
})

eachEngine(t, 'while another session uses what was entered', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const [watch = 0] = await addSources(app.db, user, [
    { provider: 'apple', device: 'Watch7,5', source: 'Watch', type: 'watch' },
  ])
  // So many that their quarter hours are kept.
  const samples = [STEPS, STEPS + MANUAL, RATE].flatMap((seriesId) =>
    Array.from({ length: 15 }, (_, minute) => {
      return { sourceId: watch, seriesId, ms: FLOOR_MS - DAY_MS + minute * MINUTE_MS, value: 90, zone: null }
    }),
  )
  await write(app.db, user, samples)
  await refreshRollups(app.db)
  const archiveUser = () =>
    app.db.one('select archive_user($1, to_timestamp($2), true) as done', [user, FLOOR_MS / 1000])
  const archived = () =>
    app.db.rows('select series_id from source_series where not isempty(archived) order by series_id')
  await app.db.query('update archival set raw_floor = to_timestamp($1)', [FLOOR_MS / 1000])
  await app.db.transaction(async (tx) => {
    await tx.query('select claim_series($1, $2)', [watch, STEPS + MANUAL])
    t.strictSame(await archiveUser(), { done: false })
    t.strictSame(await archived(), [[RATE]], 'what was measured of that type waits as well')
  })
  t.strictSame(await archiveUser(), { done: true })
  t.strictSame(await archived(), [[RATE], [STEPS], [STEPS + MANUAL]])
})
