// Workouts in the API: contract 5.2, 5.3.
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { paceTypes, type WorkoutType, workoutTypes } from '../../server/catalogue/workouts.ts'
import { archive } from '../../server/rollups/archive.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { allEvents, getEvents, statistic, workout, workoutBody } from '../support/event-lists.ts'
import { createUser, heartRate, importBody, oneEngine, PHONE, startImports, storedSamples } from '../support/sdk.ts'

const MIN = 60_000
const HOUR = 60 * MIN
/** Midnight UTC. */
const DAY = Date.UTC(2026, 1, 24)

/** A sample file with only its workouts. */
async function sample(name: string) {
  const { data, ...envelope } = JSON.parse(await readFile(new URL(`../samples/${name}.json`, import.meta.url), 'utf8'))
  return workoutBody(data.workouts, [], envelope)
}

/** A workout of the watch without further details. */
const bare = {
  name: null,
  zone_offset: null,
  source: {
    provider: 'apple',
    source: 'Watch of Ada',
    device: 'Watch7,5',
    device_type: 'watch',
    device_name: 'Apple Watch Ultra 2',
  },
  entry_source: null,
  intensity: null,
  calories_kcal: null,
  distance_meters: null,
  avg_heart_rate_bpm: null,
  max_heart_rate_bpm: null,
  avg_pace_sec_per_km: null,
  elevation_gain_meters: null,
  heart_rate_min: null,
  steps_count: null,
  average_speed: null,
  max_speed: null,
  average_cadence: null,
  average_watts: null,
  max_watts: null,
  moving_time_seconds: null,
  elev_high: null,
  elev_low: null,
  hr_zones: null,
  power_zones: null,
  segments: null,
}

oneEngine(t, 'workouts', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const brief = async (user: string, query = {}) =>
    (await allEvents(app, user, 'workouts', query)).map(({ type, start_time }) => `${start_time.slice(5, 16)} ${type}`)

  await t.test('of a watch are shown with everything it said', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, await sample('apple-workouts-with-statistics'))
    const workouts = await allEvents(app, user, 'workouts')
    t.strictSame(
      workouts.map(({ type }) => type),
      ['running', 'pool_swimming', 'cycling', 'other'],
      'the latest first',
    )
    const [{ id, ...run }, swim, ride] = workouts
    t.match(id, /^[0-9a-f-]{36}$/)
    t.strictSame(run, {
      ...bare,
      type: 'running',
      start_time: '2025-05-06T15:02:11Z',
      end_time: '2025-05-06T15:48:52Z',
      zone_offset: '+02:00',
      duration_seconds: 2751,
      source: { ...bare.source, source: 'Ana’s Apple Watch' },
      calories_kcal: 512.4,
      distance_meters: 8342.7,
      avg_heart_rate_bpm: 152,
      max_heart_rate_bpm: 174,
      avg_pace_sec_per_km: 329.8,
      elevation_gain_meters: 84.2,
      heart_rate_min: 96,
      steps_count: 7541,
      average_speed: 3.032,
      average_watts: 241.3,
    })
    t.match(swim, { avg_pace_sec_per_km: 1606.7, avg_heart_rate_bpm: 132 }, 'pace of duration and distance')
    t.match(ride, { avg_pace_sec_per_km: 144.7, source: { source: 'Strava', device_type: 'phone' } })
  })

  await t.test('of a phone have their title, and segments on request', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, await sample('samsung-mix'))
    await importBody(app, user, await sample('health-connect-mix'))
    const named = (await allEvents(app, user, 'workouts')).filter(({ name }) => name)
    t.strictSame(
      named.map(({ name, type, entry_source }) => [name, type, entry_source]),
      [
        ['45 min Power Zone Ride', 'indoor_cycling', 'automatic'],
        ['Morning HIIT', 'cardio_training', null],
      ],
    )
    const stored = await app.db.query<{ id: string; segments: unknown }>(
      'select id, segments from workout where user_id = $1 and segments is not null',
      [user],
    )
    t.ok(stored.length > 0)
    const shown = await allEvents(app, user, 'workouts', { include: 'segments' })
    for (const { id, segments } of stored) t.strictSame(shown.find((one) => one.id === id).segments, segments)
    t.strictSame(
      shown.filter(({ segments }) => segments !== null).length,
      stored.length,
      'where there are none they are null',
    )
    for (const include of [undefined, 'zones']) {
      const without = await allEvents(app, user, 'workouts', { include })
      t.ok(without.every(({ segments }) => segments === null))
    }
  })

  await t.test('have zones on request', async (t) => {
    const user = await createUser(app)
    await importBody(app, user, workoutBody([workout('running', DAY, 30)]))
    const hr = { zones: [{ zone: 1, seconds: 600, max_bpm: 120 }], max_hr: 185 }
    const power = { zones: [{ zone: 1, seconds: 60 }], ftp_watts: 250 }
    await app.db.query(`update workout set hr_zones = $2, power_zones = $3, intensity = 'low' where user_id = $1`, [
      user,
      hr,
      power,
    ])
    t.match(await allEvents(app, user, 'workouts'), [{ hr_zones: null, power_zones: null, intensity: 'low' }])
    t.match(await allEvents(app, user, 'workouts', { include: 'zones,segments' }), [
      { hr_zones: hr, power_zones: power, segments: null },
    ])
  })

  await t.test('without an average heart rate have that of their own source meanwhile', async (t) => {
    const user = await createUser(app)
    const start = DAY + 8 * HOUR
    const beats = [
      heartRate(start - 1000, 40),
      heartRate(start, 100),
      heartRate(start + 10 * MIN, 120),
      heartRate(start + 30 * MIN, 131),
      heartRate(start + 30 * MIN + 1000, 200),
      heartRate(start + 5 * MIN, 199, { source: PHONE }),
      heartRate(start + 4 * HOUR, 70),
    ]
    const workouts = [
      workout('running', start, 30),
      workout('running', start, 30, { source: PHONE }),
      workout('yoga', start + HOUR, 30),
      workout('yoga', start + 4 * HOUR, 30, { values: [statistic('averageHeartRate', 91.5, 'bpm')] }),
      workout('yoga', start + 4 * HOUR, 20, { values: [statistic('averageHeartRate', 5, 'bpm')] }),
    ]
    await importBody(app, user, workoutBody(workouts, beats))
    for (const state of ['behind', 'refreshed'] as const) {
      if (state === 'refreshed') await refreshRollups(app.db)
      const shown = await allEvents(app, user, 'workouts')
      const rate = (device: string, time: string, minutes: number) =>
        shown.find(
          ({ source, start_time, duration_seconds }) =>
            source.device === device && start_time.includes(time) && duration_seconds === minutes * 60,
        ).avg_heart_rate_bpm
      t.equal(rate('Watch7,5', 'T08:', 30), 117, `both ends belong to it, rollups ${state}`)
      t.equal(rate('iPhone17,1', 'T08:', 30), 199)
      t.equal(rate('Watch7,5', 'T09:', 30), null, 'nothing was measured')
      t.equal(rate('Watch7,5', 'T12:', 30), 92, 'what the source says counts')
      t.equal(rate('Watch7,5', 'T12:', 20), 70, 'but not what cannot be true')
    }
  })

  await t.test('have a pace where the type has one, and keep a zero', async (t) => {
    const user = await createUser(app)
    const zero = ['activeEnergyBurned', 'distance', 'elevationAscended', 'averageSpeed'].map((name) =>
      statistic(name, 0, name === 'activeEnergyBurned' ? 'kcal' : name === 'averageSpeed' ? 'm/s' : 'm'),
    )
    const far = [statistic('distance', 5000, 'm')]
    const fast = [...far, statistic('averageSpeed', 4, 'm/s')]
    await importBody(
      app,
      user,
      workoutBody([
        workout('running', DAY, 25, { values: far }),
        workout('running', DAY + HOUR, 25, { values: fast }),
        workout('running', DAY + 2 * HOUR, 25, { values: zero }),
        workout('yoga', DAY + 3 * HOUR, 25, { values: fast }),
        workout('running', DAY + 4 * HOUR, 0, { values: far }),
        workout('running', DAY + 5 * HOUR, 0),
      ]),
    )
    const shown = await allEvents(app, user, 'workouts')
    t.strictSame(
      shown.map(({ avg_pace_sec_per_km }) => avg_pace_sec_per_km),
      [null, null, null, null, 250, 300],
    )
    t.match(shown[3], { calories_kcal: 0, distance_meters: 0, elevation_gain_meters: 0, average_speed: 0 })

    await app.db.query(
      `insert into workout (user_id, source_id, type, start_at, end_at, duration_s, distance_m)
       select $1, d.id, type, timestamptz '2020-01-01' + place * interval '1 hour',
              timestamptz '2020-01-01 00:10' + place * interval '1 hour', 600, 2000
       from data_source d, unnest($2::text[]) with ordinality w (type, place) where d.user_id = $1`,
      [user, [...workoutTypes, 'unknown']],
    )
    const all = await allEvents(app, user, 'workouts', { end_date: '2020-12-31' })
    t.equal(all.length, workoutTypes.length + 1)
    for (const { type, avg_pace_sec_per_km } of all)
      t.equal(avg_pace_sec_per_km, paceTypes.has(type as WorkoutType) ? 300 : null, type)
  })

  await t.test('are found by every filter, and added up', async (t) => {
    const user = await filtered(app)
    t.strictSame(await brief(user, { start_date: '2026-02-24', end_date: '2026-02-24' }), [
      '02-24T23:59 walking',
      '02-24T12:30 trail_running',
      '02-24T12:00 cycling',
      '02-24T08:00 elliptical',
      '02-24T00:00 running',
    ])
    t.strictSame(await brief(user, { start_date: '2026-02-24T12:00:00Z', end_date: '2026-02-24T23:59:00Z' }), [
      '02-24T12:30 trail_running',
      '02-24T12:00 cycling',
    ])
    t.strictSame(await brief(user, { start_date: '1771934400', end_date: '1771934401' }), ['02-24T12:00 cycling'])
    t.strictSame(await brief(user, { start_date: '2026-02-25', end_date: '2026-02-24' }), [])
    t.strictSame(await brief(user, { type: 'running' }), ['02-24T00:00 running'])
    t.strictSame(await brief(user, { record_type: 'RUN' }), ['02-24T12:30 trail_running', '02-24T00:00 running'])
    t.strictSame(await brief(user, { record_type: 'run%' }), [])
    t.strictSame(await brief(user, { record_type: 'g', type: 'cycling' }), ['02-24T12:00 cycling'])
    t.strictSame(await brief(user, { provider: 'health_connect' }), ['02-24T12:30 trail_running'])
    t.strictSame(await brief(user, { source: 'Phone of Ada' }), ['02-24T23:59 walking'])
    t.strictSame(await brief(user, { device_model: 'iPhone17,1' }), ['02-24T23:59 walking'])
    t.strictSame(await brief(user, { device_model: 'iPhone' }), [])
    const sources = (await app.request('GET', `/api/v1/users/${user}/data-sources`)).body.items
    const phone = sources.find((one: { device_model: string }) => one.device_model === 'iPhone17,1').id
    t.strictSame(await brief(user, { data_source_id: phone.toUpperCase() }), ['02-24T23:59 walking'])

    const types = await app.request('GET', `/api/v1/users/${user}/events/workouts/types`)
    t.strictSame(types.body, ['cycling', 'elliptical', 'rowing', 'running', 'trail_running', 'walking'])

    for (const query of [
      {},
      { type: 'running' },
      { record_type: 'run' },
      { provider: 'apple' },
      { data_source_id: phone },
      { start_date: '2026-02-24', end_date: '2026-02-24' },
      { start_date: '2026-02-25', end_date: '2026-02-24' },
    ]) {
      const listed = await allEvents(app, user, 'workouts', query)
      const sum = (field: string) => {
        const known = listed.map((one) => one[field]).filter((value) => value !== null)
        return known.length > 0 ? known.reduce((total, value) => total + value, 0) : null
      }
      t.strictSame(
        (await getEvents(app, user, 'workouts/totals', query)).body,
        {
          count: listed.length,
          duration_seconds: sum('duration_seconds') ?? 0,
          calories_kcal: sum('calories_kcal'),
          distance_meters: sum('distance_meters'),
        },
        JSON.stringify(query),
      )
    }
    const tidy = await createUser(app)
    const burned = (name: string, start: number, kcal: number) =>
      workout(name, start, 10, {
        values: [statistic('activeEnergyBurned', kcal, 'kcal'), statistic('distance', kcal * 3, 'm')],
      })
    await importBody(app, tidy, workoutBody([burned('running', DAY, 0.1), burned('rowing', DAY + 30 * MIN, 0.2)]))
    const { body: sums } = await getEvents(app, tidy, 'workouts/totals')
    t.match(sums, { calories_kcal: 0.3, distance_meters: 0.9 }, 'sums have no noise')

    const nobody = await createUser(app)
    t.strictSame(
      (await getEvents(app, nobody, 'workouts/types', { start_date: undefined, end_date: undefined })).body,
      [],
    )
  })
})

/** A user with workouts of three sources, at the boundaries of a day. */
async function filtered(app: TestApp): Promise<string> {
  const user = await createUser(app)
  const energy = [statistic('activeEnergyBurned', 250.5, 'kcal')]
  const distance = [statistic('distance', 4000, 'm')]
  await importBody(
    app,
    user,
    workoutBody([
      workout('rowing', DAY - MIN, 60, { values: distance }),
      workout('running', DAY, 30, { values: energy }),
      workout('elliptical', DAY + 8 * HOUR, 30),
      workout('cycling', DAY + 12 * HOUR, 30, { values: [...energy, ...distance] }),
      workout('walking', DAY + 24 * HOUR - MIN, 30, { source: PHONE }),
      workout('rowing', DAY + 24 * HOUR, 60),
    ]),
  )
  await importBody(
    app,
    user,
    workoutBody([workout('RUNNING', DAY + 12.5 * HOUR, 30, { values: energy })], [], { provider: 'health_connect' }),
  )
  await app.db.query(
    `update workout w set type = 'trail_running' from data_source d
     where d.id = w.source_id and d.user_id = $1 and d.provider = 'health_connect'`,
    [user],
  )
  return user
}

oneEngine(t, 'archived workouts keep their heart rate', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const user = await createUser(app)
  const morning = Math.floor(Date.now() / (24 * HOUR) - 200) * 24 * HOUR + 8 * HOUR
  // 100 to 144, one per minute.
  const beats = Array.from({ length: 45 }, (_, n) => heartRate(morning + n * MIN, 100 + n))
  await importBody(
    app,
    user,
    workoutBody(
      [workout('running', morning, 44), workout('yoga', morning + 5 * MIN, 35), workout('hiking', morning + MIN, 20)],
      beats,
    ),
  )
  const rates = async () =>
    Object.fromEntries(
      (await allEvents(app, user, 'workouts')).map(({ type, avg_heart_rate_bpm }) => [type, avg_heart_rate_bpm]),
    )
  const exact = { running: 122, yoga: 123, hiking: 111 }
  t.strictSame(await rates(), exact)
  await refreshRollups(app.db)
  t.strictSame(await rates(), exact)
  await app.request('PUT', '/api/v1/settings/archival', { auth: 'developer', body: { archive_after_days: 60 } })
  while (await archive(app.db, Date.now(), () => {}));
  t.equal((await storedSamples(app.db, user)).length, 0)
  t.strictSame(await rates(), exact)
  // Of one that comes later only the quarter hours within it are known.
  await importBody(app, user, workoutBody([workout('walking', morning, 43), workout('rowing', morning + 2 * MIN, 19)]))
  t.strictSame(await rates(), { ...exact, walking: 115, rowing: null })
})
