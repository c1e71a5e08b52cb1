// Sleep as readers see it: contract 5.2, 5.4, 12.1, 12.2. How sessions are formed is tested in ../store/sleep.
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { type DeviceType, deviceTypeRanks, deviceTypes } from '../../server/catalogue/devices.ts'
import { providerByName, providers } from '../../server/catalogue/providers.ts'
import { parseZoneOffset } from '../../server/time.ts'
import type { TestApp } from '../support/app.ts'
import { allEvents, getEvents } from '../support/event-lists.ts'
import { competing } from '../support/recomputed/competing.ts'
import { createUser, importBody, oneEngine, PHONE, type SdkRecord, sharedApp, WATCH } from '../support/sdk.ts'
import { sleepBody, stage } from '../support/sleep.ts'

const MIN = 60_000
const HOUR = 60 * MIN
const DAY = 24 * HOUR
/** Ten in the evening, UTC. */
const TEN = Date.UTC(2026, 1, 23, 22)

const WATCH_SOURCE = {
  provider: 'apple',
  source: 'Watch of Ada',
  device: 'Watch7,5',
  device_type: 'watch',
  device_name: 'Apple Watch Ultra 2',
}

/** A stage from and until some minutes after ten. */
const at = (name: string, from: number, until: number, fields: SdkRecord = {}) =>
  stage(name, TEN + from * MIN, TEN + until * MIN, fields)

const send = (app: TestApp, user: string, stages: unknown[], provider = 'apple') =>
  importBody(app, user, sleepBody(stages, { provider }))

interface Session {
  id: string
  start_time: string
  end_time: string
  zone_offset: string | null
  source: { provider: string; device: string | null; device_type: string; source: string | null }
  duration_seconds: number
  sleep_duration_seconds: number | null
  time_in_bed_seconds: number
  efficiency_percent: number | null
  is_nap: boolean
}

oneEngine(t, 'sleep', async (t, engine) => {
  const app = await sharedApp(engine)
  const starts = async (user: string, query = {}) =>
    (await allEvents(app, user, 'sleep', query)).map(({ start_time }) => start_time.slice(5, 16))

  await t.test('is shown in seconds and whole minutes, with its stages on request', async (t) => {
    const user = await createUser(app)
    await send(app, user, [
      at('in_bed', -10, 470),
      at('light', 0, 200.5, { zoneOffset: '+01:00' }),
      at('deep', 200.5, 300),
      at('awake', 300, 310),
      at('rem', 310, 460),
      at('light', 900, 930),
    ])
    const [nap, { id, ...night }, ...others] = await allEvents(app, user, 'sleep')
    t.strictSame(others, [])
    t.match(id, /^[0-9a-f-]{36}$/)
    t.strictSame(night, {
      start_time: '2026-02-23T22:00:00Z',
      end_time: '2026-02-24T05:40:00Z',
      zone_offset: '+01:00',
      source: WATCH_SOURCE,
      duration_seconds: 27_600,
      sleep_duration_seconds: 27_000,
      time_in_bed_seconds: 28_800,
      efficiency_percent: 93.75,
      stages: { awake_minutes: 10, light_minutes: 200, deep_minutes: 99, rem_minutes: 150 },
      sleep_stage_intervals: null,
      is_nap: false,
    })
    t.match(nap, { is_nap: true, stages: { awake_minutes: 0, light_minutes: 30, deep_minutes: 0 } })

    const [, withStages] = await allEvents(app, user, 'sleep', { include: 'stages' })
    t.strictSame(withStages.sleep_stage_intervals, [
      { stage: 'light', start_time: '2026-02-23T22:00:00Z', end_time: '2026-02-24T01:20:30Z' },
      { stage: 'deep', start_time: '2026-02-24T01:20:30Z', end_time: '2026-02-24T03:00:00Z' },
      { stage: 'awake', start_time: '2026-02-24T03:00:00Z', end_time: '2026-02-24T03:10:00Z' },
      { stage: 'rem', start_time: '2026-02-24T03:10:00Z', end_time: '2026-02-24T05:40:00Z' },
    ])
    t.strictSame({ ...withStages, sleep_stage_intervals: null }, { id, ...night }, 'nothing else differs')
  })

  await t.test('from the sample bodies has the figures of the documentation', async (t) => {
    const user = await createUser(app)
    const text = await readFile(new URL('../samples/health-connect-mix.json', import.meta.url), 'utf8')
    await send(app, user, JSON.parse(text).data.sleep, 'health_connect')
    const [night, unstaged] = await allEvents(app, user, 'sleep')
    t.match(night.stages, { awake_minutes: 3, light_minutes: 214, deep_minutes: 50, rem_minutes: 71 })
    t.match(unstaged, { stages: null, sleep_duration_seconds: 27_000 }, 'an unknown value is not 0')
  })

  await t.test('of a source with few details has no unknown figures', async (t) => {
    const user = await createUser(app)
    await send(app, user, [at('light', 0, 60)])
    await app.db.query(
      `update sleep set asleep_s = null, in_bed_s = null, awake_s = null, light_s = null, deep_s = 0, rem_s = null,
         efficiency_percent = null, is_nap = null, stages = null where user_id = $1`,
      [user],
    )
    t.match(await allEvents(app, user, 'sleep', { include: 'stages' }), [
      {
        sleep_duration_seconds: null,
        time_in_bed_seconds: 3600,
        efficiency_percent: null,
        stages: { awake_minutes: null, light_minutes: null, deep_minutes: 0, rem_minutes: null },
        sleep_stage_intervals: null,
        is_nap: false,
      },
    ])
    t.strictSame(await starts(user, { is_nap: false }), ['02-23T22:00'], 'not known to be a nap')
    t.strictSame(await starts(user, { is_nap: true }), [])
    t.strictSame((await getEvents(app, user, 'sleep/totals')).body, {
      count: 1,
      naps: 0,
      sleep_duration_seconds: null,
      time_in_bed_seconds: 3600,
      avg_efficiency_percent: null,
    })
  })

  await t.test('is found by start, source, and being a nap', async (t) => {
    const user = await createUser(app)
    await send(app, user, [at('light', 0, 400), at('light', 900, 930), at('light', 1440, 1900)])
    await send(app, user, [at('light', 5, 390, { source: PHONE })])
    t.strictSame(await starts(user), ['02-24T22:00', '02-24T13:00', '02-23T22:05', '02-23T22:00'])
    t.strictSame(await starts(user, { is_nap: true }), ['02-24T13:00'])
    t.strictSame(await starts(user, { is_nap: 'off' }), ['02-24T22:00', '02-23T22:05', '02-23T22:00'])
    t.strictSame(
      await starts(user, { start_date: '2026-02-23', end_date: '2026-02-23' }),
      ['02-23T22:05', '02-23T22:00'],
      'a night belongs to the range it starts in, wherever it ends',
    )
    t.strictSame(await starts(user, { start_date: '2026-02-24', end_date: '2026-02-24T22:00:00Z' }), ['02-24T13:00'])
    t.strictSame(await starts(user, { device_model: 'iPhone17,1' }), ['02-23T22:05'])
    t.strictSame(await starts(user, { source: 'Phone of Ada' }), ['02-23T22:05'])
    t.strictSame(await starts(user, { provider: 'samsung' }), [])
  })

  await t.test('of the best source stays with filter_by_priority, naps and all', async (t) => {
    const user = await createUser(app)
    await send(app, user, [
      at('light', 0, 400),
      at('light', 900, 930),
      ...[at('light', -30, 410), at('light', 1440, 1840)].map((one) => ({ ...one, source: PHONE })),
    ])
    await send(app, user, [at('light', 2880, 3300, { parentId: 'night' })], 'samsung')
    const best = { filter_by_priority: true }
    t.strictSame(
      await starts(user, best),
      ['02-25T22:00', '02-24T22:00', '02-24T13:00', '02-23T22:00'],
      'the phone only where the watch has nothing, and another platform where neither has',
    )
    t.strictSame(await starts(user, { ...best, is_nap: false }), ['02-25T22:00', '02-24T22:00', '02-23T22:00'])
    t.strictSame(
      await starts(user, { ...best, device_model: 'iPhone17,1' }),
      ['02-24T22:00', '02-23T21:30'],
      'the best of the requested ones',
    )
    t.strictSame(
      await starts(user, { ...best, start_date: '2026-02-23', end_date: '2026-02-23T21:45:00Z' }),
      [],
      'also when the better one is out of range',
    )
    t.match((await getEvents(app, user, 'sleep', { ...best, limit: 1 })).body.pagination, { total_count: 4 })
    t.match((await getEvents(app, user, 'sleep/totals', best)).body, { count: 4, naps: 1 })
  })

  await t.test('is ranked by the local date of waking up, on every page', async (t) => {
    const user = await randomNights(app)
    const all: Session[] = await allEvents(app, user, 'sleep')
    t.ok(all.length > 150)
    const nameOf = ({ source }: Session) => JSON.stringify(source)
    const winners = new Map<string, string>()
    for (const date of new Set(all.map(localDate))) {
      const mains = all.filter((session) => localDate(session) === date && !session.is_nap)
      const rivals = competing(
        mains.map((one) => ({
          source: nameOf(one),
          start: Date.parse(one.start_time),
          end: Date.parse(one.end_time),
          zone: parseZoneOffset(one.zone_offset ?? 'Z') ?? 0,
          asleep: one.sleep_duration_seconds ?? 0,
          awake: 0,
        })),
      )
      const [first] = mains
        .filter((one) => rivals.has(nameOf(one)))
        .sort((a, b) => (believed(a, mains) < believed(b, mains) ? -1 : 1)) as [Session]
      winners.set(date, nameOf(first))
    }
    const best = all.filter((session) => winners.get(localDate(session)) === nameOf(session))
    t.ok(best.length < all.length && best.length > winners.size, 'some days have several of the winner')
    t.strictSame(await allEvents(app, user, 'sleep', { filter_by_priority: true }), best)
    t.strictSame(
      await allEvents(app, user, 'sleep', { filter_by_priority: true, is_nap: true }),
      best.filter(({ is_nap }) => is_nap),
    )

    const paged: Session[] = []
    let cursor: string | undefined
    do {
      const { body } = await getEvents(app, user, 'sleep', { filter_by_priority: true, limit: 7, cursor })
      t.equal(body.pagination.total_count, best.length)
      paged.push(...body.data)
      cursor = body.pagination.next_cursor ?? undefined
      t.equal(body.data.length === 7 || cursor === undefined, true, 'pages are full')
    } while (cursor)
    t.strictSame(paged, best)

    for (const query of [{}, { filter_by_priority: true }, { is_nap: true }, { is_nap: false, provider: 'apple' }]) {
      const listed: Session[] = await allEvents(app, user, 'sleep', query)
      const sum = (field: 'sleep_duration_seconds' | 'time_in_bed_seconds' | 'efficiency_percent') =>
        listed.reduce((total, one) => total + (one[field] as number), 0)
      t.strictSame((await getEvents(app, user, 'sleep/totals', query)).body, {
        count: listed.length,
        naps: listed.filter(({ is_nap }) => is_nap).length,
        sleep_duration_seconds: sum('sleep_duration_seconds'),
        time_in_bed_seconds: sum('time_in_bed_seconds'),
        avg_efficiency_percent: Math.round((sum('efficiency_percent') / listed.length) * 100) / 100,
      })
    }
  })

  await t.test('is ranked by the documented ranks', async (t) => {
    const pairs = [...providers.map(({ provider }) => provider), 'nobody'].flatMap((provider) =>
      [...deviceTypes, 'new'].map((type) => ({ provider, type })),
    )
    const rows = await app.db.query(
      'select provider, type, source_rank(provider, type) as rank from unnest($1::text[], $2::text[]) s (provider, type)',
      [pairs.map(({ provider }) => provider), pairs.map(({ type }) => type)],
    )
    const expected = pairs.map(({ provider, type }) => {
      const own = providerByName.get(provider)?.rank ?? 99
      return { provider, type, rank: own * 1000 + (deviceTypeRanks[type as DeviceType] ?? 99) }
    })
    t.strictSame(rows, expected)
  })
})

const localDate = ({ end_time, zone_offset }: Session) =>
  new Date(Date.parse(end_time) + (parseZoneOffset(zone_offset ?? 'Z') ?? 0) * MIN).toISOString().slice(0, 10)

/** Smaller for the source that is believed, of those that compete: by its rank, how much it slept, its name. */
function believed({ source }: Session, mains: readonly Session[]): string {
  const own = mains.filter((one) => JSON.stringify(one.source) === JSON.stringify(source))
  const seconds = own.map(({ sleep_duration_seconds }) => sleep_duration_seconds as number)
  const provider = providerByName.get(source.provider)?.rank ?? 99
  const type = deviceTypeRanks[source.device_type as DeviceType]
  const asleep = seconds.reduce((sum, one) => sum + one, 0)
  return [provider + 100, type + 100, 10_000_000 - asleep, source.device ?? '', source.source ?? ''].join(' ')
}

/** Forty days of nights and naps of four sources in changing zones; some sources miss some days. */
async function randomNights(app: TestApp): Promise<string> {
  const user = await createUser(app)
  let seed = 20_260_224
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  const ring = { name: 'Ring', deviceModel: 'SM-Q501', deviceType: 'ring', appId: 'com.sec.android.app.shealth' }
  const nameless = { name: 'App', deviceModel: null, deviceType: 'unknown' }
  for (const [provider, source] of [
    ['apple', WATCH],
    ['apple', PHONE],
    ['samsung', ring],
    ['health_connect', nameless],
  ] as const) {
    const stages: SdkRecord[] = []
    for (let day = 0; day < 40; day += 1) {
      const zoneOffset = ['+00:00', '+13:00', '-09:30', null][random(4)]
      const start = TEN + day * DAY + random(300) * MIN
      const one = (fromMs: number, minutes: number, session: string) =>
        stages.push(stage('light', fromMs, fromMs + minutes * MIN, { zoneOffset, source, parentId: session }))
      if (random(3) > 0) one(start, 300 + random(120), `night ${day}`)
      if (random(3) === 0) one(start + 14 * HOUR, 20 + random(60), `nap ${day}`)
      if (random(4) === 0) one(start + 18 * HOUR, 20 + random(60), `second nap ${day}`)
    }
    await send(app, user, stages, provider)
  }
  return user
}
