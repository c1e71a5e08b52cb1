// The summaries of sleep and recovery against straight-line code over the stored data: contract 4.2, 4.3, 12.1, 12.2,
// 12.4, 12.6, D-13, D-27, D-29.
import t from 'tap'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { withDays } from '../support/activity-model.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { type Nights, recoveryRow, type Session, sameRow, sleepRow, withDates } from '../support/night-model.ts'
import {
  body,
  createUser,
  heartRate,
  importBody,
  oneEngine,
  PHONE,
  record,
  startImports,
  storedSamples,
} from '../support/sdk.ts'
import { sleepBody, stage } from '../support/sleep.ts'
import {
  addSources,
  dateText,
  localDay,
  MINUTE_MS,
  seeded,
  summary,
  type Written,
  walk,
  write,
} from '../support/summaries.ts'
import { runs } from '../support/thorough.ts'

const SEED = 20_260_611
const BASE = Date.UTC(2026, 4, 1)
const DAYS = 14
const HOUR_MS = 60 * MINUTE_MS

// Best first; of two rings the one with more data.
const SOURCES = [
  { provider: 'apple', device: 'Watch7,5', source: 'Watch', type: 'watch', name: 'Apple Watch Ultra 2' },
  { provider: 'polar', device: 'Vantage V3', source: 'polar_api', type: 'watch', name: 'Vantage V3' },
  { provider: 'polar', device: '', source: 'polar_api', type: 'unknown', name: null },
  { provider: 'whoop', device: 'WHOOP 4.0', source: 'whoop_api', type: 'band', name: 'WHOOP 4.0' },
  { provider: 'oura', device: 'Oura Ring 4', source: 'oura_api', type: 'ring', name: 'Oura Ring 4', rank: 4 },
  { provider: 'oura', device: 'Oura Ring Gen3', source: 'oura_api', type: 'ring', name: 'Oura Ring Gen3', rank: 4 },
]
/** Keys of the series that have a mean of the night. */
const MEANS = [1, 3, 7, 24, 20]
const RESTING = 2

type Random = () => number
const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
const seldom = <T>(random: Random, value: T) => (random() < 0.2 ? null : value)

/** Nights, naps and split nights of several sources, often of the same sleep, told in more or less detail. */
async function someSleep(app: TestApp, user: string, ids: number[], random: Random, count: number): Promise<void> {
  let [hour, seen] = [0, ids]
  for (let n = 0; n < count; n += 1) {
    const nap = random() < 0.3
    if (seen.length === ids.length || random() < 0.3) {
      hour = BASE + Math.floor(random() * DAYS * 24) * HOUR_MS
      seen = []
    }
    const sourceId = pick(
      random,
      ids.filter((id) => !seen.includes(id)),
    )
    seen = [...seen, sourceId]
    const startMs = hour + Math.floor(random() * 3600) * 1000
    const lengthS = Math.floor((nap ? 0.2 + random() : 1 + random() * 8) * 3600)
    const stages: [string, number, number][] = []
    for (let atS = startMs / 1000; atS < startMs / 1000 + lengthS; ) {
      const endS = Math.min(startMs / 1000 + lengthS, atS + 60 * Math.floor(1 + random() * 40))
      stages.push([pick(random, ['light', 'deep', 'rem', 'awake', 'awake']), atS, endS])
      atS = endS
    }
    const seconds = () => seldom(random, Math.floor((random() * lengthS) / 3))
    await app.db.query(
      `insert into sleep (user_id, source_id, start_at, end_at, zone_offset_min, asleep_s, in_bed_s, awake_s, light_s,
                          deep_s, rem_s, efficiency_percent, is_nap, stages, covered)
       values ($1, $2, to_timestamp($3), to_timestamp($4), $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
      [
        user,
        sourceId,
        startMs / 1000,
        startMs / 1000 + lengthS,
        seldom(random, pick(random, [0, 120, -330, 600, -720])),
        ...[
          seldom(random, Math.floor(lengthS * 0.9)),
          seldom(random, lengthS),
          seconds(),
          seconds(),
          seconds(),
          seconds(),
        ],
        seldom(random, Math.round(random() * 10_000) / 100),
        pick(random, nap ? [true] : [false, false, null]),
        pick(random, [null, '[]', JSON.stringify(stages), JSON.stringify(stages)]),
        random() < 0.1,
      ],
    )
  }
  await app.db.query('update app_user set revision = revision + 1 where id = $1', [user])
}

function someSamples(ids: number[], random: Random, count: number): Written[] {
  return Array.from({ length: count }, () => {
    const startMs = BASE + Math.floor(random() * DAYS * 96) * 15 * MINUTE_MS
    const seriesId = pick(random, [...MEANS, RESTING])
    const zone = pick(random, [null, 120, -330])
    // Ring and chest straps report more than others.
    const sourceId = pick(random, [...ids, ids.at(-1) as number])
    return Array.from({ length: 1 + Math.floor(random() * 30) }, (_, n) => ({
      ...{ sourceId, seriesId, zone, ms: startMs + n * 4 * MINUTE_MS, value: Math.round(400 + random() * 600) / 10 },
    }))
  }).flat()
}

/** What the sources of some nights say at their very end, and where they begin. */
async function aboutNights(app: TestApp, user: string, random: Random): Promise<Written[]> {
  const nights = await app.db.query<{ source: number; starts: string; ends: string; zone: number | null }>(
    `select source_id as source, start_at as starts, end_at as ends, zone_offset_min as zone
     from sleep where user_id = $1 order by 1, 2, 3`,
    [user],
  )
  return nights.flatMap(({ source: sourceId, starts, ends, zone }) => {
    const value = Math.round(400 + random() * 600) / 10
    return [
      { sourceId, seriesId: pick(random, MEANS), ms: Date.parse(ends), value, zone },
      { sourceId, seriesId: RESTING, ms: Date.parse(starts), value, zone },
      {
        sourceId,
        seriesId: pick(random, MEANS.slice(1)),
        ms: Math.floor(Date.parse(ends) / 86_400_000) * 86_400_000,
        value,
        zone: null,
      },
    ].filter(() => random() < 0.5)
  })
}

const placeOf = (one: { provider: string; device: string }) =>
  SOURCES.findIndex(({ provider, device }) => provider === one.provider && device === one.device)

async function modelOf(app: TestApp, user: string): Promise<Nights> {
  const rows = await app.db.query<
    Omit<Session, 'place' | 'day' | 'startMs' | 'endMs'> & {
      provider: string
      device: string
      start: string
      end: string
    }
  >(
    `select d.provider, d.device_model as device, s.start_at as start, s.end_at as end, s.zone_offset_min as zone,
            s.asleep_s, s.in_bed_s, s.awake_s, s.light_s, s.deep_s, s.rem_s, s.efficiency_percent, s.is_nap, s.covered, s.stages
     from sleep s join data_source d on d.id = s.source_id where s.user_id = $1 order by s.start_at, s.end_at`,
    [user],
  )
  const sessions = rows.map(({ provider, device, start, end, ...row }) => ({
    ...row,
    ...{ place: placeOf({ provider, device }), startMs: Date.parse(start), endMs: Date.parse(end) },
    day: localDay(Date.parse(end), row.zone),
  }))
  const stored = await storedSamples(app.db, user)
  const placed = stored.map((one) => ({ ...one, place: placeOf(one), ms: Date.parse(one.ts) }))
  const zones = withDays(placed).map((one, n) => ({ ...one, zone: placed[n]?.zone ?? null }))
  const samples = withDates(
    zones,
    new Set(SOURCES.flatMap(({ provider }, place) => (provider === 'apple' ? [] : [place]))),
  )
  const scores = await app.db.query<{
    provider: string
    device: string | null
    at: string
    zone: number | null
    value: number
  }>(
    `select h.provider, d.device_model as device, h.recorded_at as at, h.zone_offset_min as zone, h.value
     from health_score h left join data_source d on d.id = h.source_id where h.user_id = $1 and h.category = 'recovery'`,
    [user],
  )
  return {
    devices: SOURCES,
    sessions,
    samples,
    scores: scores.map(({ provider, device, at, zone, value }) => ({
      ...{ provider, value, ms: Date.parse(at), day: localDay(Date.parse(at), zone) },
      place: device === null ? -1 : placeOf({ provider, device }),
    })),
  }
}

oneEngine(t, 'sleep and recovery of days follow from the stored data', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const random = seeded(SEED)
  const ids = (await addSources(app.db, user, [...SOURCES].reverse())).reverse()
  const base = localDay(BASE, 0)
  for (let n = 0; n < 30; n += 1) {
    const place = Math.floor(random() * SOURCES.length)
    const provider = (SOURCES[place] as (typeof SOURCES)[number]).provider
    const value = provider === 'polar' ? 1 + Math.floor(random() * 6) : Math.round(random() * 100)
    await app.db.query(
      `insert into health_score (user_id, source_id, provider, category, value, recorded_at, zone_offset_min)
       values ($1, $2, $3, $4, $5, to_timestamp($6), $7) on conflict do nothing`,
      [
        user,
        random() < 0.4 ? null : (ids[place] as number),
        provider,
        pick(random, ['recovery', 'recovery', 'recovery', 'sleep']),
        value,
        BASE / 1000 + Math.floor(random() * (DAYS + 4) * 86_400),
        seldom(random, 600),
      ],
    )
  }
  for (const state of ['dirty', 'clean', 'partly dirty']) {
    await t.test(`while rollups are ${state}`, async (t) => {
      if (state === 'clean') await refreshRollups(app.db)
      else {
        await someSleep(app, user, ids, random, state === 'dirty' ? 40 : 6)
        await write(app.db, user, someSamples(ids, random, state === 'dirty' ? 160 : 8))
        await write(app.db, user, await aboutNights(app, user, random))
      }
      const model = await modelOf(app, user)
      const rowsOf = {
        sleep: (day: number) => sleepRow(model, day)?.row,
        recovery: (day: number) => recoveryRow(model, day),
      }
      for (const name of ['sleep', 'recovery'] as const) {
        for (let n = 0; n < runs(3, 10); n += 1) {
          const [from, length] = [Math.floor(random() * DAYS) - 3, 1 + Math.floor(random() * (DAYS + 6))]
          const query = {
            start_date: dateText(base + from),
            end_date: dateText(base + from + length - 1),
            limit: pick(random, [1, 2, 3, 5, 50, 1000]),
          }
          const { rows } = await walk(app, user, name, query)
          const wanted = Array.from({ length }, (_, place) => rowsOf[name](base + from + place)).filter(
            (row) => row !== undefined,
          )
          const right =
            rows.length === wanted.length &&
            rows.every((row, place) => sameRow(row, wanted[place] as Record<string, unknown>))
          if (!right) t.strictSame(rows, wanted, `${name} ${JSON.stringify(query)}`)
          else t.pass(`${name} ${JSON.stringify(query)}`)
        }
      }
    })
  }

  await t.test('an answer that the client has is not sent again until priorities change', async (t) => {
    for (const name of ['sleep', 'recovery']) {
      const query = { start_date: dateText(base), end_date: dateText(base + DAYS) }
      const { headers, body } = await summary(app, user, name, query)
      const held = { 'If-None-Match': headers.get('etag') ?? '' }
      t.equal((await summary(app, user, name, query, held)).status, 304)
      const set = (provider: string, priority: number) =>
        app.request('PUT', `/api/v1/priorities/providers/${provider}`, { auth: 'developer', body: { priority } })
      await set('apple', 50)
      const changed = await summary(app, user, name, query, held)
      t.equal(changed.status, 200)
      const of = (rows: { source: { provider: string } }[]) => rows.map(({ source }) => source.provider)
      t.notSame(of(changed.body.data), of(body.data))
      t.equal(changed.body.data.length, body.data.length)
      await set('apple', 1)
    }
  })
})

oneEngine(t, 'sleep of uploads', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const at = (text: string) => Date.parse(text)
  const days = async (user: string, from: string, to = from) =>
    (await summary(app, user, 'sleep', { start_date: from, end_date: to })).body.data

  await t.test('belongs to the local day on which it ended', async (t) => {
    const user = await createUser(app)
    const zoneOffset = '+10:00'
    await importBody(
      app,
      user,
      sleepBody([stage('light', at('2026-05-03T13:00:00Z'), at('2026-05-03T20:11:00Z'), { zoneOffset })]),
    )
    t.strictSame(await days(user, '2026-05-03'), [])
    const [row] = await days(user, '2026-05-04')
    t.match(row, {
      date: '2026-05-04',
      start_time: '2026-05-03T13:00:00Z',
      end_time: '2026-05-03T20:11:00Z',
      zone_offset: '+10:00',
      duration_minutes: 431,
      source: { provider: 'apple', device_type: 'watch' },
    })
  })

  await t.test('a page back is the first one if nothing is left before it', async (t) => {
    const user = await createUser(app)
    const night = (date: string) => stage('deep', at(`${date}T01:00:00Z`), at(`${date}T07:00:00Z`))
    const dates = ['2026-05-04', '2026-05-05', '2026-05-06']
    await importBody(app, user, sleepBody(dates.map(night)))
    const page = async (cursor?: string) => {
      const query = { start_date: '2026-05-01', end_date: '2026-05-31', limit: 1, cursor }
      const { data, pagination } = (await summary(app, user, 'sleep', query)).body
      return { dates: data.map(({ date }: { date: string }) => date), pagination }
    }
    const second = await page((await page()).pagination.next_cursor)
    t.strictSame(second.dates, ['2026-05-05'])
    await app.db.query('delete from sleep where user_id = $1 and end_at < $2', [user, '2026-05-05'])
    const first = await page(second.pagination.previous_cursor)
    t.strictSame(first.dates, ['2026-05-05'])
    t.match(first.pagination, { previous_cursor: null, has_more: true })
    t.strictSame((await page(first.pagination.next_cursor)).dates, ['2026-05-06'])
    await app.db.query('delete from sleep where user_id = $1', [user])
    t.strictSame(await page(second.pagination.previous_cursor), {
      dates: [],
      pagination: { next_cursor: null, previous_cursor: null, has_more: false, total_count: null },
    })
  })

  await t.test('two nights of a day add up, a nap is separate, and the watch beats the phone', async (t) => {
    const user = await createUser(app)
    const [night, morning, noon] = [at('2026-05-03T23:00:00Z'), at('2026-05-04T05:00:00Z'), at('2026-05-04T13:00:00Z')]
    await importBody(
      app,
      user,
      sleepBody([
        stage('light', night, night + 2 * HOUR_MS),
        stage('awake', night + 2 * HOUR_MS, night + 2 * HOUR_MS + 6 * MINUTE_MS),
        stage('deep', night + 2 * HOUR_MS + 6 * MINUTE_MS, night + 3 * HOUR_MS),
        stage('light', morning, morning + 4 * HOUR_MS),
        stage('light', noon, noon + 30 * MINUTE_MS),
        stage('light', night - HOUR_MS, night + 8 * HOUR_MS, { source: PHONE }),
      ]),
    )
    await importBody(
      app,
      user,
      body([heartRate(night + HOUR_MS, 50), heartRate(morning + HOUR_MS, 60), heartRate(noon, 90)]),
    )
    const [row, ...others] = await days(user, '2026-05-04')
    t.strictSame(others, [])
    t.match(row, {
      source: { device_type: 'watch' },
      start_time: '2026-05-04T05:00:00Z',
      end_time: '2026-05-04T09:00:00Z',
      duration_minutes: 414,
      nap_count: 1,
      nap_duration_minutes: 30,
      total_duration_minutes: 444,
      stages: { awake_minutes: 6, light_minutes: 360, deep_minutes: 54 },
      interruptions_count: 1,
      avg_heart_rate_bpm: 55,
    })
    t.strictSame(
      row.sessions.map(({ is_nap }: { is_nap: boolean }) => is_nap),
      [false, false, true],
    )
  })

  await t.test('recovery of a watch', async (t) => {
    const user = await createUser(app)
    const morning = at('2026-05-04T07:00:00Z')
    await importBody(
      app,
      user,
      body([
        record('HKQuantityTypeIdentifierRestingHeartRate', morning, 52, { unit: 'bpm' }),
        record('HKQuantityTypeIdentifierHeartRateVariabilitySDNN', morning, 41.26, { unit: 'ms' }),
      ]),
    )
    const { body: page } = await summary(app, user, 'recovery', { start_date: '2026-05-04', end_date: '2026-05-04' })
    t.match(page.data, [
      {
        date: '2026-05-04',
        source: { provider: 'apple' },
        sleep_duration_seconds: null,
        resting_heart_rate_bpm: 52,
        avg_hrv_sdnn_ms: 41.3,
        avg_hrv_rmssd_ms: null,
        recovery_score: null,
      },
    ])
  })

  await t.test('a value at the very end of a night counts if it is of the same source', async (t) => {
    const user = await createUser(app)
    const [start, end] = [at('2026-06-10T22:00:00Z'), at('2026-06-11T06:00:00Z')]
    const [watch = 0, band = 0] = await addSources(app.db, user, [
      { provider: 'apple', device: 'Watch7,5', source: 'Watch', type: 'watch' },
      { provider: 'whoop', device: 'WHOOP 4.0', source: 'whoop_api', type: 'band' },
    ])
    const sleep = (from: number, until: number) =>
      app.db.query(
        `insert into sleep (user_id, source_id, start_at, end_at, asleep_s, is_nap)
         values ($1, $2, to_timestamp($3), to_timestamp($4), 20000, false)`,
        [user, band, from / 1000, until / 1000],
      )
    await sleep(start, end)
    const values = [
      { sourceId: band, seriesId: 7, ms: end, value: 44, zone: null },
      { sourceId: band, seriesId: 24, ms: end, value: 14.5, zone: null },
      { sourceId: watch, seriesId: 20, ms: end, value: 97, zone: null },
      { sourceId: band, seriesId: 3, ms: end + 1, value: 44, zone: null },
    ]
    await write(app.db, user, values)
    const means = async () => {
      const [row] = await days(user, '2026-06-11')
      return [row.avg_hrv_rmssd_ms, row.avg_hrv_sdnn_ms, row.avg_respiratory_rate, row.avg_spo2_percent]
    }
    const named = Object.fromEntries(['rmssd', 'sdnn', 'breath', 'spo2'].map((name, n) => [name, n]))
    t.equal((await means())[named.rmssd as number], 44)
    t.equal((await means()).filter((one) => one !== null).length, 2, 'not that of another source, nor a later one')
    await sleep(end, end + 2 * HOUR_MS)
    await write(app.db, user, [{ sourceId: band, seriesId: 7, ms: end + HOUR_MS, value: 50, zone: null }])
    t.equal((await means())[named.rmssd as number], 47, 'once, where further sleep begins')
  })

  await t.test('what is told of a date belongs to the night of that date, in every zone', async (t) => {
    for (const zone of [-720, -480, -300, 0, 60, 345, 540, 840]) {
      const user = await createUser(app)
      const [ring = 0] = await addSources(app.db, user, [
        { provider: 'oura', device: 'Oura Ring 4', source: 'oura_api', type: 'ring' },
      ])
      const midnight = at('2026-08-05T00:00:00Z')
      for (const [day, value] of [
        [-1, 95],
        [0, 96],
        [1, 97],
      ] as const) {
        const start = midnight + day * 24 * HOUR_MS - zone * MINUTE_MS - HOUR_MS / 2
        await app.db.query(
          `insert into sleep (user_id, source_id, start_at, end_at, zone_offset_min, asleep_s, is_nap)
           values ($1, $2, to_timestamp($3), to_timestamp($4), $5, 20000, false)`,
          [user, ring, start / 1000, (start + 8 * HOUR_MS) / 1000, zone],
        )
        await write(app.db, user, [
          { sourceId: ring, seriesId: 20, ms: midnight + day * 24 * HOUR_MS, value, zone: null },
        ])
      }
      const range = { start_date: '2026-08-04', end_date: '2026-08-06' }
      for (const name of ['sleep', 'recovery'] as const) {
        const { data } = (await summary(app, user, name, range)).body
        const values = data.map((row: { avg_spo2_percent: number }) => row.avg_spo2_percent)
        t.strictSame(values, [95, 96, 97], `${name} of ${zone} minutes`)
      }
    }
  })

  await t.test('a resting heart rate in a night belongs to the date of that night', async (t) => {
    const user = await createUser(app)
    const [ring = 0, phone = 0] = await addSources(app.db, user, [
      { provider: 'oura', device: 'Oura Ring 4', source: 'oura_api', type: 'ring' },
      { provider: 'samsung', device: 'SM-S918B', source: 'phone', type: 'phone' },
    ])
    const nightOn = async (date: string, from: string, resting: number) => {
      const end = at(`${date}T05:00:00Z`)
      await app.db.query(
        `insert into sleep (user_id, source_id, start_at, end_at, zone_offset_min, asleep_s, is_nap)
         values ($1, $2, to_timestamp($3), to_timestamp($4), 120, 20000, false)`,
        [user, ring, at(from) / 1000, end / 1000],
      )
      await write(app.db, user, [{ sourceId: ring, seriesId: RESTING, ms: at(from), value: resting, zone: 120 }])
    }
    const recovery = async (more = {}) => {
      const { rows } = await walk(app, user, 'recovery', {
        ...{ start_date: '2026-07-01', end_date: '2026-07-09' },
        ...more,
      })
      return rows.map(({ date, resting_heart_rate_bpm }) => `${date} ${resting_heart_rate_bpm}`)
    }
    // Before and after midnight, two on one local day, and one after a night that nobody recorded.
    await nightOn('2026-07-02', '2026-07-01T20:00:00Z', 51)
    await nightOn('2026-07-03', '2026-07-02T22:30:00Z', 52)
    await nightOn('2026-07-04', '2026-07-03T21:10:00Z', 53)
    await nightOn('2026-07-06', '2026-07-05T21:20:00Z', 54)
    const wanted = ['2026-07-02 51', '2026-07-03 52', '2026-07-04 53', '2026-07-06 54']
    t.strictSame(await recovery(), wanted)
    for (const limit of [1, 2, 3]) t.strictSame(await recovery({ limit }), wanted, `in pages of ${limit}`)
    const [of] = [{ start_date: '2026-07-03', end_date: '2026-07-03' }]
    t.strictSame(await recovery(of), ['2026-07-03 52'])
    t.strictSame(
      await recovery({ start_date: '2026-07-01', end_date: '2026-07-01' }),
      [],
      'nothing is left of that day',
    )
    t.strictSame(await recovery({ start_date: '2026-07-02', end_date: '2026-07-02' }), ['2026-07-02 51'])
    await write(app.db, user, [
      { sourceId: phone, seriesId: RESTING, ms: at('2026-07-05T10:00:00Z'), value: 60, zone: 120 },
    ])
    t.strictSame(await recovery(), [...wanted.slice(0, 3), '2026-07-05 60', '2026-07-06 54'])
    await refreshRollups(app.db)
    t.strictSame(await recovery(), [...wanted.slice(0, 3), '2026-07-05 60', '2026-07-06 54'], 'from rollups, too')
  })

  await t.test('recovery shows whole seconds of sleep', async (t) => {
    const user = await createUser(app)
    const [start, end] = [at('2026-06-02T22:00:00Z'), at('2026-06-03T06:00:00Z')]
    const resting = record('HKQuantityTypeIdentifierRestingHeartRate', end, 50, { unit: 'count/min' })
    await importBody(
      app,
      user,
      body([], { data: { records: [resting], sleep: [stage('deep', start, end)], workouts: [] } }),
    )
    // From a source that knows no stages but fractions of seconds.
    await app.db.query(
      `update sleep set asleep_s = null, end_at = end_at + interval '0.75 seconds' where user_id = $1`,
      [user],
    )
    const { data } = (await summary(app, user, 'recovery', { start_date: '2026-06-03', end_date: '2026-06-03' })).body
    t.equal(data[0].sleep_duration_seconds, 8 * 3600)
  })

  await t.test('what is refused', async (t) => {
    const user = await createUser(app)
    const range = { start_date: '2026-05-01', end_date: '2026-05-02' }
    const nobody = '00000000-0000-4000-8000-000000000000'
    for (const name of ['sleep', 'recovery']) {
      t.strictSame((await summary(app, user, name, range)).body.data, [])
      t.strictSame((await summary(app, user, name, { start_date: '0001-01-01', end_date: '9999-12-31' })).body.data, [])
      t.equal((await summary(app, user, name, { ...range, limit: 1001 })).status, 422)
      t.equal((await summary(app, user, name, { ...range, sort_order: 'asc' })).body.detail[0].type, 'extra_forbidden')
      t.equal((await summary(app, user, name, { end_date: '2026-05-02' })).body.detail[0].msg, 'Field required')
      t.equal((await summary(app, user, name, { ...range, end_date: '2026-02-30' })).status, 400)
      t.strictSame((await summary(app, user, name, { ...range, cursor: 'x' })).body, {
        detail: "Invalid cursor format: 'x'. Expected 'timestamp|id'.",
      })
      t.strictSame((await summary(app, nobody, name, range)).body, { detail: `User with ID: ${nobody} not found.` })
    }
  })
})
