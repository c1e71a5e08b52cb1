// Ten thousand deliveries that failed before must not delay new ones.
import t from 'tap'
import { DUE } from '../../server/webhooks/due.ts'
import { createTestDatabase, startTestApp } from '../support/app.ts'
import { oneEngine, startImports } from '../support/sdk.ts'
import {
  createEndpoint,
  deliveriesOf,
  eventually,
  openTestDatabase,
  recordEvents,
  startDelivering,
  startReceiver,
  type TestEndpoint,
} from '../support/webhooks.ts'

const RETRIES = 10_000
const NEW = 100

/** Failed deliveries of tests from the past; due now unless `dueIn` says later. */
const insertRetries = (db: ReturnType<typeof openTestDatabase>, { id }: TestEndpoint, count: number, dueIn = '0 s') =>
  db.query(
    `with made as (
       insert into event (type, key, data, pending) select 'sleep.created', 'test', '{}', false from generate_series(1, $2)
       returning id
     )
     insert into delivery (event_id, endpoint_id, attempts, due_at)
     select id, $1, 3, now() + $3::interval from made`,
    [id, count, dueIn],
  )

oneEngine(t, 'new deliveries do not queue behind retries, nor do they starve them', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t)
  const endpoint = await createEndpoint(db, receiver.origin)
  await insertRetries(db, endpoint, RETRIES)
  await recordEvents(db, Array(NEW).fill({ data: 'new' }))
  await startDelivering(t, url)
  await eventually(
    async () => receiver.calls.filter(({ body }) => body.includes('new')).length,
    (count) => count === NEW,
  )
  const last = receiver.calls.findLastIndex(({ body }) => body.includes('new'))
  const first = receiver.calls.findIndex(({ body }) => body.includes('new'))
  const between = receiver.calls.slice(first, last + 1).length - NEW
  t.ok(between <= NEW / 2, `${between} retries came between ${NEW} new ones`)
  t.ok(between > 0, 'but some did')
  t.ok(receiver.calls.length < RETRIES / 2, 'the backlog was still there')
})

oneEngine(t, 'what is due is read from the indexes, however much waits', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const endpoint = await createEndpoint(db, 'https://example.org/')
  const { id } = await db.one<{ id: number }>(`insert into process (host, pid) values ('test', 1) returning id`)
  await db.query(`update endpoint set process_id = $1, leased_until = now() + interval '1 hour'`, [id])
  await insertRetries(db, endpoint, RETRIES, '1 hour')
  await insertRetries(db, endpoint, 30)
  const read = [id, [endpoint.id], [100], [20], 16_384, [], []]
  t.equal((await db.query(DUE, read)).length, 20, 'no more than was asked for')
  for (const analyzed of [false, true]) {
    if (analyzed) await db.query('analyze delivery, event, endpoint')
    const plan = await db.query<{ 'QUERY PLAN': string }>(`explain (analyze, buffers) ${DUE}`, read)
    const text = plan.map((row) => row['QUERY PLAN']).join('\n')
    t.match(text, /delivery_new_idx/)
    t.match(text, /delivery_retry_idx/)
    t.notMatch(text, /Seq Scan on (delivery|event)/)
    const pages = Number(/Buffers: shared hit=(\d+)/.exec(text)?.[1])
    t.ok(pages < 300, `${pages} pages, ${analyzed ? 'with' : 'without'} statistics`)
  }
})

oneEngine(t, 'what waits is told by the probe and by the metrics', async (t, engine) => {
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true })
  const endpoint = await createEndpoint(app.db, 'https://example.org/')
  const disabled = await createEndpoint(app.db, 'https://example.org/', { disabledReason: 'by_hand' })
  await insertRetries(app.db, endpoint, 3, '-90 s')
  await insertRetries(app.db, endpoint, 2, '1 hour')
  await insertRetries(app.db, disabled, 7, '-1 hour')
  await recordEvents(app.db, [{}])
  const ask = async () => {
    const { status, body } = await app.request('GET', '/readyz')
    t.equal(status, 200)
    return body
  }
  // Whatever delays the count.
  await app.db.transaction(async (tx) => {
    await tx.query('lock table delivery')
    const { pid } = await tx.one<{ pid: number }>('select pg_backend_pid() as pid')
    t.strictSame(await ask(), { status: 'ready' }, 'nothing is counted yet, and nobody waits for it')
    await eventually(
      () => app.db.query('select from pg_stat_activity where $1 = any (pg_blocking_pids(pid))', [pid]),
      ({ length }) => length === 1,
    )
  })
  const body = await eventually(ask, ({ webhooks }) => webhooks)
  t.match(body, { status: 'ready', webhooks: { pending_events: 1, due_deliveries: 3, later_deliveries: 2 } })
  t.ok(body.webhooks.oldest_due_seconds >= 90 && body.webhooks.oldest_due_seconds < 120)
  const { body: metrics } = await app.request('GET', '/metrics')
  t.match(metrics, /^pulsebase_webhook_events_pending 1$/m)
  t.match(metrics, /^pulsebase_webhook_deliveries_waiting\{when="due"\} 3$/m)
  t.match(metrics, /^pulsebase_webhook_deliveries_waiting\{when="later"\} 2$/m)
  t.match(metrics, /^pulsebase_webhook_lag_seconds 9\d/m)
  const plain = await app.another({ outgoingWebhooksEnabled: false })
  t.strictSame((await plain.request('GET', '/readyz')).body, { status: 'ready' }, 'nothing where webhooks are off')
})

oneEngine(t, 'old events and attempts are removed, but not what still waits', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const { db } = app
  const endpoint = await createEndpoint(db, 'https://example.org/')
  const disabled = await createEndpoint(db, 'https://example.org/', { disabledReason: 'failing' })
  const old = async (place: TestEndpoint, state: string) => {
    await insertRetries(db, place, 1, '1 hour')
    await db.query(
      `with made as (select max(id) as id from event), aged as (
         update event e set created_at = now() - interval '31 days' from made where e.id = made.id
       )
       update delivery d set state = $1 from made where d.event_id = made.id`,
      [state],
    )
  }
  for (const state of ['delivered', 'failed', 'waiting']) await old(endpoint, state)
  await old(disabled, 'waiting')
  await insertRetries(db, endpoint, 1)
  for (const days of [89, 91])
    await db.query(
      `insert into attempt (endpoint_id, event_uid, event_type, url, succeeded, response_status, response, duration_ms,
                            manual, attempted_at)
       values ($1, gen_random_uuid(), 'sleep.created', '', true, 200, '', 1, false, now() - make_interval(days => $2))`,
      [endpoint.id, days],
    )
  const jobs = await startImports(t, app)
  await jobs.enqueue('prune', 'test')
  await eventually(
    () => db.query('select from event'),
    ({ length }) => length === 2,
  )
  t.match(await deliveriesOf(db, endpoint), [{ state: 'waiting' }, { state: 'waiting' }])
  t.strictSame(await deliveriesOf(db, disabled), [], 'nothing waits for an endpoint that is disabled for so long')
  await eventually(
    () => db.query('select from attempt'),
    ({ length }) => length === 1,
  )
})
