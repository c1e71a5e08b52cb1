// Lists and the feed of webhooks with a long history: a page costs as much as it shows, however much is stored.
import { escapeLiteral } from 'pg'
import t from 'tap'
import { attemptsSql } from '../../server/api/webhooks/list-attempts.ts'
import { FEED } from '../../server/api/webhooks/list-events.ts'
import { messagesSql } from '../../server/api/webhooks/list-messages.ts'
import { PAGE_BYTES } from '../../server/api/webhooks/page.ts'
import type { Database } from '../../server/db/database.ts'
import { messageUid } from '../../server/webhooks/message-id.ts'
import { startTestApp } from '../support/app.ts'
import { createEndpoint, fanOut, hooks, keyOf, recordEvent } from '../support/endpoints.ts'
import { oneEngine } from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'

const EVENTS = runs(12_000, 20_000)
/** Blocks of 8 kB that a page of 50 may touch: each of its events is looked up. */
const PAGE_BLOCKS = 400

type Value = string | number | null

/** The most blocks that a statement touches, with a custom and with a generic plan. */
async function blocksOf(db: Database, sql: string, values: Value[]): Promise<number> {
  const blocks: number[] = []
  const client = await db.pool.connect()
  try {
    await client.query(`prepare page as ${sql}`)
    const literals = values.map((value) => (typeof value === 'string' ? escapeLiteral(value) : String(value)))
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      await client.query(`set plan_cache_mode = ${mode}`)
      const explain = `explain (analyze, buffers, format json) execute page (${literals.join(', ')})`
      const { rows } = await client.query(explain)
      const [{ Plan: plan }] = rows[0]['QUERY PLAN']
      blocks.push(plan['Shared Hit Blocks'] + plan['Shared Read Blocks'])
    }
  } finally {
    client.release(true)
  }
  return Math.max(...blocks)
}

/** A year of events, one every half hour or so. */
const insertEvents = (db: Database) =>
  db.query(
    `insert into event (type, key, data, pending, position, created_at)
     select 'workout.created', 'test', convert_to('{"pad":"' || repeat('x', 500) || '"}', 'UTF8'), false, nextval('event_position'),
            now() - interval '365 days' + at * interval '365 days' / $1::int4
     from generate_series(1, $1::int4) at`,
    [EVENTS],
  )

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()

oneEngine(t, 'a long history', async (t, engine) => {
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true, eventFeedEnabled: true })
  const { db } = app
  const first = async () => (await app.request('GET', '/api/v1/webhooks/events?limit=1')).body
  const { next: start } = await first()
  await insertEvents(db)

  await t.test('a page of attempts or messages is found by an index', async (t) => {
    const [busy, failing] = [await createEndpoint(app), await createEndpoint(app)]
    for (const [endpoint, failed] of [
      [busy, 'e.id % 4000 = 1'],
      [failing, 'true'],
    ] as const)
      await db.query(
        `insert into attempt (endpoint_id, event_uid, event_type, url, succeeded, response_status, response, duration_ms,
                            manual, attempted_at)
       select $1, e.uid, e.type, 'https://example.org', not (${failed}), 200, 'ok', 80, false, e.created_at
       from event e
       order by e.id`,
        [await keyOf(db, endpoint)],
      )
    await db.query('vacuum analyze attempt, event')
    const key = await keyOf(db, busy)
    const cases: [what: string, sql: string, values: Value[]][] = []
    for (const [what, ...ends] of [
      ['the newest', 'infinity', 0, '-infinity', 0],
      ['before a time', daysAgo(364), 0, '-infinity', 0],
      ['since a time', 'infinity', 0, daysAgo(0.1), 0],
    ] as [string, ...Value[]][]) {
      for (const status of [undefined, 0, 1, 2])
        for (const backward of [false, true])
          cases.push([
            `attempts: ${what}, status ${status}${backward ? ', backward' : ''}`,
            attemptsSql(status, backward),
            [51, ...ends, PAGE_BYTES, key, null],
          ])
      cases.push([`messages: ${what}`, messagesSql(false), [51, ...ends, PAGE_BYTES]])
    }
    const costly: string[] = []
    for (const [what, sql, values] of cases) {
      const blocks = await blocksOf(db, sql, values)
      if (blocks >= PAGE_BLOCKS) costly.push(`${what}: ${blocks} blocks`)
    }
    t.strictSame(costly, [])
    const { data, done } = (await hooks(app, 'GET', `/endpoints/${busy.id}/attempts?status=2`)).body
    t.equal(data.length, EVENTS / 4000, 'the few that failed')
    t.ok(done)
  })

  await t.test('an endpoint is deleted in one pass, and without one where few things were sent to it', async (t) => {
    const [busy, quiet] = [await createEndpoint(app), await createEndpoint(app)]
    for (const [endpoint, condition] of [
      [busy, 'true'],
      [quiet, 'e.id % 1000 = 0'],
    ] as const) {
      await db.query(
        `with made as (
         insert into delivery (event_id, endpoint_id, state)
         select e.id, $1, case when e.id % 3 = 0 then 'waiting' else 'delivered' end from event e where ${condition}
       )
       insert into attempt (endpoint_id, event_uid, event_type, url, succeeded, response_status, response, duration_ms,
                            manual, attempted_at)
       select $1, e.uid, e.type, 'https://example.org', true, 200, 'ok', 80, false, e.created_at
       from event e
       where ${condition}`,
        [await keyOf(db, endpoint)],
      )
    }
    await db.query('vacuum analyze attempt, delivery, event')
    await db.transaction(async (tx) => {
      /** Deletes an endpoint as its route does; returns the number of deleted rows and of sequential scans. */
      const remove = async (endpoint: { id: string }) => {
        await tx.query('delete from endpoint where uid = $1', [endpoint.id])
        return tx.query<{ walks: number; gone: number }>(
          `select seq_scan as walks, n_tup_del as gone
         from pg_stat_xact_user_tables
         where relname in ('attempt', 'delivery')`,
        )
      }
      t.strictSame(await remove(quiet), Array(2).fill({ walks: 0, gone: EVENTS / 1000 }))
      for (const { walks, gone } of await remove(busy)) {
        t.ok(walks <= 1, 'all of a table at most once')
        t.equal(gone, EVENTS / 1000 + EVENTS)
      }
    })
  })

  await t.test('the feed does not walk through what is older than its reach', async (t) => {
    const last = EVENTS
    for (const [what, after] of [
      ['from the beginning', 0],
      ['behind an old place', last / 2],
      ['behind a recent place', last - 100],
      ['at the end', last],
    ] as const) {
      const blocks = await blocksOf(db, FEED, [after, 51, PAGE_BYTES])
      t.ok(blocks < PAGE_BLOCKS, `${what}: ${blocks} blocks`)
    }
    const { data } = await first()
    const age = (Date.now() - Date.parse(data[0].timestamp)) / 86_400_000
    t.ok(age < 30 && age > 29.9, `the oldest event in the feed is ${age} days old`)
    const behind = await app.request('GET', `/api/v1/webhooks/events?limit=1&after=${encodeURIComponent(start)}`)
    t.strictSame(behind.body.data, data, 'a reader that paused goes on with it')

    await db.query('delete from event')
    const [late, early] = [await recordEvent(db), await recordEvent(db)]
    await fanOut(db)
    await db.query(
      `update event set created_at = now() - interval '30 days' + make_interval(mins => case uid when $1 then 20 else 10 end)`,
      [messageUid(late) ?? null],
    )
    const ids = async () =>
      (await app.request('GET', '/api/v1/webhooks/events')).body.data.map(({ id }: { id: string }) => id)
    t.strictSame(await ids(), [late, early], 'the first in time need not be the first of the feed')
    await db.query(`update event set created_at = created_at - interval '1 day'`)
    t.strictSame(await ids(), [], 'nothing is left when all of it is too old')
    const fresh = await recordEvent(db)
    await fanOut(db)
    t.strictSame(await ids(), [fresh])
  })
})
