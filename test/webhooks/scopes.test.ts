// Events that say whether they are live or of the past, and endpoints that ask for one of both.
import t from 'tap'
import type { Scope } from '../../server/catalogue/scopes.ts'
import type { Database } from '../../server/db/database.ts'
import { closeSleep } from '../../server/store/sleep/close.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createEndpoint, deliveries, fanOut, hooks, recordEvent } from '../support/endpoints.ts'
import { batchOf, connectedUser, MIN, night, TEN, write } from '../support/given.ts'
import { connectPerson, settled, startPulling, startSimulated } from '../support/people.ts'
import { latestEvent, recordedEvents } from '../support/recorded.ts'
import {
  body,
  createUser,
  heartRate,
  importBody,
  oneEngine,
  record,
  type SdkRecord,
  startImports,
} from '../support/sdk.ts'
import { sleepBody, stage } from '../support/sleep.ts'
import { createEndpoint as storeEndpoint } from '../support/webhooks.ts'

const ON = { outgoingWebhooksEnabled: true }
const FEED = { eventFeedEnabled: true }
const HOOK = 'https://example.org/hook'

/** The events that the work records: kind and scope, and of a night its minutes after ten. */
async function told(app: TestApp, work: () => Promise<unknown>): Promise<string[]> {
  const last = await latestEvent(app)
  await work()
  return (await recordedEvents(app, last)).map(({ type, scope, body }) => {
    if ((body.scope ?? null) !== scope) throw new Error(`${type} says ${body.scope}`)
    const at = (iso: string) => (Date.parse(iso) - TEN) / MIN
    const { start_time, end_time, is_nap } = body.data
    const when = type === 'sleep.created' ? [at(start_time), at(end_time), ...(is_nap ? ['nap'] : [])] : []
    return [type, scope, ...when].join(' ')
  })
}

/** Closes every night, as time does. */
async function endNights({ db, deps }: TestApp): Promise<void> {
  await db.query(`update sleep set changed_at = now() - interval '11 minutes' where closed_at is null`)
  await closeSleep(db, deps.config)
}

const past = { syncType: 'historical' }
const asleep = (from: number, until: number, id: string | null = null) =>
  stage('light', TEN + from * MIN, TEN + until * MIN, { id })
const flow = (day: number, fields: SdkRecord = {}) =>
  record('HKCategoryTypeIdentifierMenstrualFlow', TEN + day * 1_440 * MIN, 2, { id: `flow ${day}`, ...fields })

oneEngine(t, 'what a phone uploads is what the phone says it is', async (t, engine) => {
  const app = await startTestApp(t, engine, FEED)
  await startImports(t, app)
  const user = await createUser(app)
  const sending = (content: Record<string, unknown>) => told(app, () => importBody(app, user, content))
  const rates = (count: number) => Array.from({ length: count }, (_, minute) => heartRate(TEN + minute * MIN, 60))

  t.strictSame(
    await sending(body([...rates(1), flow(1)], past)),
    ['connection.created live', 'menstrual_cycle.created historical', 'heart_rate.created historical'],
    'a connection is opened now, whatever it brings first',
  )
  t.strictSame(await sending(body(rates(2), { syncType: 'live' })), ['heart_rate.created live'])
  t.strictSame(await sending(body(rates(3), { syncType: null })), ['heart_rate.created live'])
  t.strictSame(await sending(body(rates(3), past)), [], 'the same again')
  const ended = () => app.request('DELETE', `/api/v1/users/${user}/connections/apple`)
  t.strictSame(await told(app, ended), ['connection.revoked live'])
})

oneEngine(t, 'a night that live data has touched is live from then on', async (t, engine) => {
  const app = await startTestApp(t, engine, FEED)
  await startImports(t, app)

  await t.test('a night of a phone, which is told when it is closed', async (t) => {
    const user = await createUser(app)
    const night = (stages: SdkRecord[], how: Record<string, unknown> = {}) =>
      told(app, async () => {
        await importBody(app, user, sleepBody(stages, how))
        await endNights(app)
      })
    t.strictSame((await night([asleep(0, 60)], past)).slice(1), ['sleep.created historical 0 60'])
    t.strictSame(await night([asleep(60, 90)]), ['sleep.created live 0 90'])
    t.strictSame(await night([asleep(90, 120)], past), ['sleep.created live 0 120'], 'told to whoever was told before')
    t.strictSame(
      await told(app, async () => {
        await importBody(app, user, sleepBody([asleep(1_440, 1_500)]))
        await importBody(app, user, sleepBody([asleep(1_500, 1_560)], past))
        await endNights(app)
      }),
      ['sleep.created live 1440 1560'],
      'by both before it is closed',
    )
    t.strictSame(
      await night([asleep(2_880, 2_940), asleep(0, 60)], past),
      ['sleep.created historical 2880 2940'],
      'others are what they are',
    )
  })

  await t.test('a night that a provider gave', async (t) => {
    const user = await connectedUser(app)
    const give = (scope: Scope, ...nights: ReturnType<typeof night>[]) =>
      told(app, () => write(app, user, batchOf({ nights }), { feed: true, scope }))
    t.strictSame(await give('historical', night('a', 0, 200)), ['sleep.created historical 0 200'])
    t.strictSame(await give('live', night('a', 0, 200)), [])
    t.strictSame(await give('live', night('a', 0, 210, { version: 2 })), ['sleep.created live 0 210'])
    t.strictSame(await give('historical', night('a', 0, 220, { version: 3 })), ['sleep.created live 0 220'])
  })

  await t.test('of two that become one, either', async (t) => {
    const user = await connectedUser(app)
    const give = (scope: Scope, ...nights: ReturnType<typeof night>[]) =>
      told(app, () => write(app, user, batchOf({ nights }), { feed: true, scope }))
    await give('historical', night('older row', 0, 100), night('far', -2_000, -1_900))
    await give('live', night('newer row', 300, 500))
    t.strictSame(await give('historical', night('far', -2_000, -1_890, { version: 2 }), night('between', 150, 250)), [
      'sleep.created historical -2000 -1890',
      'sleep.created live 0 500',
    ])
  })

  await t.test('at whatever time it turns out to have been', async (t) => {
    const user = await createUser(app)
    const send = (from: number, how: Record<string, unknown>) => {
      const part = stage('light', TEN + from * MIN, TEN + (from + 60) * MIN, { id: 'part', parentId: 'night' })
      return told(app, () => importBody(app, user, sleepBody([part], { provider: 'health_connect', ...how })))
    }
    await send(0, {})
    t.strictSame(await send(120, past), ['sleep.created live 120 180'])
  })

  await t.test('not because of another device that slept at that time', async (t) => {
    const user = await connectedUser(app)
    const give = (scope: Scope, ...nights: ReturnType<typeof night>[]) =>
      told(app, () => write(app, user, batchOf({ nights }), { feed: true, scope }))
    await give('live', night('ring', 0, 400))
    t.strictSame(
      await give('historical', night('ring', 0, 410, { version: 2 }), night('strap', 10, 390, { source: 1 })),
      ['sleep.created live 0 410', 'sleep.created historical 10 390'],
    )
  })

  await t.test('a nap that live data makes one, or a night again', async (t) => {
    const user = await connectedUser(app)
    const give = (scope: Scope, ...nights: ReturnType<typeof night>[]) =>
      told(app, () => write(app, user, batchOf({ nights }), { feed: true, scope }))
    const long = { asleepS: 24_000 }
    t.strictSame(await give('historical', night('nap', 1_140, 1_170)), ['sleep.created historical 1140 1170'])
    t.strictSame(await give('live', night('night', 0, 420, long)), [
      'sleep.created live 0 420',
      'sleep.created live 1140 1170 nap',
    ])
  })

  await t.test('a night of before events had scopes stays without one until live data changes it', async (t) => {
    const user = await connectedUser(app)
    const give = (scope: Scope, ...nights: ReturnType<typeof night>[]) =>
      told(app, () => write(app, user, batchOf({ nights }), { feed: true, scope }))
    await give('historical', night('a', 0, 200))
    await app.db.query('update sleep set scope = null where user_id = $1', [user.userId])
    t.strictSame(await give('historical', night('a', 0, 210, { version: 2 })), ['sleep.created  0 210'])
    t.strictSame(await give('live', night('a', 0, 220, { version: 3 })), ['sleep.created live 0 220'])
  })
})

oneEngine(t, 'what follows from a deletion here', async (t, engine) => {
  const app = await startTestApp(t, engine, FEED)
  await startImports(t, app)
  const removing = (user: string, list: string, id: string) =>
    told(app, () => app.request('DELETE', `/api/v1/users/${user}/events/${list}/${id}`))
  const first = (db: Database, table: 'sleep' | 'menstrual_cycle', user: string) =>
    db.one<{ id: string }>(`select id from ${table} where user_id = $1 order by start_at limit 1`, [user])

  await t.test('happens now', async (t) => {
    const user = await createUser(app)
    const starts = {
      startDate: new Date(TEN + 5 * 1_440 * MIN).toISOString(),
      metadata: { HKMenstrualCycleStart: true },
    }
    const long = flow(1, { endDate: new Date(TEN + 9.5 * 1_440 * MIN).toISOString() })
    await importBody(app, user, body([long, flow(5, starts), flow(9)], past))
    const { id } = await first(app.db, 'menstrual_cycle', user)
    t.strictSame(await removing(user, 'menstrual-cycles', id), ['menstrual_cycle.created live'])
  })

  await t.test('is of the past for a night of the past', async (t) => {
    const user = await connectedUser(app)
    const nights = [night('night', 0, 420, { asleepS: 24_000 }), night('nap', 1_140, 1_170)]
    await write(app, user, batchOf({ nights }), { scope: 'historical' })
    const { id } = await first(app.db, 'sleep', user.userId)
    t.strictSame(await removing(user.userId, 'sleep', id), ['sleep.created historical 1140 1170'])
  })
})

oneEngine(t, 'only what an endpoint of that scope asks for is recorded', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)
  await startImports(t, app)
  let minute = 0
  /** What an upload of each kind records, of a person who is new. */
  const both = async () => {
    const user = await createUser(app)
    const send = (how: Record<string, unknown>) =>
      told(app, async () => {
        minute += 1
        await importBody(app, user, {
          ...body([heartRate(TEN + minute * MIN, 60)], how),
          data: { records: [heartRate(TEN + minute * MIN, 60)], sleep: [asleep(minute * 1_440, minute * 1_440 + 60)] },
        })
        await endNights(app)
      }).then((list) => list.map((one) => one.split(' ').slice(0, 2).join(' ')))
    return [await send(past), await send({})]
  }
  const [connected, rate, sleep] = ['connection.created', 'heart_rate.created', 'sleep.created'] as const
  type Filters = { filterTypes?: string[]; filterScope?: Scope }
  const cases: [endpoints: Filters[], ofPast: string[], ofNow: string[]][] = [
    [[{ filterScope: 'live' }], [`${connected} live`], [`${rate} live`, `${sleep} live`]],
    [[{ filterScope: 'historical' }], [`${rate} historical`, `${sleep} historical`], []],
    [
      [
        { filterScope: 'historical', filterTypes: [rate] },
        { filterScope: 'live', filterTypes: [sleep] },
      ],
      [`${rate} historical`],
      [`${sleep} live`],
    ],
    [
      [{ filterTypes: [rate] }, { filterScope: 'live' }],
      [`${connected} live`, `${rate} historical`],
      [`${rate} live`, `${sleep} live`],
    ],
  ]
  for (const [endpoints, ofPast, ofNow] of cases) {
    await app.db.query('delete from endpoint')
    for (const filters of endpoints) await storeEndpoint(app.db, HOOK, filters)
    t.strictSame(await both(), [ofPast, ofNow], JSON.stringify(endpoints))
  }
})

oneEngine(t, 'an endpoint for one scope', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)
  const live = await createEndpoint(app, { filter_scope: 'live' })
  const all = await createEndpoint(app)
  const [now, past, old] = [
    await recordEvent(app.db, { scope: 'live' }),
    await recordEvent(app.db, { scope: 'historical', type: 'heart_rate.created', samples: 2 }),
    await recordEvent(app.db),
  ]
  await fanOut(app.db)
  const sentTo = async (endpoint: { id: string }) =>
    (await deliveries(app.db, endpoint)).map(({ uid }) => `msg_${uid.replaceAll('-', '')}`)
  const resend = async (endpoint: { id: string }, message: string) =>
    (await hooks(app, 'POST', `/endpoints/${endpoint.id}/messages/${message}/resend`)).status

  await t.test('gets no event of the other, and those of before events had one', async (t) => {
    t.strictSame(await sentTo(live), [now, old])
    t.strictSame(await sentTo(all), [now, past, old])
  })

  await t.test('is sent none of the other again, and none that it missed', async (t) => {
    t.strictSame([await resend(live, past), await resend(live, now), await resend(live, old)], [404, 202, 202])
    await app.db.query(`update endpoint set created_at = now() - interval '3 days', missed = '{(,)}'`)
    await app.db.query('delete from delivery')
    const since = new Date(Date.now() - 3_600_000).toISOString()
    t.match(await hooks(app, 'POST', `/endpoints/${live.id}/recover`, { since }), { status: 202, body: { queued: 2 } })
    t.strictSame(await sentTo(live), [now, old])
  })

  await t.test('that asks for another one waits for nothing of the former', async (t) => {
    const patch = (filter_scope: string | null) =>
      hooks(app, 'PATCH', `/endpoints/${live.id}`, { filter_scope }).then(({ body }) => body.filter_scope)
    t.strictSame([await patch('historical'), await sentTo(live)], ['historical', [old]])
    t.strictSame([await patch(null), await sentTo(live)], [null, [old]])
    t.equal(await resend(live, past), 202)
  })

  await t.test('a message says its scope, after its kind, unless it is of before', async (t) => {
    const shown = async (path: string) => (await hooks(app, 'GET', path)).body.data
    const messages: { id: string; payload: object }[] = await shown('/messages')
    const events: { id: string }[] = await shown('/events')
    t.strictSame(
      [old, past, now].map((id) => {
        const { payload = {} } = messages.find((one) => one.id === id) ?? {}
        return Object.entries(payload).slice(0, -1)
      }),
      [
        [['type', 'workout.created']],
        [
          ['type', 'heart_rate.created'],
          ['scope', 'historical'],
        ],
        [
          ['type', 'workout.created'],
          ['scope', 'live'],
        ],
      ],
    )
    for (const { id, payload } of messages) {
      const { id: _, timestamp, ...event } = (events.find((one) => one.id === id) ?? {}) as Record<string, unknown>
      t.strictSame(event, payload, 'the feed has the same')
    }
  })
})

oneEngine(t, 'what is pulled of the past is historical, and what is pulled now is live', async (t, engine) => {
  const world = { people: 1, days: 20 }
  const { app } = await startSimulated(t, engine, { world, historicalSyncOnConnect: false, ...FEED })
  await startPulling(t, app)
  const user = await createUser(app)
  const scopesOf = async (work: () => Promise<unknown>) => {
    const events = await told(app, async () => {
      await work()
      await settled(app)
    })
    t.ok(events.some((one) => /^sleep/.test(one)))
    return [...new Set(events.map((one) => one.split(' ')[1]))]
  }
  t.strictSame(await scopesOf(() => connectPerson(app, { user, provider: 'whoop', person: 'ana' })), ['live'])
  const path = `/api/v1/providers/whoop/users/${user}/sync/historical?days=20`
  t.strictSame(await scopesOf(() => app.request('POST', path)), ['historical'])
})
