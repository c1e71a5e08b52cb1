// Large endpoints are deleted, recovered and changed while everything else continues.
import t, { type Test } from 'tap'
import type { Transaction } from '../../server/db/database.ts'
import { pruneWebhooks } from '../../server/webhooks/prune.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createEndpoint, deliveries, fanOut, hooks, keyOf, recordEvent, until } from '../support/endpoints.ts'
import { oneEngine } from '../support/sdk.ts'
import { startDelivering, startReceiver } from '../support/webhooks.ts'

const ON = { outgoingWebhooksEnabled: true }
const KEPT = { webhookMessageRetentionDays: 30, webhookAttemptRetentionDays: 90 }

type Endpoint = { id: string }

/** Deliveries of events of the last minutes, oldest first, and as many attempts; every endpoint has passed them. */
async function insertDeliveries(app: TestApp, endpoint: Endpoint, count: number, state: string, attempts: number) {
  await app.db.query(
    `with made as (
       insert into event (type, key, data, pending, position)
       select 'workout.created', 'test', '{}', false, nextval('event_position') from generate_series(1, $2)
       returning id, uid
     ), tried as (
       insert into attempt (endpoint_id, event_uid, event_type, url, succeeded, response_status, response, duration_ms,
                            manual, attempted_at)
       select $1, uid, 'workout.created', 'https://example.org/hook', false, 500, '', 1, false, now() from made
     )
     insert into delivery (event_id, endpoint_id, state, attempts) select id, $1, $3, $4 from made order by id`,
    [await keyOf(app.db, endpoint), count, state, attempts],
  )
  await app.db.query(
    `update endpoint set ahead = ahead - int8multirange(int8range(null, (select max(position) from event), '[]'))`,
  )
}

/** Another session's transaction, which ends with the test at the latest. */
async function begin(t: Test, app: TestApp): Promise<Transaction['client']> {
  const client = await app.db.pool.connect()
  await client.query('begin')
  t.teardown(() => client.release(true))
  return client
}

/** Waits until a statement of the service waits for a lock of another session. */
const isHeldUp = (app: TestApp, holder: Transaction['client']) =>
  until(async () => {
    const { held } = await app.db.one<{ held: boolean }>(
      `select exists (select from pg_stat_activity where $1 = any (pg_blocking_pids(pid))) as held`,
      [(holder as unknown as { processID: number }).processID],
    )
    return held
  })

const lastDelivery = `(select max(event_id) from delivery where endpoint_id = $1)`

oneEngine(t, 'the deletion of an endpoint', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)
  const left = (key: number) =>
    app.db.one<object>(
      `select (select count(*) from endpoint where id = $1) as endpoints,
              (select count(*) from delivery where endpoint_id = $1) as deliveries,
              (select count(*) from attempt where endpoint_id = $1) as attempts`,
      [key],
    )
  /** Starts to delete an endpoint, which stops at its last delivery. */
  const beginDeletion = async (t: Test) => {
    const endpoint = await createEndpoint(app)
    const key = await keyOf(app.db, endpoint)
    await insertDeliveries(app, endpoint, 12_000, 'waiting', 0)
    const holder = await begin(t, app)
    await holder.query(`select from delivery where endpoint_id = $1 and event_id = ${lastDelivery} for update`, [key])
    const answer = hooks(app, 'DELETE', `/endpoints/${endpoint.id}`)
    t.ok(await isHeldUp(app, holder))
    return { endpoint, key, holder, answer }
  }

  await t.test('is seen at once, and keeps nobody else from delivering', async (t) => {
    const other = await createEndpoint(app)
    const { endpoint, key, holder, answer } = await beginDeletion(t)
    const path = `/endpoints/${endpoint.id}`
    t.equal((await hooks(app, 'GET', path)).status, 404)
    t.match((await hooks(app, 'GET', '/endpoints')).body, [{ id: other.id }])
    t.equal((await hooks(app, 'PATCH', path, { disabled: false })).status, 404)
    t.equal((await hooks(app, 'DELETE', path)).status, 404)
    await recordEvent(app.db)
    t.equal(await fanOut(app.db), 1)
    t.match(await deliveries(app.db, other), [{ state: 'waiting' }])
    const held = await app.db.query(
      'select from endpoint where process_id is null and disabled_at is null for no key update skip locked',
    )
    t.equal(held.length, 1, 'the other one can be leased')
    await holder.query('commit')
    t.equal((await answer).status, 204)
    t.strictSame(await left(key), { endpoints: 0, deliveries: 0, attempts: 0 })
  })

  await t.test('that is broken off is a deletion nevertheless, and finished later', async (t) => {
    const { endpoint, key, holder, answer } = await beginDeletion(t)
    await app.db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where $1 = any (pg_blocking_pids(pid))`,
      [(holder as unknown as { processID: number }).processID],
    )
    t.equal((await answer).status, 503)
    await holder.query('commit')
    t.match(await left(key), { endpoints: 1 })
    t.equal((await hooks(app, 'GET', `/endpoints/${endpoint.id}`)).status, 404)
    await pruneWebhooks(app.db, KEPT)
    t.strictSame(await left(key), { endpoints: 0, deliveries: 0, attempts: 0 })
  })
})

oneEngine(t, 'recovery', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)
  const since = new Date(Date.now() - 3_600_000).toISOString()

  await t.test('repeats each of many deliveries once', async (t) => {
    const endpoint = await createEndpoint(app)
    await insertDeliveries(app, endpoint, 7_000, 'failed', 10)
    await insertDeliveries(app, endpoint, 5_001, 'waiting', 2)
    await insertDeliveries(app, endpoint, 3, 'delivered', 1)
    const recover = () => hooks(app, 'POST', `/endpoints/${endpoint.id}/recover`, { since })
    t.strictSame((await recover()).body, { queued: 12_001 })
    const states = await app.db.query(
      `select state, attempts, manual, count(*) from delivery group by state, attempts, manual order by state`,
    )
    t.strictSame(states, [
      { state: 'delivered', attempts: 1, manual: false, count: 3 },
      { state: 'waiting', attempts: 0, manual: true, count: 12_001 },
    ])
    t.strictSame((await recover()).body, { queued: 0 })
  })

  await t.test('waits for who records what became of calls, and does not stand in the way', async (t) => {
    const endpoint = await createEndpoint(app)
    const key = await keyOf(app.db, endpoint)
    await insertDeliveries(app, endpoint, 100, 'waiting', 2)
    const recorder = await begin(t, app)
    // As record_attempts does: the endpoint first, then its deliveries in any order.
    await recorder.query('select from endpoint where id = $1 for no key update', [key])
    await recorder.query(
      `update delivery set attempts = 3, due_at = now() + interval '30 minutes'
       where endpoint_id = $1 and event_id = ${lastDelivery}`,
      [key],
    )
    const answer = hooks(app, 'POST', `/endpoints/${endpoint.id}/recover`, { since })
    t.ok(await isHeldUp(app, recorder))
    await t.resolves(
      recorder.query(
        `update delivery set attempts = 3, due_at = now() + interval '30 minutes' where endpoint_id = $1`,
        [key],
      ),
    )
    await recorder.query('commit')
    const { status, body } = await answer
    t.strictSame([status, body], [202, { queued: 100 }])
    t.ok((await deliveries(app.db, endpoint)).every(({ attempts, due }) => attempts === 0 && due))
  })
})

oneEngine(t, 'a new filter keeps nobody else from getting events while it is applied', async (t, engine) => {
  const app = await startTestApp(t, engine, { ...ON, webhooksAllowHttp: true, webhooksAllowNetworks: ['127.0.0.0/8'] })
  const receiver = await startReceiver(t)
  const [endpoint, other] = [await createEndpoint(app), await createEndpoint(app, { url: `${receiver.origin}/other` })]
  await insertDeliveries(app, endpoint, 10, 'waiting', 1)
  await app.db.query(`update delivery set due_at = now() + interval '1 hour'`)
  await startDelivering(t, app.databaseUrl)
  const holder = await begin(t, app)
  await holder.query(`select from delivery where endpoint_id = $1 for update`, [await keyOf(app.db, endpoint)])
  const answer = hooks(app, 'PATCH', `/endpoints/${endpoint.id}`, { filter_types: ['meal.created'] })
  t.ok(await isHeldUp(app, holder))
  const ids = [await recordEvent(app.db), await recordEvent(app.db, { type: 'meal.created' })]
  await fanOut(app.db)
  const calls = await receiver.got(2)
  t.strictSame(calls.map(({ id }) => id).sort(), ids.sort())
  const attempts = `/endpoints/${other.id}/attempts?status=0`
  t.ok(await until(async () => (await hooks(app, 'GET', attempts)).body.data.length === 2), 'and it is recorded')
  t.strictSame(await deliveries(app.db, other), [], 'nothing of it waits')
  t.ok(await isHeldUp(app, holder), 'the filter still waits')
  await holder.query('commit')
  t.equal((await answer).status, 200)
  t.equal((await deliveries(app.db, endpoint)).length, 1, 'what was added meanwhile is dropped unless it matches')
})
