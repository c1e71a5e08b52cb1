// The work for endpoints that are behind does not grow with the feed.
import fc from 'fast-check'
import t from 'tap'
import type { Database } from '../../server/db/database.ts'
import { openLog } from '../../server/log.ts'
import { createMetrics } from '../../server/metrics.ts'
import { createGuard } from '../../server/webhooks/address-guard.ts'
import { fanOut } from '../../server/webhooks/fan-out.ts'
import { startLanes } from '../../server/webhooks/lanes.ts'
import { Leases } from '../../server/webhooks/leases.ts'
import { BACKLOG, type Backlog } from '../../server/webhooks/observe.ts'
import { createTestDatabase } from '../support/app.ts'
import { oneEngine } from '../support/sdk.ts'
import {
  attemptsOf,
  createEndpoint,
  createUsers,
  eventually,
  LOCAL,
  openTestDatabase,
  recordEvents,
  startDelivering,
  startReceiver,
  type TestEndpoint,
  unfinished,
  VAULT,
} from '../support/webhooks.ts'

/** Puts events into the feed that were recorded an hour ago. */
const fillFeed = async (db: Database, count: number, type = 'workout.created') => {
  await db.query(
    `insert into event (type, key, data, pending, position, created_at)
     select $2, 'test', '{}', false, nextval('event_position'), now() - interval '1 hour' from generate_series(1, $1::int4)`,
    [count, type],
  )
  await db.query('analyze event')
}

const disable = (db: Database, { id }: TestEndpoint, reason: string | null = 'by_hand') =>
  db.query(
    `update endpoint set disabled_at = case when $2::text is not null then now() end, disabled_reason = $2 where id = $1`,
    [id, reason],
  )

const filter = (db: Database, { id }: TestEndpoint, types: string[] | null) =>
  db.query('update endpoint set filter_types = $2 where id = $1', [id, types])

/** What leases and lanes need, with a database that notes the statements it gets. */
async function notingStatements(db: Database) {
  const statements: { text: string; params: readonly unknown[] }[] = []
  const noting: Database = {
    ...db,
    query(text, params = []) {
      statements.push({ text, params })
      return db.query(text, params)
    },
  }
  const { id } = await db.one<{ id: number }>(`insert into process (host, pid) values ('test', 1) returning id`)
  const options = {
    ...{ db: noting, vault: VAULT, guard: createGuard(LOCAL), processId: () => id },
    ...{ metrics: createMetrics(), log: openLog('fatal') },
  }
  const looks = () => statements.filter(({ text }) => text.includes('as is_due'))
  /** Looks until something was first read of the feed for an endpoint that is served. */
  const looksBeforeReading = () => {
    const first = statements.findIndex(({ text }) => text.includes('as found'))
    return statements.slice(0, first).filter(({ text }) => text.includes('as is_due')).length
  }
  return { options, looks, looksBeforeReading }
}

oneEngine(t, 'a probe reads a limited part of the feed', async (t, engine) => {
  const db = openTestDatabase(t, await createTestDatabase(t, engine))
  const [first, second] = [
    await createEndpoint(db, 'https://example.org/first'),
    await createEndpoint(db, 'https://example.org/second'),
  ]
  await disable(db, first)
  await disable(db, second)
  await fillFeed(db, 20_000)
  await createEndpoint(db, 'https://example.org/up-to-date', { filterTypes: ['meal.created'] })
  const read = async (counted: number, reach: number) => {
    const plan = await db.query<{ 'QUERY PLAN': string }>(`explain (analyze, buffers) ${BACKLOG}`, [counted, reach])
    const pages = Number(/Buffers: shared hit=(\d+)/.exec(plan.map((row) => row['QUERY PLAN']).join('\n'))?.[1])
    return { pages, backlog: await db.one<Backlog>(BACKLOG, [counted, reach]) }
  }
  const ofDisabled = await read(5_000, 5_000)
  t.match(ofDisabled.backlog, { due_deliveries: 0, oldest_due_seconds: 0 })
  t.ok(ofDisabled.pages < 100, `${ofDisabled.pages} pages for disabled endpoints`)

  await db.query(`update endpoint set skipped = '{}'`)
  await disable(db, first, null)
  await db.query(`update endpoint set skipped = '{}'`)
  const behind = await read(500, 2_000)
  t.equal(behind.backlog.due_deliveries, 500, 'as many as are counted')
  t.ok(Math.abs(behind.backlog.oldest_due_seconds - 3_600) < 60)
  t.ok(behind.pages < 2_500, `${behind.pages} pages for one that is behind`)
  t.equal((await read(5_000, 2_000)).backlog.due_deliveries, 2_000, 'as far as is looked')

  // Nothing of the first part, and perhaps something later.
  await db.query(`update endpoint set filter_types = '{sleep.created}' where id = $1`, [first.id])
  await fillFeed(db, 10, 'sleep.created')
  const rare = await read(500, 2_000)
  t.equal(rare.backlog.due_deliveries, 0)
  t.ok(Math.abs(rare.backlog.oldest_due_seconds - 3_600) < 60, 'lag is not understated')
  t.ok(rare.pages < 2_500, `${rare.pages} pages for one that gets little`)
})

oneEngine(t, 'nobody waits for an endpoint that was disabled for long', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t)
  await createEndpoint(db, `${receiver.origin}/old`, { filterTypes: ['sleep.created'] })
  await fillFeed(db, 40_000)
  await createEndpoint(db, `${receiver.origin}/other`)
  await recordEvents(db, [{}])
  await fanOut(db, true)
  const { options, looks, looksBeforeReading } = await notingStatements(db)
  const lanes = startLanes(options)
  t.teardown(() => lanes.stop())
  lanes.wake()
  await receiver.got(1)
  t.equal(looksBeforeReading(), 1, 'one look at the feed, and the other one is served')
  await eventually(
    async () => looks().length,
    (count) => count >= 8,
  )
  t.ok(looks().every(({ params }) => Number(params[2]) <= 5_000))
  const [late] = await recordEvents(db, [{ type: 'sleep.created' }])
  await fanOut(db, true)
  lanes.wake()
  await receiver.got(3)
  t.ok(
    receiver.calls.some(({ path, id }) => path === '/old' && id === late),
    'it is found at the end',
  )
  t.notOk(receiver.calls.some(({ path, id }) => path === '/old' && id !== late))
})

oneEngine(t, 'a process forgets endpoints that were deleted', async (t, engine) => {
  const db = openTestDatabase(t, await createTestDatabase(t, engine))
  const made: TestEndpoint[] = []
  for (let count = 0; count < 5; count += 1)
    made.push(await createEndpoint(db, 'https://example.org/', { filterTypes: ['sleep.created'] }))
  await fillFeed(db, 10)
  const { options, looks } = await notingStatements(db)
  const leases = new Leases(options)
  const sent = async () => {
    await leases.take()
    return [...((looks().at(-1)?.params[0] ?? []) as number[])].sort()
  }
  await leases.take()
  t.strictSame(
    await sent(),
    made.map(({ id }) => id),
  )
  await db.query('delete from endpoint where id = any ($1)', [made.slice(1).map(({ id }) => id)])
  const now = performance.now
  t.teardown(() => {
    performance.now = now
  })
  performance.now = () => now.call(performance) + 60_000
  t.equal(await leases.renew(), true)
  t.strictSame(await sent(), [made[0]?.id])
})

oneEngine(t, 'a new filter writes nothing for each event that is ahead', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  let status = 500
  let release = () => {}
  const receiver = await startReceiver(t, (_, response) => {
    release = () => response.writeHead(status).end()
    if (status === 200) release()
  })
  const endpoint = await createEndpoint(db, receiver.origin)
  await fillFeed(db, 5_000)
  await filter(db, endpoint, ['workout.created', 'sleep.created'])
  await filter(db, endpoint, ['meal.created', 'workout.created'])
  t.strictSame(await db.query('select from delivery'), [])
  t.equal(await unfinished(db), 5_000)
  await filter(db, endpoint, ['meal.created'])
  t.equal(await unfinished(db), 0)
  const { ahead } = await db.one<{ ahead: string }>('select ahead::text from endpoint')
  t.equal(ahead, '{[5001,)}', 'what nothing can come of any more is passed at once')

  await filter(db, endpoint, ['meal.created', 'workout.created'])
  await startDelivering(t, url)
  await recordEvents(db, [{ type: 'meal.created' }])
  await receiver.got(1)
  await filter(db, endpoint, ['sleep.created', 'workout.created'])
  release()
  t.match(
    await eventually(
      () => attemptsOf(db, endpoint),
      ({ length }) => length === 1,
    ),
    [{ succeeded: false }],
  )
  t.strictSame(await db.query('select from delivery'), [], 'a call that was under way is not repeated')
  status = 200
  await recordEvents(db, [{ type: 'meal.created' }, { type: 'sleep.created' }])
  await receiver.got(2)
  await eventually(
    () => db.query('select from endpoint where former is null'),
    ({ length }) => length === 1,
  )
})

oneEngine(t, 'whatever filters follow each other, what waits has passed all of them', async (t, engine) => {
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t)
  const users = await createUsers(db, 2)
  const endpoint = await createEndpoint(db, receiver.origin)
  const TYPES = ['workout.created', 'sleep.created', 'meal.created', 'steps.created']
  const aUser = fc.option(fc.constantFrom(...users), { freq: 2 })
  const aScope = fc.option(fc.constantFrom('live' as const, 'historical' as const), { freq: 3 })
  const aChange = fc.record({
    types: fc.option(fc.uniqueArray(fc.constantFrom(...TYPES), { minLength: 2 }), { freq: 3 }),
    user: fc.option(fc.constantFrom(...users), { freq: 1 }),
    scope: aScope,
    events: fc.array(fc.record({ type: fc.constantFrom(...TYPES), userId: aUser, scope: aScope }), { maxLength: 4 }),
  })
  let waiting: { id: string; type: string; userId: string | null; scope: string | null }[] = []
  let most = 0
  for (const { types, user, scope, events } of fc.sample(aChange, { numRuns: 150, seed: 20_261_128 })) {
    await db.query('update endpoint set filter_types = $1, user_id = $2, filter_scope = $3', [types, user, scope])
    const ids = await recordEvents(db, events)
    await fanOut(db, true)
    const added = events.map((event, index) => ({ ...event, id: ids[index] as string }))
    waiting = [...waiting, ...added].filter(
      (event) =>
        (types === null || types.includes(event.type)) &&
        (user === null || user === event.userId) &&
        (scope === null || event.scope === null || event.scope === scope),
    )
    const { found, filters } = await db.one<{ found: string[]; filters: number }>(
      `select coalesce(array_agg('msg_' || replace(e.uid::text, '-', '')), '{}') as found,
              (select coalesce(cardinality(former), 0) from endpoint) as filters
       from waiting_deliveries() join event e on e.id = event_id`,
    )
    most = Math.max(most, filters)
    const expected = waiting.map(({ id }) => id).sort()
    if (JSON.stringify(found.sort()) !== JSON.stringify(expected)) t.strictSame(found, expected)
  }
  t.ok(most > 1 && most <= 8, `${most} former filters at most`)
  await filter(db, endpoint, null)
  t.ok(waiting.length > 0)
  await startDelivering(t, url)
  await receiver.got(waiting.length)
  await eventually(
    () => unfinished(db),
    (left) => left === 0,
  )
  t.strictSame(receiver.calls.map(({ id }) => id).sort(), waiting.map(({ id }) => id).sort())
})
