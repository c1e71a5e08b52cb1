// Resilience follows uploads of phones: contract 14.3. resilience.test.ts tests the formula itself.
import t from 'tap'
import { seriesByName } from '../../server/catalogue/series.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { computeResilience } from '../../server/scores/compute-resilience.ts'
import { startTestApp } from '../support/app.ts'
import {
  allScores,
  DAY_MS,
  eleven,
  HOUR_MS,
  night,
  runJob,
  scoreVersions,
  send,
  TODAY,
  variability,
  watched,
} from '../support/scores.ts'
import { body, createUser, iso, oneEngine, type SdkRecord, startImports } from '../support/sdk.ts'
import { sleepBody, sleepIds } from '../support/sleep.ts'
import { addSources, seeded, write } from '../support/summaries.ts'

/** Daily means of 40 to 60: a standard deviation of 7.905694 divided by a mean of 50. */
const FIVE = [40, 45, 50, 55, 60]
const RMSSD = 7
const WEIGHT = seriesByName.get('weight')?.id as number

/** 01:00 UTC, asleep, this many days ago. */
const asleepAt = (daysAgo: number) => TODAY - daysAgo * DAY_MS + HOUR_MS

oneEngine(t, 'resilience', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const jobs = await startImports(t, app)
  const upload = async (user: string, sleep: unknown[], records: unknown[] = [], more: SdkRecord = {}) => {
    await send(app, user, body([], { provider: 'health_connect', data: { records, sleep, workouts: [] }, ...more }))
    // Else it begins in 20 seconds and holds the locks of users, whom computing resilience leaves to its next run.
    await app.db.query(`select graphile_worker.remove_job('score_sleep:' || $1)`, [user])
  }
  const nights = (...days: number[]) => days.flatMap((day) => night(day, 0, { parentId: `night ${day}` }))
  const compute = (days = 30, nowMs = Date.now()) => computeResilience(app.db, days, nowMs)
  const values = async (user: string) =>
    (await allScores(app, user, { category: 'resilience' })).map(({ recorded_at, value }) => [
      (TODAY - Date.parse(recorded_at)) / DAY_MS,
      value,
    ])
  /** Five nights with one measurement each, the last one this many days ago. */
  const five = async (lastDay: number) => {
    const user = await createUser(app)
    const days = FIVE.map((_, place) => lastDay + 4 - place)
    await upload(
      user,
      nights(...days),
      FIVE.map((value, place) => variability(asleepAt(days[place] as number), value)),
    )
    return user
  }

  /** Marks all data of a user before an instant as archived. */
  const archived = async (user: string, untilMs: number) => {
    await app.db.query('update archival set raw_floor = greatest(raw_floor, to_timestamp($1))', [untilMs / 1000])
    await app.db.query(
      `update source_series set archived = tstzmultirange(tstzrange('-infinity', to_timestamp($1)))
       where source_id in (select id from data_source where user_id = $2)`,
      [untilMs / 1000, user],
    )
  }
  /** Removes all data of a provider that a test wrote directly. */
  const purge = async (user: string, provider: string) => {
    await app.db.query('insert into connection (user_id, provider) values ($1, $2) on conflict do nothing', [
      user,
      provider,
    ])
    const path = `/api/v1/users/${user}/connections/${provider}/data`
    t.equal((await app.request('DELETE', path)).status, 204)
  }
  /** A source of a provider, with functions that store its nights and variability. */
  const ring = async (user: string, provider = 'oura') => {
    const [sourceId = 0] = await addSources(app.db, user, [{ provider, device: 'Ring', source: '', type: 'ring' }])
    const sleep = (day: number) =>
      app.db.query(
        `insert into sleep (user_id, source_id, start_at, end_at, asleep_s, is_nap)
         values ($1, $2, to_timestamp($3), to_timestamp($3) + interval '7 hours', 25200, false)`,
        [user, sourceId, eleven(day) / 1000],
      )
    const measure = (seriesId: number, ...measured: [day: number, value: number][]) =>
      write(
        app.db,
        user,
        measured.map(([day, value]) => ({ sourceId, seriesId, ms: asleepAt(day) + 60_000, value, zone: null })),
      )
    return { sourceId, sleep, measure }
  }

  await t.test('appears for days with five measured days in the week before', async (t) => {
    const user = await five(1)
    t.strictSame(await allScores(app, user), [], 'not yet')
    await runJob(app, jobs, 'score_resilience')
    const [score, ...others] = await allScores(app, user)
    t.same(score, {
      id: score.id,
      category: 'resilience',
      value: 0.158114,
      qualifier: null,
      recorded_at: iso(TODAY),
      zone_offset: null,
      components: {
        days_counted: { value: 5, qualifier: null },
        metric_type: { value: null, qualifier: 'RMSSD' },
        resilience_score: { value: 73, qualifier: null },
      },
      data_source_id: null,
      provider: 'internal',
      event_record_id: null,
    })
    t.strictSame(others, [])
  })

  await t.test('appears for every day the nights are enough for', async (t) => {
    const user = await five(9)
    await compute()
    // Nights 13 to 9 days ago are in the weeks before the days 8 to 6 days ago.
    t.strictSame(await values(user), [
      [8, 0.158114],
      [7, 0.158114],
      [6, 0.158114],
    ])
  })

  await t.test('appears when its day comes, without another upload', async (t) => {
    const user = await five(1)
    await compute()
    t.equal((await values(user)).length, 1)
    await compute(30, Date.now() + 2 * DAY_MS)
    t.strictSame(await values(user), [
      [0, 0.158114],
      [-1, 0.158114],
      [-2, 0.158114],
    ])
  })

  await t.test('is computed once, enough for a score or not, until something changes', async (t) => {
    const user = await five(1)
    const few = await createUser(app)
    await upload(
      few,
      nights(1, 2, 3),
      [1, 2, 3].map((day) => variability(asleepAt(day), 50)),
    )
    await compute()
    t.strictSame(await values(few), [])
    const before = await scoreVersions(app.db, user)
    const { db, statements } = watched(app.db)
    for (let run = 0; run < 3; run += 1) t.equal(await computeResilience(db, 30), false)
    t.equal(statements.length, 3, 'only asks what is due')
    await app.db.query(`insert into score_due select $1, 'resilience', $2 on conflict do nothing`, [
      user,
      TODAY / DAY_MS,
    ])
    await compute()
    t.strictSame(await scoreVersions(app.db, user), before, 'computed again, the same is not written')
    await upload(few, [], [variability(TODAY + HOUR_MS - 5 * DAY_MS, 50)])
    statements.length = 0
    await computeResilience(db, 30)
    t.ok(statements.length > 1, 'a measurement that comes is looked at')
    await upload(few, nights(4, 5), [variability(asleepAt(4), 50)])
    await compute()
    t.strictSame(await values(few), [[0, 0]], 'and so are nights')
  })

  await t.test('counts what was measured asleep only', async (t) => {
    const user = await five(1)
    const awake = eleven(1) + 4.25 * HOUR_MS
    await upload(user, [], [variability(awake, 500), variability(TODAY - DAY_MS + 12 * HOUR_MS, 500)])
    await compute()
    t.strictSame(await values(user), [[0, 0.158114]])
    await upload(user, [], [variability(asleepAt(1) + HOUR_MS / 2, 40)])
    await compute()
    // The last day is 50 now: 40, 45, 50, 55, 50 have a mean of 48 and a sum of squares of 130.
    t.strictSame(await values(user), [[0, Math.round((Math.sqrt(130 / 4) / 48) * 1e6) / 1e6]])
  })

  await t.test('takes what a band measured all night and stores at its end', async (t) => {
    const user = await createUser(app)
    const band = await ring(user, 'whoop')
    const [other = 0] = await addSources(app.db, user, [{ provider: 'oura', device: '', source: '', type: 'ring' }])
    for (const [place, value] of FIVE.entries()) {
      await band.sleep(5 - place)
      const end = eleven(5 - place) + 7 * HOUR_MS
      await write(app.db, user, [
        { sourceId: band.sourceId, seriesId: RMSSD, ms: end, value, zone: null },
        { sourceId: other, seriesId: RMSSD, ms: end, value: 200, zone: null },
      ])
    }
    await compute()
    t.strictSame((await values(user)).slice(-1), [[0, 0.158114]])
  })

  await t.test('takes what was measured by the provider of the night, else what others did', async (t) => {
    const user = await five(1)
    const [other = 0] = await addSources(app.db, user, [{ provider: 'oura', device: 'Ring', source: '', type: 'ring' }])
    const measured = (day: number, value: number) => ({
      sourceId: other,
      seriesId: RMSSD,
      ms: asleepAt(day) + 60_000,
      value,
      zone: null,
    })
    await write(app.db, user, [measured(1, 500), measured(6, 50)])
    await upload(user, nights(6))
    await compute()
    // 50 of another provider on the day before the five; without the last of them, these suffice for the previous day.
    t.strictSame(await values(user), [
      [1, Math.round((Math.sqrt(130 / 4) / 48) * 1e6) / 1e6],
      [0, Math.round((Math.sqrt(250 / 5) / 50) * 1e6) / 1e6],
    ])
    await purge(user, 'oura')
    t.strictSame(await values(user), [], 'goes at once with a provider')
    await compute()
    t.strictSame(await values(user), [[0, 0.158114]], 'and is computed from what is left')
  })

  await t.test(
    'takes what the source of the night measured, and entries by hand only where nobody measured',
    async (t) => {
      const user = await five(1)
      const entered = (day: number, value: number) =>
        variability(asleepAt(day) + 60_000, value, {
          id: `entered ${day}`,
          source: { appId: 'com.example', recordingMethod: 'manual' },
        })
      const strap = (day: number, value: number) =>
        variability(asleepAt(day) + 120_000, value, { id: `strap ${day}`, source: { appId: 'com.strap' } })
      await upload(user, [], [entered(2, 500), entered(3, 500), strap(3, 500), strap(4, 500)])
      await compute()
      t.strictSame(await values(user), [[0, 0.158114]])
      await upload(user, nights(6), [entered(6, 50)])
      await compute()
      const six = [
        [1, Math.round((Math.sqrt(130 / 4) / 48) * 1e6) / 1e6],
        [0, Math.round((Math.sqrt(250 / 5) / 50) * 1e6) / 1e6],
      ]
      t.strictSame(await values(user), six, 'alone they count')
      const deleted = [{ id: 'entered 6' }]
      await upload(user, [], [], { data: { records: [], sleep: [], workouts: [], deleted } })
      await compute()
      t.strictSame(await values(user), [[0, 0.158114]], 'until they are deleted')
    },
  )

  await t.test('follows deletions', async (t) => {
    const user = await five(1)
    await compute()
    const path = `/api/v1/users/${user}/events/sleep`
    const range = `start_date=${iso(eleven(8))}&end_date=${iso(TODAY)}`
    const { data } = (await app.request('GET', `${path}?${range}`)).body
    t.equal((await app.request('DELETE', `${path}/${data[0].id}`)).status, 204)
    await compute()
    t.strictSame(await values(user), [], 'of a night')

    const measured = await five(1)
    await compute()
    await upload(measured, [], [], {
      data: { records: [], sleep: [], workouts: [], deleted: [{ id: `v${iso(asleepAt(3))}` }] },
    })
    await compute()
    t.strictSame(await values(measured), [], 'of a measurement')

    const purged = await five(1)
    await compute()
    t.equal((await values(purged)).length, 1)
    const connection = `/api/v1/users/${purged}/connections/health_connect/data`
    t.equal((await app.request('DELETE', connection)).status, 204)
    t.strictSame(await values(purged), [], 'of all that came from a provider, at once')
    await compute()
    t.strictSame(await values(purged), [])
  })

  await t.test('reaches back as far as is configured', async (t) => {
    const user = await five(33)
    await compute(30)
    t.strictSame(await values(user), [[30, 0.158114]])
    await compute(60)
    t.strictSame(
      (await values(user)).map(([day]) => day),
      [32, 31, 30],
    )
  })

  await t.test('follows every change of a day that had one, however old it is', async (t) => {
    const user = await five(43)
    await compute(60)
    const days = async () => (await values(user)).map(([day]) => day)
    t.strictSame(await days(), [42, 41, 40])
    await upload(user, [], [variability(asleepAt(43) + HOUR_MS / 2, 40)])
    await compute()
    const changed = Math.round((Math.sqrt(130 / 4) / 48) * 1e6) / 1e6
    t.strictSame(
      (await values(user)).map(([, value]) => value),
      [changed, changed, changed],
      'a measurement that comes late',
    )
    await upload(user, nights(48, 50), [variability(asleepAt(48), 50), variability(asleepAt(50), 50)])
    await compute()
    t.strictSame(await days(), [42, 41, 40], 'days that never had one, such as 43 days ago, get none')
    const { db, statements } = watched(app.db)
    await computeResilience(db, 30)
    t.equal(statements.length, 1, 'once')
    const [, , session] = await sleepIds(app.db, user)
    t.equal((await app.request('DELETE', `/api/v1/users/${user}/events/sleep/${session}`)).status, 204)
    await compute()
    // Of the nights 47 to 43 days ago the first is deleted; 48 days ago is in the week before 42 and 41 days ago.
    t.strictSame(await days(), [42, 41], 'a night that is deleted')
  })

  await t.test('stays with a provider that measured none of it, and else is computed again, however old', async (t) => {
    const user = await five(43)
    const scale = await ring(user, 'withings')
    await scale.measure(WEIGHT, [43, 80])
    const { sleep, measure } = await ring(user)
    for (const day of [60, 59, 58, 57, 56]) await sleep(day)
    await measure(RMSSD, ...FIVE.map((value, place): [number, number] => [60 - place, value]), [48, 999])
    await compute(90)
    const before = await allScores(app, user)
    t.strictSame(
      (await values(user)).map(([day]) => day),
      [55, 54, 53, 42, 41, 40],
    )
    await purge(user, 'withings')
    t.strictSame(await allScores(app, user), before)
    await purge(user, 'oura')
    t.strictSame(await values(user), [[40, 0.158114]], 'all that may have been computed from it goes at once')
    await compute()
    t.strictSame(
      (await values(user)).map(([day]) => day),
      [42, 41, 40],
      'and what is left is computed again',
    )
  })

  await t.test('of archived days goes with a provider that measured in their week, and with no other', async (t) => {
    const user = await createUser(app)
    const { sleep, measure } = await ring(user)
    for (const day of [20, 19, 18, 17, 16, 10, 9, 8, 7, 6]) await sleep(day)
    const measured = (from: number) => FIVE.map((value, place): [number, number] => [from - place, value])
    await measure(RMSSD, ...measured(20))
    const other = await ring(user, 'withings')
    await other.measure(RMSSD, ...measured(10))
    await compute()
    t.strictSame(
      (await values(user)).map(([day]) => day),
      [15, 14, 13, 5, 4, 3],
    )
    await refreshRollups(app.db)
    await archived(user, TODAY - DAY_MS)
    await purge(user, 'withings')
    await compute()
    t.strictSame(
      (await values(user)).map(([day]) => day),
      [15, 14, 13],
    )
  })

  await t.test('stays when its samples are archived', async (t) => {
    const user = await five(9)
    await compute()
    t.equal((await values(user)).length, 3)
    await archived(user, TODAY - 10 * DAY_MS)
    await upload(user, nights(10, 11, 15))
    await compute()
    t.equal((await values(user)).length, 3)
  })

  await t.test('is that of straight-line code, whatever the nights', async (t) => {
    const random = seeded(7)
    const user = await createUser(app)
    const measured: { at: number; value: number }[] = []
    const days = Array.from({ length: 25 }, (_, place) => place + 1).filter(() => random() < 0.85)
    for (const day of days) {
      for (let minute = 0; minute < 450; minute += 10)
        if (random() < 0.5)
          measured.push({ at: eleven(day) + minute * 60_000, value: Math.round(300 + random() * 600) / 10 })
    }
    await upload(
      user,
      nights(...days),
      measured.map(({ at, value }) => variability(at, value)),
    )
    await compute()
    const asleep = measured.filter(({ at }) => {
      const minute = ((at + 2 * HOUR_MS) % DAY_MS) / 60_000
      return minute < 240 || minute >= 270
    })
    const expected: number[][] = []
    for (let ago = 30; ago >= 0; ago -= 1) {
      const means: number[] = []
      for (let before = 7; before >= 1; before -= 1) {
        const start = TODAY - (ago + before) * DAY_MS
        const ofDay = asleep.filter(({ at }) => at >= start && at < start + DAY_MS)
        if (ofDay.length > 0) means.push(ofDay.reduce((sum, { value }) => sum + value, 0) / ofDay.length)
      }
      if (means.length < 5) continue
      const mean = means.reduce((sum, value) => sum + value, 0) / means.length
      const variance = means.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (means.length - 1)
      expected.push([ago, Math.sqrt(variance) / mean])
    }
    const found = await values(user)
    t.ok(expected.length > 10)
    t.strictSame(
      found.map(([day]) => day),
      expected.map(([day]) => day),
    )
    for (const [place, [ago, value = 0]] of expected.entries())
      t.ok(Math.abs((found[place]?.[1] ?? 9) - value) < 1e-6, `${ago} days ago`)
  })

  await t.test('takes a few statements, however many users there are', async (t) => {
    const users = await Promise.all(Array.from({ length: 25 }, () => createUser(app)))
    const sleep = nights(1, 2, 3, 4, 5)
    const records = FIVE.map((value, place) => variability(asleepAt(5 - place), value))
    await Promise.all(users.map((user) => upload(user, sleep, records)))
    const { db, statements } = watched(app.db)
    t.equal(await computeResilience(db, 30), false)
    t.ok(statements.length <= 2 * 7, `${statements.length} statements`)
    // A user whose night is being scored at the moment is left to another run.
    const scored = async (user: string) => (await values(user)).length > 0 || (await computeResilience(db, 30))
    for (const user of users) {
      t.ok(await waitUntil(() => scored(user), 30_000))
      t.strictSame(await values(user), [[0, 0.158114]])
    }
  })

  await t.test('is none of Apple Health, which measures another variability', async (t) => {
    const user = await createUser(app)
    const records = FIVE.map((value, place) =>
      variability(asleepAt(5 - place), value, { type: 'HKQuantityTypeIdentifierHeartRateVariabilitySDNN' }),
    )
    await send(app, user, {
      ...sleepBody(nights(1, 2, 3, 4, 5)),
      data: { records, sleep: nights(1, 2, 3, 4, 5), workouts: [] },
    })
    await compute()
    t.strictSame(await values(user), [])
  })
})
