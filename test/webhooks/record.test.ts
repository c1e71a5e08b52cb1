// The events recorded for developers: every change, complete, and nothing else (contract 10.1 to 10.4).
import { readdir, readFile } from 'node:fs/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { EventName } from '../../server/catalogue/events.ts'
import { type SeriesType, seriesByName } from '../../server/catalogue/series.ts'
import type { Database } from '../../server/db/database.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { replay } from '../../server/intake/uploads/replay.ts'
import { closeSleep } from '../../server/store/sleep/close.ts'
import { zoneText } from '../../server/time.ts'
import { exampleData } from '../../server/webhooks/examples.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { latestEvent, type RecordedEvent, recordedEvents } from '../support/recorded.ts'
import {
  body,
  createUser,
  heartRate,
  importBody,
  oneEngine,
  record,
  type SdkRecord,
  startImports,
  storedSamples,
  upload,
} from '../support/sdk.ts'
import { sleepBody, stage } from '../support/sleep.ts'
import { runs } from '../support/thorough.ts'
import { createEndpoint } from '../support/webhooks.ts'

const ON = { outgoingWebhooksEnabled: true }
const HOOK = 'https://example.org/hook'

const START = Date.parse('2026-02-01T00:00:00Z')
const minutes = (count: number, device?: object) =>
  Array.from({ length: count }, (_, minute) =>
    heartRate(START + minute * 60_000, 60 + (minute % 90), device && { source: device }),
  )

/** A sample in one line, from a row or from an event. */
const line = (type: string, ts: string, value: number, zone: string | null, device: string | null, daily: unknown) =>
  `${type} ${Date.parse(ts)} ${value} ${zone} ${device} ${daily}`

const sampleLines = (events: readonly RecordedEvent[]): string[] =>
  events.flatMap(({ body: { data } }) =>
    // biome-ignore lint/suspicious/noExplicitAny: the shape is checked by comparing
    (data.samples ?? []).map((one: any) =>
      line(one.type, one.timestamp, one.value, one.zone_offset, one.source.device, one.is_daily_total),
    ),
  )

const ADDITIVE = 'select type from series_type where aggregation = $1'

async function rowLines(db: Database, user: string): Promise<Set<string>> {
  const additive = new Set((await db.query<{ type: string }>(ADDITIVE, ['sum'])).map(({ type }) => type))
  // Implausible values are stored, but in no event.
  const rows = (await storedSamples(db, user)).filter(({ type, value }) => {
    const { lowest, highest } = seriesByName.get(type) as SeriesType
    return value >= lowest && value <= highest
  })
  return new Set(
    rows.map(({ ts, type, value, zone, device, source, daily }) => {
      const said = line(
        type,
        ts,
        value,
        zone === null ? null : zoneText(zone),
        device || null,
        additive.has(type) ? daily : null,
      )
      return `${source}|${said}`
    }),
  )
}

/** The first differences of two lists, by position: comparing thousands of lines in one assertion takes seconds. */
const firstDifferences = (found: string[], wanted: string[]): (string | undefined)[][] =>
  Array.from({ length: Math.max(found.length, wanted.length) }, (_, place) => [found[place], wanted[place]])
    .filter(([one, other]) => one !== other)
    .slice(0, 5)

oneEngine(t, 'samples are told in events of at most 2,500 and less than 1 MB', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)
  await startImports(t, app)
  await createEndpoint(app.db, HOOK)
  const long = { name: '腕'.repeat(100), deviceModel: '手'.repeat(100), deviceType: 'watch' }
  const cases: [records: number, device: object | undefined, chunks: number | undefined][] = [
    [1, undefined, 1],
    [2_500, undefined, 1],
    [2_501, undefined, 2],
    [runs(5_001, 100_000), undefined, runs(3, 40)],
    [2_501, long, 2],
    [runs(4_000, 20_000), long, undefined],
  ]
  for (const [count, device, chunks] of cases) {
    const user = await createUser(app)
    const before = await latestEvent(app)
    await importBody(app, user, body(minutes(count, device)))
    const events = (await recordedEvents(app, before)).filter(({ type }) => type === 'heart_rate.created')
    const name = `${count} samples${device ? ' of a device with a long name' : ''}`
    if (chunks) t.equal(events.length, chunks, name)
    else t.ok(events.length >= runs(3, 8), name)
    t.ok(
      events.every(({ bytes }) => bytes < 1_000_000),
      `${name}: at most ${Math.max(...events.map(({ bytes }) => bytes))} bytes`,
    )
    const told = sampleLines(events)
    const stored = [...(await rowLines(app.db, user))].map((one) => one.slice(one.indexOf('|') + 1))
    t.equal(stored.length, count)
    t.strictSame(firstDifferences(told, stored), [], `${name}: all of them, ascending`)
    for (const [index, { body }] of events.entries()) {
      const { samples, sample_count, start_time, end_time, chunk_index, total_chunks, ...rest } = body.data
      t.match(rest, { user_id: user, provider: 'apple', series_type: 'heart_rate' })
      t.equal(sample_count, count)
      t.equal(start_time, samples[0].timestamp)
      t.equal(end_time, samples.at(-1).timestamp)
      t.strictSame(
        [chunk_index, total_chunks],
        events.length > 1 ? [index, events.length] : [undefined, undefined],
        'which part it is',
      )
    }
  }
})

/** A user's data of every kind that has events, as far as events show it. */
interface Held {
  samples: Set<string>
  rows: Map<string, string>
}

async function held({ db }: TestApp, user: string): Promise<Held> {
  const rows = await db.query<{ kind: string; id: string; content: string }>(
    `select 'workout' as kind, id, '' as content from workout where user_id = $1
     union all select 'meal', id, '' from meal where user_id = $1
     union all select 'menstrual_cycle', id, '' from menstrual_cycle where user_id = $1
     union all select 'activity', id, '' from activity where user_id = $1
     union all
     select 'sleep', id, (to_jsonb(s) - array['changed_at', 'closed_at', 'created_at', 'scope'])::text
     from sleep s where user_id = $1`,
    [user],
  )
  return {
    samples: await rowLines(db, user),
    rows: new Map(rows.map(({ kind, id, content }) => [`${kind}.created ${id}`, content])),
  }
}

/** Closes every night, as time does. */
async function endNights({ db, deps }: TestApp): Promise<void> {
  await db.query(`update sleep set changed_at = now() - interval '11 minutes' where closed_at is null`)
  await db.query(`update sleep set end_at = end_at where closed_at is null`)
  await closeSleep(db, deps.config)
}

/** The difference between two states must equal the events recorded in between. */
function compare(t: Test, before: Held, after: Held, events: readonly RecordedEvent[], name: string): void {
  const changedSamples = [...after.samples].filter((one) => !before.samples.has(one))
  const wanted = changedSamples.map((one) => one.slice(one.indexOf('|') + 1)).sort()
  t.strictSame(firstDifferences(sampleLines(events).sort(), wanted), [], `${name}: samples`)
  const changedRows = [...after.rows].filter(([key, content]) => before.rows.get(key) !== content).map(([key]) => key)
  const told = events.flatMap(({ type, body }) => (body.data.id ? [`${type} ${body.data.id}`] : []))
  t.strictSame(told.sort(), changedRows.sort(), `${name}: rows`)
}

type Items = Record<'records' | 'sleep' | 'workouts', SdkRecord[]>

async function sampleBodies(): Promise<{ name: string; provider: string; data: Items }[]> {
  const folder = new URL('../samples/', import.meta.url)
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json') && name !== 'sdk-logs-request.json')
  return Promise.all(
    names.sort().map(async (name) => ({ name, ...JSON.parse(await readFile(new URL(name, folder), 'utf8')) })),
  )
}

const HOUR_MS = 3_600_000
const FLOWS: Record<string, string> = {
  apple: 'HKCategoryTypeIdentifierMenstrualFlow',
  health_connect: 'MENSTRUATION_FLOW',
}

/** Flow on a day of February, counted from 1. */
const flow = (day: number, fields: SdkRecord = {}, provider = 'apple') =>
  record(FLOWS[provider] ?? '', START + (day - 1) * 24 * HOUR_MS + 8 * HOUR_MS, 2, { id: `flow ${day}`, ...fields })

/** Light sleep between two hours of February. */
const asleep = (id: string, from: number, until: number, parentId: string | null) =>
  stage('light', START + from * HOUR_MS, START + until * HOUR_MS, { id, parentId })

/** Data that splits or changes kind when something is deleted: flow every other day, nights and naps in parts. */
function fragile(provider: 'apple' | 'health_connect'): { name: string; provider: string; data: Items } {
  const parts = [-2, 0.5, 3, 12, 13.1].flatMap((from, part) =>
    [24, 48].map((day) => {
      const kind = from < 12 ? 'night' : 'nap'
      const hours = kind === 'night' ? 0.75 : 1
      const parent = provider === 'apple' ? null : `${kind} ${day}`
      return asleep(`${day} ${part}`, day + from, day + from + hours, parent)
    }),
  )
  const days = [1, 3, 5, 7, 9, 20, 22]
  const data = { records: days.map((day) => flow(day, {}, provider)), sleep: parts, workouts: [] }
  return { name: `what falls apart of ${provider}`, provider, data }
}

oneEngine(t, 'rows change if and only if an event tells of it', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)
  await startImports(t, app)
  await createEndpoint(app.db, HOOK)
  const bodies = await sampleBodies()

  for (const sample of bodies) {
    const user = await createUser(app)
    let last = await latestEvent(app)
    const nothing = await held(app, user)
    await importBody(app, user, sample)
    await endNights(app)
    const first = await recordedEvents(app, last)
    const stored = await held(app, user)
    compare(t, nothing, stored, first, sample.name)
    t.ok(first.every((event) => event.user_id === user && event.body.data.user_id === user))
    t.equal(first[0]?.type, 'connection.created')
    for (const { type, body } of first) {
      const { chunk_index, total_chunks, ...data } = body.data
      const shown = JSON.parse(exampleData(type as EventName))
      t.strictSame(Object.keys(data).sort(), Object.keys(shown).sort(), `${type} has the fields of its example`)
    }
    t.equal(new Set(first.map(({ key }) => key)).size, first.length, 'each tells of something else')
    last = first.at(-1)?.id ?? last
    await importBody(app, user, JSON.stringify(sample, null, 2))
    await endNights(app)
    t.strictSame(await recordedEvents(app, last), [], `${sample.name} again: nothing changed`)
  }

  // Parts of them, with other values, in any order, with deletions of earlier and later items; mostly of data that
  // splits.
  const loose = [fragile('apple'), fragile('health_connect')]
  const all = Array.from({ length: 12 }, () => true)
  const nothing = all.map(() => false)
  const steps = fc.array(
    fc.oneof(
      fc.record({
        body: fc.constantFrom(...bodies),
        take: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
        add: fc.constantFrom(0, 0, 1, 2.5),
        remove: fc.array(fc.nat(), { maxLength: 4 }),
        user: fc.nat(1),
      }),
      {
        weight: 2,
        arbitrary: fc.record({
          body: fc.constantFrom(...loose),
          take: fc.constantFrom(nothing, nothing, all),
          add: fc.constant(0),
          remove: fc.array(fc.nat(99), { minLength: 2, maxLength: 4 }),
          user: fc.constant(0),
        }),
      },
    ),
    { minLength: 6, maxLength: 6 },
  )
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      const users = [await createUser(app), await createUser(app)]
      const first = loose.map((body) => ({ body, take: all, add: 0, remove: [], user: 0 }))
      for (const { body, take, add, remove, user } of [...first, ...steps]) {
        const { data, ...envelope } = body
        const id = users[user] as string
        const some = (items: SdkRecord[] = []) =>
          items
            .filter((_, at) => take[at % take.length])
            .map((item) => (typeof item?.value === 'number' ? { ...item, value: item.value + add } : item))
        // A night that one batch extends and shortens again gets an event, though it is the same as before.
        const coming = new Set(some(data.sleep))
        const kept = (data.sleep ?? []).filter((item) => !coming.has(item))
        const ids = [...(data.records ?? []), ...kept, ...(data.workouts ?? [])].map((item) => item?.id)
        const before = await held(app, id)
        const last = await latestEvent(app)
        await importBody(app, id, {
          ...envelope,
          data: {
            records: some(data.records),
            sleep: some(data.sleep),
            workouts: some(data.workouts),
            deleted: remove.flatMap((at) => (ids.length > 0 ? [{ id: ids[at % ids.length] }] : [])),
          },
        })
        await endNights(app)
        const events = await recordedEvents(app, last)
        const opened = events.filter(({ type }) => type === 'connection.created')
        t.ok(opened.length <= 1)
        compare(t, before, await held(app, id), events, `a part of ${envelope.name}`)
      }
    }),
    { numRuns: runs(2, 60), seed: 20_261_122 },
  )
})

oneEngine(t, 'a sample that changes and keeps its zone is told with the zone that is stored', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)
  await startImports(t, app)
  await createEndpoint(app.db, HOOK)
  const user = await createUser(app)
  const beat = (hour: number, value: number, zoneOffset: string | null) =>
    heartRate(START + hour * HOUR_MS, value, { zoneOffset })
  await importBody(app, user, body([beat(8, 60, null), beat(9, 61, '+01:00')]))
  const last = await latestEvent(app)
  await importBody(
    app,
    user,
    body([beat(8, 70, null), beat(9, 61, '+01:00'), beat(10, 62, null), beat(12, 63, '-05:00')]),
  )
  const stored = (await storedSamples(app.db, user)).map(({ value, zone }) => `${value} ${zone && zoneText(zone)}`)
  t.strictSame(stored, ['70 +01:00', '61 +01:00', '62 +01:00', '63 -05:00'])
  const told = (await recordedEvents(app, last)).flatMap(({ body: { data } }) => data.samples)
  t.strictSame(
    told.map(({ value, zone_offset }) => `${value} ${zone_offset}`),
    stored.filter((line) => !line.startsWith('61 ')),
  )
  const before = await latestEvent(app)
  await importBody(app, user, body([beat(8, 71, null), beat(12, 63, '-05:00')]))
  const [again] = (await recordedEvents(app, before)).flatMap(({ body: { data } }) => data.samples)
  t.match(again, { value: 71, zone_offset: '+01:00' }, 'whatever is known nearby now')
})

oneEngine(t, 'what follows from a deletion is told, and a night that becomes a nap', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)
  await startImports(t, app)
  await createEndpoint(app.db, HOOK)
  /** The rows in the events that the work records: the event, and its hours. */
  const told = async (work: () => Promise<unknown>) => {
    const last = await latestEvent(app)
    await work()
    const hours = (iso: string) => (Date.parse(iso) - START) / HOUR_MS
    return (await recordedEvents(app, last))
      .filter(({ type }) => type !== 'connection.created')
      .map(({ type, body: { data } }) =>
        [type, hours(data.start_time), hours(data.end_time), ...(data.is_nap ? ['nap'] : [])].join(' '),
      )
  }
  const importing = (user: string, content: object) => told(() => importBody(app, user, content))
  const deleting = (user: string, ids: string[], provider = 'apple', records: SdkRecord[] = []) =>
    importing(user, body([], { provider, data: { records, deleted: ids.map((id) => ({ id })) } }))
  const removing = (user: string, list: string, id: string) =>
    told(async () => t.equal((await app.request('DELETE', `/api/v1/users/${user}/events/${list}/${id}`)).status, 204))
  const ids = (table: 'sleep' | 'menstrual_cycle', user: string) =>
    app.db
      .query<{ id: string }>(`select id from ${table} where user_id = $1 order by start_at`, [user])
      .then((rows) => rows.map(({ id }) => id))

  await t.test('a cycle that is divided is two, of which one is new', async (t) => {
    const user = await createUser(app)
    t.strictSame(await importing(user, body([1, 3, 5].map((day) => flow(day)))), ['menstrual_cycle.created 0 120'])
    t.strictSame(await deleting(user, ['flow 3']), ['menstrual_cycle.created 96 120'])
    t.strictSame(await deleting(user, ['flow 1']), [], 'the other stays')
    const again = await deleting(
      user,
      ['flow 5'],
      'apple',
      [1, 3, 5, 9].map((day) => flow(day)),
    )
    t.strictSame(again, ['menstrual_cycle.created 192 216'], 'what one upload brings and divides is told once')
  })

  await t.test('a cycle that is deleted leaves another one behind', async (t) => {
    const user = await createUser(app)
    const starts = {
      metadata: { HKMenstrualCycleStart: true },
    }
    const long = flow(1, { endDate: new Date(START + 9.5 * 24 * HOUR_MS).toISOString() })
    t.strictSame(await importing(user, body([long, flow(5, starts), flow(9)])), [
      'menstrual_cycle.created 0 96',
      'menstrual_cycle.created 96 240',
    ])
    const [first = ''] = await ids('menstrual_cycle', user)
    t.strictSame(await removing(user, 'menstrual-cycles', first), ['menstrual_cycle.created 192 216'])
  })

  await t.test('a session that the platform gave is shorter', async (t) => {
    const user = await createUser(app)
    const parts = [0, 1, 2].map((part) => asleep(`n-s${part}`, 22 + part, 23 + part, 'n'))
    const send = (stages: SdkRecord[], provider = 'health_connect') => importing(user, sleepBody(stages, { provider }))
    t.strictSame(await send(parts), ['sleep.created 22 25'])
    t.strictSame(await deleting(user, ['n-s2'], 'health_connect'), ['sleep.created 22 24'])
    t.strictSame(await deleting(user, ['n'], 'health_connect'), [], 'what is gone is not told')
  })

  await t.test('a night of the day makes a nap of what was told as a night, and back', async (t) => {
    const user = await createUser(app)
    const nap = asleep('nap', 36, 37, 'nap')
    const night = asleep('night', 23, 30, 'night')
    const send = (stages: SdkRecord[]) => importing(user, sleepBody(stages, { provider: 'health_connect' }))
    t.strictSame(await send([nap]), ['sleep.created 36 37'])
    t.strictSame(await send([night]), ['sleep.created 23 30', 'sleep.created 36 37 nap'])
    t.strictSame(await deleting(user, ['night'], 'health_connect'), ['sleep.created 36 37'])
    t.strictSame(await send([night]), ['sleep.created 23 30', 'sleep.created 36 37 nap'])
    t.strictSame(await removing(user, 'sleep', (await ids('sleep', user))[0] ?? ''), ['sleep.created 36 37'])
    const events = (await recordedEvents(app)).filter(({ user_id, type }) => user_id === user && /^sleep/.test(type))
    t.equal(new Set(events.map(({ key }) => key)).size, 7, 'each tells of something else')
  })

  await t.test('what follows from gaps is told when it is closed, and when it becomes a nap afterwards', async (t) => {
    const user = await createUser(app)
    const closing = () => told(() => endNights(app))
    const send = (stages: SdkRecord[]) => importing(user, sleepBody(stages))
    const [nap, more] = [asleep('nap', 36, 37, null), asleep('more', 37, 37.5, null)]
    t.strictSame([await send([nap]), await closing()], [[], ['sleep.created 36 37']])
    const night = asleep('night', 23, 30, null)
    t.strictSame([await send([night]), await closing()], [['sleep.created 36 37 nap'], ['sleep.created 23 30']])
    t.strictSame([await deleting(user, ['night']), await closing()], [['sleep.created 36 37'], []])
    t.strictSame(
      [await send([night, more]), await closing()],
      [[], ['sleep.created 23 30', 'sleep.created 36 37.5 nap']],
      'one that is open again is told once',
    )
    t.strictSame([await deleting(user, ['more']), await closing()], [[], ['sleep.created 36 37 nap']])
  })

  await t.test('the same again tells nothing', async (t) => {
    const user = await createUser(app)
    const content = fragile('health_connect')
    await importBody(app, user, content)
    const uploads = await app.db.query<{ id: string }>('select id from upload where user_id = $1', [user])
    const before = await held(app, user)
    const again = await told(async () => {
      await importBody(app, user, JSON.stringify(content, null, 2))
      await replay(
        { db: app.db, threads: app.threads(), settings: app.deps.config },
        { batch: uploads[0]?.id ?? '', user: null, from: null, to: null },
        true,
        () => {},
      )
    })
    t.strictSame(again, [])
    t.strictSame(await held(app, user), before)
  })
})

oneEngine(t, 'only what somebody asks for is recorded', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)
  await startImports(t, app)
  const records = minutes(3)
  const names = async (user: string, content: unknown) => {
    const last = await latestEvent(app)
    await importBody(app, user, content)
    return (await recordedEvents(app, last)).map(({ type }) => type)
  }
  const [one, other] = [await createUser(app), await createUser(app)]
  t.strictSame(await names(one, body(records)), [], 'no endpoint')

  const ofOther = await createEndpoint(app.db, HOOK, { userId: other })
  t.strictSame(await names(one, body(minutes(4))), [], 'an endpoint of another user')
  t.strictSame(await names(other, body(records)), ['connection.created', 'heart_rate.created'])
  await app.db.query('delete from endpoint where id = $1', [ofOther.id])

  await createEndpoint(app.db, HOOK, { filterTypes: ['steps.created', 'sleep.created'] })
  t.strictSame(await names(one, body(minutes(5))), [], 'an endpoint for other events')
  await createEndpoint(app.db, HOOK, { filterTypes: ['heart_rate.created'], disabledReason: 'by_hand' })
  t.strictSame(await names(one, body(minutes(6))), [], 'one that was switched off')
  await createEndpoint(app.db, HOOK, { filterTypes: ['heart_rate.created'], disabledReason: 'failing' })
  t.strictSame(await names(one, body(minutes(7))), ['heart_rate.created'], 'one that may recover what it misses')

  const off = await startTestApp(t, engine)
  await startImports(t, off)
  await createEndpoint(off.db, HOOK)
  const user = await createUser(off)
  await importBody(off, user, body(records))
  t.strictSame(await recordedEvents(off), [], 'webhooks are off')

  const feed = await startTestApp(t, engine, { eventFeedEnabled: true })
  await startImports(t, feed)
  await importBody(feed, await createUser(feed), body(records))
  t.equal((await recordedEvents(feed)).length, 2, 'the feed has everything')
})

oneEngine(t, 'a connection that ends while its first import is committed is told to have ended', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)
  await createEndpoint(app.db, HOOK)
  const user = await createUser(app)
  // The upload is queued, and its import has not committed yet.
  await upload(app, user, body(minutes(1)))
  const importer = await app.db.pool.connect()
  await importer.query('begin')
  await importer.query(`insert into connection (user_id, provider) values ($1, 'apple')`, [user])
  const ending = app.request('DELETE', `/api/v1/users/${user}/connections/apple`)
  const waiting = `select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into connection%'`
  t.ok(await waitUntil(async () => (await app.db.query(waiting)).length > 0, 10_000, 5))
  await importer.query('commit')
  importer.release()
  t.equal((await ending).status, 204)
  t.strictSame(
    (await recordedEvents(app)).map(({ type }) => type),
    ['connection.revoked'],
  )
})

oneEngine(t, 'a connection that opens and ends is told', async (t, engine) => {
  const app = await startTestApp(t, engine, ON)
  await startImports(t, app)
  await createEndpoint(app.db, HOOK)
  const user = await createUser(app)
  const path = `/api/v1/users/${user}/connections/apple`
  const kinds = async () =>
    (await recordedEvents(app)).map(({ type }) => type).filter((type) => /^connection/.test(type))
  await importBody(app, user, body(minutes(1)))
  await importBody(app, user, body(minutes(2)))
  t.strictSame(await kinds(), ['connection.created'], 'once')
  t.equal((await app.request('DELETE', path)).status, 204)
  t.equal((await app.request('DELETE', path)).status, 204)
  t.strictSame(await kinds(), ['connection.created', 'connection.revoked'], 'once')
  await importBody(app, user, body(minutes(3)))
  t.strictSame(await kinds(), ['connection.created', 'connection.revoked', 'connection.created'])
  const [created, revoked] = (await recordedEvents(app)).filter(({ type }) => /^connection/.test(type))
  const { id } = (await app.request('GET', `/api/v1/users/${user}/connections`)).body[0]
  t.match(created?.body.data, { user_id: user, provider: 'apple', connection_id: id })
  t.match(revoked?.body.data, { user_id: user, provider: 'apple', connection_id: id, reason: 'user_disconnected' })
  t.ok(Date.parse(created?.body.data.connected_at) <= Date.parse(revoked?.body.data.revoked_at))

  t.equal((await app.request('DELETE', `${path}/data`)).status, 204)
  t.strictSame(
    (await recordedEvents(app)).map(({ type }) => type),
    ['connection.created', 'connection.revoked', 'connection.created', 'connection.revoked'],
    'what is purged is not told any more, only that it ended',
  )
})
