import type { ServerResponse } from 'node:http'
import t from 'tap'
import { openVault } from '../../server/vault.ts'
import { packSamples } from '../../server/webhooks/packed.ts'
import { newSecret, sealSecret } from '../../server/webhooks/secrets.ts'
import { signature } from '../../server/webhooks/sign.ts'
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

oneEngine(t, 'an event is delivered to every endpoint that wants it, and to no other', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t)
  const [mine = '', other = ''] = await createUsers(db, 2)
  await createEndpoint(db, `${receiver.origin}/all?x=1`)
  await createEndpoint(db, `${receiver.origin}/workouts`, { filterTypes: ['workout.created', 'meal.created'] })
  await createEndpoint(db, `${receiver.origin}/sleep`, { filterTypes: ['sleep.created'] })
  await createEndpoint(db, `${receiver.origin}/mine`, { userId: mine })
  await createEndpoint(db, `${receiver.origin}/other`, { userId: other })
  await createEndpoint(db, `${receiver.origin}/disabled`, { disabledReason: 'by_hand' })
  const delivering = await startDelivering(t, url)
  const [id] = await recordEvents(db, [{ type: 'workout.created', userId: mine, data: { steps: 'größer' } }])
  const calls = await receiver.got(3)
  await delivering.stop()
  t.strictSame(calls.map(({ path }) => path).sort(), ['/all?x=1', '/mine', '/workouts'])
  for (const call of calls) {
    t.equal(call.id, id)
    t.equal(call.body, '{"type":"workout.created","data":{"steps":"größer"}}')
    t.equal(call.headers['content-type'], 'application/json')
    t.match(call.headers['user-agent'], /^Pulsebase\/\d/)
    t.ok(Math.abs(call.timestamp - Date.now() / 1000) < 60)
  }
  t.equal(await unfinished(db), 0)
  t.strictSame(await db.query('select from delivery'), [], 'a delivery that nothing goes wrong with has no row')
  t.equal((await db.query('select from attempt where succeeded')).length, 3)
})

oneEngine(t, 'an endpoint gets nothing of before it was registered', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t)
  await recordEvents(db, [{ data: { before: true } }])
  await createEndpoint(db, receiver.origin)
  const [id] = await recordEvents(db, [{ data: { before: false } }])
  await startDelivering(t, url)
  t.equal((await receiver.got(1))[0]?.id, id)
  await recordEvents(db, [{}])
  t.equal((await receiver.got(2)).length, 2)
})

oneEngine(
  t,
  'a former secret that cannot be read any more does not stand in the way of the new one',
  async (t, engine) => {
    const url = await createTestDatabase(t, engine)
    const db = openTestDatabase(t, url)
    const receiver = await startReceiver(t)
    const { id, uid, secret } = await createEndpoint(db, receiver.origin)
    const { keyId, sealed } = sealSecret(openVault('a key that nobody has any more'), uid, newSecret())
    await db.query(
      `update endpoint set former_secret = $2, former_key_id = $3, former_until = now() + interval '1 day' where id = $1`,
      [id, sealed, keyId],
    )
    await startDelivering(t, url)
    await recordEvents(db, [{}])
    const [call] = await receiver.got(1)
    if (!call) throw new Error('nothing was received')
    t.equal(call.signature, signature([secret], call.id, call.timestamp, Buffer.from(call.body)))
  },
)

oneEngine(t, 'what is delivered is recorded when a change of its endpoint is over', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const held: ServerResponse[] = []
  const receiver = await startReceiver(t, (_, response) => held.push(response))
  const endpoint = await createEndpoint(db, receiver.origin)
  await recordEvents(db, [{}, {}])
  await startDelivering(t, url)
  await receiver.got(2)
  await db.transaction(async (tx) => {
    // Any change but one of the filter, which locks deliveries, in another order.
    await tx.query(`update endpoint set description = 'changed' where id = $1`, [endpoint.id])
    const { pid } = await tx.one<{ pid: number }>('select pg_backend_pid() as pid')
    for (const response of held) response.end('ok')
    const waiting = `select 1 from pg_stat_activity where $1 = any (pg_blocking_pids(pid)) and query like '%record_attempts%'`
    await eventually(
      () => db.query(waiting, [pid]),
      (rows) => rows.length === 1,
    )
  })
  await eventually(
    () => attemptsOf(db, endpoint),
    (attempts) => attempts.length === 2,
  )
})

oneEngine(t, 'a failure is told in the attempt, and tried again in 5 seconds', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t, (_, response, calls) => {
    response.writeHead(calls.length === 1 ? 503 : 201).end('busy\0now')
  })
  const endpoint = await createEndpoint(db, receiver.origin)
  await startDelivering(t, url)
  const [id] = await recordEvents(db, [{}])
  const [waiting] = await eventually(
    () => deliveriesOf(db, endpoint),
    ([delivery]) => delivery?.attempts === 1,
  )
  t.equal(waiting?.state, 'waiting')
  t.ok((waiting?.due_in ?? 0) > 3 && (waiting?.due_in ?? 0) <= 6, `due in ${waiting?.due_in} s`)
  await db.query('update delivery set due_at = now()')
  const calls = await receiver.got(2)
  t.strictSame(
    calls.map((call) => call.id),
    [id, id],
    'with the same id',
  )
  await eventually(
    () => deliveriesOf(db, endpoint),
    ([delivery]) => delivery?.state === 'delivered',
  )
  const attempts = await attemptsOf(db, endpoint)
  t.match(attempts, [
    { succeeded: false, response_status: 503, response: 'busynow', manual: false, url: receiver.origin },
    { succeeded: true, response_status: 201, response: 'busynow' },
  ])
})

oneEngine(t, 'with the feed alone, events get their places and no deliveries', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t)
  await createEndpoint(db, receiver.origin)
  await recordEvents(db, [{}, {}])
  const feed = await startDelivering(t, url, { deliver: false })
  await recordEvents(db, [{}])
  const rows = await eventually(
    () => db.query<{ position: number; pending: boolean }>('select position, pending from event order by id'),
    (rows) => rows.every(({ pending }) => !pending),
  )
  t.strictSame(
    rows.map(({ position }) => position),
    [1, 2, 3],
  )
  t.equal(await unfinished(db), 0)
  await feed.stop()
  await startDelivering(t, url)
  const [id] = await recordEvents(db, [{}])
  t.equal((await receiver.got(1))[0]?.id, id, 'not even later, when events are delivered again')
})

oneEngine(t, 'an event that this version cannot read fails, and no other waits for it', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t)
  const [user = ''] = await createUsers(db, 1)
  const endpoint = await createEndpoint(db, receiver.origin)
  const samples = (count: number) =>
    packSamples({
      ...{ provider: 'apple', type: 'of_a_later_version', total: count, chunk: null },
      ...{ sources: [{ device: null, isDailyTotal: null }], of: new Uint16Array(count) },
      timeMs: Float64Array.from({ length: count }, (_, index) => index * 1000),
      ...{ value: new Float64Array(count), zoneMin: new Int16Array(count) },
    })
  // One is read with its delivery, the other is too large for that.
  for (const count of [1, 2_000]) {
    await db.query(
      `insert into event (type, key, user_id, data, packed) values ('heart_rate.created', 'later', $1, $2, true)`,
      [user, samples(count)],
    )
  }
  const [id] = await recordEvents(db, [{}])
  await startDelivering(t, url)
  t.equal((await receiver.got(1))[0]?.id, id)
  const attempts = await eventually(
    () => attemptsOf(db, endpoint),
    ({ length }) => length >= 3,
  )
  const failed = attempts.filter(({ succeeded }) => !succeeded)
  t.equal(failed.length, 2)
  for (const { response_status, response } of failed)
    t.strictSame([response_status, response], [0, 'This version of Pulsebase cannot read the event.'])
  const states = (await deliveriesOf(db, endpoint)).map(({ state }) => state)
  t.strictSame(states, ['waiting', 'waiting', 'delivered'])
})

oneEngine(t, 'delivering ends well while a call to an endpoint that was disabled is on its way', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const held: ServerResponse[] = []
  const receiver = await startReceiver(t, (_, response) => held.push(response))
  const endpoint = await createEndpoint(db, `${receiver.origin}/disabled`)
  const delivering = await startDelivering(t, url)
  await recordEvents(db, [{}])
  await receiver.got(1)
  await db.query(`update endpoint set disabled_at = now(), disabled_reason = 'by_hand' where id = $1`, [endpoint.id])
  // When this arrives, the process has read its endpoints again.
  const other = await createEndpoint(db, `${receiver.origin}/other`)
  await recordEvents(db, [{}])
  await receiver.got(2)
  const ended = delivering.stop()
  await eventually(
    () => db.query(`select from pg_stat_activity where datname = current_database() and query ilike 'listen %'`),
    (listening) => listening.length === 0,
  )
  for (const response of held) response.end('ok')
  await ended
  t.equal((await attemptsOf(db, endpoint)).length, 1)
  t.equal((await attemptsOf(db, other)).length, 1)
})
