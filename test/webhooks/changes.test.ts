// Changes of an endpoint, a process and a clock while deliveries wait or are in flight.
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { createTestDatabase } from '../support/app.ts'
import { oneEngine } from '../support/sdk.ts'
import {
  attemptsOf,
  createEndpoint,
  createUsers,
  deliveriesOf,
  eventually,
  openTestDatabase,
  recordEvents,
  startDelivering,
  startReceiver,
  unfinished,
} from '../support/webhooks.ts'

oneEngine(t, 'an endpoint is changed while calls are on their way', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const held: ServerResponse[] = []
  const old = await startReceiver(t, (_, response) => held.push(response))
  const moved = await startReceiver(t)
  const [mine = '', other = ''] = await createUsers(db, 2)
  await startDelivering(t, url)
  const release = () => {
    for (const response of held.splice(0)) response.end('ok')
  }
  const fence = await startReceiver(t)
  await createEndpoint(db, fence.origin, { filterTypes: ['test.fence'] })
  const WORKOUTS = { filterTypes: ['workout.created'] }
  /** Waits until the process has processed a change: notifications arrive in order. */
  async function seen(): Promise<void> {
    for (let turn = 0; turn < 2; turn += 1) {
      const before = fence.calls.length
      await recordEvents(db, [{ type: 'test.fence' }])
      await fence.got(before + 1)
    }
  }

  await t.test('the address: what waits goes to the new one', async (t) => {
    const endpoint = await createEndpoint(db, old.origin, WORKOUTS)
    const ids = await recordEvents(db, Array(20).fill({}))
    await old.got(5)
    await db.query('update endpoint set url = $2 where id = $1', [endpoint.id, moved.origin])
    await seen()
    release()
    const calls = await moved.got(15)
    t.strictSame([...old.calls, ...calls].map(({ id }) => id).sort(), [...ids].sort(), 'each is called once')
    await eventually(
      () => deliveriesOf(db, endpoint),
      (rows) => rows.every(({ state }) => state === 'delivered'),
    )
    await db.query('delete from endpoint where id = $1', [endpoint.id])
  })

  await t.test('the user: what waits of others is not sent', async (t) => {
    const before = old.calls.length
    const endpoint = await createEndpoint(db, old.origin, WORKOUTS)
    await recordEvents(db, [...Array(20).fill({ userId: other }), ...Array(5).fill({ userId: mine, data: 'mine' })])
    await old.got(before + 5)
    await db.query('update endpoint set user_id = $2 where id = $1', [endpoint.id, mine])
    await eventually(
      () => deliveriesOf(db, endpoint),
      ({ length }) => length === 5,
    )
    await seen()
    release()
    await old.got(before + 10)
    release()
    await eventually(
      () => deliveriesOf(db, endpoint),
      (rows) => rows.every(({ state }) => state === 'delivered'),
    )
    t.strictSame(
      old.calls.slice(before + 5).map(({ body }) => body.includes('mine')),
      Array(5).fill(true),
    )
    await db.query('delete from endpoint where id = $1', [endpoint.id])
  })

  await t.test('disabled: nothing more is begun, and all of it goes on when it is enabled again', async (t) => {
    const before = old.calls.length
    const endpoint = await createEndpoint(db, old.origin, WORKOUTS)
    await recordEvents(db, Array(12).fill({}))
    await old.got(before + 5)
    await db.query(`update endpoint set disabled_at = now(), disabled_reason = 'by_hand' where id = $1`, [endpoint.id])
    await seen()
    release()
    // Calls in flight are answered, and count.
    await eventually(
      async () => (await deliveriesOf(db, endpoint)).filter(({ state }) => state === 'delivered').length,
      (delivered) => delivered === 5,
    )
    await seen()
    t.equal(old.calls.length, before + 5)
    await db.query('update endpoint set disabled_at = null, disabled_reason = null where id = $1', [endpoint.id])
    await eventually(
      async () => {
        release()
        return deliveriesOf(db, endpoint)
      },
      (rows) => rows.every(({ state, attempts }) => state === 'delivered' && attempts === 1),
    )
    t.equal(old.calls.length, before + 12)
    await db.query('delete from endpoint where id = $1', [endpoint.id])
  })

  await t.test('deleted: what is answered afterwards is forgotten, and others go on', async (t) => {
    const before = old.calls.length
    const endpoint = await createEndpoint(db, old.origin, WORKOUTS)
    await recordEvents(db, Array(10).fill({}))
    await old.got(before + 5)
    await db.query('delete from endpoint where id = $1', [endpoint.id])
    await seen()
    release()
    const next = await createEndpoint(db, moved.origin, WORKOUTS)
    const known = moved.calls.length
    await recordEvents(db, [{}])
    await moved.got(known + 1)
    await eventually(
      () => attemptsOf(db, next),
      ({ length }) => length === 1,
    )
    t.strictSame(await attemptsOf(db, endpoint), [])
    t.equal(old.calls.length, before + 5)
  })
})

oneEngine(t, 'calls in flight at a stop are finished, or due again', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const held: ServerResponse[] = []
  const slow = await startReceiver(t, (_, response) => held.push(response))
  const hanging = await startReceiver(t, () => {})
  const finished = await createEndpoint(db, slow.origin)
  const abandoned = await createEndpoint(db, hanging.origin)
  const delivering = await startDelivering(t, url)
  await recordEvents(db, [{}])
  await Promise.all([slow.got(1), hanging.got(1)])
  const stopped = delivering.stop()
  for (const response of held) response.end()
  await stopped
  t.match(await deliveriesOf(db, finished), [{ state: 'delivered', attempts: 1 }])
  const left = [{ state: 'waiting', attempts: 0 }]
  t.match(await deliveriesOf(db, abandoned), left, 'not waited for until it fails')
  t.strictSame(await db.query('select from endpoint where process_id is not null'), [], 'no endpoint stays leased')
  await startDelivering(t, url)
  const calls = await hanging.got(2)
  t.equal(calls[0]?.id, calls[1]?.id)
})

oneEngine(t, 'two processes share the endpoints and call nothing twice', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t)
  await startDelivering(t, url)
  await startDelivering(t, url)
  for (let count = 0; count < 6; count += 1) await createEndpoint(db, `${receiver.origin}/${count}`)
  for (let round = 0; round < 20; round += 1) await recordEvents(db, Array(5).fill({}))
  const calls = await receiver.got(600)
  await eventually(
    () => unfinished(db),
    (left) => left === 0,
  )
  t.equal(new Set(calls.map(({ id, path }) => `${id} ${path}`)).size, 600)
  t.equal(calls.length, 600)
  const positions = await db.query<{ position: number }>('select position from event order by position')
  t.strictSame(
    positions.map(({ position }) => position),
    Array.from({ length: 100 }, (_, index) => index + 1),
    'the feed has no gaps',
  )
})

oneEngine(t, 'the database ends all connections', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const held: ServerResponse[] = []
  const receiver = await startReceiver(t, (_, response) => held.push(response))
  const endpoint = await createEndpoint(db, receiver.origin)
  await startDelivering(t, url)
  const [first] = await recordEvents(db, [{}])
  await receiver.got(1)
  await db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  )
  for (const response of held.splice(0)) response.end('ok')
  const [second] = await recordEvents(db, [{}])
  await eventually(
    async () => {
      for (const response of held.splice(0)) response.end('ok')
      return deliveriesOf(db, endpoint)
    },
    (rows) => rows.length === 2 && rows.every(({ state }) => state === 'delivered'),
  )
  t.strictSame(
    receiver.calls.map(({ id }) => id),
    [first, second],
    'what was answered meanwhile is recorded, and not sent again',
  )
})

oneEngine(t, 'the clock of the process is an hour wrong', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t, (_, response) => response.writeHead(500).end())
  const now = Date.now
  t.teardown(() => {
    Date.now = now
  })
  for (const hours of [1, -1]) {
    const endpoint = await createEndpoint(db, `${receiver.origin}/${hours}`, { filterTypes: [`test.${hours}`] })
    Date.now = () => now() + hours * 3_600_000
    const delivering = await startDelivering(t, url)
    const calls = receiver.calls.length
    await recordEvents(db, [{ type: `test.${hours}` }])
    await receiver.got(calls + 1)
    const [delivery] = await eventually(
      () => deliveriesOf(db, endpoint),
      ([delivery]) => delivery?.attempts === 1,
    )
    Date.now = now
    await delivering.stop()
    t.ok((delivery?.due_in ?? 0) > 3 && (delivery?.due_in ?? 0) <= 6, `the retry is due in ${delivery?.due_in} s`)
    const { age } = await db.one<{ age: number }>(
      `select date_part('epoch', now() - attempted_at) as age from attempt where endpoint_id = $1`,
      [endpoint.id],
    )
    t.ok(age >= 0 && age < 30, 'the attempt has the time of the database')
    const shown = receiver.calls.at(-1)?.timestamp ?? 0
    t.ok(Math.abs(shown - now() / 1000 - hours * 3600) < 30, 'only hook-timestamp is wrong')
  }
})
