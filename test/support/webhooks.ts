// Receivers of webhooks, and rows that the service would store for them.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { Scope } from '../../server/catalogue/scopes.ts'
import { type Database, openDatabase, type Queryable } from '../../server/db/database.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { openLog } from '../../server/log.ts'
import { createMetrics } from '../../server/metrics.ts'
import { registerProcess } from '../../server/processes.ts'
import { WEBHOOK_CONNECTIONS } from '../../server/shares.ts'
import { openVault } from '../../server/vault.ts'
import type { GuardSettings } from '../../server/webhooks/address-guard.ts'
import { newSecret, sealSecret } from '../../server/webhooks/secrets.ts'
import { startWebhooks } from '../../server/webhooks/start.ts'
import { onDatabase } from './service.ts'

const WAIT_MS = 30_000

/** Opens the secrets of test endpoints, as a service does that was started `onDatabase`. */
export const VAULT = openVault(onDatabase('').SECRET_KEY as string)

/** Allows endpoints on this machine. */
export const LOCAL: GuardSettings = { allowHttp: true, allowNetworks: ['127.0.0.0/8'] }

/** A call as received. */
export interface Received {
  path: string
  id: string
  /** Epoch seconds. */
  timestamp: number
  signature: string
  headers: IncomingMessage['headers']
  body: string
  /** When it had arrived completely (monotonic clock, ms). */
  at: number
}

/** A developer's server. */
export interface Receiver {
  origin: string
  calls: Received[]
  /** Waits for this many calls in total. */
  got(count: number, timeoutMs?: number): Promise<Received[]>
  close(): Promise<void>
}

/** Answers a call; 200 with `ok` unless given. */
export type Answers = (call: Received, response: ServerResponse, calls: Received[]) => void

/** Starts a receiver on a free port of 127.0.0.1; it ends with the test. */
export async function startReceiver(t: Test, answer: Answers = (_, response) => response.end('ok')): Promise<Receiver> {
  const calls: Received[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    request.setEncoding('utf8')
    try {
      for await (const chunk of request) body += chunk
    } catch {
      // The caller was killed in the middle: it delivered nothing.
      return
    }
    const { headers } = request
    const call: Received = {
      path: request.url ?? '',
      id: String(headers['hook-id']),
      timestamp: Number(headers['hook-timestamp']),
      signature: String(headers['hook-signature']),
      headers,
      body,
      at: performance.now(),
    }
    calls.push(call)
    answer(call, response, calls)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  t.teardown(close)
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    async got(count, timeoutMs = WAIT_MS) {
      if (await waitUntil(async () => calls.length >= count, timeoutMs, 5)) return calls
      throw new Error(`${calls.length} calls came within ${timeoutMs} ms, ${count} were expected`)
    },
    close,
  }
}

/** A registered endpoint. */
export interface TestEndpoint {
  id: number
  uid: string
  secret: string
}

interface EndpointFields {
  filterTypes?: string[] | null
  userId?: string | null
  filterScope?: Scope | null
  disabledReason?: 'by_hand' | 'gone' | 'failing'
}

let endpoints = 0

/** Registers an endpoint, as the API does. */
export async function createEndpoint(
  db: Database,
  url: string,
  { filterTypes = null, userId = null, filterScope = null, disabledReason }: EndpointFields = {},
): Promise<TestEndpoint> {
  endpoints += 1
  const uid = `ep_test${endpoints}`
  const secret = newSecret()
  const { keyId, sealed } = sealSecret(VAULT, uid, secret)
  const { id } = await db.one<{ id: number }>(
    `insert into endpoint (uid, url, filter_types, user_id, secret, key_id, disabled_at, disabled_reason, filter_scope)
     values ($1, $2, $3, $4, $5, $6, case when $7::text is not null then now() end, $7, $8)
     returning id`,
    [uid, url, filterTypes, userId, sealed, keyId, disabledReason ?? null, filterScope],
  )
  return { id, uid, secret }
}

/** An event to record. */
export interface TestEvent {
  type?: string
  userId?: string | null
  /** Null: it was recorded before events had one. */
  scope?: Scope | null
  data?: unknown
}

/** Records events in one transaction, as an import does; returns their ids as receivers see them. */
export const recordEvents = (db: Database, events: TestEvent[]): Promise<string[]> =>
  db.transaction((tx) => recordEventsIn(tx, events))

/** The same in a transaction of the caller. */
export async function recordEventsIn(tx: Queryable, events: TestEvent[]): Promise<string[]> {
  const rows = await tx.query<{ uid: string }>(
    `insert into event (type, key, user_id, data, scope)
       select type, 'test', user_id, convert_to(data, 'UTF8'), scope
       from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as e (type, user_id, data, scope)
       returning uid`,
    [
      events.map(({ type }) => type ?? 'workout.created'),
      events.map(({ userId }) => userId ?? null),
      events.map(({ data }) => JSON.stringify(data ?? {})),
      events.map(({ scope }) => scope ?? null),
    ],
  )
  await tx.query(`select pg_notify('event', '')`)
  return rows.map(({ uid }) => `msg_${uid.replaceAll('-', '')}`)
}

/** Creates users directly; returns their ids. */
export async function createUsers(db: Database, count: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    'insert into app_user (first_name) select $1 from generate_series(1, $2) returning id',
    ['Test', count],
  )
  return rows.map(({ id }) => id)
}

/** The delivering part of a service, as in one process. */
export interface Delivering {
  db: Database
  metrics: ReturnType<typeof createMetrics>
  stop(): Promise<void>
}

interface DeliveringOptions {
  guard?: GuardSettings
  deliver?: boolean
}

/** Starts to fan out and deliver, as a worker process does; ends with the test. */
export async function startDelivering(
  t: Test,
  url: string,
  { guard = LOCAL, deliver = true }: DeliveringOptions = {},
): Promise<Delivering> {
  const log = openLog('fatal')
  const db = openDatabase({
    url,
    name: 'pulsebase test webhooks',
    maxConnections: WEBHOOK_CONNECTIONS,
    statementTimeoutMs: 60_000,
    onError() {},
  })
  const metrics = createMetrics()
  const process = await registerProcess(url, log)
  const stopWebhooks = await startWebhooks({ db, deliver, vault: VAULT, guard, processId: process.id, metrics, log })
  let stopping: Promise<void> | undefined
  const stop = () => {
    stopping ??= (async () => {
      await stopWebhooks()
      await process.close()
      await db.end()
    })()
    return stopping
  }
  t.teardown(stop)
  return { db, metrics, stop }
}

/** Opens the database of a test for its own queries. */
export function openTestDatabase(t: Test, url: string): Database {
  const db = openDatabase({ url, name: 'pulsebase test', maxConnections: 8, statementTimeoutMs: 60_000, onError() {} })
  t.teardown(() => db.end())
  return db
}

/** Events and deliveries that are not finished. */
export const unfinished = async (db: Database): Promise<number> =>
  (
    await db.one<{ left: number }>(
      `select (select count(*) from event where pending) + (select count(*) from waiting_deliveries()) +
              (select count(*) from delivery where state = 'failed') as left`,
    )
  ).left

/** A delivery: stored, ahead in the feed, or passed there. */
export interface StoredDelivery {
  state: string
  attempts: number
  /** Seconds from now until it is due. */
  due_in: number
}

/** The deliveries to an endpoint, in the order of their events. */
export const deliveriesOf = (db: Database, { id }: TestEndpoint): Promise<StoredDelivery[]> =>
  db.query(
    `select coalesce(d.state, case when e.position <@ n.ahead then 'waiting' else 'delivered' end) as state,
            coalesce(d.attempts, case when e.position <@ n.ahead then 0 else 1 end) as attempts,
            coalesce(date_part('epoch', d.due_at - now()), 0) as due_in
     from endpoint n
     join event e on true
     left join delivery d on d.event_id = e.id and d.endpoint_id = n.id
     where n.id = $1 and (d.event_id is not null or e.position is not null and gets(n, e))
     order by e.id`,
    [id],
  )

/** An attempt as it is stored. */
export interface StoredAttempt {
  succeeded: boolean
  response_status: number
  response: string
  duration_ms: number
  manual: boolean
  url: string
}

/** The attempts at an endpoint, oldest first. */
export const attemptsOf = (db: Database, { id }: TestEndpoint): Promise<StoredAttempt[]> =>
  db.query(
    `select succeeded, response_status, response, duration_ms, manual, url
     from attempt where endpoint_id = $1 order by attempted_at, id`,
    [id],
  )

/** Waits until a value read from the database is as wanted, and returns it. */
export async function eventually<T>(
  read: () => Promise<T>,
  wanted: (value: T) => boolean,
  timeoutMs = WAIT_MS,
): Promise<T> {
  let last = await read()
  const met = await waitUntil(
    async () => {
      last = await read()
      return wanted(last)
    },
    timeoutMs,
    10,
  )
  if (met) return last
  throw new Error(`not as wanted within ${timeoutMs} ms: ${JSON.stringify(last).slice(0, 500)}`)
}
