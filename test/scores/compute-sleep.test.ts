// Sleep scores follow uploads of phones: contract 14.2. sleep-score.test.ts tests the formula itself.
import t from 'tap'
import { startCron } from '../../server/cron.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { computeSleepScores } from '../../server/scores/compute-sleep.ts'
import { startTestApp } from '../support/app.ts'
import {
  allScores,
  DAY_MS,
  eleven,
  HOUR_MS,
  MIN_MS,
  night,
  runJob,
  scoreVersions,
  send,
  TODAY,
  watched,
} from '../support/scores.ts'
import { createUser, iso, oneEngine, PHONE, startImports, WATCH } from '../support/sdk.ts'
import { sleepBody, sleepIds, stage } from '../support/sleep.ts'
import { runs } from '../support/thorough.ts'

/** Components that depend only on the night itself: half an hour awake at once leaves 80 * 60 / 70 + 20 points. */
const OWN = { duration: 100, stages: 100, interruptions: 88 }

oneEngine(t, 'sleep scores', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const jobs = await startImports(t, app)
  const upload = async (user: string, stages: unknown[], provider = 'apple') => {
    await send(app, user, sleepBody(stages, { provider }))
    // Else it begins in 20 seconds and holds the locks of users, whom computing scores leaves to its next run.
    await app.db.query(`select graphile_worker.remove_job('score_sleep:' || $1)`, [user])
  }
  const compute = (days = 30) => computeSleepScores(app.db, days)
  const internal = (user: string) => allScores(app, user, { provider: 'internal', category: 'sleep' })
  const consistency = async (user: string) =>
    (await internal(user)).map(({ components }) => components.consistency.value)

  await t.test('appear after an upload, one for each main session', async (t) => {
    const user = await createUser(app)
    await upload(user, [...night(3), ...night(2, 30), ...night(1, -75)])
    t.strictSame(await allScores(app, user), [], 'not yet')
    await runJob(app, jobs, 'score_sleep')
    const ids = await sleepIds(app.db, user)
    const scores = await allScores(app, user)
    const expected = [
      { late: 0, consistency: 0 },
      { late: 30, consistency: 85 },
      // The median of eleven and half past is a quarter past; an hour and a half earlier still scores 80.
      { late: -75, consistency: 80 },
    ].map(({ late, consistency }, place) => {
      const points = { ...OWN, consistency }
      return {
        id: scores[place]?.id,
        category: 'sleep',
        value: Math.floor((200 + 100 + 88 + consistency) / 5),
        qualifier: null,
        recorded_at: iso(eleven(3 - place) + late * MIN_MS + 7.5 * HOUR_MS),
        zone_offset: '+01:00',
        components: Object.fromEntries(
          Object.entries(points).map(([name, value]) => [name, { value, qualifier: null }]),
        ),
        data_source_id: null,
        provider: 'internal',
        event_record_id: ids[place],
      }
    })
    t.same(scores, expected)
  })

  await t.test('appear by the clock', async (t) => {
    const user = await createUser(app)
    await send(app, user, sleepBody(night(1), { provider: 'apple' }))
    const soon = `select 1 from graphile_worker.jobs
      where task_identifier = 'score_sleep' and key = 'score_sleep:' || $1
        and run_at between now() and now() + interval '20 seconds'`
    t.equal((await app.db.query(soon, [user])).length, 1, 'and soon after an upload')
    const often = { sleepScoreIntervalSeconds: 0.1, resilienceScoreIntervalSeconds: 0.1 }
    const stop = startCron(jobs, often, app.deps.log)
    t.ok(await waitUntil(async () => (await internal(user)).length === 1, 60_000))
    await stop()
  })

  await t.test('are computed once, until something changes', async (t) => {
    const user = await createUser(app)
    await upload(user, [...night(2), ...night(1)])
    await compute()
    const before = await scoreVersions(app.db, user)
    const { db, statements } = watched(app.db)
    t.equal(await computeSleepScores(db, 30), false)
    t.equal(statements.length, 1, 'only asks what is due')
    await app.db.query(`insert into score_due select $1, 'sleep', day from generate_series($2::int4, $3) day`, [
      user,
      TODAY / DAY_MS - 10,
      TODAY / DAY_MS,
    ])
    t.equal(await compute(), false)
    t.strictSame(await scoreVersions(app.db, user), before, 'computed again, the same is not written')
    await upload(user, [...night(2), ...night(1)])
    statements.length = 0
    await computeSleepScores(db, 30)
    t.equal(statements.length, 1, 'and the same upload makes nothing due')
  })

  await t.test('follow stages that come late, and keep their id', async (t) => {
    const user = await createUser(app)
    const [light, awake, deep, rem] = night(1)
    await upload(user, [light, awake])
    await compute()
    const [early] = await internal(user)
    t.match(early, {
      recorded_at: iso(eleven(1) + 4.5 * HOUR_MS),
      components: { duration: { value: 19 }, stages: { value: 0 } },
    })
    await upload(user, [deep, rem])
    await compute()
    t.match(await internal(user), [
      { id: early.id, recorded_at: iso(eleven(1) + 7.5 * HOUR_MS), components: { duration: { value: 100 } } },
    ])
  })

  await t.test('follow two sessions that turn out to be one', async (t) => {
    const user = await createUser(app)
    const part = (from: number, until: number) =>
      stage('light', eleven(1) + from * MIN_MS, eleven(1) + until * MIN_MS, { zoneOffset: '+01:00' })
    await upload(user, [part(0, 180), part(310, 420)])
    await compute()
    t.equal((await internal(user)).length, 2, 'both are of the night')
    await upload(user, [part(180, 310)])
    t.equal((await internal(user)).length, 1, 'one is gone with its session')
    await compute()
    t.match(await internal(user), [
      { recorded_at: iso(eleven(1) + 7 * HOUR_MS), components: { duration: { value: 100 } } },
    ])
  })

  await t.test('are the same in whatever order nights come', async (t) => {
    const user = await createUser(app)
    await upload(user, night(1, 30))
    await compute()
    t.strictSame(await consistency(user), [0])
    await upload(user, night(3))
    await compute()
    t.strictSame(await consistency(user), [0, 85])
    await upload(user, night(15, 30))
    await upload(user, night(16, -75))
    await compute()
    // Fifteen days ago is the fourteenth night before the last one; sixteen days ago does not count.
    t.strictSame(await consistency(user), [0, 14, 92, 100])
    const session = (await sleepIds(app.db, user))[1]
    t.equal((await app.request('DELETE', `/api/v1/users/${user}/events/sleep/${session}`)).status, 204)
    await compute()
    t.strictSame(await consistency(user), [0, 42, 85], 'and of what is left')
  })

  await t.test('are none of naps, and go when a session turns out to be one', async (t) => {
    const user = await createUser(app)
    const noon = TODAY - DAY_MS + 12 * HOUR_MS
    await upload(user, [stage('light', noon, noon + HOUR_MS)])
    await compute()
    t.equal((await internal(user)).length, 1, 'the longest of its day')
    await upload(user, night(1))
    await compute()
    t.match(await internal(user), [{ recorded_at: iso(eleven(1) + 7.5 * HOUR_MS) }])
    t.strictSame(await consistency(user), [0])
  })

  await t.test('are given to nights of every source; bedtimes are those of the best', async (t) => {
    const user = await createUser(app)
    const phone = { source: PHONE, id: null }
    await upload(user, [...night(3), ...night(3, 60, phone), ...night(2, 60, phone), ...night(1)])
    await compute()
    t.equal((await internal(user)).length, 4)
    const last = async () => (await consistency(user)).at(-1)
    t.equal(await last(), 85, 'between eleven by the watch and midnight by the phone, half an hour after')
    const rank = (watch: number) =>
      app.db.query(`update device_type_priority set priority = $1 where device_type = 'watch'`, [watch])
    await rank(99)
    await app.db.query(`update device_type_priority set priority = 1 where device_type = 'phone'`)
    await upload(user, night(4, 60, phone))
    await compute()
    await rank(1)
    t.equal(await last(), 80, 'now all are of the phone')
  })

  await t.test('stand beside the score of the platform', async (t) => {
    const user = await createUser(app)
    const values = [{ type: 'sleepScore', value: 61 }]
    const items = night(1, 0, { parentId: 'night', values })
    await upload(user, items, 'samsung')
    await compute()
    const [session] = await sleepIds(app.db, user)
    const told = async () => (await allScores(app, user)).map((one) => [one.provider, one.value, one.event_record_id])
    t.strictSame(await told(), [
      ['samsung', 61, session],
      ['internal', 77, session],
    ])
    await upload(user, night(1, 0, { parentId: 'night', values: [{ type: 'sleepScore', value: 65 }] }), 'samsung')
    await compute()
    t.strictSame((await told())[0], ['samsung', 65, session])
    t.equal((await told()).length, 2)
  })

  await t.test('reach back as far as is configured, also when that is changed later', async (t) => {
    const user = await createUser(app)
    await upload(user, [...night(400), ...night(40), ...night(30), ...night(1)])
    t.equal(await compute(), false)
    t.equal((await internal(user)).length, 2)
    t.equal(await compute(60), false)
    t.equal((await internal(user)).length, 3)
    await compute(366)
    t.equal((await internal(user)).length, 3)
    await upload(user, [stage('light', eleven(400) - HOUR_MS, eleven(400), { zoneOffset: '+01:00' })])
    const due = await app.db.query('select 1 from score_due where user_id = $1 and day < $2', [
      user,
      TODAY / DAY_MS - 366,
    ])
    t.equal(due.length, 0, 'what is older never gets one')
    await app.db.query(`insert into score_due values ($1, 'sleep', 0)`, [user])
    await runJob(app, jobs, 'prune')
    t.equal((await app.db.query('select 1 from score_due where user_id = $1 and day = 0', [user])).length, 0)
  })

  await t.test('follow every change of a day that had one, however old it is', async (t) => {
    const user = await createUser(app)
    const noon = TODAY - 40 * DAY_MS + 12 * HOUR_MS
    await upload(user, [...night(40), ...night(39, 30), stage('light', noon, noon + HOUR_MS)])
    await compute(60)
    const [first, second] = await internal(user)
    t.strictSame(await consistency(user), [0, 85])

    await upload(user, [...night(45, 30), stage('deep', eleven(39) + 8 * HOUR_MS, eleven(39) + 9 * HOUR_MS)])
    const { db, statements } = watched(app.db)
    t.equal(await computeSleepScores(db, 30), false)
    t.match(
      await internal(user),
      [
        { id: first.id, recorded_at: first.recorded_at, components: { consistency: { value: 85 } } },
        { id: second.id, recorded_at: iso(eleven(39) + 9 * HOUR_MS), components: { consistency: { value: 100 } } },
      ],
      'late stages, and nights before; one that never had a score gets none',
    )
    statements.length = 0
    await computeSleepScores(db, 30)
    t.equal(statements.length, 1, 'once')

    const [, session] = await sleepIds(app.db, user)
    t.equal((await app.request('DELETE', `/api/v1/users/${user}/events/sleep/${session}`)).status, 204)
    await compute()
    t.match(
      await internal(user),
      [
        { recorded_at: iso(noon + HOUR_MS), components: { consistency: { value: 80 } } },
        { id: second.id, components: { consistency: { value: 0 } } },
      ],
      'and deletions: what was a nap is the longest of its day now',
    )
  })

  await t.test('move along with an old session that turns out to end on another day', async (t) => {
    const user = await createUser(app)
    const part = (from: number, until: number) =>
      stage('light', eleven(40) + from * MIN_MS, eleven(40) + until * MIN_MS, { zoneOffset: '+01:00' })
    await upload(user, [part(0, 30)])
    await compute(60)
    const [early] = await internal(user)
    t.equal(early.recorded_at, iso(eleven(40) + 30 * MIN_MS), 'before midnight')
    await upload(user, [part(30, 420)])
    await compute()
    t.match(await internal(user), [{ id: early.id, recorded_at: iso(eleven(40) + 7 * HOUR_MS) }])
  })

  await t.test('of two sessions that turn out to be one, long ago, are that of the one', async (t) => {
    const user = await createUser(app)
    const part = (from: number, until: number) =>
      stage('light', eleven(500) + from * MIN_MS, eleven(500) + until * MIN_MS, { zoneOffset: '+01:00' })
    await upload(user, [part(0, 180), part(310, 420)])
    t.strictSame(await app.db.query('select 1 from score_due where user_id = $1', [user]), [], 'too old by now')
    await app.db.query(`insert into score_due values ($1, 'sleep', $2)`, [user, TODAY / DAY_MS - 500])
    await compute(500)
    t.equal((await internal(user)).length, 2)
    await upload(user, [part(180, 310)])
    await runJob(app, jobs, 'prune')
    await compute()
    t.match(await internal(user), [{ recorded_at: iso(eleven(500) + 7 * HOUR_MS) }])
  })

  await t.test('go with what they are of', async (t) => {
    const user = await createUser(app)
    await upload(user, [...night(2), ...night(1)])
    await compute()
    const [, last] = await sleepIds(app.db, user)
    t.equal((await app.request('DELETE', `/api/v1/users/${user}/events/sleep/${last}`)).status, 204)
    t.equal((await internal(user)).length, 1)
    t.equal((await app.request('DELETE', `/api/v1/users/${user}/connections/apple/data`)).status, 204)
    t.strictSame(await allScores(app, user), [])
    await compute()
    t.strictSame(await allScores(app, user), [])
    await upload(user, night(1))
    t.equal((await app.request('DELETE', `/api/v1/users/${user}`, { auth: 'developer' })).status, 200)
    t.strictSame(await app.db.query('select 1 from score_due where user_id = $1', [user]), [])
  })

  await t.test('wait while an import changes what they are computed from, and hold up nobody else', async (t) => {
    const [busy, other] = [await createUser(app), await createUser(app)]
    for (const user of [busy, other]) await upload(user, night(1))
    await app.db.transaction(async (tx) => {
      await tx.query(`select pg_advisory_xact_lock(hashtextextended('ingest:' || $1, 0))`, [busy])
      t.equal(await compute(), false)
    })
    t.strictSame([(await internal(busy)).length, (await internal(other)).length], [0, 1])
    await compute()
    t.equal((await internal(busy)).length, 1, 'by the next run')
  })

  await t.test('take a few statements, however many users and nights there are', async (t) => {
    const users = await Promise.all(Array.from({ length: runs(21, 45) }, () => createUser(app)))
    const nights = Array.from({ length: runs(3, 20) }, (_, day) => night(day + 1, 0, { source: WATCH })).flat()
    await Promise.all(users.map((user) => upload(user, nights)))
    const { db, statements } = watched(app.db)
    t.equal(await computeSleepScores(db, 30), false)
    t.ok(statements.length <= Math.ceil(users.length / 20) * 5, `${statements.length} statements`)
    for (const user of users.slice(0, 3)) t.equal((await internal(user)).length, runs(3, 20))
  })
})
