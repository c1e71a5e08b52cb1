// Several users of one account, and what ends while a provider is asked.
import t from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { askedOf, connectPerson, settled, startPulling, startSimulated } from '../../support/people.ts'
import { createUser, oneEngine } from '../../support/sdk.ts'

oneEngine(t, 'two users who connect one account', async (t, engine) => {
  const { app, simulator } = await startSimulated(t, engine, { world: { people: 2, days: 20 } })
  const pulling = await startPulling(t, app)
  const [first, second] = [await createUser(app), await createUser(app)]
  const connect = (user: string) => connectPerson(app, { user, provider: 'whoop', person: 'ana' })
  const workouts = async () =>
    (
      await app.db.query<{ n: number }>(
        `select count(w.id) as n from app_user u left join workout w on w.user_id = u.id
         where u.id in ($1, $2) group by u.id order by u.id = $2`,
        [first, second],
      )
    ).map(({ n }) => n)
  await connect(first)
  await settled(app)
  const [ofFirst = 0] = await workouts()
  t.ok(ofFirst > 0)

  await t.test('the later one has a history of their own, and both have what comes', async (t) => {
    await connect(second)
    await settled(app)
    t.strictSame(await workouts(), [ofFirst, ofFirst])
    await simulator.control('DELETE', 'log')
    await pulling.pullNow()
    await settled(app)
    const asked = await askedOf(simulator, 'whoop')
    t.equal(asked.filter((path) => path.includes('/activity/workout')).length, 1, 'once for both')
    const runs = await app.db.query(
      `select user_id, source, primary_user_id, status from sync_run r
       where scope = 'live' and started_at = (select max(started_at) from sync_run)
       order by source desc`,
    )
    const [own, linked] = [first, second].sort() as [string, string]
    t.strictSame(runs, [
      { user_id: own, source: 'pull', primary_user_id: null, status: 'success' },
      { user_id: linked, source: 'linked_account', primary_user_id: own, status: 'success' },
    ])
  })

  await t.test('one leaves while it is asked, and the other has everything', async (t) => {
    await app.db.query('update stream_cursor set last_hash = null')
    await simulator.control('POST', 'faults', { kind: 'slow', provider: 'whoop', path: '/activity/workout', ms: 1_500 })
    await simulator.control('DELETE', 'log')
    await pulling.pullNow()
    const underWay = async () =>
      (await app.db.query('select from provider_grant where process_id is not null')).length > 0
    t.ok(await waitUntil(underWay, 10_000, 10))
    const { status } = await app.request('DELETE', `/api/v1/users/${second}/connections/whoop`)
    t.equal(status, 204)
    await settled(app)
    const ended = await app.db.query(
      `select user_id, stage, status from sync_run where started_at = (select max(started_at) from sync_run) order by status`,
    )
    t.strictSame(ended, [
      { user_id: second, stage: 'cancelled', status: 'cancelled' },
      { user_id: first, stage: 'completed', status: 'success' },
    ])
    const late = await app.db.query(
      `select from upload u join connection c on c.id = u.connection_id
       where c.user_id = $1 and u.received_at > c.revoked_at`,
      [second],
    )
    t.strictSame(late, [], 'nothing came after that')
  })

  await t.test('the last one leaves while it is asked: nothing is stored, nothing is left', async (t) => {
    await pulling.pullNow()
    const underWay = async () =>
      (await app.db.query('select from provider_grant where process_id is not null')).length > 0
    t.ok(await waitUntil(underWay, 10_000, 10))
    const { status } = await app.request('DELETE', `/api/v1/users/${first}/connections/whoop`)
    t.equal(status, 204)
    await settled(app)
    const left = await app.db.one(
      `select (select count(*) from provider_grant) as grants, (select count(*) from sync_task) as tasks,
              (select count(*) from stream_cursor) as cursors,
              (select count(*) from upload u join connection c on c.id = u.connection_id
               where u.received_at > c.revoked_at) as late`,
    )
    t.strictSame(left, { grants: 0, tasks: 0, cursors: 0, late: 0 })
  })
})

oneEngine(t, 'a process that lost a grant stores nothing', async (t, engine) => {
  const { app, simulator } = await startSimulated(t, engine, {
    world: { people: 1, days: 20 },
    historicalSyncOnConnect: false,
  })
  const user = await createUser(app)
  await connectPerson(app, { user, provider: 'whoop', person: 'ana' })
  await simulator.control('POST', 'faults', { kind: 'slow', provider: 'whoop', path: '/cycle', ms: 1_000, times: 1 })
  await startPulling(t, app)
  const asked = async () => (await askedOf(simulator, 'whoop')).some((path) => path.includes('/recovery'))
  t.ok(await waitUntil(asked, 10_000, 5))
  const lost = async () =>
    (
      await app.db.query(
        `update provider_grant set process_id = null, leased_until = null where process_id is not null returning id`,
      )
    ).length > 0
  t.ok(await waitUntil(lost, 10_000, 5))
  await settled(app)
  const log = await askedOf(simulator, 'whoop')
  t.ok(log.filter((path) => path.includes('/recovery')).length >= 2, 'another turn asked again')
  const twice = await app.db.query(`select sha256 from upload group by 1 having count(*) > 1`)
  t.strictSame(twice, [])
  const [run] = await app.db.query(`select status from sync_run order by started_at desc limit 1`)
  t.strictSame(run, { status: 'success' })
})

oneEngine(t, 'who connects another account leaves nothing of the former one under way', async (t, engine) => {
  const { app } = await startSimulated(t, engine, { world: { people: 2, days: 10 } })
  const [first, second] = [await createUser(app), await createUser(app)]
  const connect = (user: string, person: string) => connectPerson(app, { user, provider: 'whoop', person })
  const underWay = (user: string) =>
    app.db.query<{ status: string }>(
      `select scope, source, status, (select count(*) > 0 from sync_task t where r.run_key like t.run_key || '%') as tasks
       from sync_run r where user_id = $1 order by status, scope`,
      [user],
    )
  const run = (scope: string, source: string, status: string, tasks: boolean) => ({ scope, source, status, tasks })
  const astray = () =>
    app.db.query<{ status: string }>(
      `select t.stream from sync_task t join connection c on c.id = t.connection_id where c.grant_id <> t.grant_id`,
    )
  await connect(first, 'ana')
  await connect(first, 'bikash')
  const cancelled = [run('historical', 'pull', 'cancelled', false), run('live', 'pull', 'cancelled', false)]
  const begun = [run('historical', 'pull', 'in_progress', true), run('live', 'pull', 'in_progress', true)]
  t.strictSame(await underWay(first), [...cancelled, ...begun], 'of an account that nobody uses now')

  await connect(second, 'bikash')
  const ofSecond = await underWay(second)
  t.match(ofSecond, [{ status: 'in_progress', tasks: true }])
  await connect(first, 'ana')
  t.strictSame(
    (await underWay(first)).filter(({ status }) => status === 'in_progress'),
    begun,
  )
  t.strictSame(await astray(), [], 'of an account that somebody else shares')
  t.strictSame(await underWay(second), ofSecond, 'who goes on')

  await startPulling(t, app)
  await settled(app)
  const ended = await app.db.query<{ user_id: string; status: string; n: number }>(
    `select user_id, status, count(*) as n from sync_run group by 1, 2 order by 1, 2`,
  )
  const of = (user: string) => Object.fromEntries(ended.filter((e) => e.user_id === user).map((e) => [e.status, e.n]))
  t.match(
    [of(first), of(second)],
    [{ cancelled: 4, success: 2 }, { success: 2 }],
    'the second has what the pull of the first would have brought',
  )
})

oneEngine(t, 'who connects another account keeps what came from the former one', async (t, engine) => {
  const { app } = await startSimulated(t, engine, { world: { people: 2, days: 12 } })
  const pulling = await startPulling(t, app)
  const user = await createUser(app)
  const ids = async () =>
    app.db.query<{ id: string }>(
      `select 'night ' || p.external_id as id from sleep_part p
       union all select 'workout ' || external_id from workout
       -- Of a date there is one, whose ever it is.
       union all select distinct 'score ' || category || ' ' || recorded_at from health_score where provider <> 'internal'
       union all select 'sample ' || ts::text from sample where series_id < 1000
       order by 1`,
    )
  for (const provider of ['whoop', 'oura']) {
    await connectPerson(app, { user, provider, person: 'ana' })
    await settled(app)
  }
  const ofAna = (await ids()).map(({ id }) => id)
  t.ok(ofAna.length > 300, `${ofAna.length}`)
  for (const provider of ['whoop', 'oura']) {
    await connectPerson(app, { user, provider, person: 'bikash' })
    await settled(app)
  }
  await pulling.pullNow()
  await settled(app)
  const now = new Set((await ids()).map(({ id }) => id))
  t.strictSame(
    ofAna.filter((id) => !now.has(id)),
    [],
  )
  t.ok(now.size > ofAna.length)
})
