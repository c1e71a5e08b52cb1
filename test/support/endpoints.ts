// Webhooks set up by tests: endpoints, recorded events, and their deliveries.
import { setTimeout as delay } from 'node:timers/promises'
import type { Scope } from '../../server/catalogue/scopes.ts'
import type { Database, Queryable } from '../../server/db/database.ts'
import { fanOut as fanOutAll } from '../../server/webhooks/fan-out.ts'
import { messageId } from '../../server/webhooks/message-id.ts'
import { packSamples } from '../../server/webhooks/packed.ts'
import type { TestAnswer, TestApp } from './app.ts'

/** Sends a request below `/webhooks` with the developer's token. */
export const hooks = (app: TestApp, method: string, path: string, body?: unknown): Promise<TestAnswer> =>
  app.request(method, `/api/v1/webhooks${path}`, { auth: 'developer', ...(body !== undefined && { body }) })

/** Creates an endpoint and returns it. */
export async function createEndpoint(app: TestApp, fields: object = {}): Promise<{ id: string }> {
  const { status, body } = await hooks(app, 'POST', '/endpoints', { url: 'https://example.org/hook', ...fields })
  if (status !== 201) throw new Error(`no endpoint: ${JSON.stringify(body)}`)
  return body
}

/** The key of an endpoint in the database. */
export const keyOf = async (db: Queryable, endpoint: { id: string }): Promise<number> =>
  (await db.one<{ id: number }>('select id from endpoint where uid = $1', [endpoint.id])).id

interface Recorded {
  type?: string
  user?: string | null
  /** Absent: it was recorded before events had one. */
  scope?: Scope
  /** Days ago. */
  age?: number
  data?: object
  /** This many samples of heart rate instead of data. */
  samples?: number
}

/** Records an event as imports do and returns its id. */
export async function recordEvent(db: Queryable, event: Recorded = {}): Promise<string> {
  const { type = 'workout.created', user = null, age = 0, data = { id: 'x' }, samples, scope } = event
  const { uid } = await db.one<{ uid: string }>(
    `insert into event (type, key, user_id, data, packed, created_at, scope)
     values ($1, $1 || '.' || gen_random_uuid(), $2, $3, $4, clock_timestamp() - make_interval(days => $5), $6)
     returning uid`,
    [
      type,
      user,
      samples ? packed(samples) : Buffer.from(JSON.stringify(data)),
      samples !== undefined,
      age,
      scope ?? null,
    ],
  )
  return messageId(uid)
}

function packed(count: number): Buffer {
  return packSamples({
    provider: 'apple',
    type: 'heart_rate',
    total: count,
    chunk: null,
    sources: [{ device: 'Watch7,5', isDailyTotal: null }],
    timeMs: Float64Array.from({ length: count }, (_, at) => Date.UTC(2026, 1, 24) + at * 1000),
    value: Float64Array.from({ length: count }, (_, at) => 60 + (at % 40)),
    zoneMin: new Int16Array(count).fill(60),
    of: new Uint16Array(count),
  })
}

/** Fans out pending events, one transaction after the other. */
export const fanOut = (db: Database): Promise<number> => fanOutAll(db, true)

/** Gives all deliveries that wait rows of their own, which a test then changes. */
export async function storeDeliveries(db: Queryable): Promise<void> {
  await db.query(
    `insert into delivery (event_id, endpoint_id, due_at)
     select e.id, n.id, e.created_at from endpoint n join event e on e.position <@ n.ahead and gets(n, e)
     on conflict do nothing`,
  )
  await db.query(
    `update endpoint set ahead = ahead - int8multirange(int8range(null, (select max(position) from event), '[]'))`,
  )
}

/** The deliveries of an endpoint that have rows or wait, in the order of their events. */
export const deliveries = (db: Queryable, endpoint: { id: string }) =>
  db.query<{ uid: string; state: string; attempts: number; manual: boolean; due: boolean }>(
    `select e.uid, d.state, d.attempts, d.manual, d.due_at <= now() as due
     from (
       select event_id, endpoint_id, state, attempts, manual, due_at from delivery
       union all
       select e.id, n.id, 'waiting', 0, false, e.created_at
       from endpoint n
       join event e on e.position <@ n.ahead and gets(n, e)
       where not exists (select from delivery d where d.event_id = e.id and d.endpoint_id = n.id)
     ) d
     join event e on e.id = d.event_id
     join endpoint p on p.id = d.endpoint_id
     where p.uid = $1
     order by e.id`,
    [endpoint.id],
  )

/** Repeats until `wanted` holds; gives up after half a minute. */
export async function until(wanted: () => Promise<boolean> | boolean): Promise<boolean> {
  const end = Date.now() + 30_000
  while (Date.now() < end) {
    if (await wanted()) return true
    await delay(10)
  }
  return false
}
