// What becomes of notices once they are received.
import t from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import type { OpenMeans } from '../../../server/intake/notices/open.ts'
import type { TestApp } from '../../support/app.ts'
import { connectionEvents } from '../../support/clouds.ts'
import { notify, openAll, openMeans, signs } from '../../support/notices.ts'
import { askedOf, connectPerson, type Simulated, settled, startPulling, startSimulated } from '../../support/people.ts'
import { createUser, oneEngine } from '../../support/sdk.ts'

/** A notice of WHOOP about a person of the simulator. */
interface Told {
  account: string
  id: string
  type?: string
  trace?: string
}

async function tell({ app }: Pick<Simulated, 'app'>, { account, id, type = 'workout.updated', trace = 't' }: Told) {
  const body = JSON.stringify({ user_id: Number(account), id, type, trace_id: trace })
  const secret = app.deps.oauth.clients.get('whoop')?.settings.clientSecret ?? ''
  const { status } = await notify(app, 'whoop', body, { headers: signs.whoop(secret, body) })
  if (status !== 200) throw new Error(`answered ${status}`)
}

const accountOf = async (app: TestApp, user: string) =>
  (
    await app.db.one<{ account: string }>(
      `select g.account_id as account from connection c join provider_grant g on g.id = c.grant_id where c.user_id = $1`,
      [user],
    )
  ).account

const workoutsOf = (app: TestApp, user: string) =>
  app.db.query<{ external_id: string }>('select external_id from workout where user_id = $1 order by external_id', [
    user,
  ])

const idsOf = async (app: TestApp, user: string) => (await workoutsOf(app, user)).map(({ external_id }) => external_id)

const inbox = (app: TestApp) =>
  app.db.query<{ state: string; account: string | null; attempts: number }>(
    'select state, account, attempts from notification order by id',
  )

const opened = async (app: TestApp, outcome: string) => {
  const { values } = await app.deps.metrics.noticesOpened.get()
  return values.find(({ labels }) => labels.outcome === outcome)?.value ?? 0
}

/** Where the fetch of a workout stands. */
const waits = async (app: TestApp) =>
  (await app.db.query<{ position: unknown }>(`select position from sync_task where object = 'workout'`))[0]?.position

/** As if this had passed since the notices were received. */
const later = (app: TestApp) => app.db.query(`update notification set due_at = now() where state <> 'malformed'`)

async function started(t: Parameters<typeof startSimulated>[0], engine: Parameters<typeof startSimulated>[1]) {
  const simulated = await startSimulated(t, engine, { world: { people: 2, days: 20 } })
  const pulling = await startPulling(t, simulated.app)
  return { ...simulated, pulling, means: openMeans(t, simulated.app) }
}

oneEngine(t, 'what notices name is asked for once, and deleted if they say so', async (t, engine) => {
  const { app, simulator, means } = await started(t, engine)
  const [first, second] = [await createUser(app), await createUser(app)]
  for (const user of [first, second]) await connectPerson(app, { user, provider: 'whoop', person: 'ana' })
  await settled(app)
  const account = await accountOf(app, first)
  const all = await idsOf(app, first)
  const [one = '', other = ''] = all
  t.ok(all.length > 1)

  await t.test('a burst is one fetch, whose data is that of everybody who has connected the account', async (t) => {
    await app.db.query('delete from workout where external_id = $1', [one])
    await simulator.control('DELETE', 'log')
    for (const trace of ['1', '2', '3']) await tell({ app }, { account, id: one, trace })
    t.equal((await inbox(app)).length, 3)
    await openAll(means, 'whoop')
    t.strictSame(await inbox(app), [], 'what is opened is gone')
    await settled(app)
    const asked = (await askedOf(simulator, 'whoop')).filter((path) => path.includes(one))
    t.equal(asked.length, 1)
    t.strictSame([await idsOf(app, first), await idsOf(app, second)], [all, all])
    const runs = await app.db.query(
      `select source, scope, status from sync_run where started_at = (select max(started_at) from sync_run) order by source`,
    )
    t.strictSame(runs, [
      { source: 'linked_account', scope: 'live', status: 'success' },
      { source: 'webhook', scope: 'live', status: 'success' },
    ])
  })

  await t.test('one leaves, and the other goes on', async (t) => {
    t.equal((await app.request('DELETE', `/api/v1/users/${second}/connections/whoop`)).status, 204)
    await app.db.query('delete from workout where external_id = $1', [one])
    await tell({ app }, { account, id: one })
    await openAll(means, 'whoop')
    await settled(app)
    t.strictSame([await idsOf(app, first), (await idsOf(app, second)).includes(one)], [all, false])
  })

  await t.test('a signed deletion is believed', async (t) => {
    await tell({ app }, { account, id: other, type: 'workout.deleted' })
    await openAll(means, 'whoop')
    t.ok(await waitUntil(async () => !(await idsOf(app, first)).includes(other), 20_000, 20))
    const [confirmed] = await app.db.query<{ seconds: number }>(
      `select date_part('epoch', due_at - created_at) as seconds from sync_task where object = 'workout'`,
    )
    t.equal(Math.round(confirmed?.seconds ?? 0), 60, 'and confirmed when what was under way is stored')
    // The provider has it still, so the notice was wrong.
    await app.db.query('update sync_task set due_at = now()')
    await app.db.query('update provider_grant set live_at = now()')
    await settled(app)
    t.strictSame(await idsOf(app, first), all)
  })

  await t.test('a deletion that comes before its creation', async (t) => {
    const id = '00000000-0000-4000-8000-000000000001'
    await tell({ app }, { account, id, type: 'workout.deleted' })
    await openAll(means, 'whoop')
    await tell({ app }, { account, id, type: 'workout.updated' })
    await openAll(means, 'whoop')
    for (const missing of [1, 2]) {
      t.ok(await waitUntil(async () => JSON.stringify(await waits(app)) === JSON.stringify({ missing }), 20_000, 20))
      await app.db.query('update sync_task set due_at = now()')
      await app.db.query('update provider_grant set live_at = now()')
    }
    await settled(app)
    t.strictSame(await idsOf(app, first), all)
  })
})

oneEngine(t, 'accounts that nobody has connected, and what cannot be read', async (t, engine) => {
  const { app, simulator, means } = await started(t, engine)
  const user = await createUser(app)
  const people = (await simulator.control('GET', 'people')).body
  t.ok(people.length > 0)

  await t.test('a notice that comes before its connection is opened when that is stored', async (t) => {
    await connectPerson(app, { user, provider: 'whoop', person: 'ana' })
    await settled(app)
    const account = await accountOf(app, user)
    const [id = ''] = await idsOf(app, user)
    t.equal((await app.request('DELETE', `/api/v1/users/${user}/connections/whoop`)).status, 204)
    await app.db.query('delete from workout')
    await tell({ app }, { account, id })
    await openAll(means, 'whoop')
    t.strictSame(await inbox(app), [{ state: 'held', account, attempts: 1 }])
    await simulator.control('DELETE', 'log')
    await connectPerson(app, { user, provider: 'whoop', person: 'ana' })
    await openAll(means, 'whoop')
    t.strictSame(await inbox(app), [])
    await settled(app)
    t.ok((await idsOf(app, user)).includes(id))
    t.ok((await askedOf(simulator, 'whoop')).some((path) => path.includes(id)))
  })

  await t.test('it is looked at three times more, and forgotten', async (t) => {
    await tell({ app }, { account: '424242', id: '00000000-0000-4000-8000-000000000002' })
    const seen: unknown[] = []
    for (let look = 0; look < 4; look += 1) {
      await openAll(means, 'whoop')
      seen.push((await inbox(app)).map(({ state, attempts }) => [state, attempts]))
      await later(app)
    }
    t.strictSame(seen, [[['held', 1]], [['held', 2]], [['held', 3]], []])
    t.equal(await opened(app, 'ignored'), 1)
  })

  await t.test('what cannot be read is kept, and stops nothing', async (t) => {
    const account = await accountOf(app, user)
    const secret = app.deps.oauth.clients.get('whoop')?.settings.clientSecret ?? ''
    const bad = [
      '{"user_id":1}',
      '[]',
      '{"user_id":"\\u0000","id":"00000000-0000-4000-8000-000000000003","type":"sleep.updated"}',
    ]
    for (const body of bad)
      t.equal((await notify(app, 'whoop', body, { headers: signs.whoop(secret, body) })).status, 200)
    const [id = ''] = await idsOf(app, user)
    await tell({ app }, { account, id })
    await openAll(means, 'whoop')
    t.strictSame(
      (await inbox(app)).map(({ state }) => state),
      bad.map(() => 'malformed'),
    )
    t.equal(await opened(app, 'malformed'), bad.length)
    await settled(app)
    await app.db.query(
      `insert into notification (provider, state, signed, body)
       select 'whoop', 'malformed', true, '[]' from generate_series(1, 997)`,
    )
    const one = '{"more":true}'
    await notify(app, 'whoop', one, { headers: signs.whoop(secret, one) })
    await openAll(means, 'whoop')
    t.equal((await inbox(app)).length, 1_000, 'a thousand of a provider, so that nobody fills the disk with them')
    t.equal(await opened(app, 'malformed'), bad.length + 1)
  })

  await t.test('a notice that always fails is set aside after three attempts; the others are opened', async (t) => {
    await app.db.query('delete from notification')
    const account = await accountOf(app, user)
    await tell({ app }, { account: '1', id: '00000000-0000-4000-8000-000000000004' })
    await tell({ app }, { account, id: '00000000-0000-4000-8000-000000000005' })
    const failing: OpenMeans = {
      ...means,
      read: async (task) => {
        if (task.bodies.some(({ body }) => Buffer.from(body).includes('000000000004'))) throw new Error('a thread died')
        return means.read(task)
      },
    }
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await openAll(failing, 'whoop')
      await later(app)
    }
    t.strictSame(
      (await inbox(app)).map(({ state, attempts }) => [state, attempts]),
      [['malformed', 3]],
    )
    // WHOOP has no such workout: that is asked for again in a minute.
    t.ok(await waitUntil(async () => JSON.stringify(await waits(app)) === '{"missing":1}', 20_000, 20))
  })

  await t.test('one that fails among many costs few attempts, and a large one is read with no other', async (t) => {
    await app.db.query('delete from notification')
    const idOf = (place: number) => `10000000-0000-4000-8000-${String(place).padStart(12, '0')}`
    for (let place = 0; place < 64; place += 1) await tell({ app }, { account: '1', id: idOf(place) })
    // WHOOP's are small; Garmin's are not.
    await app.db.query(
      `insert into notification (provider, state, signed, turn, body)
       select provider, state, signed, null, body || convert_to(repeat(' ', 5000000), 'UTF8') from notification limit 1`,
    )
    const read: number[] = []
    const failing: OpenMeans = {
      ...means,
      read: async (task) => {
        read.push(task.bodies.length)
        if (task.bodies.some(({ body }) => Buffer.from(body).includes(idOf(20)))) throw new Error('a thread died')
        return means.read(task)
      },
    }
    await openAll(failing, 'whoop')
    t.strictSame(read, [1, 63, 32, 16, 16, 8, 4, 2, 2, 1, 1, 4, 8, 31, 1])
    t.strictSame(
      (await inbox(app)).map(({ state, attempts }) => `${state} ${attempts}`).sort(),
      [...Array.from({ length: 64 }, () => 'held 1'), 'waiting 1'].sort(),
    )
  })
})

oneEngine(t, 'what proves nothing is not believed', async (t, engine) => {
  const { app, means } = await started(t, engine)
  const user = await createUser(app)
  await connectPerson(app, { user, provider: 'strava', person: 'ana' })
  await settled(app)
  const account = await accountOf(app, user)
  const all = await idsOf(app, user)
  const [id = ''] = all
  const secret = app.deps.oauth.clients.get('strava')?.settings.more.WEBHOOK_SIGNING_SECRET ?? ''
  const strava = async (more: object) => {
    const body = JSON.stringify({
      ...{ object_type: 'activity', object_id: Number(id), aspect_type: 'update', updates: {} },
      ...{ owner_id: Number(account), subscription_id: 1, event_time: 1772867500 },
      ...more,
    })
    const { status } = await notify(app, 'strava', body, { headers: signs.strava(secret, body) })
    t.equal(status, 200)
    await openAll(means, 'strava')
  }

  await t.test('nor opened before there is a subscription: then nobody else could send it', async (t) => {
    await strava({ aspect_type: 'delete' })
    t.strictSame(await app.db.query(`select from sync_task where kind = 'object'`), [])
    await app.db.query(
      `insert into provider_subscription (provider, subscription_id, callback_url) values ('strava', '1', 'https://us.example')`,
    )
  })

  await t.test('a deletion is asked for, and what is there stays', async (t) => {
    await strava({ aspect_type: 'delete' })
    await settled(app)
    t.strictSame(await idsOf(app, user), all)
  })

  await t.test('a withdrawal is tried, and a connection that works stays', async (t) => {
    await strava({ object_type: 'athlete', object_id: Number(account), updates: { authorized: 'false' } })
    const checked = async () =>
      (await app.db.query('select from provider_grant where renewed_at is not null')).length > 0
    t.ok(await waitUntil(checked, 20_000, 20))
    await settled(app)
    const { status } = await app.db.one<{ status: string }>('select status from connection where user_id = $1', [user])
    t.equal(status, 'active')
  })

  await t.test('one that follows is tried as well, once the hour is over', async (t) => {
    await strava({ object_type: 'athlete', object_id: Number(account), updates: { authorized: 'false' } })
    const next = async () =>
      app.db.query<{ id: string; after_s: number }>(
        `select j.id, round(date_part('epoch', j.run_at - g.renewed_at)) as after_s
         from graphile_worker.jobs j join provider_grant g on j.key = 'check:' || g.id
         where j.run_at > now()`,
      )
    t.ok(await waitUntil(async () => (await next()).length > 0, 20_000, 20))
    const [job] = await next()
    t.equal(job?.after_s, 3_601)
    const hourLater = async () => {
      await app.db.query(`update provider_grant set renewed_at = renewed_at - interval '1 hour'`)
      await app.db.query(`update graphile_worker._private_jobs set run_at = now() where id = $1`, [job?.id as string])
    }
    await hourLater()
    const checked = async () =>
      (await app.db.query('select from provider_grant where refreshed_at > doubted_at')).length > 0
    t.ok(await waitUntil(checked, 20_000, 20))
  })

  await t.test('so many fetches are caused in an hour, and no more', async (t) => {
    await app.db.query('update provider_grant set unsigned_since = now(), unsigned_fetches = 59')
    await strava({ object_id: 1 })
    await strava({ object_id: 2 })
    const row = await app.db.one<{ unsigned_fetches: number; soon: boolean }>(
      `select unsigned_fetches, next_pull_at <= now() + interval '1 hour' as soon from provider_grant`,
    )
    t.strictSame(row, { unsigned_fetches: 60, soon: true }, 'the next pull finds the rest')
  })

  t.strictSame(
    (await connectionEvents(app)).map(({ type }) => type),
    ['connection.created'],
  )
})
