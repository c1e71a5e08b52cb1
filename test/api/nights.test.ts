// Nights that people believe: several sources, naps, copies and fragments, as phones upload them (contract 12.4, 12.8).
import t from 'tap'
import { computeSleepScores } from '../../server/scores/compute-sleep.ts'
import { startTestApp } from '../support/app.ts'
import { allEvents, getEvents } from '../support/event-lists.ts'
import { createUser, importBody, iso, oneEngine, PHONE, type SdkRecord, startImports } from '../support/sdk.ts'
import { sleepBody, stage, storedStages } from '../support/sleep.ts'
import { summary } from '../support/summaries.ts'

const HOUR_MS = 3_600_000
/** Midnight UTC before the morning on which the nights end. */
const MIDNIGHT = Date.UTC(2026, 2, 4)
const RING = { name: 'Ring of Ada', deviceModel: 'Gen3', deviceType: 'ring' }
const APP = { name: 'Sleep Cycle', deviceModel: 'iPhone17,1', deviceType: 'phone' }

/** A stage by hours of the local day, negative ones on the evening before. */
const at = (name: string, from: number, until: number, fields: SdkRecord = {}) =>
  stage(name, MIDNIGHT + from * HOUR_MS, MIDNIGHT + until * HOUR_MS, fields)

/** The same three days later for each place in a list, under an id of its own. */
function later(one: SdkRecord, place: number): SdkRecord {
  const moved = (time: unknown) => iso(Date.parse(time as string) + place * 72 * HOUR_MS)
  const named = (id: unknown) => (id === null ? null : `${place}.${id}`)
  const { id, parentId, startDate, endDate } = one
  return { ...one, id: named(id), parentId: named(parentId), startDate: moved(startDate), endDate: moved(endDate) }
}
const dayLater = (place: number) => iso(MIDNIGHT + place * 72 * HOUR_MS).slice(0, 10)

interface Night {
  duration_minutes: number
  start_time: string
  source: { device_type: string }
  sessions: { start_time: string }[]
}

const clock = (time: string) => time.slice(11, 16)

oneEngine(t, 'nights', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const send = (user: string, stages: SdkRecord[], provider = 'apple') =>
    importBody(app, user, sleepBody(stages, { provider }))
  const read = async (user: string, from = '2026-03-04', to = from) =>
    (await summary(app, user, 'sleep', { start_date: from, end_date: to })).body.data
  /** The sessions that a row counts, the list with filter_by_priority shows and the totals add up, which are the same. */
  const counting = async (user: string, from?: string, to?: string) => {
    const sessions = (await read(user, from, to)).flatMap(
      (row: { sessions: { start_time: string; is_nap: boolean }[] }) =>
        row.sessions.map(({ start_time, is_nap }) => `${clock(start_time)}${is_nap ? ' nap' : ''}`),
    )
    const best = { filter_by_priority: true }
    const listed = (await allEvents(app, user, 'sleep', best)).map(
      ({ start_time, is_nap }) => `${clock(start_time)}${is_nap ? ' nap' : ''}`,
    )
    const { body } = await getEvents(app, user, 'sleep/totals', best)
    if (JSON.stringify(listed.reverse()) !== JSON.stringify(sessions) || body.count !== sessions.length)
      throw new Error(`summary ${sessions}, list ${listed}, ${body.count} in total`)
    return sessions
  }

  await t.test('a nap that the watch saw does not replace the night of the ring', async (t) => {
    const nap = at('light', 13, 13 + 1 / 3)
    const ways: SdkRecord[][][] = [
      [[nap], [at('light', -1, 6.5, { parentId: 'night' })]],
      [[at('light', -1, 6.5, { source: RING }), nap]],
    ]
    for (const [place, [first, second]] of ways.entries()) {
      const user = await createUser(app)
      await send(user, first as SdkRecord[])
      if (second) {
        t.match(await read(user), [{ duration_minutes: 20, nap_count: 0 }], 'while it is all the sleep of the day')
        await send(user, second, 'samsung')
      }
      t.match(await read(user), [
        { source: second ? { provider: 'samsung' } : { device_type: 'ring' }, duration_minutes: 450, nap_count: 0 },
      ])
      t.strictSame(await counting(user), ['23:00'], `${place}`)
      t.strictSame(
        (await allEvents(app, user, 'sleep')).map(({ is_nap }) => is_nap),
        [true, false],
      )
    }
    const user = await createUser(app)
    await send(user, [at('light', -1, 6.5, { parentId: 'night' })], 'samsung')
    await send(user, [nap])
    t.strictSame(await counting(user), ['23:00'], 'in any order of arrival')
    t.equal((await app.request('DELETE', `/api/v1/users/${user}/connections/samsung/data`)).status, 204)
    t.strictSame(await counting(user), ['13:00'], 'until the ring has no data left')
    t.match(await read(user), [{ duration_minutes: 20, nap_count: 0 }])
  })

  await t.test('naps of the source of the night belong to it, and those of others do not', async (t) => {
    const user = await createUser(app)
    await send(user, [
      at('light', -1, 6),
      at('light', 14, 14.5),
      ...[at('light', -1, 6.25), at('light', 15, 15.5)].map((one) => ({ ...one, source: RING })),
    ])
    t.match(await read(user), [{ source: { device_type: 'watch' }, nap_count: 1, nap_duration_minutes: 30 }])
    t.strictSame(await counting(user), ['23:00', '14:00 nap'])
  })

  await t.test('a source counts that recorded at least half of the night', async (t) => {
    const watch = (from: number, until: number) => at('light', from, until)
    const ring = (from: number, until: number) => at('light', from, until, { source: RING })
    const night = [ring(-1, 6.5)]
    const cases: [what: string, stages: SdkRecord[], minutes: number, start: string, type: string][] = [
      ['a siesta of another source is not the night', [...night, watch(13, 16.5)], 450, '23:00', 'ring'],
      ['however long it is', [...night, watch(12, 18)], 450, '23:00', 'ring'],
      ['also beside a short night', [ring(2, 5.5), watch(13, 17)], 210, '02:00', 'ring'],
      ['of one source it is more sleep', [watch(-1, 6.5), watch(13, 16.5)], 660, '23:00', 'watch'],
      ['who sleeps by day is believed', [ring(10, 17), watch(2, 5.1)], 420, '10:00', 'ring'],
      ['a battery that was empty', [...night, watch(-1, 2 + 1 / 6)], 450, '23:00', 'ring'],
      ['or half full', [...night, watch(-1, 2.75)], 225, '23:00', 'watch'],
      ['but for a minute', [...night, watch(-1, 2.75 - 1 / 60)], 450, '23:00', 'ring'],
      ['lying awake is recorded, too', [...night, watch(-1, 2), at('awake', 2, 6)], 180, '23:00', 'watch'],
      ['beside three hours of sleep', [...night, watch(-1, 1.9), at('awake', 1.9, 6)], 450, '23:00', 'ring'],
      ['a night in two parts', [ring(-0.5, 2.7), watch(-1, 1.5), watch(4, 6.5)], 300, '23:00', 'watch'],
      ['of the worse source', [watch(-0.5, 2.7), ring(-2, 1.5), ring(4, 7.5)], 420, '22:00', 'ring'],
      ['far apart they are two', [watch(-0.5, 2.7), ring(-2, 1.5), ring(5.5, 9)], 192, '23:30', 'watch'],
      ['that overlap the night', [ring(-2, 7), watch(-1.8, 0.2), watch(4.5, 7)], 270, '04:30', 'watch'],
      ['and beside it is not of it', [ring(-1, 6), watch(2, 4.9), watch(9, 12)], 420, '23:00', 'ring'],
      ['a fragment', [ring(1, 4), watch(2, 4.9)], 180, '01:00', 'ring'],
      ['of fragments the best', [watch(2, 3.5), ring(1, 3.9)], 90, '02:00', 'watch'],
      ['that is half of the longest', [watch(2, 3.4), ring(1, 3.9)], 174, '01:00', 'ring'],
    ]
    const user = await createUser(app)
    await send(
      user,
      cases.flatMap(([, stages], n) => stages.map((one) => later(one, n))),
    )
    t.strictSame(
      (await read(user, dayLater(0), dayLater(cases.length))).map((row: Night, n: number) => [
        cases[n]?.[0],
        row.duration_minutes,
        clock(row.start_time),
        row.source.device_type,
      ]),
      cases.map(([what, , ...wanted]) => [what, ...wanted]),
    )
    await counting(user, dayLater(0), dayLater(cases.length))
  })

  await t.test('of two sources with the same rank, the one with more sleep counts', async (t) => {
    const user = await createUser(app)
    await send(user, [at('light', -1, 6, { source: PHONE }), at('light', -1, 6.5, { source: APP })])
    t.match(await read(user), [{ source: { source: 'Sleep Cycle' }, duration_minutes: 450 }])
    t.strictSame(await counting(user), ['23:00'])
    await send(user, [at('light', 6, 6.5, { source: PHONE })])
    t.match(await read(user), [{ source: { source: 'Phone of Ada' }, duration_minutes: 450 }], 'then the name')
  })

  await t.test('a night that an app stored three times counts once', async (t) => {
    const user = await createUser(app)
    const copies = [at('sleeping', -1, 7.5), at('sleeping', -1, 8), at('sleeping', -1, 8)]
    await send(
      user,
      copies.map((one, n) => ({ ...one, id: `copy ${n}` })),
      'health_connect',
    )
    t.equal((await allEvents(app, user, 'sleep')).length, 3, 'all of them are stored')
    t.match(await read(user), [{ duration_minutes: 540, time_in_bed_minutes: 540, nap_count: 0 }])
    t.strictSame(await counting(user), ['23:00'])
    const staged = [at('light', -1, 3), at('awake', 3, 3.5), at('deep', 3.5, 7)]
    await send(
      user,
      staged.map((one, n) => ({ ...one, id: `staged-s${n}`, parentId: 'staged' })),
      'health_connect',
    )
    t.match(await read(user), [{ duration_minutes: 450, stages: { deep_minutes: 210 } }], 'the one with stages')
    await send(user, [at('sleeping', 12, 13, { id: 'nap' })], 'health_connect')
    t.strictSame(await counting(user), ['23:00', '12:00 nap'])

    const growing = await createUser(app)
    const evening = at('sleeping', -2, -0.25, { id: 'first' })
    await send(growing, [evening, at('sleeping', -26, -18, { id: 'the night before' })], 'health_connect')
    t.match(await read(growing, '2026-03-03'), [{ duration_minutes: 585 }])
    await send(growing, [at('sleeping', -2, 6, { id: 'second' })], 'health_connect')
    t.match(
      await read(growing, '2026-03-03', '2026-03-04'),
      [{ duration_minutes: 480 }, { duration_minutes: 480 }],
      'also when its first hours were stored before midnight',
    )
    const sessions = await allEvents(app, growing, 'sleep')
    const second = sessions.find(({ end_time }) => end_time === '2026-03-04T06:00:00Z')
    await app.request('DELETE', `/api/v1/users/${growing}/events/sleep/${second.id}`)
    t.match(await read(growing, '2026-03-03'), [{ duration_minutes: 585 }], 'and count when there is nothing else')
  })

  await t.test('of sessions of one app that overlap the longest counts, stages twice', async (t) => {
    const one = (id: string, from: number, until: number) => at('sleeping', from, until, { id })
    const staged = (from: number, awake: number, until: number) => [
      at('light', from, awake, { id: 'staged-s0', parentId: 'staged' }),
      at('awake', awake, until, { id: 'staged-s1', parentId: 'staged' }),
    ]
    const night = [one('night', -2, 6)]
    const [a, b, c] = [one('a', -2, 0.5), one('b', 0, 3), one('c', 2.5, 7)]
    const cases: [what: string, uploads: SdkRecord[][], minutes: number, starts: string[]][] = [
      ['a few minutes with stages', [night, staged(5.8, 6.1, 6.2)], 480, ['22:00']],
      ['whichever comes first', [staged(5.8, 6.1, 6.2), night], 480, ['22:00']],
      ['three hours of it', [night, staged(3, 6.4, 6.5)], 480, ['22:00']],
      ['half of it', [night, staged(2, 6.4, 6.5)], 264, ['02:00']],
      ['mostly awake', [night, staged(-2, 0, 6)], 120, ['22:00']],
      ['what does not count covers nothing', [[a, b, c]], 420, ['22:00', '02:30']],
      ['one by one', [[a], [b], [c]], 420, ['22:00', '02:30']],
      ['the other way round', [[c], [b], [a]], 420, ['22:00', '02:30']],
    ]
    const user = await createUser(app)
    for (const turn of [0, 1, 2]) {
      const stages = cases.flatMap(([, uploads], n) => (uploads[turn] ?? []).map((each) => later(each, n)))
      await send(user, stages, 'health_connect')
    }
    t.strictSame(
      (await read(user, dayLater(0), dayLater(cases.length))).map((row: Night, n: number) => [
        cases[n]?.[0],
        row.duration_minutes,
        row.sessions.map(({ start_time }) => clock(start_time)),
      ]),
      cases.map(([what, , ...wanted]) => [what, ...wanted]),
    )
    await counting(user, dayLater(0), dayLater(cases.length))
  })

  await t.test('the efficiency of a row weighs each session by its sleep', async (t) => {
    const user = await createUser(app)
    await send(user, [at('light', -1, 0), at('awake', 0, 1), at('light', 3.5, 8.5)])
    t.match(await read(user), [{ duration_minutes: 360, time_in_bed_minutes: 420, efficiency_percent: 91.67 }])
    const listed = await allEvents(app, user, 'sleep')
    t.strictSame(
      listed.map(({ efficiency_percent }) => efficiency_percent),
      [100, 50],
    )
  })

  await t.test('sleep without stages counts where the stages leave something out', async (t) => {
    const user = await createUser(app)
    await send(user, [at('sleeping', -1, 7), at('deep', 0, 0.5), at('awake', 3, 3.25)])
    t.match(await read(user), [
      { duration_minutes: 465, time_in_bed_minutes: 480, efficiency_percent: 96.88, stages: { deep_minutes: 30 } },
    ])
  })

  await t.test('a gap in the night is neither sleep nor time in bed', async (t) => {
    const user = await createUser(app)
    await send(user, [at('light', -1, 1), at('awake', 1, 1.5), at('deep', 3, 7)])
    t.match(await read(user), [
      {
        start_time: '2026-03-03T23:00:00Z',
        end_time: '2026-03-04T07:00:00Z',
        duration_minutes: 360,
        time_in_bed_minutes: 390,
        efficiency_percent: 92.31,
      },
    ])
    t.match(await allEvents(app, user, 'sleep'), [{ sleep_duration_seconds: 21_600, time_in_bed_seconds: 23_400 }])
  })

  await t.test('the night that counts has a score, and a copy has none', async (t) => {
    const user = await createUser(app)
    const copies = [at('sleeping', -1, 7, { id: 'a' }), at('sleeping', -1, 8, { id: 'b' })]
    await send(user, copies, 'health_connect')
    await app.db.query('update score_due set scored = true where user_id = $1', [user])
    await computeSleepScores(app.db, 366, MIDNIGHT + 24 * HOUR_MS)
    const scores = (await app.request('GET', `/api/v1/users/${user}/health-scores`)).body.data
    const sessions = await allEvents(app, user, 'sleep')
    const best = sessions.find(({ end_time }) => clock(end_time) === '08:00')
    t.strictSame(
      scores.map(({ event_record_id }: { event_record_id: string }) => event_record_id),
      [best.id],
    )
  })

  await t.test('a whole session that is sent again replaces the previous one', async (t) => {
    const numbered = (names: string[], from: number, id = 'n', first = 0) =>
      names.map((name, n) => at(name, from + n, from + n + 1, { id: `${id}-s${first + n}`, parentId: id }))
    const eight = ['light', 'deep', 'light', 'rem', 'light', 'deep', 'rem', 'light']
    const kept = async (user: string) => (await storedStages(app.db, user)).map(({ id }) => id)
    const ids = (from: number, until: number, id = 'n') =>
      Array.from({ length: until - from }, (_, n) => `${id}-s${from + n}`)

    const user = await createUser(app)
    await send(user, numbered(eight, -1), 'health_connect')
    t.match(await send(user, numbered(eight.slice(0, 5), -1), 'health_connect'), { unchanged: 5, inserted: 0 })
    t.strictSame(await kept(user), ids(0, 5), 'with fewer stages')
    t.match(await read(user), [{ duration_minutes: 300, end_time: '2026-03-04T04:00:00Z' }])
    await send(user, numbered(eight, -1), 'health_connect')
    t.strictSame(await kept(user), ids(0, 8), 'or more')
    const ignored = [...numbered(['light', 'out_of_bed', 'deep'], -1), at('light', 5, 5, { id: 'n-s3', parentId: 'n' })]
    t.match(await send(user, ignored, 'health_connect'), { ignored_type: 1, dropped_count: 1 })
    t.strictSame(await kept(user), ['n-s0', 'n-s2'], 'unknown stages are counted, too')
    await send(user, [at('sleeping', -1, 6, { id: 'n' })], 'health_connect')
    t.strictSame(await kept(user), ['n'], 'without stages')
    await send(user, numbered(eight, -1), 'health_connect')
    t.strictSame(await kept(user), ids(0, 8), 'and with them again')
    const parts = [0, 1].flatMap((part) => numbered(eight.slice(0, 2), -1 + 3 * part, `n-s${part}`))
    const night = (items: SdkRecord[]) =>
      items.map((one) => ({ ...one, id: String(one.id).replace(/-s(\d)-s/, '-s$1-'), parentId: 'n' }))
    const samsung = await createUser(app)
    await send(samsung, night(parts), 'samsung')
    await send(samsung, night(parts).slice(0, 3), 'samsung')
    t.strictSame(await kept(samsung), ['n-s0-0', 'n-s0-1', 'n-s1-0'], 'in several parts')

    const spread = await createUser(app)
    const [first, second] = [numbered(eight.slice(0, 4), -1), numbered(eight.slice(4), 3, 'n', 4)]
    for (const upload of [first, second, first, second, first]) await send(spread, upload, 'health_connect')
    t.strictSame(await kept(spread), ids(0, 8), 'one sent in parts grows')
    await send(spread, [...first, ...second], 'health_connect')
    await send(spread, first, 'health_connect')
    t.strictSame(await kept(spread), ids(0, 4), 'until it arrives whole')
    const other = await createUser(app)
    for (const upload of [second, first]) await send(other, upload, 'health_connect')
    t.strictSame(await kept(other), ids(0, 8), 'whichever part arrives first')
    await send(other, [first[0], first[2]] as SdkRecord[], 'health_connect')
    t.strictSame(await kept(other), ids(0, 8), 'and nothing is removed unless it is numbered without a gap')
    const devices = await createUser(app)
    await send(devices, [...first, ...second], 'health_connect')
    await send(devices, [first[0], { ...first[1], source: RING }] as SdkRecord[], 'health_connect')
    t.equal((await kept(devices)).length, 9, 'nor stages of two devices in one upload')
  })
})
