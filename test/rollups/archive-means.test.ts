// Means of nights and workouts outlive their samples: archiving changes no answer (contract 12.4, 13).
import t from 'tap'
import { archive } from '../../server/rollups/archive.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { allEvents } from '../support/event-lists.ts'
import { createUser, eachEngine } from '../support/sdk.ts'
import { addSources, seeded, summary, type Written, write } from '../support/summaries.ts'
import { runs as runsOf } from '../support/thorough.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const MONTH_MS = 30 * DAY_MS
const NOW = Date.now()
/** The end of archived time when samples are archived after 60 days: a midnight of UTC, in the middle of a night. */
const FLOOR = Math.floor((NOW - 60 * DAY_MS) / MONTH_MS) * MONTH_MS
const FIRST = FLOOR - 25 * DAY_MS
/** Longer with test:long; in both archived time ends within them. */
const DAYS = runsOf(40, 60)
const HEART_RATE = 1
/** Series that have a mean of the night. */
const MEASURED = [HEART_RATE, 3, 7, 20, 24]

type Session = [sourceId: number, startMs: number, endMs: number]

const run = async (app: TestApp, nowMs: number) => {
  while (await archive(app.db, nowMs));
}
const day = (ms: number) => new Date(ms).toISOString().slice(0, 10)

async function addSession(app: TestApp, user: string, table: 'sleep' | 'workout', [source, startMs, endMs]: Session) {
  const times = [user, source, startMs / 1000, endMs / 1000]
  await app.db.query(
    table === 'sleep'
      ? `insert into sleep (user_id, source_id, start_at, end_at, asleep_s, is_nap)
         values ($1, $2, to_timestamp($3), to_timestamp($4), 20000, false)`
      : `insert into workout (user_id, source_id, type, start_at, end_at, duration_s)
         values ($1, $2, 'running', to_timestamp($3), to_timestamp($4), 1800)`,
    times,
  )
  await app.db.query('update app_user set revision = revision + 1 where id = $1', [user])
}

/** Added to the id of a series: what was entered by hand of it. */
const MANUAL = 5_000

/**
 * Weeks of a watch and a ring, which never measure at the same instants, nights and runs that begin at odd minutes;
 * now and then a night is known from entries by hand, or from both.
 */
function history(watch: number, ring: number) {
  const random = seeded(20_261_122)
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low))
  const [nights, runs]: [Session[], Session[]] = [[], []]
  const samples: Written[] = []
  for (let midnightMs = FIRST; midnightMs < FIRST + DAYS * DAY_MS; midnightMs += DAY_MS) {
    const startMs = midnightMs - between(60, 240) * MINUTE_MS + between(0, 60) * 1000
    const endMs = midnightMs + between(240, 480) * MINUTE_MS + between(0, 60) * 1000
    const sleeper = random() < 0.7 ? watch : ring
    nights.push([sleeper, startMs, endMs])
    // At its very end, what it measured in all of it; and what a quarter hour cannot tell from that.
    for (const ms of [endMs, endMs + 1])
      samples.push({ sourceId: sleeper, seriesId: 3, ms, value: between(400, 990) / 10, zone: null })
    samples.push({ sourceId: sleeper, seriesId: 2, ms: startMs, value: between(400, 600) / 10, zone: null })
    const runMs = midnightMs + between(600, 1000) * MINUTE_MS
    if (random() < 0.5) runs.push([watch, runMs, runMs + between(20, 90) * MINUTE_MS])
    const entered = new Map(MEASURED.map((seriesId) => [seriesId, [0, 0, 0, 0.5, 1, 1][between(0, 6)] as number]))
    for (const [sourceId, everyMs] of [
      [watch, 11],
      [ring, 17],
    ] as const) {
      for (let ms = startMs - HOUR_MS; ms < endMs + HOUR_MS; ms += everyMs * MINUTE_MS + between(0, 90) * 1000)
        // Only one of the two reports much of it.
        for (const seriesId of MEASURED)
          if (seriesId === HEART_RATE ? sourceId === watch : random() < 0.3)
            samples.push({
              ...{ sourceId, ms, value: between(400, 990) / 10, zone: null },
              seriesId: random() < (entered.get(seriesId) as number) ? seriesId + MANUAL : seriesId,
            })
    }
    for (let ms = runMs - HOUR_MS; ms < runMs + 2 * HOUR_MS; ms += between(60, 600) * 1000)
      samples.push({ sourceId: watch, seriesId: HEART_RATE, ms, value: between(90, 190), zone: null })
  }
  return { nights, runs, samples }
}

eachEngine(t, 'means of nights and workouts', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const [watch = 0, ring = 0] = await addSources(app.db, user, [
    { provider: 'apple', device: 'Watch7,5', source: 'Watch', type: 'watch' },
    { provider: 'oura', device: 'Oura Ring Gen3', source: 'oura_api', type: 'ring' },
  ])
  const { nights, runs, samples } = history(watch, ring)
  for (const one of nights) await addSession(app, user, 'sleep', one)
  for (const one of runs) await addSession(app, user, 'workout', one)
  await write(app.db, user, samples)
  const range = { start_date: day(FIRST - DAY_MS), end_date: day(FIRST + (DAYS + 1) * DAY_MS), limit: 1000 }
  const read = async () => ({
    sleep: (await summary(app, user, 'sleep', range)).body.data,
    recovery: (await summary(app, user, 'recovery', range)).body.data,
    workouts: await allEvents(app, user, 'workouts'),
  })
  const settings = (values: object) =>
    app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body: values })
  const before = await read()
  const changed = (after: Awaited<ReturnType<typeof read>>) =>
    Object.entries(before).map(([name, rows]) => [
      name,
      rows.filter((row: unknown, n: number) => JSON.stringify(row) !== JSON.stringify(after[name as 'sleep'][n]))
        .length,
    ])
  const nothing = Object.keys(before).map((name) => [name, 0])
  const left = async () => (await app.db.one<{ n: number }>('select count(*) as n from sample')).n

  await t.test('are those of the samples', async (t) => {
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
    const during = ([, fromMs, untilMs]: Session) => {
      const within = samples.filter(({ ms }) => ms >= fromMs && ms < untilMs)
      const measured = within.filter(({ seriesId }) => seriesId === HEART_RATE)
      return measured.length > 0 ? measured : within.filter(({ seriesId }) => seriesId === HEART_RATE + MANUAL)
    }
    t.strictSame(
      before.sleep.map((row: { avg_heart_rate_bpm: number }) => row.avg_heart_rate_bpm),
      nights.map((night) => Math.round(mean(during(night).map(({ value }) => value)))),
    )
    t.equal(before.workouts.length, runs.length)
    t.ok(before.workouts.every(({ avg_heart_rate_bpm }) => avg_heart_rate_bpm > 80))
  })

  await t.test('stay when samples are archived, even in the middle of a night', async (t) => {
    await settings({ archive_after_days: 60 })
    const stored = await left()
    await run(app, NOW)
    t.ok((await left()) < stored / 1.5 && (await left()) > 0)
    t.strictSame(changed(await read()), nothing)
    const kept = await app.db.query('select n from kept_sum where n = 0')
    t.ok(kept.length < samples.length / 100, 'hardly anything is stored for series that were not measured')
    await run(app, NOW + MONTH_MS)
    t.strictSame(changed(await read()), nothing, 'and when the rest of that night is archived')
    await run(app, NOW + 2 * MONTH_MS)
    t.equal(await left(), 0)
    t.strictSame(changed(await read()), nothing)
  })

  await t.test('follow late samples, before and after these are archived', async (t) => {
    const other = await createUser(app)
    const [id = 0] = await addSources(app.db, other, [{ provider: 'apple', device: 'W', source: 'W', type: 'watch' }])
    const [startMs, endMs] = [FLOOR - 10 * DAY_MS + 22 * HOUR_MS + 7 * MINUTE_MS, FLOOR - 9 * DAY_MS + 6 * HOUR_MS]
    await addSession(app, other, 'sleep', [id, startMs, endMs])
    const beat = (ms: number, value: number): Written => ({ sourceId: id, seriesId: HEART_RATE, ms, value, zone: null })
    const found = async () => (await summary(app, other, 'sleep', range)).body.data[0].avg_heart_rate_bpm
    // In the quarter hour in which the night starts, before and after its start.
    await write(app.db, other, [beat(startMs - 5 * MINUTE_MS, 200), beat(startMs + MINUTE_MS, 50)])
    t.equal(await found(), 50)
    await run(app, NOW)
    t.equal(await found(), 50)
    await app.db.transaction(async (tx) => {
      const late = (startMs + 2 * HOUR_MS) / 1000
      await tx.query('select * from archived_within($1, $2, $3, $3)', [[id], [HEART_RATE], [late]])
      const quarter = Math.floor(late / 900) * 900
      t.strictSame(await tx.query('select * from take_late($1, $2, $3)', [[id], [HEART_RATE], [quarter]]), [])
    })
    await write(app.db, other, [beat(startMs + 2 * HOUR_MS, 70)])
    t.equal(await found(), 60)
    await run(app, NOW)
    t.equal(await found(), 60)

    await addSession(app, other, 'sleep', [id, startMs - 3 * MINUTE_MS, endMs])
    await app.db.query('delete from sleep where user_id = $1 and start_at = to_timestamp($2)', [other, startMs / 1000])
    t.equal(await found(), 107, 'a night that arrives later counts by whole quarter hours')
    await run(app, NOW + MONTH_MS)
    t.equal(await found(), 107)
  })

  await t.test('are deleted with their data, and with their source', async (t) => {
    const sums = async () =>
      (await app.db.query<{ at: number }>(`select date_part('epoch', ends) * 1000 as at from kept_sum`)).map(
        ({ at }) => at,
      )
    t.ok((await sums()).some((ms) => ms < FLOOR))
    await settings({ archive_after_days: 30, delete_after_days: 60 })
    await run(app, NOW)
    const kept = await sums()
    t.ok(kept.length > 0 && kept.every((ms) => ms > FLOOR))
    const { sleep } = await read()
    t.equal(sleep.length, nights.length, 'nights stay')
    t.equal(sleep[0].avg_heart_rate_bpm, null)
    await app.db.query('delete from data_source where id = any ($1)', [[watch, ring]])
    const { n } = await app.db.one<{ n: number }>('select count(*) as n from kept_sum where source_id = any ($1)', [
      [watch, ring],
    ])
    t.equal(n, 0)
  })
})
