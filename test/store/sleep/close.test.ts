// When a night is complete: sdk-types 7.4, Finalisation.
import t from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { closeSleep } from '../../../server/store/sleep/close.ts'
import { startTestApp } from '../../support/app.ts'
import { createUser, importBody, oneEngine, startImports } from '../../support/sdk.ts'
import { sleepBody, stage } from '../../support/sleep.ts'
import { runs } from '../../support/thorough.ts'

const MIN = 60_000

oneEngine(t, 'sleep is closed', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const jobs = await startImports(t, app)
  const now = Date.now()
  const minutesAgo = (from: number, until: number, fields = {}) =>
    stage('light', now - from * MIN, now - until * MIN, { id: `${from}`, ...fields })
  const send = (user: string, stages: unknown[], provider = 'apple') =>
    importBody(app, user, sleepBody(stages, { provider }))
  const closed = async (user: string) =>
    (
      await app.db.query<{ closed: boolean }>(
        'select closed_at is not null as closed from sleep where user_id = $1 order by start_at',
        [user],
      )
    ).map((row) => row.closed)
  /** Moves the last changes back by this much. */
  const later = (user: string, minutes: number) =>
    app.db.query(`update sleep set changed_at = changed_at - $2 * interval '1 minute' where user_id = $1`, [
      user,
      minutes,
    ])
  const job = async () => {
    await jobs.enqueue('close_sleep', 'test:close')
    const done = () =>
      app.db.query(`select 1 from graphile_worker.jobs where key = 'test:close'`).then(({ length }) => length === 0)
    if (!(await waitUntil(done, 60_000))) throw new Error('the job was not done in time')
  }

  await t.test('when it ended two hours ago and has not changed for ten minutes', async (t) => {
    const user = await createUser(app)
    await send(user, [minutesAgo(600, 130)])
    await job()
    t.strictSame(await closed(user), [false], 'more of it may come any moment')
    await later(user, 11)
    await job()
    t.strictSame(await closed(user), [true])
    await send(user, [minutesAgo(600, 130)])
    t.strictSame(await closed(user), [true], 'the same again changes nothing')
    await send(user, [minutesAgo(660, 600)])
    t.strictSame(await closed(user), [false], 'more of it opens it')
    await later(user, 11)
    await job()
    t.strictSame(await closed(user), [true])
  })

  await t.test('not while it may go on, unless a later one is there', async (t) => {
    const user = await createUser(app)
    await send(user, [minutesAgo(1500, 1000), minutesAgo(400, 110)])
    await later(user, 11)
    await job()
    t.strictSame(await closed(user), [true, false])
    const fresh = await createUser(app)
    await send(fresh, [minutesAgo(400, 110)])
    await later(fresh, 11)
    await send(fresh, [stage('light', now + 15 * MIN, now + 20 * MIN)])
    await job()
    t.strictSame(await closed(fresh), [true, false], 'by the clock of the phone')
  })

  await t.test('at once where the platform says what a session is', async (t) => {
    const user = await createUser(app)
    await send(user, [minutesAgo(60, 30, { parentId: 'night' })], 'health_connect')
    t.strictSame(await closed(user), [true])
    await send(user, [minutesAgo(30, 20, { parentId: 'night' })], 'health_connect')
    t.strictSame(await closed(user), [true], 'and stays so')
  })

  await t.test('once, by any number of processes, and not while an import changes it', async (t) => {
    const user = await createUser(app)
    const count = runs(20, 300)
    const days = Array.from({ length: count }, (_, day) => minutesAgo(1440 * (day + 1), 1440 * (day + 1) - 400))
    await send(user, days)
    await later(user, 11)
    const [held] = await app.db.query<{ id: string }>('select id from sleep where user_id = $1 limit 1', [user])
    await app.db.transaction(async (tx) => {
      await tx.query('select 1 from sleep where id = $1 for update', [held?.id ?? ''])
      t.strictSame(await Promise.all(Array.from({ length: 4 }, () => closeSleep(app.db, app.deps.config))), [
        false,
        false,
        false,
        false,
      ])
      t.equal((await closed(user)).filter(Boolean).length, count - 1)
    })
    const versions = () =>
      app.db.query('select id, xmin::text from sleep where user_id = $1 and id <> $2 order by id', [
        user,
        held?.id ?? '',
      ])
    const before = await versions()
    await job()
    t.equal((await closed(user)).filter(Boolean).length, count, 'by the next run')
    t.strictSame(await versions(), before, 'which leaves the others alone')
  })
})

oneEngine(t, 'sleep is closed while users are deleted', async (t, engine) => {
  const app = await startTestApp(t, engine, { eventFeedEnabled: true })
  const { db } = app
  await startImports(t, app)
  const night = stage('light', Date.now() - 600 * MIN, Date.now() - 200 * MIN, { id: 'night' })
  /** This many users, each with a night that is due to be closed. */
  const sleepers = async (count: number) => {
    const users: string[] = []
    while (users.length < count) {
      const user = await createUser(app)
      await importBody(app, user, sleepBody([night], { provider: 'apple' }))
      users.push(user)
    }
    await db.query(`update sleep set changed_at = changed_at - interval '11 minutes'`)
    return users
  }
  const remove = async (user: string) =>
    (await app.request('DELETE', `/api/v1/users/${user}`, { auth: 'developer' })).status
  const close = () => closeSleep(db, app.deps.config)
  const told = async () =>
    (await db.query<{ user_id: string }>(`select user_id from event where type = 'sleep.created'`))
      .map(({ user_id }) => user_id)
      .sort()
  const waits = (pattern: string) => async () =>
    (await db.query(`select from pg_stat_activity where wait_event_type = 'Lock' and query like $1`, [pattern]))
      .length > 0

  await t.test('by one that comes later: it leaves out whoever is being deleted', async (t) => {
    const [gone = '', stays = ''] = await sleepers(2)
    await db.transaction(async (tx) => {
      await tx.query('select 1 from app_user where id = $1 for update', [gone])
      t.equal(await close(), false, 'and does not wait')
    })
    t.strictSame(await told(), [stays])
    t.equal(await remove(gone), 200)
    await close()
    t.strictSame(await told(), [stays])
  })

  await t.test('by one that was first: the deletion waits for it, and takes what it told along', async (t) => {
    const [gone = '', stays = ''] = await sleepers(2)
    const before = await told()
    const { closing, removing } = await db.transaction(async (tx) => {
      await tx.query('lock table event in share mode')
      const closing = close()
      t.ok(await waitUntil(waits('%insert into event%'), 60_000), 'it has closed the nights and is telling of them')
      const removing = remove(gone)
      t.ok(await waitUntil(waits('%from app_user%for update%'), 60_000), 'the deletion has begun')
      return { closing, removing }
    })
    t.equal(await closing, false)
    t.equal(await removing, 200)
    t.strictSame(await told(), [...before, stays].sort())
  })

  await t.test('by several at once, many times', async (t) => {
    const users = await sleepers(runs(6, 24))
    const before = await told()
    const kept = users.filter((_, index) => index % 2 === 1)
    let deleting = true
    const closeAll = async () => {
      do await close()
      while (deleting)
    }
    const removed = users.filter((_, index) => index % 2 === 0)
    const half = removed.length / 2
    const halves = [removed.slice(0, half), removed.slice(half)]
    const removals = Promise.all(
      halves.map(async (half) => {
        for (const user of half) t.equal(await remove(user), 200)
      }),
    ).finally(() => {
      deleting = false
    })
    await Promise.all([removals, closeAll(), closeAll()])
    await close()
    t.strictSame(await told(), [...before, ...kept].sort(), 'each night of those who stay is told once')
    t.strictSame(await db.query('select from sleep where closed_at is null'), [])
  })
})
