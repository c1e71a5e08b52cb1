// The feed of events: each event once, in one order, in whatever order they commit (contract 10).
import t, { type Test } from 'tap'
import { messageUid } from '../../server/webhooks/message-id.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { fanOut, recordEvent, until } from '../support/endpoints.ts'
import { createUser, oneEngine } from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'

const FEED = '/api/v1/webhooks/events'

interface FeedEvent {
  id: string
  timestamp: string
  type: string
  data: Record<string, unknown>
}
interface Page {
  data: FeedEvent[]
  next: string
  done: boolean
}

const ask = (app: TestApp, query: Record<string, string>) => app.request('GET', `${FEED}?${new URLSearchParams(query)}`)

async function page(app: TestApp, after?: string, limit?: number): Promise<Page> {
  const { status, body } = await ask(app, { ...(after && { after }), ...(limit && { limit: String(limit) }) })
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body
}

/** Reads on to the present; returns the ids, and where to continue. */
async function readOn(app: TestApp, after?: string, limit?: number): Promise<{ ids: string[]; next: string }> {
  const ids: string[] = []
  let next = after
  for (;;) {
    const answer = await page(app, next, limit)
    ids.push(...answer.data.map(({ id }) => id))
    next = answer.next
    if (answer.done) return { ids, next }
  }
}

oneEngine(t, 'the feed', async (t, engine) => {
  const app = await startTestApp(t, engine, { eventFeedEnabled: true })
  const user = await createUser(app)

  await t.test('can be followed before there is anything', async (t) => {
    const first = await page(app)
    t.strictSame({ ...first, next: '' }, { data: [], next: '', done: true })
    t.match(await page(app, first.next), { data: [], done: true })
    const id = await recordEvent(app.db, { user })
    t.strictSame((await page(app, first.next)).data, [], 'not before it has its place')
    await fanOut(app.db)
    t.strictSame((await readOn(app, first.next)).ids, [id])
  })

  await t.test('has the bodies and ids of deliveries', async (t) => {
    const rates = await recordEvent(app.db, { user, type: 'heart_rate.created', samples: 3 })
    await fanOut(app.db)
    const { data } = await page(app)
    t.strictSame(Object.keys(data[0] ?? {}), ['id', 'timestamp', 'type', 'data'])
    t.match(data, [
      { type: 'workout.created', data: { id: 'x' }, timestamp: /^\d{4}-\d\d-\d\dT[\d:]{8}(\.\d{6})?Z$/ },
      { id: rates, type: 'heart_rate.created', data: { user_id: user, sample_count: 3, samples: [{}, {}, {}] } },
    ])
  })

  await t.test('is read in pages of any size, to the end and further', async (t) => {
    const start = (await readOn(app)).next
    const ids: string[] = []
    for (let index = 0; index < 7; index += 1) ids.push(await recordEvent(app.db, { user }))
    await fanOut(app.db)
    for (const limit of [1, 2, 7, 8, 1000]) t.strictSame((await readOn(app, start, limit)).ids, ids, `${limit}`)
    const two = await page(app, start, 2)
    t.equal(two.done, false)
    const all = await page(app, start, 7)
    t.equal(all.done, true, 'a full page that is the last')
    t.equal((await page(app, all.next)).next, all.next, 'asked again, it goes on from the same place')
    const more = await recordEvent(app.db, { user })
    await fanOut(app.db)
    t.strictSame((await readOn(app, all.next)).ids, [more])
  })

  await t.test('reaches 30 days back', async (t) => {
    const start = (await readOn(app)).next
    const [, kept] = [await recordEvent(app.db, { age: 31 }), await recordEvent(app.db, { age: 29 })]
    await fanOut(app.db)
    t.strictSame((await readOn(app, start)).ids, [kept])
    t.ok((await readOn(app)).ids.includes(kept))
  })

  await t.test('makes pages of large events shorter, with nothing left out', async (t) => {
    const start = (await readOn(app)).next
    const ids: string[] = []
    for (let index = 0; index < 24; index += 1)
      ids.push(await recordEvent(app.db, { user, type: 'heart_rate.created', samples: 2500 }))
    await fanOut(app.db)
    const first = await page(app, start, 1000)
    const bytes = JSON.stringify(first).length
    t.ok(bytes > 4_000_000 && bytes < 9_000_000, `${bytes} bytes`)
    t.equal(first.done, false)
    t.strictSame((await readOn(app, start, 1000)).ids, ids)
  })

  await t.test('refuses what is no cursor of its own, and limits', async (t) => {
    const { next } = await page(app)
    const { iterator } = (
      await (
        await app.another({ outgoingWebhooksEnabled: true })
      ).request('GET', '/api/v1/webhooks/messages?limit=1', {
        auth: 'developer',
      })
    ).body
    for (const after of ['x', '0', next.replace(/^./, 'd'), `prev_${next}`, iterator, '']) {
      const answer = await ask(app, { after })
      t.equal(answer.status, 400, after)
      t.strictSame(answer.body, { detail: `Invalid cursor format: '${after}'. Expected 'timestamp|id'.` })
    }
    for (const [name, value, type] of [
      ['limit', '0', 'greater_than_equal'],
      ['limit', '1001', 'less_than_equal'],
      ['limit', 'x', 'int_parsing'],
      ['before', next, 'extra_forbidden'],
    ] as const) {
      const answer = await ask(app, { [name]: value })
      t.equal(answer.status, 422)
      t.match(answer.body.detail, [{ type, loc: ['query', name] }])
    }
  })

  await t.test('shows an event that commits late after those that were read before it', async (t) => {
    const start = (await readOn(app)).next
    const slow = await app.db.pool.connect()
    t.teardown(() => slow.release())
    await slow.query('begin')
    const { rows } = await slow.query(
      `insert into event (type, key, data) values ('meal.created', 'slow', '{}') returning id, 'slow' as name`,
    )
    const quick = await recordEvent(app.db, { user })
    await fanOut(app.db)
    const read = await readOn(app, start)
    t.strictSame(read.ids, [quick])
    await slow.query('commit')
    await fanOut(app.db)
    const { ids } = await readOn(app, read.next)
    const { id } = await app.db.one<{ id: number }>('select id from event where uid = $1', [
      messageUid(ids[0] ?? '') ?? null,
    ])
    t.equal(ids.length, 1)
    t.equal(id, Number(rows[0].id))
    t.ok(id < (await app.db.one<{ id: number }>('select id from event where uid = $1', [messageUid(quick) ?? null])).id)
    t.strictSame((await readOn(app, start)).ids, [quick, ...ids], 'and stays there')
  })

  await t.test('misses nothing and repeats nothing while many write, fan out and read at once', (t) => stress(t, app))
})

/**
 * Transactions that insert at the same time and commit in another order; two fan-outs; readers with various page sizes.
 */
async function stress(t: Test, app: TestApp): Promise<void> {
  const start = (await readOn(app)).next
  const WRITERS = 4
  const EACH = runs(10, 30)
  let writing = WRITERS
  const write = async (writer: number) => {
    const ids: string[] = []
    for (let index = 0; index < EACH; index += 1) {
      await app.db.transaction(async (tx) => {
        for (let count = 0; count <= (writer + index) % 3; count += 1) ids.push(await recordEvent(tx, {}))
        // Some stay open while others begin and commit.
        for (let round = 0; round < (writer * 7 + index * 5) % 11; round += 1) await tx.query('select 1')
      })
    }
    writing -= 1
    return ids
  }
  const fan = async () => {
    while (writing > 0) await fanOut(app.db)
  }
  const total = () => app.db.one<{ pending: number }>('select count(*) as pending from event where pending')
  const follow = async (limit: number) => {
    const ids: string[] = []
    let next = start
    let finished = false
    while (!finished) {
      finished = over
      const read = await readOn(app, next, limit)
      ids.push(...read.ids)
      next = read.next
    }
    return ids
  }
  let over = false
  const readers = [1, 3, 100].map(follow)
  const [written] = await Promise.all([
    Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer))),
    fan(),
    fan(),
  ])
  t.ok(
    await until(async () => {
      await fanOut(app.db)
      return (await total()).pending === 0
    }),
  )
  over = true
  const seen = await Promise.all(readers)
  const expected = written.flat().sort()
  t.ok(expected.length > WRITERS * EACH)
  for (const ids of seen) {
    t.strictSame(ids.toSorted(), expected, 'each once')
    t.strictSame(ids, seen[0], 'in one order')
  }
  t.strictSame((await readOn(app, start)).ids, seen[0])
}
