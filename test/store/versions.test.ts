// What providers say again: later versions win, parts of a workout leave the rest, scores move, a profile's value is stored
// when it changes.
import t from 'tap'
import { startTestApp } from '../support/app.ts'
import {
  ASKED,
  batchOf,
  connectedUser,
  current,
  cycle,
  DAY,
  givenRows,
  night,
  run,
  score,
  write,
} from '../support/given.ts'
import { oneEngine, startImports, storedSamples } from '../support/sdk.ts'

oneEngine(t, 'versions', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)

  await t.test('a list row does not erase what the whole workout says', async (t) => {
    const user = await connectedUser(app, 'strava')
    const whole = run('a', 0, 60, { source: 1, title: 'Morning', caloriesKcal: 500, heartRateAvg: 150, version: 1 })
    const listed = run('a', 0, 60, { title: 'Renamed', distanceMeters: 9_000, partial: true, version: 2 })
    const row = async () =>
      (await app.db.query(
        `select w.id, w.title, w.calories_kcal as kcal, w.distance_m as m, w.heart_rate_avg as hr, d.device_model as device,
                w.version
         from workout w join data_source d on d.id = w.source_id where w.user_id = $1`,
        [user.userId],
      )) as Record<string, unknown>[]
    t.match(await write(app, user, batchOf({ workouts: [listed] })), { inserted: 1 })
    t.match(await row(), [{ title: 'Renamed', kcal: null, m: 9_000, device: '' }])
    t.match(await write(app, user, batchOf({ workouts: [{ ...whole, version: 2 }] })), { updated: 1 })
    t.match(await write(app, user, batchOf({ workouts: [listed] })), { updated: 1, inserted: 0 })
    const [{ id }] = (await row()) as [{ id: string }]
    const both = { id, title: 'Renamed', kcal: 500, m: 9_000, hr: 150, device: 'Strap', version: 2 }
    t.strictSame(await row(), [both])
    t.match(await write(app, user, batchOf({ workouts: [whole] })), { unchanged: 1 }, 'an older version')
    t.match(
      await write(
        app,
        user,
        batchOf({
          workouts: [listed, { ...listed, externalId: 'b', startMs: listed.startMs + DAY, endMs: listed.endMs + DAY }],
        }),
      ),
      { unchanged: 1, inserted: 1 },
    )
    t.strictSame(
      (await row()).filter((one) => one.id === id),
      [both],
    )
    const later = { ...whole, version: 3, caloriesKcal: null }
    t.match(await write(app, user, batchOf({ workouts: [later, { ...listed, version: 3 }] })), {
      updated: 1,
      duplicates: 1,
    })
    t.match(
      (await row()).filter((one) => one.id === id),
      [{ kcal: null, m: 9_000, hr: 150, device: 'Strap' }],
      'of one batch, too',
    )
  })

  await t.test('an answer that is read again does not overwrite a later one', async (t) => {
    const user = await connectedUser(app, 'oura')
    const said = (atMs: number, value: number) =>
      batchOf({
        nights: [night('n', 0, 300, { asleepS: value * 100, atMs })],
        scores: [score('s', 0, value, { atMs })],
        workouts: [run('w', 600, 660, { caloriesKcal: value, atMs })],
        wholeCycles: [cycle('c', 0, { dayInCycle: value, atMs })],
      })
    await write(app, user, said(ASKED, 1))
    t.match(await write(app, user, said(ASKED + DAY, 2)), { updated: 4 })
    const rows = await givenRows(app.db, user.userId)
    t.match(await write(app, user, said(ASKED, 1), { receivedAt: null }), { unchanged: 4, updated: 0, changed: false })
    t.strictSame(await givenRows(app.db, user.userId), rows)
  })

  await t.test('scores move, and take the place of another', async (t) => {
    const user = await connectedUser(app)
    const scored = async (...scores: ReturnType<typeof score>[]) => {
      const { inserted, updated, unchanged, duplicates } = await write(app, user, batchOf({ scores }))
      const rows = await app.db.query<{ line: string }>(
        `select concat_ws(' ', external_id, value, to_char(recorded_at, 'HH24:MI')) as line
         from health_score where user_id = $1 order by recorded_at, external_id, value`,
        [user.userId],
      )
      return [[inserted, updated, unchanged, duplicates].join(' '), ...rows.map(({ line }) => line)]
    }
    const steps = [
      await scored(score('a', 0, 10), score('b', 60, 20)),
      await scored(score('a', 60, 11, { version: 2 }), score('b', 0, 21, { version: 2 })),
      await scored(score('a', 60, 9, { version: 1 })),
      await scored(score('c', 60, 30, { atMs: ASKED + 1 })),
      await scored(score('c', 60, 30, { atMs: ASKED + 1 }), score('c', 60, 31, { atMs: ASKED + 2 })),
      await scored(score('b', 0, 22, { category: 'recovery' })),
    ]
    t.strictSame(steps, [
      ['2 0 0 0', 'a 10 22:00', 'b 20 23:00'],
      ['0 2 0 0', 'b 21 22:00', 'a 11 23:00'],
      ['0 0 1 0', 'b 21 22:00', 'a 11 23:00'],
      ['0 1 0 0', 'b 21 22:00', 'c 30 23:00'],
      ['0 1 0 1', 'b 21 22:00', 'c 31 23:00'],
      ['1 0 0 0', 'b 21 22:00', 'b 22 22:00', 'c 31 23:00'],
    ])
  })

  await t.test('a value of a profile is a sample when it changes', async (t) => {
    const user = await connectedUser(app)
    const weigh = async (...values: [kg: number, day: number][]) => {
      const currents = values.map(([kg, day]) => current('weight', kg, ASKED + day * DAY))
      const { inserted, unchanged } = await write(app, user, batchOf({ currents }))
      const stored = await storedSamples(app.db, user.userId)
      return [
        `${inserted} ${unchanged}`,
        ...stored.map(({ ts, value }) => `${(Date.parse(ts) - ASKED) / DAY} ${value}`),
      ]
    }
    t.strictSame(
      [
        await weigh([70, 0]),
        await weigh([70.01, 1], [70.01, 2]),
        await weigh([70.02, 3], [70.02, 4], [69, 5]),
        await weigh([70, 0]),
        await weigh([69, 6]),
        await weigh([70.02, 3]),
      ],
      [
        ['1 0', '0 70'],
        ['0 2', '0 70'],
        ['2 1', '0 70', '3 70.02', '5 69'],
        ['0 1', '0 70', '3 70.02', '5 69'],
        ['0 1', '0 70', '3 70.02', '5 69'],
        ['0 1', '0 70', '3 70.02', '5 69'],
      ],
    )
  })

  await t.test('a whole cycle goes on day by day, and stays deleted', async (t) => {
    const user = await connectedUser(app, 'garmin')
    const give = (dayInCycle: number) =>
      write(app, user, batchOf({ wholeCycles: [cycle('c', 0, { dayInCycle, lastUpdatedMs: ASKED + dayInCycle })] }), {
        feed: true,
      })
    t.match(
      [await give(3), await give(4), await give(4), await give(2)],
      [{ inserted: 1 }, { updated: 1 }, { unchanged: 1 }, { unchanged: 1 }],
    )
    const path = `/api/v1/users/${user.userId}/events/menstrual-cycles`
    const list = async () => (await app.request('GET', `${path}?start_date=2026-02-01&end_date=2026-04-01`)).body.data
    const [{ id, day_in_cycle }] = await list()
    t.equal(day_in_cycle, 4)
    const [{ n }] = (await app.db.query('select count(*) as n from event where user_id = $1', [user.userId])) as [
      { n: number },
    ]
    t.equal(n, 1, 'one event for all of its days')
    t.equal((await app.request('DELETE', `${path}/${id}`)).status, 204)
    t.match(await give(5), { inserted: 0, ignored: 1 })
    t.strictSame(await list(), [])
    await app.db.query(`update hidden_item set hidden_at = to_timestamp($1)`, [ASKED / 1000])
    t.match(await give(6), { inserted: 1 }, 'changed after the deletion')
  })
})
