// The common behaviour of all lists of events: pages in both directions, cursors, ETags, and every kind of bad request
// (contract 1.3, 1.4, 1.7, 1.8).
import t from 'tap'
import { workoutTypes } from '../../server/catalogue/workouts.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { allEvents, type EventList, getEvents, workout, workoutBody } from '../support/event-lists.ts'
import { createUser, heartRate, importBody, oneEngine, PHONE, startImports, WATCH } from '../support/sdk.ts'
import { sleepBody, stage } from '../support/sleep.ts'
import { runs } from '../support/thorough.ts'

const MIN = 60_000
const HOUR = 60 * MIN
const DAY = Date.UTC(2026, 1, 24)
const NOBODY = '00000000-0000-4000-8000-000000000000'

const lists: readonly EventList[] = ['workouts', 'sleep', 'menstrual-cycles', 'meals']

let seed = 7
const random = (below: number) => {
  seed = (seed * 48_271) % 2_147_483_647
  return seed % below
}

oneEngine(t, 'lists of events', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await filled(app)
  const other = await filled(app, 8)

  for (const list of lists) {
    await t.test(`pages of ${list} are the list, whichever way one walks`, async (t) => {
      const all = await allEvents(app, user, list)
      t.ok(all.length >= 60, `${all.length} of them`)
      const timeOf = (item: { start_time?: string; timestamp?: string; id: string }) =>
        `${item.start_time ?? item.timestamp} ${item.id}`
      const times = all.map(timeOf)
      t.strictSame(times, [...times].sort().reverse(), 'latest first, then by id')
      t.ok(new Set(times.map((time) => time.slice(0, 20))).size < all.length - 5, 'some start at one instant')

      const wrong: string[] = []
      for (let walk = 0; walk < runs(2, 4); walk += 1) {
        let [from, until] = [0, 0]
        let cursor: string | undefined
        let backward = false
        for (let step = 0; step < runs(16, 30); step += 1) {
          const limit = 1 + random(walk === 0 ? 3 : 25)
          ;[from, until] = backward ? [Math.max(0, from - limit), from] : [until, Math.min(all.length, until + limit)]
          const { status, body } = await getEvents(app, user, list, { limit, cursor })
          const { next_cursor: next, previous_cursor: previous, has_more, total_count } = body.pagination
          const found = [status, has_more, total_count, next !== null, previous !== null, body.data]
          const more = until < all.length
          const expected = [200, more, all.length, more, from > 0, all.slice(from, until)]
          if (JSON.stringify(found) !== JSON.stringify(expected))
            wrong.push(`${from} to ${until}, ${backward ? 'back' : 'on'}: ${JSON.stringify(found)}`)
          backward = next === null || (previous !== null && random(3) === 0)
          cursor = backward ? previous : next
        }
      }
      t.strictSame(wrong, [])
    })
  }

  await t.test('pages stay what they are when something is added behind or ahead', async (t) => {
    const mine = await createUser(app)
    const hourly = (from: number, count: number) =>
      Array.from({ length: count }, (_, n) =>
        workout('running', DAY + (from + n) * HOUR, 30, { id: `run ${from + n}` }),
      )
    await importBody(app, mine, workoutBody(hourly(10, 10)))
    const first = await getEvents(app, mine, 'workouts', { limit: 4 })
    await importBody(app, mine, workoutBody([...hourly(20, 3), ...hourly(5, 2)]))
    const rest = await getEvents(app, mine, 'workouts', { limit: 100, cursor: first.body.pagination.next_cursor })
    const hours = (answer: typeof first) =>
      answer.body.data.map(({ start_time }: { start_time: string }) => (Date.parse(start_time) - DAY) / HOUR)
    t.strictSame([...hours(first), ...hours(rest)], [19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 6, 5])
    t.equal(rest.body.pagination.total_count, 10, 'the total is that of the first page')
    const back = await getEvents(app, mine, 'workouts', { limit: 5, cursor: rest.body.pagination.previous_cursor })
    t.strictSame(hours(back), [20, 19, 18, 17, 16])

    const { previous_cursor: previous } = back.body.pagination
    await app.db.query('delete from workout where user_id = $1 and start_at >= to_timestamp($2)', [
      mine,
      (DAY + 18 * HOUR) / 1000,
    ])
    const start = await getEvents(app, mine, 'workouts', { limit: 5, cursor: previous })
    t.strictSame(hours(start), [17, 16, 15, 14, 13], 'the first page where nothing is left before')
    t.match(start.body.pagination, { previous_cursor: null, has_more: true, total_count: 10 })
    const onward = await getEvents(app, mine, 'workouts', { limit: 5, cursor: start.body.pagination.next_cursor })
    t.strictSame(hours(onward), [12, 11, 10, 6, 5])
    await app.db.query('delete from workout where user_id = $1', [mine])
    const gone = await getEvents(app, mine, 'workouts', { limit: 5, cursor: previous })
    t.match(gone.body, { data: [], pagination: { next_cursor: null, previous_cursor: null, has_more: false } })
  })

  await t.test('the envelope says what was asked', async (t) => {
    for (const list of lists) {
      const { body, headers } = await getEvents(app, await createUser(app), list, {
        start_date: '2026-02-24',
        end_date: '2026-02-24',
      })
      t.equal(headers.get('content-type'), 'application/json; charset=utf-8')
      t.strictSame(body, {
        data: [],
        pagination: { next_cursor: null, previous_cursor: null, has_more: false, total_count: 0 },
        metadata: {
          resolution: null,
          sample_count: 0,
          start_time: '2026-02-24T00:00:00Z',
          end_time: '2026-02-25T00:00:00Z',
        },
      })
    }
    const { body } = await getEvents(app, user, 'workouts', { limit: 3, start_date: '2026-02-24T01:00:00+01:00' })
    t.match(body.metadata, { sample_count: 3, start_time: '2026-02-24T00:00:00Z' })
  })

  await t.test('are 304 until the data changes', async (t) => {
    const mine = await filled(app, 8)
    for (const list of lists) {
      const query = { limit: 3 }
      const first = await getEvents(app, mine, list, query)
      const etag = first.headers.get('etag') ?? ''
      const held = { headers: { 'If-None-Match': `"x", ${etag}` } }
      const again = await getEvents(app, mine, list, query, held)
      t.strictSame([again.status, again.body, again.headers.get('etag')], [304, '', etag], list)
      t.equal((await getEvents(app, mine, list, { limit: 4 }, held)).status, 200, 'another page')
      t.equal((await getEvents(app, mine, list, { ...query, provider: 'apple' }, held)).status, 200)
      const { next_cursor: cursor } = first.body.pagination
      t.equal((await getEvents(app, mine, list, { ...query, cursor }, held)).status, 200)
      t.equal((await getEvents(app, other, list, query, held)).status, 200, 'of another user')
      await importBody(app, mine, workoutBody([], [heartRate(DAY + lists.indexOf(list) * MIN, 60)]))
      const changed = await getEvents(app, mine, list, query, held)
      t.equal(changed.status, 200)
      t.strictSame(changed.body, first.body)
    }
  })

  await t.test('refuse cursors that are not theirs', async (t) => {
    const cursors = await Promise.all(
      lists.map(async (list) => (await getEvents(app, user, list, { limit: 2 })).body.pagination.next_cursor as string),
    )
    for (const [index, list] of lists.entries()) {
      const cursor = cursors[index] as string
      const refused: [object, string][] = [
        [{}, cursors[(index + 1) % lists.length] as string],
        [{ provider: 'apple' }, cursor],
        [{ end_date: '2029-01-01' }, cursor],
        [{}, `prev_${cursor}`],
        [{}, cursor.slice(1)],
        [{}, 'garbage'],
      ]
      for (const [query, wrong] of refused) {
        const { status, body } = await getEvents(app, user, list, { ...query, cursor: wrong })
        t.strictSame([status, body], [400, { detail: `Invalid cursor format: '${wrong}'. Expected 'timestamp|id'.` }])
      }
      t.equal((await getEvents(app, other, list, { cursor })).status, 400, "another user's")
      t.equal((await getEvents(app, user, list, { cursor, limit: 9 })).status, 200)
    }
  })

  await t.test('refuse what cannot be meant', async (t) => {
    const detail = async (path: string, query: Record<string, string | undefined>) => {
      const { status, body } = await getEvents(app, user, path, query)
      t.equal(status, 422)
      return body.detail
    }
    const types = workoutTypes.map((type) => `'${type}'`)
    const expected = `${types.slice(0, -1).join(', ')} or ${types.at(-1)}`
    const wrong: [
      query: Record<string, string | undefined>,
      type: string,
      loc: unknown[],
      msg: string,
      ctx?: object,
    ][] = [
      [{ start_date: undefined }, 'missing', ['start_date'], 'Field required'],
      [{ end_date: undefined }, 'missing', ['end_date'], 'Field required'],
      [{ limit: '0' }, 'greater_than_equal', ['limit'], 'Input should be greater than or equal to 1', { ge: 1 }],
      [{ limit: '1001' }, 'less_than_equal', ['limit'], 'Input should be less than or equal to 1000', { le: 1000 }],
      ...['5.7', 'ten', ''].map((limit): (typeof wrong)[number] => [
        { limit },
        'int_parsing',
        ['limit'],
        'Input should be a valid integer, unable to parse string as an integer',
      ]),
      [{ type: 'jogging' }, 'enum', ['type'], `Input should be ${expected}`, { expected }],
      [
        { include: 'laps' },
        'enum',
        ['include', 0],
        `Input should be 'zones' or 'segments'`,
        { expected: `'zones' or 'segments'` },
      ],
      [{ provider: 'Apple' }, 'enum', ['provider'], ''],
      [
        { data_source_id: 'abc' },
        'uuid_parsing',
        ['data_source_id'],
        'Input should be a valid UUID, invalid length: expected length 32 for simple format, found 3',
        { error: 'invalid length: expected length 32 for simple format, found 3' },
      ],
      [{ is_nap: 'true' }, 'extra_forbidden', ['is_nap'], 'Extra inputs are not permitted'],
    ]
    for (const [query, type, loc, msg, ctx] of wrong) {
      const [[name = '', input] = []] = Object.entries(query)
      const [issue, ...more] = await detail('workouts', query)
      t.strictSame(more, [])
      t.match(issue, { type, loc: ['query', ...loc], ...(msg && { msg }), ...(ctx && { ctx }) }, name)
      t.equal(issue.input, input ?? null)
    }
    const [nap] = await detail('sleep', { is_nap: 'perhaps' })
    t.match(nap, {
      type: 'bool_parsing',
      loc: ['query', 'is_nap'],
      msg: 'Input should be a valid boolean, unable to interpret input',
      input: 'perhaps',
    })
    t.match(await detail('sleep', { include: 'zones' }), [{ type: 'enum', msg: `Input should be 'stages'` }])
    t.match(await detail('workouts/totals', { limit: '5' }), [{ type: 'extra_forbidden' }])
    t.match(await detail('meals', { include: 'stages' }), [{ type: 'extra_forbidden' }])

    const all = await app.request('GET', '/api/v1/users/me/events/workouts?limit=x&end_date=2026-02-24&types=running')
    t.equal(all.status, 422)
    t.strictSame(
      all.body.detail.map(({ loc }: { loc: unknown[] }) => loc),
      [
        ['path', 'user_id'],
        ['query', 'start_date'],
        ['query', 'limit'],
        ['query', 'types'],
      ],
      'all at once, path first',
    )
    for (const list of lists) {
      for (const query of [{ start_date: 'soon' }, { end_date: '2026-02-30' }, { start_date: '2026-W09-2' }]) {
        const [value] = Object.values(query)
        const { status, body } = await getEvents(app, user, list, query)
        t.strictSame(
          [status, body],
          [400, { detail: `Invalid datetime format: '${value}'. Expected ISO 8601 format or Unix timestamp.` }],
        )
      }
    }
  })

  await t.test('are of no user that is not there, and of nobody who may not read', async (t) => {
    const paths = [...lists, 'workouts/types', 'workouts/totals', 'sleep/totals']
    for (const path of paths) {
      const query = path.endsWith('types') ? { start_date: undefined, end_date: undefined } : {}
      const { status, body } = await getEvents(app, NOBODY, path, query)
      t.strictSame([status, body], [404, { detail: `User with ID: ${NOBODY} not found.` }], path)
      t.equal((await getEvents(app, user, path, query, { auth: 'none' })).status, 401)
      t.equal((await getEvents(app, user, path, query, { auth: 'developer' })).status, 200)
      const sdk = await getEvents(app, user, path, query, { auth: { bearer: await app.sdkToken(user) } })
      t.equal(sdk.status, 401, 'a phone does not read')
    }
  })
})

/**
 * A user with this many workouts and nights, and per source thirty events of the other kinds, several at one instant.
 */
async function filled(app: TestApp, count = 100): Promise<string> {
  const user = await createUser(app)
  const workouts = Array.from({ length: count }, (_, n) =>
    workout('running', DAY + (n >> 2) * HOUR, 10 + (n & 3), { id: `run ${n}`, source: n & 1 ? WATCH : PHONE }),
  )
  const nights = Array.from({ length: count }, (_, n) => {
    const start = DAY - (n >> 1) * 20 * HOUR
    return stage('light', start, start + (1 + (n & 1)) * HOUR, { id: `stage ${n}`, parentId: `night ${n}` })
  })
  await importBody(app, user, workoutBody(workouts))
  await importBody(app, user, sleepBody(nights, { provider: 'health_connect' }))
  for (const [table, columns] of [
    ['menstrual_cycle', 'external_id, provider'],
    ['meal', 'external_id, provider'],
  ]) {
    await app.db.query(
      `insert into ${table} (user_id, source_id, ${columns}, start_at, end_at)
       select $1, d.id, n::text, d.provider, at, at + interval '1 day'
       from data_source d, generate_series(1, 30) n,
            lateral (select timestamptz '2026-02-01' - (n / 2) * interval '1 day' as at) a
       where d.user_id = $1
       on conflict (user_id, provider, external_id) do nothing`,
      [user],
    )
  }
  return user
}
