// Endpoints have places in the feed: a delivery that nothing goes wrong with has no row.
import type { ServerResponse } from 'node:http'
import t from 'tap'
import type { Database } from '../../server/db/database.ts'
import { migrate } from '../../server/db/migrate.ts'
import { fanOut } from '../../server/webhooks/fan-out.ts'
import { pruneWebhooks } from '../../server/webhooks/prune.ts'
import { createTestDatabase } from '../support/app.ts'
import { oneEngine } from '../support/sdk.ts'
import {
  attemptsOf,
  createEndpoint,
  eventually,
  openTestDatabase,
  recordEvents,
  startDelivering,
  startReceiver,
  type TestEndpoint,
  unfinished,
} from '../support/webhooks.ts'

const ranges = async (db: Database, { id }: TestEndpoint): Promise<string> =>
  (await db.one<{ ahead: string }>('select ahead::text from endpoint where id = $1', [id])).ahead

const rows = (db: Database) => db.query<object>('select state, attempts from delivery order by event_id')

oneEngine(t, 'a call that hangs is all that is left ahead, and all that a successor repeats', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  let hanging = true
  const receiver = await startReceiver(t, (call, response) => {
    if (!hanging || !/"at":[38],/.test(call.body)) response.end('ok')
  })
  const endpoint = await createEndpoint(db, receiver.origin, { filterTypes: ['workout.created'] })
  const first = await startDelivering(t, url)
  const ids = await recordEvents(
    db,
    Array.from({ length: 40 }, (_, index) => ({
      type: index % 2 === 0 ? 'workout.created' : 'sleep.created',
      data: { at: index / 2, end: true },
    })),
  )
  // Those that nobody wants are passed along with the others.
  t.equal(
    await eventually(
      () => ranges(db, endpoint),
      (ahead) => ahead === '{[7,8),[17,18),[40,)}' || ahead === '{[7,8),[17,18),[41,)}',
    ).then((ahead) => ahead.slice(0, 15)),
    '{[7,8),[17,18),',
  )
  t.strictSame(await rows(db), [])
  await first.stop()
  hanging = false
  await startDelivering(t, url)
  await receiver.got(22)
  await eventually(
    () => unfinished(db),
    (left) => left === 0,
  )
  t.strictSame(
    receiver.calls.slice(20).map(({ id }) => id),
    [ids[6], ids[16]],
  )
  t.equal((await attemptsOf(db, endpoint)).length, 20)
  t.strictSame(await rows(db), [])
})

oneEngine(
  t,
  'a process that loses an endpoint in the middle of calls passes nothing of its successor',
  async (t, engine) => {
    const url = await createTestDatabase(t, engine)
    const db = openTestDatabase(t, url)
    const held: ServerResponse[] = []
    let holding = true
    const receiver = await startReceiver(t, (_, response) => {
      if (holding) held.push(response)
      else response.end('ok')
    })
    const endpoint = await createEndpoint(db, receiver.origin)
    await startDelivering(t, url)
    await recordEvents(db, Array(30).fill({}))
    await receiver.got(5)
    await startDelivering(t, url)
    const [former] = await db.query<{ process_id: number }>('select process_id from endpoint')
    // As if it had not renewed its lease.
    await db.query(
      `update endpoint set leased_until = now() + interval '1 hour',
                         process_id = (select max(id) from process where id <> $1) where id = $2`,
      [former?.process_id ?? 0, endpoint.id],
    )
    await db.query(`select pg_notify('delivery', '')`)
    await receiver.got(10)
    holding = false
    const recorded = (count: number) =>
      eventually(
        () => attemptsOf(db, endpoint),
        ({ length }) => length === count,
      )
    // The calls of the first process, which are on their way a second time.
    for (const response of held.splice(0, 5)) response.writeHead(500).end()
    await recorded(5)
    for (const response of held) response.end('ok')
    const attempts = await recorded(30)
    t.equal(attempts.filter(({ succeeded }) => succeeded).length, 25)
    t.strictSame(await rows(db), Array(5).fill({ state: 'waiting', attempts: 1 }), 'whoever is first counts')
    t.equal(receiver.calls.length, 35, 'what was in flight is repeated, and nothing else')
    t.equal(new Set(receiver.calls.map(({ id }) => id)).size, 30)
  },
)

oneEngine(t, 'a filter is changed while its endpoint is behind', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t)
  const endpoint = await createEndpoint(db, receiver.origin, { filterTypes: ['workout.created', 'meal.created'] })
  const before = await recordEvents(
    db,
    ['workout.created', 'sleep.created', 'meal.created'].map((type) => ({ type })),
  )
  await fanOut(db, true)
  const filter = (types: string[]) =>
    db.query('update endpoint set filter_types = $2 where id = $1', [endpoint.id, types])
  await filter(['workout.created', 'sleep.created'])
  t.strictSame(await rows(db), [])
  t.equal(await unfinished(db), 1, 'of before, what both let through')
  const after = await recordEvents(
    db,
    ['sleep.created', 'meal.created', 'workout.created'].map((type) => ({ type })),
  )
  await fanOut(db, true)
  await filter(['sleep.created', 'meal.created', 'workout.created'])
  await filter(['workout.created', 'meal.created', 'sleep.created', 'activity.created'])
  await startDelivering(t, url)
  const [last] = await recordEvents(db, [{ type: 'activity.created' }])
  await receiver.got(4)
  await eventually(
    () => unfinished(db),
    (left) => left === 0,
  )
  t.strictSame(receiver.calls.map(({ id }) => id).sort(), [before[0], after[0], after[2], last].sort())
})

oneEngine(t, 'an endpoint is disabled and enabled again', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t)
  const expected: string[] = []
  const endpoints: TestEndpoint[] = []
  for (const reason of ['by_hand', 'gone', 'failing']) {
    const endpoint = await createEndpoint(db, `${receiver.origin}/${reason}`)
    endpoints.push(endpoint)
    const disable = (why: string | null) =>
      db.query(
        `update endpoint set disabled_at = case when $2::text is not null then now() end, disabled_reason = $2 where id = $1`,
        [endpoint.id, why],
      )
    const [placed] = await recordEvents(db, [{ type: `test.${reason}` }])
    await fanOut(db, true)
    const [pending] = await recordEvents(db, [{ type: `test.${reason}` }])
    await disable(reason)
    await recordEvents(db, [{ type: `test.${reason}` }])
    await fanOut(db, true)
    await recordEvents(db, [{ type: `test.${reason}` }])
    await disable(null)
    await disable('by_hand')
    await disable(null)
    const [after] = await recordEvents(db, [{ type: `test.${reason}` }])
    await db.query(`update endpoint set filter_types = $2 where id = $1`, [endpoint.id, [`test.${reason}`]])
    await fanOut(db, true)
    expected.push(...[placed, pending, after].map((id) => `/${reason} ${id}`))
  }
  await startDelivering(t, url)
  await receiver.got(9)
  await eventually(
    () => unfinished(db),
    (left) => left === 0,
  )
  t.strictSame(receiver.calls.map(({ path, id }) => `${path} ${id}`).sort(), expected.sort())
  const missed = await db.query<{ events: number }>(
    `select (select count(*) from event e where e.id <@ n.missed) as events from endpoint n order by n.id`,
  )
  t.strictSame(missed, [{ events: 0 }, { events: 0 }, { events: 2 }], 'only what it missed by failing can be recovered')
})

oneEngine(t, 'an endpoint that wants little of a long feed', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t)
  const rare = await createEndpoint(db, `${receiver.origin}/rare`, { filterTypes: ['sleep.created'] })
  await createEndpoint(db, `${receiver.origin}/never`, { filterTypes: ['meal.created'] })
  const many = (count: number) =>
    db.query(
      `insert into event (type, key, data) select 'workout.created', 'test', '{}' from generate_series(1, $1::int4)`,
      [count],
    )
  await many(12_000)
  const ids = await recordEvents(db, [{ type: 'sleep.created' }])
  await many(6_000)
  ids.push(...(await recordEvents(db, [{ type: 'sleep.created' }])))
  await startDelivering(t, url)
  t.strictSame(
    (await receiver.got(2)).map(({ id }) => id),
    ids,
  )
  await eventually(
    () => db.query('select from endpoint where lower(ahead) >= 18000'),
    ({ length }) => length === 2,
  )
  t.equal((await attemptsOf(db, rare)).length, 2)
})

oneEngine(t, 'an event that is ahead of an endpoint is not removed, however old', async (t, engine) => {
  const db = openTestDatabase(t, await createTestDatabase(t, engine))
  await createEndpoint(db, 'https://example.org/', { filterTypes: ['sleep.created'] })
  await createEndpoint(db, 'https://example.org/', { filterTypes: ['meal.created'], disabledReason: 'by_hand' })
  await recordEvents(db, [{ type: 'workout.created' }, { type: 'meal.created' }, { type: 'sleep.created' }])
  await fanOut(db, true)
  await db.query(`update event set created_at = now() - interval '40 days'`)
  await recordEvents(db, [{ type: 'workout.created' }])
  const prune = async () => {
    await pruneWebhooks(db, { webhookMessageRetentionDays: 30, webhookAttemptRetentionDays: 90 })
    return db.query('select type from event order by id')
  }
  t.strictSame(await prune(), [{ type: 'sleep.created' }, { type: 'workout.created' }])
  await db.query(`update endpoint set ahead = '{[4,)}'`)
  t.strictSame(await prune(), [{ type: 'workout.created' }])
})

oneEngine(t, 'a database of before endpoints had places', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t)
  await db.query('drop trigger endpoint_passed on endpoint')
  await db.query('drop trigger endpoint_disabled on endpoint')
  await db.query('drop trigger endpoint_made_disabled on endpoint')
  await db.query(
    `alter table endpoint
     drop column ahead, drop column skipped, drop column missed,
     add column after_event_id int8 not null default coalesce(pg_sequence_last_value('event_id_seq'::regclass), 0),
     add column missed tstzmultirange not null default '{}'`,
  )
  await db.query(
    'alter table attempt add constraint attempt_endpoint_id_fkey foreign key (endpoint_id) references endpoint (id) on delete cascade',
  )
  await db.query(`delete from schema_migration where name in ('routines', 'migrations/0250-places.sql')`)

  const old = await recordEvents(db, [{ data: 'before' }])
  const endpoint = await createEndpoint(db, `${receiver.origin}/on`)
  const failing = await createEndpoint(db, `${receiver.origin}/failing`)
  const ids = await recordEvents(
    db,
    ['delivered', 'failed', 'waiting', 'retried', 'missed'].map((data) => ({ data })),
  )
  await db.query(`update event set pending = false, position = nextval('event_position')`)
  await db.query(
    `insert into delivery (event_id, endpoint_id, state, attempts)
     select e.id, $1, s.state, s.attempts
     from event e
     join (values ('"delivered"', 'delivered', 1), ('"failed"', 'failed', 10), ('"waiting"', 'waiting', 0),
                  ('"retried"', 'waiting', 3), ('"missed"', 'delivered', 1)) s (data, state, attempts)
       on s.data = convert_from(e.data, 'UTF8')`,
    [endpoint.id],
  )
  await db.query(`insert into delivery (event_id, endpoint_id) select id, $1 from event where data = '"waiting"'`, [
    failing.id,
  ])
  // Each event a minute after the one before.
  await db.query(`update event set created_at = now() - interval '1 hour' + id * interval '1 minute'`)
  const at = (data: string) => `(select created_at from event where data = '"${data}"')`
  await db.query(
    `update endpoint
     set missed = tstzmultirange(tstzrange(${at('delivered')}, ${at('waiting')})),
         disabled_at = ${at('missed')}, disabled_reason = 'failing'
     where id = $1`,
    [failing.id],
  )
  const pending = await recordEvents(db, [{ data: 'pending' }])

  await migrate(url)
  await db.query('update endpoint set disabled_at = null, disabled_reason = null where id = $1', [failing.id])
  await startDelivering(t, url)
  const [last] = await recordEvents(db, [{ data: 'last' }])
  await receiver.got(6)
  await eventually(
    () => db.query(`select from attempt`),
    ({ length }) => length === 6,
  )
  const got = (path: string) =>
    receiver.calls.filter((call) => call.path === path).map(({ body }) => /"data":"(\w+)/.exec(body)?.[1])
  t.strictSame(got('/on').sort(), ['last', 'pending', 'retried', 'waiting'])
  t.strictSame(got('/failing').sort(), ['last', 'waiting'])
  const [missed] = await db.query<{ uids: string[] }>(
    `select array_agg('msg_' || replace(e.uid::text, '-', '') order by e.id) as uids
     from endpoint n join event e on e.id <@ n.missed where n.id = $1`,
    [failing.id],
  )
  t.strictSame(missed?.uids, [ids[0], ids[1], ids[4], pending[0]], 'delivered, failed, missed, pending')
  t.notOk(receiver.calls.some(({ id }) => id === old[0]))
  t.equal(receiver.calls.filter(({ id }) => id === last).length, 2)
})
