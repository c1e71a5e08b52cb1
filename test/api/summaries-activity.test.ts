// The activity summary against straight-line code over the stored samples: contract 1.3, 4.1, 12.1 to 12.3.
import t from 'tap'
import { archive } from '../../server/rollups/archive.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { activityRows, type Model, withDays } from '../support/activity-model.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { body, createUser, heartRate, importBody, iso, oneEngine, PHONE, startImports, steps } from '../support/sdk.ts'
import {
  addSources,
  alike,
  DAY_MS,
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

const SEED = 20_260_512
const QUARTER_MS = 15 * MINUTE_MS
const BASE = Date.UTC(2026, 4, 1)
const DAYS = 16

// In the order of merge=none (contract 2.3 and 2.4). The last one has no model, so its device type does not count there;
// when merged it does, and the two of Garmin are equal.
const WATCH = { provider: 'apple', device: 'Watch7,5', source: 'Watch', type: 'watch', name: 'Apple Watch Ultra 2' }
const SOURCES = [
  { ...WATCH, rank: 1001 },
  { provider: 'apple', device: 'iPhone17,1', source: 'Phone', type: 'phone', name: 'iPhone 16 Pro', rank: 1004 },
  {
    ...{ provider: 'garmin', device: 'Forerunner 255', source: 'garmin_connect_api' },
    ...{ type: 'watch', name: 'Forerunner 255', rank: 2001 },
  },
  { provider: 'garmin', device: '', source: 'other', type: 'watch', name: null, rank: 2001 },
]
const NAMES = ['steps', 'distance_walking_running', 'flights_climbed', 'energy', 'basal_energy', 'active_time'] as const
const IDS: Record<string, number> = {
  heart_rate: 1,
  steps: 80,
  energy: 81,
  basal_energy: 82,
  flights_climbed: 86,
  active_time: 88,
  distance_walking_running: 100,
}
const FIELDS: Record<string, string> = {
  steps: 'steps',
  distance_walking_running: 'distance_meters',
  flights_climbed: 'floors_climbed',
  energy: 'active_calories_kcal',
  basal_energy: 'basal_calories_kcal',
  active_time: 'active_minutes',
}

const sum = (values: number[]) => values.reduce((all, value) => all + value, 0)

type Random = () => number
const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)] as T

/** Seconds that a record lasts, as stored: a record that ends in its first minute and quarter hour has none. */
function lengthOf(random: Random, ms: number): number {
  const lastsS = pick(random, [30, 61, 300, 600, 600, 900, 900, 1_000, 3_600])
  return lastsS > 60 || (ms % QUARTER_MS) + lastsS * 1000 > QUARTER_MS ? lastsS : 0
}

/** Hours of life as devices record it: some are off for days, travel, or never know where they are. */
function someSamples(random: Random, sources: readonly number[], count: number): Written[] {
  const samples: Written[] = []
  for (let n = 0; n < count; n += 1) {
    const place = Math.floor(random() * sources.length)
    const sourceId = sources[place] as number
    const type = pick(random, ['heart_rate', 'heart_rate', 'steps', 'steps', ...NAMES])
    const startMs = BASE + Math.floor(random() * DAYS * 96) * QUARTER_MS
    const zone = place === 2 ? null : pick(random, [0, 120, 120, -330, 840, -720, 1080, -1080])
    if (random() < 0.15 && type !== 'heart_rate') {
      const ms = localDay(startMs, zone) * DAY_MS - (zone ?? 0) * MINUTE_MS
      const value = Math.round(random() * 9000)
      samples.push({ sourceId, seriesId: (IDS[type] as number) + 10_000, ms, value, zone })
      continue
    }
    const many = Math.floor(random() * 60)
    // Some write sums of minutes or hours, and some values are entered by hand.
    const lasting = random() < 0.4 && type !== 'heart_rate'
    const manual = random() < 0.2
    for (let m = 0; m < many; m += lasting ? 10 : 1) {
      const ms = startMs + m * pick(random, [20_000, 60_000, 60_000]) + pick(random, [0, 0, 1, 999]) + (manual ? 7 : 0)
      const value = type === 'heart_rate' ? 60 + Math.floor(random() * 100) : Math.floor(random() * 400) / 8
      const seriesId = (IDS[type] as number) + (manual ? 5_000 : 0)
      samples.push({ sourceId, seriesId, ms, value, zone, ...(lasting && { lastsS: lengthOf(random, ms) }) })
    }
  }
  return samples
}

const placeOf = (one: { device: string; source: string }) =>
  SOURCES.findIndex(({ device, source }) => device === one.device && source === one.source)

async function modelOf(app: TestApp, user: string, highest = 190): Promise<Model> {
  const stored = await app.db.query<{
    device: string
    source: string
    series: number
    ms: number
    value: number
    zone: number | null
    seconds: number | null
  }>(
    `select d.device_model as device, d.source, s.series_id as series, date_part('epoch', s.ts) * 1000 as ms, s.value,
            s.zone_offset_min as zone, s.lasts_s as seconds
     from sample s join data_source d on d.id = s.source_id where d.user_id = $1 order by s.ts`,
    [user],
  )
  const types = new Map(Object.entries(IDS).map(([type, id]) => [id, type]))
  const samples = stored.map(({ series, ms, value, zone, seconds, ...of }) => ({
    ...{
      place: placeOf(of),
      type: types.get(series % 5_000) as string,
      daily: series >= 10_000,
      manual: series % 10_000 > 5_000,
    },
    ...{ ms: Math.round(ms), value, zone, lastsMs: (seconds ?? 0) * 1000 },
  }))
  const workouts = await app.db.query<{
    device: string
    source: string
    end: string
    zone: number | null
    ascent: number
  }>(
    `select d.device_model as device, d.source, w.end_at as end, w.zone_offset_min as zone, w.elevation_gain_m as ascent
     from workout w join data_source d on d.id = w.source_id where w.user_id = $1`,
    [user],
  )
  return {
    devices: SOURCES,
    samples: withDays(samples),
    workouts: workouts.map(({ end, zone, ascent, ...of }) => ({
      ...{ place: placeOf(of), day: localDay(Date.parse(end), zone), ascent },
    })),
    highest,
  }
}

oneEngine(t, 'activity of days follows from the samples of the sources', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const user = await createUser(app)
  const random = seeded(SEED)
  // Keys in another order than ranks.
  const ids = (await addSources(app.db, user, [...SOURCES].reverse())).reverse()
  const base = localDay(BASE, 0)
  await app.db.query(
    `insert into workout (user_id, source_id, type, start_at, end_at, zone_offset_min, duration_s, elevation_gain_m)
     select $1, s, 'hiking', to_timestamp($3) + n * interval '17 hours', to_timestamp($3) + n * interval '17 hours' + interval '2 hours', z, 7200, n * 7
     from unnest($2::int4[], array[120, -480, null, null]) x (s, z), generate_series(0, 20) n`,
    [user, ids, BASE / 1000],
  )
  for (const state of ['dirty', 'clean', 'partly dirty', 'dirty again']) {
    await t.test(`while rollups are ${state}`, async (t) => {
      if (state === 'clean') await refreshRollups(app.db)
      else await write(app.db, user, someSamples(random, ids, state === 'partly dirty' ? 8 : runs(60, 250)))
      const model = await modelOf(app, user)
      for (let n = 0; n < runs(3, 8); n += 1) {
        const merge = random() < 0.5
        const [from, length] = [Math.floor(random() * DAYS) - 2, 1 + Math.floor(random() * DAYS)]
        const desc = random() < 0.5
        const query = {
          start_date: dateText(base + from),
          end_date: dateText(base + from + length - 1),
          limit: pick(random, [1, 2, 3, 7, 50, 1000]),
          ...(desc && { sort_order: 'desc' }),
          ...(!merge && { merge: 'none' }),
        }
        const { rows } = await walk(app, user, 'activity', query)
        const wanted = activityRows(model, base + from, base + from + length, merge)
        if (desc) wanted.reverse()
        t.ok(wanted.length > 0 || length < 3)
        if (!alike(rows, wanted)) t.strictSame(rows, wanted, JSON.stringify(query))
        else t.pass(JSON.stringify(query))
      }
    })
  }

  await t.test('explained: what every source measured and which part counts', async (t) => {
    const { samples } = await modelOf(app, user)
    type Sums = Record<string, number | null>
    interface Explained {
      source: { source: string }
      used: boolean
      counted: Sums
      dropped: Sums
      manual?: { counted: Sums; dropped: Sums }
    }
    const wrong: string[] = []
    for (const merge of ['none', 'segments']) {
      const query = { start_date: dateText(base), end_date: dateText(base + DAYS), explain: true, merge }
      for (const row of (await summary(app, user, 'activity', query)).body.data) {
        const check = (right: boolean, what: string) => right || wrong.push(`${merge} ${row.date}: ${what}`)
        const day = samples.filter((one) => dateText(one.day) === row.date)
        const sources = row.sources as Explained[]
        const names = sources.map(({ source }) => source.source)
        const wanted = [...new Set(day.map(({ place }) => place))].sort().map((place) => SOURCES[place]?.source)
        if (merge === 'none') check(names.join() === wanted.join(), 'all sources of the day, best first')
        check(names.toSorted().join() === wanted.toSorted().join(), 'all sources of the day')
        const used = sources.filter((one) => one.used)
        check(alike(used[0]?.source, row.source) && (merge !== 'none' || used.length === 1), 'the best one that counts')
        for (const [type, field] of Object.entries(FIELDS)) {
          const of = (sums?: { counted: Sums; dropped: Sums }) =>
            (sums?.counted[field] ?? 0) + (sums?.dropped[field] ?? 0)
          for (const one of sources) {
            const own = day.filter(
              ({ type: name, place }) => name === type && SOURCES[place]?.source === one.source.source,
            )
            check(alike(of(one), sum(own.map(({ value }) => value))), `${type} of ${one.source.source}`)
            const entered = merge === 'none' ? [] : own.filter(({ manual }) => manual)
            check(alike(of(one.manual), sum(entered.map(({ value }) => value))), `${type} entered by hand`)
          }
          const total = sum(sources.map(({ counted }) => counted[field] ?? 0))
          if (field === 'distance_meters') check(alike(total, row.distance_meters ?? 0), 'the row is what counts')
        }
      }
    }
    t.strictSame(wrong, [])
  })

  await t.test('a date of birth and a change of priorities change the answer', async (t) => {
    const query = { start_date: dateText(base), end_date: dateText(base + DAYS) }
    const first = await summary(app, user, 'activity', query)
    const tag = first.headers.get('etag') ?? ''
    t.equal((await summary(app, user, 'activity', query, { 'If-None-Match': tag })).status, 304)
    // 70 on the first day of the range, 71 on the last one.
    await app.request('PUT', `/api/v1/users/${user}/personal-record`, { body: { birth_date: '1955-05-08' } })
    const aged = await summary(app, user, 'activity', query, { 'If-None-Match': tag })
    t.equal(aged.status, 200)
    t.ok(alike(aged.body.data, activityRows(await modelOf(app, user, 150), base, base + DAYS + 1, true)))
    await app.request('PUT', '/api/v1/priorities/providers/garmin', { auth: 'developer', body: { priority: 1 } })
    await app.request('PUT', '/api/v1/priorities/providers/apple', { auth: 'developer', body: { priority: 2 } })
    const { body, status } = await summary(app, user, 'activity', query, {
      'If-None-Match': aged.headers.get('etag') ?? '',
    })
    t.equal(status, 200)
    const providers = body.data.map(({ source }: { source: { provider: string } }) => source.provider)
    t.ok(providers.filter((name: string) => name === 'garmin').length > DAYS / 2)
  })
})

oneEngine(t, 'activity of uploads', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const at = (text: string) => Date.parse(text)

  await t.test('a sample counts on the day its clock showed', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, body([steps(at('2026-05-03T21:30:00Z'), 70, { zoneOffset: '+10:00' })]))
    const days = async (start_date: string, end_date: string) =>
      (await summary(app, user, 'activity', { start_date, end_date })).body.data.map(
        ({ date }: { date: string }) => date,
      )
    t.strictSame(await days('2026-05-04', '2026-05-04'), ['2026-05-04'])
    t.strictSame(await days('2026-05-03', '2026-05-03'), [])
    t.strictSame(await days('2026-05-01', '2026-05-04T00:00:00Z'), [], 'midnight ends before its day')
    t.strictSame(await days('2026-05-01', '2026-05-04T12:00:00Z'), ['2026-05-04'], 'noon does not')
    t.strictSame(await days('2026-05-04T00:00:00+10:00', '2026-05-05T00:00:00+10:00'), ['2026-05-04'], 'as written')
    t.strictSame(await days('2026-05-05', '2026-05-04'), [], 'an end before the start is empty')
    t.strictSame(await days('2026-05-04', '2026-05-04T00:00:00Z'), [], 'nothing between')
    t.strictSame(await days('0001-01-01', '9999-12-31'), ['2026-05-04'], 'all of time')
    const late = await createUser(app)
    await importBody(app, late, body([steps(at('2026-05-04T09:30:00Z'), 70, { zoneOffset: '-10:00' })]))
    const { body: page } = await summary(app, late, 'activity', { start_date: '2026-05-03', end_date: '2026-05-03' })
    t.strictSame(page.data[0].steps, 70, 'a late evening far west')
    t.strictSame(page.metadata, {
      resolution: null,
      sample_count: 1,
      start_time: '2026-05-03T00:00:00Z',
      end_time: '2026-05-04T00:00:00Z',
    })
    t.strictSame(page.pagination, { next_cursor: null, previous_cursor: null, has_more: false, total_count: null })
  })

  await t.test('a watch beats a phone, whose other data counts, too', async (t) => {
    const user = await createUser(app)
    const morning = at('2026-05-04T08:00:00Z')
    await importBody(
      app,
      user,
      body([
        steps(morning, 40),
        steps(morning, 50, { source: PHONE }),
        steps(morning + 8 * 3_600_000, 60, { source: PHONE }),
        heartRate(morning, 120),
        heartRate(morning + 30_000, 100),
      ]),
    )
    const query = { start_date: '2026-05-04', end_date: '2026-05-04' }
    const [row] = (await summary(app, user, 'activity', { ...query, merge: 'none' })).body.data
    t.match(row, {
      date: '2026-05-04',
      source: { provider: 'apple', device_type: 'watch' },
      steps: 40,
      distance_meters: null,
      floors_climbed: null,
      total_calories_kcal: null,
      active_minutes: 1,
      sedentary_minutes: 0,
      intensity_minutes: { light: 1, moderate: 0, vigorous: 0 },
      heart_rate: { avg_bpm: 110, max_bpm: 120, min_bpm: 100 },
    })
    const { body: merged } = await summary(app, user, 'activity', { ...query, explain: true })
    t.match(merged.data[0], { steps: 100, active_minutes: 2, source: { device_type: 'watch' } })
    t.match(merged.data[0].sources[1], { used: true, counted: { steps: 60 }, dropped: { steps: 50 } })
  })

  await t.test('active minutes that a platform tells leave the rest of the day to the others', async (t) => {
    const user = await createUser(app)
    const midnight = Date.UTC(2026, 4, 4)
    const [sourceId = 0] = await addSources(app.db, user, SOURCES.slice(0, 1))
    const one = (name: string, minute: number, value: number): Written => ({
      ...{ sourceId, seriesId: IDS[name] as number, ms: midnight + minute * MINUTE_MS, value, zone: 0 },
    })
    const walked = Array.from({ length: 23 * 60 }, (_, minute) => one('steps', minute, 1))
    // A ride of two hours and a half has few steps.
    await write(app.db, user, [...walked, one('active_time', 60, 150)])
    const { body: read } = await summary(app, user, 'activity', { start_date: '2026-05-04', end_date: '2026-05-04' })
    t.match(read.data, [{ active_minutes: 150, sedentary_minutes: 24 * 60 - 150 }])
  })

  await t.test('what is refused', async (t) => {
    const user = await createUser(app)
    const range = { start_date: '2026-05-01', end_date: '2026-05-02' }
    const issue = async (query: object) => {
      const { status, body } = await summary(app, user, 'activity', { ...range, ...query })
      return [status, typeof body.detail === 'string' ? body.detail : body.detail[0].msg]
    }
    t.strictSame(await issue({ limit: 1001 }), [422, 'Input should be less than or equal to 1000'])
    t.strictSame(await issue({ limit: 0 }), [422, 'Input should be greater than or equal to 1'])
    t.strictSame(await issue({ sort_order: 'up' }), [422, "String should match pattern '^(asc|desc)$'"])
    t.strictSame(await issue({ merge: 'all' }), [422, "Input should be 'none' or 'segments'"])
    t.strictSame(await issue({ sort: 'asc' }), [422, 'Extra inputs are not permitted'])
    t.strictSame(await issue({ cursor: 'abc' }), [400, "Invalid cursor format: 'abc'. Expected 'timestamp|id'."])
    t.strictSame(await issue({ start_date: 'soon' }), [
      400,
      "Invalid datetime format: 'soon'. Expected ISO 8601 format or Unix timestamp.",
    ])
    t.strictSame(await issue({ start_date: undefined }), [422, 'Field required'])
    const nobody = '00000000-0000-4000-8000-000000000000'
    const { status, body } = await summary(app, nobody, 'activity', range)
    t.strictSame([status, body], [404, { detail: `User with ID: ${nobody} not found.` }])
    t.equal((await app.request('GET', `/api/v1/users/${user}/summaries/activity`, { auth: 'none' })).status, 401)
  })

  await t.test('archived days keep everything, including their minutes', async (t) => {
    const user = await createUser(app)
    const old = Date.now() - 100 * DAY_MS
    const [id] = await addSources(app.db, user, SOURCES.slice(0, 1))
    const samples = Array.from({ length: 1000 }, (_, n) => [
      { sourceId: id as number, seriesId: 1, ms: old + n * 72 * MINUTE_MS, value: 60 + (n % 90), zone: 60 },
      { sourceId: id as number, seriesId: 80, ms: old + n * 72 * MINUTE_MS, value: n % 60, zone: 60 },
    ]).flat()
    await write(app.db, user, samples)
    const model = await modelOf(app, user)
    const query = { start_date: iso(old - DAY_MS), end_date: iso(Date.now()), limit: 20 }
    const range = [Math.floor(old / DAY_MS) - 1, Math.ceil(Date.now() / DAY_MS), false] as const
    t.ok(alike((await walk(app, user, 'activity', query)).rows, activityRows(model, ...range)))
    await refreshRollups(app.db)
    await app.db.query('update archival set archive_after_days = 60')
    while (await archive(app.db, Date.now()));
    const { floor } = await app.db.one<{ floor: number }>(`select date_part('epoch', raw_floor()) * 1000 as floor`)
    t.ok(floor > old && floor < old + 50 * DAY_MS, 'some of it is archived')
    const { rows } = await walk(app, user, 'activity', query)
    t.ok(alike(rows, activityRows(model, ...range)))
    t.match(rows[5], {
      sedentary_minutes: Number,
      intensity_minutes: { light: Number },
      heart_rate: { avg_bpm: Number },
    })
    const strict = await walk(app, user, 'activity', { ...query, merge: 'none' })
    t.ok(alike(strict.rows, rows), 'there is one source only')
  })

  await t.test('archived days are merged as they were before', async (t) => {
    const user = await createUser(app)
    const [watch = 0, phone = 0] = await addSources(app.db, user, SOURCES.slice(0, 2))
    const [met, apart, partly] = [120, 110, 100].map(
      (ago) => Math.floor((Date.now() - ago * DAY_MS) / DAY_MS) * DAY_MS + DAY_MS / 2,
    ) as [number, number, number]
    const step = (sourceId: number, ms: number, value: number) => ({ sourceId, seriesId: 80, ms, value, zone: 0 })
    await write(app.db, user, [
      ...[step(watch, met, 40), step(phone, met, 1000), step(phone, met + MINUTE_MS, 25)],
      ...[step(watch, apart, 40), step(phone, apart + QUARTER_MS, 25)],
      ...[step(watch, partly, 40), step(phone, partly + MINUTE_MS, 20), step(phone, partly + QUARTER_MS, 25)],
    ])
    const query = { start_date: iso(met), end_date: iso(partly) }
    const live = (await summary(app, user, 'activity', query)).body.data
    t.match(live, [
      { steps: 40, active_minutes: 1, sedentary_minutes: 0 },
      { steps: 65, active_minutes: 1, sedentary_minutes: 1 },
      { steps: 65, active_minutes: 1, sedentary_minutes: 1 },
    ])
    await refreshRollups(app.db)
    t.strictSame((await summary(app, user, 'activity', query)).body.data, live)
    await app.db.query('update archival set archive_after_days = 60')
    while (await archive(app.db, Date.now()));
    const left = await app.db.query('select from sample where source_id = any ($1)', [[watch, phone]])
    t.equal(left.length, 0, 'all of it is archived')
    await app.db.query('update app_user set revision = revision + 1 where id = $1', [user])
    t.strictSame((await summary(app, user, 'activity', query)).body.data, live)
  })
})
