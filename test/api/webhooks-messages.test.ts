// What endpoints are sent, and the results: tests, messages, attempts, resending and recovery (contract 10).
import t, { type Test } from 'tap'
import { eventNames } from '../../server/catalogue/events.ts'
import { exampleData } from '../../server/webhooks/examples.ts'
import { messageUid } from '../../server/webhooks/message-id.ts'
import { startTestApp, type TestAnswer, type TestApp } from '../support/app.ts'
import { createEndpoint, deliveries, fanOut, hooks, keyOf, recordEvent, storeDeliveries } from '../support/endpoints.ts'
import { createUser, oneEngine } from '../support/sdk.ts'

const ON = { outgoingWebhooksEnabled: true }
const DISABLED = { detail: 'The endpoint is disabled. Enable it first: PATCH it with {"disabled": false}.' }
const badCursor = (value: string) => ({
  detail: `Invalid cursor format: '${value}'. Expected 'timestamp|id'.`,
})
const NO_MESSAGE = { detail: 'Message not found' }

type Endpoint = { id: string }
type Page = { data: { id: string }[]; done: boolean; iterator: string | null; prevIterator: string | null }

const idsOf = ({ data }: Page) => data.map(({ id }) => id)
const disable = (app: TestApp, { id }: Endpoint, disabled = true) =>
  hooks(app, 'PATCH', `/endpoints/${id}`, { disabled })
const refused = (t: Test, answer: TestAnswer, ...issues: object[]) => {
  t.equal(answer.status, 422)
  t.match(answer.body.detail, issues)
}

/** Walks a list to its end and back to its beginning; the ids forward, and those of each page both ways. */
async function walk(t: Test, app: TestApp, path: string): Promise<string[]> {
  const ask = async (iterator: string | null) => {
    const answer = await hooks(app, 'GET', `${path}${iterator ? `&iterator=${encodeURIComponent(iterator)}` : ''}`)
    const { status, body } = answer
    const right =
      Object.keys(body).join() === 'data,done,iterator,prevIterator' && body.done === (body.iterator === null)
    if (status !== 200 || !right) throw new Error(`${status} ${JSON.stringify(body).slice(0, 500)}`)
    return body as Page
  }
  const forward = [await ask(null)]
  while (forward.at(-1)?.iterator) forward.push(await ask((forward.at(-1) as Page).iterator))
  const back = [forward.at(-1) as Page]
  while (back[0]?.prevIterator) back.unshift(await ask(back[0].prevIterator))
  t.strictSame(back.flatMap(idsOf), forward.flatMap(idsOf), 'the same on the way back')
  t.ok(back.length >= forward.length && back.every(({ data }) => data.length > 0 || back.length === 1))
  t.strictSame([forward[0]?.prevIterator, back[0]?.prevIterator], [null, null])
  return forward.flatMap(idsOf)
}

/** Records an attempt as the delivering process does. */
const attempt = async (app: TestApp, endpoint: Endpoint, message: string, fields: object = {}) => {
  const { succeeded, status, response, manual, seconds, type } = {
    ...{ succeeded: true, status: 200, response: 'ok', manual: false, seconds: 0, type: 'workout.created' },
    ...fields,
  }
  const { id } = await app.db.one<{ id: number }>(
    `insert into attempt (endpoint_id, event_uid, event_type, url, succeeded, response_status, response, duration_ms,
                          manual, attempted_at)
     values ($1, $2, $3, 'https://example.org/hook', $4, $5, $6, 85, $7, timestamptz '2026-02-24T10:00:00Z' + make_interval(secs => $8))
     returning id`,
    [await keyOf(app.db, endpoint), messageUid(message) ?? null, type, succeeded, status, response, manual, seconds],
  )
  return `atmpt_${id}`
}

oneEngine(t, 'tests of endpoints', async (t, engine) => {
  const app = await startTestApp(t, engine, { ...ON, eventFeedEnabled: true })
  const endpoint = await createEndpoint(app, { filter_types: ['meal.created'] })
  await createEndpoint(app)
  const send = (body?: unknown) => hooks(app, 'POST', `/endpoints/${endpoint.id}/test`, body)

  await t.test('send an example of any kind to that endpoint only, whatever its filters', async (t) => {
    for (const name of eventNames) {
      const { status, body } = await send({ event_type: name })
      t.equal(status, 200)
      t.strictSame(Object.keys(body), ['message', 'message_id'])
      t.equal(body.message, 'Test event sent successfully.')
      const [newest] = (await hooks(app, 'GET', '/messages?limit=1')).body.data
      t.match(newest, { id: body.message_id, eventType: name, channels: null, tags: null })
      t.match(newest.eventId, new RegExp(`^test\\.${endpoint.id}\\.${name.replace('.', '\\.')}\\.[0-9a-f]{16}$`))
      t.strictSame(newest.payload, { type: name, scope: 'live', data: JSON.parse(exampleData(name)) })
    }
    await fanOut(app.db)
    const rows = await deliveries(app.db, endpoint)
    t.equal(rows.length, eventNames.length)
    t.ok(rows.every(({ state, attempts, due }) => state === 'waiting' && attempts === 0 && due))
    const { total } = await app.db.one<{ total: number }>('select count(*) as total from delivery')
    t.equal(total, eventNames.length, 'nobody else gets them')
    t.strictSame((await hooks(app, 'GET', '/events')).body.data, [], 'and they are not in the feed')
  })

  await t.test('are workouts unless another kind is asked for, and new each time', async (t) => {
    const ids = new Set<string>()
    for (const body of [undefined, {}, { event_type: 'workout.created' }]) {
      const answer = await send(body)
      t.equal(answer.status, 200)
      t.equal((await hooks(app, 'GET', '/messages?limit=1')).body.data[0].eventType, 'workout.created')
      ids.add(answer.body.message_id)
    }
    t.equal(ids.size, 3)
  })

  await t.test('are refused of unknown kinds and to endpoints that are disabled', async (t) => {
    refused(t, await send({ event_type: 'x' }), { type: 'enum', loc: ['body', 'event_type'] })
    refused(t, await send({ event_type: 7 }), { type: 'enum', loc: ['body', 'event_type'] })
    refused(t, await send([]), { type: 'dict_type', loc: ['body'] })
    await disable(app, endpoint)
    const answer = await send()
    t.strictSame([answer.status, answer.body], [400, DISABLED])
  })
})

oneEngine(t, 'messages', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)
  const user = await createUser(app)

  await t.test('show each event as it is delivered', async (t) => {
    t.strictSame((await hooks(app, 'GET', '/messages')).body, {
      data: [],
      done: true,
      iterator: null,
      prevIterator: null,
    })
    const workout = await recordEvent(app.db, { user, data: { id: 'w', source: { provider: 'apple' } } })
    const rates = await recordEvent(app.db, { user, type: 'heart_rate.created', samples: 2 })
    const { data } = (await hooks(app, 'GET', '/messages')).body
    t.match(data, [{ id: rates }, { id: workout }])
    t.strictSame(Object.keys(data[1]), ['id', 'eventType', 'eventId', 'timestamp', 'channels', 'tags', 'payload'])
    t.match(data[1], { eventType: 'workout.created', eventId: /^workout\.created\./, channels: [`user.${user}`] })
    t.match(data[1].timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z$/)
    t.strictSame(data[1].payload, { type: 'workout.created', data: { id: 'w', source: { provider: 'apple' } } })
    t.match(data[0].payload, {
      type: 'heart_rate.created',
      data: {
        user_id: user,
        sample_count: 2,
        samples: [{ timestamp: '2026-02-24T00:00:00Z', value: 60, unit: 'bpm' }, { value: 61 }],
      },
    })
  })

  await t.test('are paged newest first, and back, also those of one moment', async (t) => {
    for (let age = 0; age < 9; age += 1) await recordEvent(app.db, { age })
    await app.db.query(`update event set created_at = date_trunc('day', created_at) where id % 2 = 0`)
    const all = (await hooks(app, 'GET', '/messages')).body.data
    const times = all.map(({ timestamp }: { timestamp: string }) => Date.parse(timestamp))
    t.strictSame(
      times,
      times.toSorted((a: number, b: number) => b - a),
    )
    for (const limit of [1, 2, 3, 11, 250])
      t.strictSame(await walk(t, app, `/messages?limit=${limit}`), idsOf({ data: all } as Page))
  })

  await t.test('of a span of time: from `after`, before `before`', async (t) => {
    const [first, second] = [await recordEvent(app.db, { age: 20 }), await recordEvent(app.db, { age: 19 })]
    // Instants are shown to the millisecond.
    await app.db.query(`update event set created_at = date_trunc('milliseconds', created_at)`)
    const all = (await hooks(app, 'GET', '/messages?limit=250')).body.data as { id: string; timestamp: string }[]
    const timeOf = (id: string) => all.find((message) => message.id === id)?.timestamp ?? ''
    const between = async (query: string) => idsOf((await hooks(app, 'GET', `/messages?${query}`)).body)
    t.strictSame(await between(`before=${timeOf(second)}`), [first])
    t.strictSame(await between(`after=${timeOf(first)}&before=${timeOf(second)}`), [first])
    t.strictSame((await between(`after=${timeOf(second)}`)).at(-1), second)
    t.strictSame(
      await walk(t, app, `/messages?limit=2&after=${timeOf(second)}`),
      await between(`after=${timeOf(second)}`),
    )
  })

  await t.test('refuse parameters that mean nothing', async (t) => {
    const first = (await hooks(app, 'GET', '/messages?limit=1')).body.iterator
    const bad: [query: string, type: string][] = [
      ['limit=0', 'greater_than_equal'],
      ['limit=251', 'less_than_equal'],
      ['limit=x', 'int_parsing'],
      ['before=yesterday', 'datetime_from_date_parsing'],
      ['after=2026-02-30T00:00:00Z', 'datetime_parsing'],
      ['status=0', 'extra_forbidden'],
    ]
    for (const [query, type] of bad)
      refused(t, await hooks(app, 'GET', `/messages?${query}`), { type, loc: ['query', query.split('=')[0]] })
    for (const [iterator, more] of [
      ['x', ''],
      [first.replace(/^./, 'X'), ''],
      [`prev_${first}`, ''],
      [first, '&before=2030-01-01T00:00:00Z'],
    ]) {
      const answer = await hooks(app, 'GET', `/messages?iterator=${encodeURIComponent(iterator)}${more}`)
      t.equal(answer.status, 400, iterator)
      t.strictSame(answer.body, badCursor(iterator))
    }
  })

  await t.test('of many samples make shorter pages, with nothing left out', async (t) => {
    await app.db.query('delete from event')
    const ids: string[] = []
    for (let index = 0; index < 24; index += 1)
      ids.unshift(await recordEvent(app.db, { user, type: 'heart_rate.created', samples: 2500 }))
    const answer = await app.request('GET', '/api/v1/webhooks/messages?limit=250', { auth: 'developer' })
    const bytes = JSON.stringify(answer.body).length
    t.ok(bytes > 4_000_000 && bytes < 9_000_000, `${bytes} bytes`)
    t.equal(answer.body.done, false)
    t.strictSame(await walk(t, app, '/messages?limit=250'), ids)
  })
})

oneEngine(t, 'attempts', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)
  const user = await createUser(app)
  const [endpoint, other] = [await createEndpoint(app), await createEndpoint(app)]
  const path = `/endpoints/${endpoint.id}/attempts`
  const message = await recordEvent(app.db, { user, data: { id: 'w' } })

  await t.test('tell what was answered, and show the message', async (t) => {
    t.match((await hooks(app, 'GET', path)).body, { data: [], done: true })
    const failed = await attempt(app, endpoint, message, { succeeded: false, status: 0, response: 'timed out' })
    const delivered = await attempt(app, endpoint, message, { manual: true, seconds: 5.25 })
    await attempt(app, other, message)
    const { data } = (await hooks(app, 'GET', path)).body
    const common = {
      endpointId: endpoint.id,
      msgId: message,
      url: 'https://example.org/hook',
      responseDurationMs: 85,
      msg: (await hooks(app, 'GET', '/messages')).body.data[0],
    }
    t.match(common.msg, { id: message, payload: { type: 'workout.created', data: { id: 'w' } } })
    t.strictSame(data, [
      {
        ...{ id: delivered, response: 'ok', responseStatusCode: 200, status: 0, statusText: 'success' },
        ...{ triggerType: 1, timestamp: '2026-02-24T10:00:05.250000Z', ...common },
      },
      {
        ...{ id: failed, response: 'timed out', responseStatusCode: 0, status: 2, statusText: 'fail' },
        ...{ triggerType: 0, timestamp: '2026-02-24T10:00:00Z', ...common },
      },
    ])
  })

  await t.test('are filtered by status, kind and time, and paged both ways', async (t) => {
    for (let index = 0; index < 12; index += 1) {
      const type = ['meal.created', 'sleep.created', 'workout.created'][index % 3]
      await attempt(app, endpoint, message, { succeeded: index % 2 === 0, type, seconds: 10 + Math.floor(index / 4) })
    }
    const all = (await hooks(app, 'GET', path)).body.data
    t.equal(all.length, 14)
    const expected = (keep: (attempt: { status: number; type: string; timestamp: string }) => boolean) =>
      all
        .filter(({ id, ...rest }: { id: string; status: number; timestamp: string }) =>
          keep({ ...rest, type: types.get(id) ?? '' }),
        )
        .map(({ id }: { id: string }) => id)
    const rows = await app.db.query<{ id: number; event_type: string }>('select id, event_type from attempt')
    const types = new Map(rows.map(({ id, event_type }) => [`atmpt_${id}`, event_type]))
    const cases: [query: string, ids: string[]][] = [
      ['', idsOf({ data: all } as Page)],
      ['&status=0', expected(({ status }) => status === 0)],
      ['&status=2', expected(({ status }) => status === 2)],
      ['&status=1', []],
      ['&status=3', []],
      ['&event_types=meal.created', expected(({ type }) => type === 'meal.created')],
      ['&event_types[]=meal.created&event_types[]=sleep.created', expected(({ type }) => /meal|sleep/.test(type))],
      [
        '&event_types=meal.created,sleep.created&status=2',
        expected(({ type, status }) => /meal|sleep/.test(type) && status === 2),
      ],
      ['&event_types=steps.created', []],
      ['&after=2026-02-24T10:00:11Z', expected(({ timestamp }) => timestamp >= '2026-02-24T10:00:11Z')],
      ['&before=2026-02-24T10:00:11Z', expected(({ timestamp }) => timestamp < '2026-02-24T10:00:11Z')],
    ]
    for (const [query, ids] of cases)
      for (const limit of [3, 250]) t.strictSame(await walk(t, app, `${path}?limit=${limit}${query}`), ids, query)
  })

  await t.test('outlive their event', async (t) => {
    await app.request('DELETE', `/api/v1/users/${user}`, { auth: 'developer' })
    const { data } = (await hooks(app, 'GET', path)).body
    t.equal(data.length, 14)
    t.match(data[0], { msgId: message, msg: null, response: 'ok' })
  })

  await t.test('of large events make shorter pages', async (t) => {
    const large = await recordEvent(app.db, { type: 'heart_rate.created', samples: 2500 })
    const ids: string[] = []
    for (let seconds = 100; seconds < 124; seconds += 1) ids.unshift(await attempt(app, endpoint, large, { seconds }))
    const page = (await hooks(app, 'GET', `${path}?limit=250`)).body as Page
    t.ok(page.data.length < 24 && !page.done)
    t.strictSame(await walk(t, app, `${path}?limit=250&after=2026-02-24T10:01:40Z`), ids)
  })

  await t.test('refuse parameters that mean nothing', async (t) => {
    const bad: [query: string, type: string, name?: string | number][] = [
      ['limit=0', 'greater_than_equal'],
      ['limit=251', 'less_than_equal'],
      ['status=-1', 'greater_than_equal'],
      ['status=4', 'less_than_equal'],
      ['status=success', 'int_parsing'],
      ['event_types=steps.deleted', 'enum'],
      ['before=x', 'datetime_from_date_parsing'],
      ['after=x', 'datetime_from_date_parsing'],
      ['cursor=x', 'extra_forbidden'],
    ]
    for (const [query, type] of bad)
      refused(t, await hooks(app, 'GET', `${path}?${query}`), { type, loc: ['query', query.split('=')[0]] })
    const { iterator } = (await hooks(app, 'GET', `${path}?limit=1`)).body
    for (const place of [`${path}?status=0&`, `/endpoints/${other.id}/attempts?`, '/messages?']) {
      const answer = await hooks(app, 'GET', `${place}iterator=${encodeURIComponent(iterator)}`)
      t.strictSame([answer.status, answer.body], [400, badCursor(iterator)], place)
    }
  })
})

oneEngine(t, 'deliveries', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)
  const [ada, eve] = [await createUser(app), await createUser(app)]
  const endpoint = await createEndpoint(app, { filter_types: ['workout.created'], user_id: ada })
  const all = await createEndpoint(app)
  const resend = (message: string, to: Endpoint = endpoint) =>
    hooks(app, 'POST', `/endpoints/${to.id}/messages/${message}/resend`)
  const end = async (state: string, attempts: number) => {
    await storeDeliveries(app.db)
    await app.db.query(
      `update delivery set state = $1, attempts = $2, due_at = case $1 when 'waiting' then now() + interval '1 hour' else due_at end`,
      [state, attempts],
    )
  }
  const again = { state: 'waiting', attempts: 0, manual: true, due: true }

  await t.test('are repeated, whatever became of them', async (t) => {
    const message = await recordEvent(app.db, { user: ada })
    await fanOut(app.db)
    for (const [state, attempts] of [
      ['delivered', 1],
      ['failed', 10],
      ['waiting', 3],
    ] as const) {
      await end(state, attempts)
      const answer = await resend(message)
      t.strictSame([answer.status, answer.body], [202, { queued: 1 }])
      t.match(await deliveries(app.db, endpoint), [again], state)
      t.match(await deliveries(app.db, all), [{ state, attempts, manual: false }], 'others stay as they are')
    }
  })

  await t.test('are made of events that match and were never queued, and of no others', async (t) => {
    await disable(app, endpoint)
    const missed = await recordEvent(app.db, { user: ada })
    const others = [
      await recordEvent(app.db, { user: eve }),
      await recordEvent(app.db, { user: ada, type: 'meal.created' }),
      (await hooks(app, 'POST', `/endpoints/${all.id}/test`)).body.message_id,
    ]
    await fanOut(app.db)
    const refused = await resend(missed)
    t.strictSame([refused.status, refused.body], [400, DISABLED])
    await disable(app, endpoint, false)
    const before = (await deliveries(app.db, endpoint)).length
    for (const message of [...others, `msg_${'0'.repeat(32)}`, 'msg_1', 'x', missed.toUpperCase()]) {
      const answer = await resend(message)
      t.strictSame([answer.status, answer.body], [404, NO_MESSAGE], message)
    }
    t.equal((await resend(missed)).status, 202)
    t.match((await deliveries(app.db, endpoint))[before], again)
    t.equal((await resend(others[2] ?? '', all)).status, 202, 'a test of its own')
    await recordEvent(app.db, { user: ada }).then(resend)
    const count = (await deliveries(app.db, endpoint)).length
    await fanOut(app.db)
    t.equal((await deliveries(app.db, endpoint)).length, count, 'fanning out adds no second one')
  })

  await t.test('that failed are repeated since a time, with those missed while it was disabled', async (t) => {
    await app.db.query('delete from event')
    await app.db.query(`update endpoint set created_at = now() - interval '10 days'`)
    const since = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
    const recover = (body: unknown) => hooks(app, 'POST', `/endpoints/${endpoint.id}/recover`, body)
    const old = await recordEvent(app.db, { user: ada, age: 9 })
    const failed = await recordEvent(app.db, { user: ada, age: 3 })
    await fanOut(app.db)
    await end('failed', 10)
    const delivered = await recordEvent(app.db, { user: ada, age: 3 })
    await fanOut(app.db)
    await storeDeliveries(app.db)
    await app.db.query(
      `update delivery set state = 'delivered', attempts = 1 where event_id = (select id from event where uid = $1)`,
      [messageUid(delivered) ?? null],
    )
    await disable(app, endpoint)
    await recordEvent(app.db, { user: ada, age: 12 })
    await fanOut(app.db)
    await disable(app, endpoint, false)
    // As the fifth day of failures does.
    await app.db.query(
      `update endpoint set disabled_at = now() - interval '4 days', disabled_reason = 'failing' where uid = $1`,
      [endpoint.id],
    )
    const missed = await recordEvent(app.db, { user: ada, age: 2 })
    await recordEvent(app.db, { user: eve, age: 2 })
    await recordEvent(app.db, { user: ada, age: 2, type: 'meal.created' })
    await fanOut(app.db)
    await hooks(app, 'POST', `/endpoints/${all.id}/test`)
    const pending = await recordEvent(app.db, { user: ada })
    t.strictSame((await recover({ since: since(5) })).body, DISABLED)
    await disable(app, endpoint, false)

    const stateOf = async () =>
      Object.fromEntries(
        (await deliveries(app.db, endpoint)).map(({ uid, state, manual }) => [uid, `${state} ${manual}`]),
      )
    const answer = await recover({ since: since(5) })
    t.strictSame([answer.status, answer.body], [202, { queued: 3 }])
    t.strictSame(await stateOf(), {
      [messageUid(old) ?? '']: 'failed false',
      [messageUid(failed) ?? '']: 'waiting true',
      [messageUid(delivered) ?? '']: 'delivered false',
      [messageUid(missed) ?? '']: 'waiting true',
      [messageUid(pending) ?? '']: 'waiting true',
    })
    t.ok(
      (await deliveries(app.db, endpoint)).every(
        ({ state, attempts, due }) => state !== 'waiting' || (attempts === 0 && due),
      ),
    )
    t.strictSame((await recover({ since: since(5) })).body, { queued: 0 }, 'nothing twice')
    t.strictSame(
      (await recover({ since: since(13.9) })).body,
      { queued: 1 },
      'nothing from before it was disabled that it was not told',
    )
    t.match(await stateOf(), { [messageUid(old) ?? '']: 'waiting true' })
    const next = await recordEvent(app.db, { user: ada })
    await fanOut(app.db)
    t.match(
      await stateOf(),
      { [messageUid(pending) ?? '']: 'waiting true', [messageUid(next) ?? '']: 'waiting false' },
      'the next ones come by themselves, and none twice',
    )
    t.ok(
      (await deliveries(app.db, all)).some(({ state }) => state === 'failed'),
      'of this endpoint only',
    )

    await disable(app, endpoint)
    await recordEvent(app.db, { user: ada })
    await fanOut(app.db)
    await disable(app, endpoint, false)
    t.strictSame(
      (await recover({ since: since(5) })).body,
      { queued: 0 },
      'nor what it missed while it was switched off',
    )
    const retried = await recordEvent(app.db, { user: ada })
    await fanOut(app.db)
    await storeDeliveries(app.db)
    await app.db.query(
      `update delivery set attempts = 3, due_at = now() + interval '2 hours' where event_id = (select id from event where uid = $1)`,
      [messageUid(retried) ?? null],
    )
    t.strictSame((await recover({ since: since(1) })).body, { queued: 1 }, 'what failed so far is not waited for')
    t.match(await stateOf(), { [messageUid(retried) ?? '']: 'waiting true' })

    refused(t, await recover({ since: since(14.1) }), {
      type: 'value_error',
      loc: ['body', 'since'],
      msg: 'Value error, since must be at most 14 days ago',
    })
    refused(t, await recover({}), { type: 'missing', loc: ['body', 'since'] })
    refused(t, await recover(undefined), { type: 'missing', loc: ['body'] })
    refused(t, await recover({ since: 'yesterday' }), { type: 'datetime_from_date_parsing', loc: ['body', 'since'] })
    refused(t, await recover({ since: 7 }), { type: 'string_type', loc: ['body', 'since'] })
    refused(t, await recover({ since: null }), { type: 'string_type', loc: ['body', 'since'] })
    t.strictSame((await recover({ since: since(-1) })).body, { queued: 0 })
  })

  await t.test('that were recorded before an endpoint failed for too long are made all the same', async (t) => {
    await app.db.query('delete from event')
    const failing = await createEndpoint(app)
    const before = await recordEvent(app.db)
    await app.db.query(
      `update endpoint set disabled_at = clock_timestamp(), disabled_reason = 'failing' where uid = $1`,
      [failing.id],
    )
    const after = await recordEvent(app.db)
    await fanOut(app.db)
    t.match(await deliveries(app.db, failing), [{ uid: messageUid(before), state: 'waiting' }])
    await disable(app, failing, false)
    const since = new Date(Date.now() - 86_400_000).toISOString()
    const path = `/endpoints/${failing.id}`
    t.strictSame((await hooks(app, 'POST', `${path}/recover`, { since })).body, { queued: 1 })
    t.match(await deliveries(app.db, failing), [{ uid: messageUid(before) }, { uid: messageUid(after) }])
    await hooks(app, 'DELETE', path)
  })

  await t.test('of a user that an endpoint is no longer for are not sent again', async (t) => {
    await app.db.query('delete from event')
    const narrowed = await createEndpoint(app)
    const ofEve = await recordEvent(app.db, { user: eve })
    await fanOut(app.db)
    await end('failed', 10)
    const path = `/endpoints/${narrowed.id}`
    t.equal((await hooks(app, 'PATCH', path, { user_id: ada })).status, 200)
    const since = new Date(Date.now() - 86_400_000).toISOString()
    t.strictSame((await hooks(app, 'POST', `${path}/recover`, { since })).body, { queued: 0 })
    t.equal((await hooks(app, 'POST', `${path}/messages/${ofEve}/resend`)).status, 404)
    await hooks(app, 'DELETE', path)
  })

  await t.test('wake those who deliver', async (t) => {
    const client = await app.db.pool.connect()
    let heard = 0
    client.on('notification', () => {
      heard += 1
    })
    await client.query('listen delivery')
    t.teardown(() => client.release(true))
    const after = async (ask: () => Promise<TestAnswer>) => {
      const before = heard
      await ask()
      // Pending notifications arrive with the next answer on this connection.
      await client.query('select 1')
      return heard > before
    }
    const message = await recordEvent(app.db, { user: ada })
    t.ok(await after(() => hooks(app, 'POST', `/endpoints/${endpoint.id}/test`)))
    t.ok(await after(() => resend(message)))
    t.ok(
      await after(() => hooks(app, 'POST', `/endpoints/${endpoint.id}/recover`, { since: new Date().toISOString() })),
    )
  })
})
