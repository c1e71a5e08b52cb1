// Nights that a provider gives as a whole: rows that keep their ids, what goes with them, and what stays deleted.
import t from 'tap'
import type { TestApp } from '../../support/app.ts'
import {
  batchOf,
  type CloudUser,
  connectedUser,
  givenRows,
  MIN,
  night,
  samples,
  score,
  TEN,
  write,
} from '../../support/given.ts'
import { importBody, oneEngine, sharedApp, storedSamples } from '../../support/sdk.ts'
import { sleepBody, stage } from '../../support/sleep.ts'

/** Sessions as `id from until asleep nap`, in minutes after ten and minutes; ids by their first occurrence. */
function sessionsOf(app: TestApp) {
  const names = new Map<string, string>()
  return async ({ userId }: CloudUser) => {
    const rows = await app.db.query<Record<string, string>>(
      `select id, start_at, end_at, asleep_s / 60 as asleep, is_nap from sleep where user_id = $1 order by start_at`,
      [userId],
    )
    return rows.map(({ id, start_at, end_at, asleep, is_nap }) => {
      names.set(id as string, names.get(id as string) ?? `#${names.size + 1}`)
      const [from, until] = [start_at, end_at].map((at) => (Date.parse(at as string) - TEN) / MIN)
      return [names.get(id as string), from, until, asleep ?? '-', is_nap ? 'nap' : 'night'].join(' ')
    })
  }
}

const asleep = (minutes: number) => ({ asleepS: minutes * 60 })

oneEngine(t, 'nights', async (t, engine) => {
  const app = await sharedApp(engine)
  const give = (user: CloudUser, ...nights: ReturnType<typeof night>[]) =>
    write(app, user, batchOf({ nights }), { feed: true })
  const gone = (user: CloudUser, ...ids: string[]) =>
    write(app, user, batchOf({ deletions: ids.map((externalId) => ({ externalId, seriesId: null })) }))
  const pathOf = ({ userId }: CloudUser) => `/api/v1/users/${userId}`
  const remove = async (user: CloudUser, id: string) =>
    (await app.request('DELETE', `${pathOf(user)}/events/sleep/${id}`)).status

  await t.test('the oldest row stays when parts meet, and comes back when they part', async (t) => {
    const user = await connectedUser(app)
    const sessions = sessionsOf(app)
    await give(user, night('b', 300, 500, asleep(180)))
    await give(user, night('a', 0, 150, asleep(140)))
    t.strictSame(await sessions(user), ['#1 0 150 140 night', '#2 300 500 180 night'])
    const joined = await give(user, night('c', 200, 250, asleep(40)))
    t.strictSame(
      joined.events.map(({ inserted, announced }) => [inserted, announced.length]),
      [[1, 1]],
    )
    t.strictSame(await sessions(user), ['#2 0 500 360 night'], 'the row of b is older')
    t.match(await gone(user, 'c', 'unknown'), { deleted: 1, ignored: 1 })
    t.strictSame(
      (await sessions(user)).map((one) => one.slice(3)),
      ['0 150 140 night', '300 500 180 night'],
    )
    t.equal((await sessions(user))[1]?.slice(0, 2), '#2')
    await gone(user, 'a', 'b')
    t.strictSame(await givenRows(app.db, user.userId).then(({ sleep, sleep_part }) => [sleep, sleep_part]), [[], []])
  })

  await t.test('an event tells of new and changed sessions, each when it is stored', async (t) => {
    const user = await connectedUser(app)
    await give(user, night('a', 0, 400))
    await give(user, night('a', 0, 400))
    await give(user, night('a', 0, 400, { ...asleep(380), version: 5 }))
    const events = await app.db.query<{ data: Buffer }>('select data from event where user_id = $1 order by id', [
      user.userId,
    ])
    t.strictSame(
      events.map(({ data }) => JSON.parse(data.toString()).sleep_duration_seconds),
      [null, 22_800],
    )
  })

  await t.test('a phone beside it changes whether a nap is one, unless the provider says so', async (t) => {
    const user = await connectedUser(app)
    const sessions = sessionsOf(app)
    // From eleven to one; and half an hour at five in the afternoon.
    await give(
      user,
      night('said', 780, 900, { ...asleep(100), isNap: true }),
      night('unsaid', 1_140, 1_170, asleep(30)),
    )
    t.strictSame(await sessions(user), ['#1 780 900 100 nap', '#2 1140 1170 30 nap'])
    await importBody(app, user.userId, sleepBody([stage('light', TEN, TEN + 400 * MIN)]))
    t.strictSame((await sessions(user)).slice(1), ['#1 780 900 100 nap', '#2 1140 1170 30 nap'])
    const alone = await connectedUser(app)
    await give(alone, night('unsaid', 1_140, 1_170, asleep(30)))
    t.match(await sessions(alone), [/30 night$/], 'the only sleep of its day is no nap')
    await importBody(app, alone.userId, sleepBody([stage('light', TEN, TEN + 400 * MIN)]))
    t.match(await sessions(alone), [/400 night$/, /30 nap$/])
  })

  await t.test('what was deleted here is not brought back, unless it was changed since', async (t) => {
    const user = await connectedUser(app)
    const given = (version: number) =>
      batchOf({
        nights: [
          night('a', 0, 150, { ...asleep(140), version }),
          night('b', 200, 400, { ...asleep(190), version }),
          night('other', 1_440, 1_800),
        ],
        scores: [
          score('a', 0, 80, { night: 'a', version }),
          score('whoop:recovery:b', 400, 60, { category: 'recovery', night: 'b', version }),
          score('other', 1_440, 70, { night: 'other' }),
        ],
        samples: [
          samples('respiratory_rate', [[150, 14]], 'a'),
          samples('resting_heart_rate', [[400, 50]], 'whoop:recovery:b'),
        ],
      })
    await write(app, user, given(1))
    const [session] = await app.db.query<{ id: string }>('select id from sleep where user_id = $1 order by start_at', [
      user.userId,
    ])
    t.equal(await remove(user, session!.id), 204)
    const rows = await givenRows(app.db, user.userId)
    t.strictSame([rows.sleep.length, rows.sleep_part.length, rows.health_score.length], [1, 1, 1])
    t.strictSame(await storedSamples(app.db, user.userId), [], 'its samples and scores are gone')

    t.match(await write(app, user, given(1)), { inserted: 0, unchanged: 2, ignored: 6, changed: false })
    t.strictSame(await givenRows(app.db, user.userId), rows)
    t.strictSame(await storedSamples(app.db, user.userId), [])
    t.match(
      await write(app, user, given(Date.now() + 60_000)),
      { inserted: 6, unchanged: 2 },
      'changed after the deletion',
    )
    t.match(await write(app, user, given(1)), { inserted: 0, updated: 0 }, 'an older version is older still')
    t.equal((await storedSamples(app.db, user.userId)).length, 2)
    t.equal(await remove(user, session!.id), 404)
  })

  await t.test('a heart rate that was measured all day stays with the day', async (t) => {
    const user = await connectedUser(app)
    await write(app, user, batchOf({ nights: [night('a', 0, 300)], samples: [samples('heart_rate', [[10, 50]])] }))
    const [session] = await app.db.query<{ id: string }>('select id from sleep where user_id = $1', [user.userId])
    t.equal(await remove(user, session!.id), 204)
    t.equal((await storedSamples(app.db, user.userId)).length, 1)
  })
})
