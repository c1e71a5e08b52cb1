// Workouts through real uploads: sdk-types 8, sdk-payload 7 and 15, contract 12.9.
import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import t from 'tap'
import type { Database } from '../../server/db/database.ts'
import { deleteWorkouts } from '../../server/store/workouts.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import {
  accounted,
  type BatchStatus,
  body,
  createUser,
  importBody,
  iso,
  oneEngine,
  PHONE,
  rowVersions,
  type SdkRecord,
  startImports,
  storedSamples,
  upload,
  WATCH,
  waitForAll,
} from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const MINUTE_MS = 60_000

const workoutsOf = async (name: string) => {
  const text = await readFile(new URL(`../samples/${name}.json`, import.meta.url), 'utf8')
  const { provider, data } = JSON.parse(text) as { provider: string; data: { workouts: SdkRecord[] } }
  return { provider, workouts: data.workouts }
}

const importWorkouts = (app: TestApp, user: string, workouts: unknown[], provider = 'apple') =>
  importBody(app, user, body([], { provider, data: { workouts } }))

/** A run of the watch, `minutes` after noon, of length `lasts`. */
const run = (id: string | null, minutes: number, lasts = 30, fields: SdkRecord = {}): SdkRecord => ({
  id,
  type: 'running',
  startDate: iso(NOON + minutes * MINUTE_MS),
  endDate: iso(NOON + (minutes + lasts) * MINUTE_MS),
  zoneOffset: '+01:00',
  source: WATCH,
  ...fields,
})

const energy = (kcal: number) => ({ values: [{ type: 'activeEnergyBurned', value: kcal, unit: 'kcal' }] })

type StoredWorkout = Record<string, unknown> & { id?: string; external_id: string | null; start_at: string }

const absent = {
  other_ids: null,
  version: null,
  answered_at: null,
  title: null,
  notes: null,
  entry_source: null,
  intensity: null,
  zone_offset_min: null,
  moving_s: null,
  calories_kcal: null,
  distance_m: null,
  steps: null,
  heart_rate_min: null,
  heart_rate_avg: null,
  heart_rate_max: null,
  average_speed: null,
  max_speed: null,
  average_cadence: null,
  average_watts: null,
  max_watts: null,
  elevation_gain_m: null,
  elevation_high_m: null,
  elevation_low_m: null,
  hr_zones: null,
  power_zones: null,
  segments: null,
  laps: null,
  route: null,
}

/** Every column of a user's workouts but the keys, with the source as text, in order of time. */
async function stored(db: Database, user: string): Promise<StoredWorkout[]> {
  const rows = await db.query<StoredWorkout>(
    `select w.*, d.provider || ' / ' || d.device_model || ' / ' || d.source as source
     from workout w join data_source d on d.id = w.source_id
     where w.user_id = $1
     order by w.start_at, w.end_at, 2`,
    [user],
  )
  return rows.map(({ id: _, user_id: __, source_id: ___, ...row }) => row as StoredWorkout)
}

/** `external ids, minutes after noon, length in minutes, energy`. */
const brief = async (db: Database, user: string) =>
  (await stored(db, user)).map(({ external_id, other_ids, start_at, duration_s, calories_kcal }) => {
    const ids = [external_id, ...((other_ids ?? []) as string[])].sort().join('+')
    return [ids, (Date.parse(start_at) - NOON) / MINUTE_MS, Number(duration_s) / 60, calories_kcal].join(' ')
  })

const ids = async (db: Database, user: string) =>
  (await db.query<{ id: string }>('select id from workout where user_id = $1 order by start_at, end_at', [user])).map(
    ({ id }) => id,
  )

const versions = async (db: Database, user: string) => ({
  ...(await rowVersions(db, user)),
  workouts: await db.query('select id, xmin::text, xmax::text from workout where user_id = $1 order by id', [user]),
})

const counts = ({ received, inserted, updated, unchanged, duplicates, dropped_count }: BatchStatus) =>
  ({ received, inserted, updated, unchanged, duplicates, dropped_count }) as const

/** The counts of the batch for workouts alone. */
const saved = async (app: TestApp, { batch_id }: BatchStatus) =>
  (await app.db.one<{ saved: Record<string, unknown> }>('select saved from upload where id = $1', [batch_id])).saved
    .workout

const APPLE_WATCH = 'apple / Watch7,5 / Ana’s Apple Watch'

const expected: Record<string, { rows: StoredWorkout[]; samples: string[] }> = {
  'apple-workouts-with-statistics': {
    rows: [
      {
        ...absent,
        external_id: '3E7A4A12-EE1F-4CD3-AFFD-A98455B640EF',
        type: 'other',
        start_at: '2025-05-02T09:00:00Z',
        end_at: '2025-05-02T09:20:00Z',
        zone_offset_min: 120,
        duration_s: 1200,
        source: 'apple /  / ',
      },
      {
        ...absent,
        external_id: '9DE2F0AE-0967-42DB-A1AA-88CF53B17C1F',
        type: 'cycling',
        start_at: '2025-05-03T09:00:00Z',
        end_at: '2025-05-03T10:32:10Z',
        zone_offset_min: 120,
        duration_s: 5530,
        distance_m: 38120,
        average_speed: 6.91,
        max_speed: 14.2,
        average_cadence: 82,
        average_watts: 168,
        source: 'apple / iPhone17,1 / Strava',
      },
      {
        ...absent,
        external_id: '62D7D518-4B7A-413D-8642-55BDB8187847',
        type: 'pool_swimming',
        start_at: '2025-05-04T08:00:00Z',
        end_at: '2025-05-04T08:41:30Z',
        zone_offset_min: 120,
        duration_s: 2410,
        calories_kcal: 321,
        distance_m: 1500,
        heart_rate_avg: 132.4,
        source: APPLE_WATCH,
      },
      {
        ...absent,
        external_id: 'A95DCB8A-EBB2-42EF-AEDB-10D5538EDEB9',
        type: 'running',
        start_at: '2025-05-06T15:02:11Z',
        end_at: '2025-05-06T15:48:52Z',
        zone_offset_min: 120,
        duration_s: 2751,
        calories_kcal: 512.4,
        distance_m: 8342.7,
        steps: 7541,
        heart_rate_min: 96,
        heart_rate_avg: 151.72,
        heart_rate_max: 174,
        average_speed: 3.032,
        average_watts: 241.3,
        elevation_gain_m: 84.2,
        laps: [
          ['15:02:11', '15:07:44', 'segment', 333, null],
          ['15:02:11', '15:24:40', 'lap', 1349, 4000],
          ['15:30:00', '15:30:00', 'marker', 0, null],
        ].map(([start, end, type, duration_seconds, distance_meters]) => ({
          start_time: `2025-05-06T${start}Z`,
          end_time: `2025-05-06T${end}Z`,
          type,
          duration_seconds,
          distance_meters,
        })),
        source: APPLE_WATCH,
      },
    ],
    samples: [
      '2025-05-03T10:32:10Z cadence 82 120',
      '2025-05-04T08:41:30Z swimming_stroke_count 812 120',
      '2025-05-06T15:48:52Z average_met 9.6 120',
      '2025-05-06T15:48:52Z running_ground_contact_time 247 120',
      '2025-05-06T15:48:52Z running_stride_length 110.6 120',
      '2025-05-06T15:48:52Z running_vertical_oscillation 8.7 120',
      '2025-05-06T15:48:52Z weather_humidity 61 120',
      '2025-05-06T15:48:52Z weather_temperature 17.2 120',
    ],
  },
  'samsung-mix': {
    rows: [
      {
        ...absent,
        external_id: '3da607d3-cbe1-42e0-b199-17f73a82c7dd',
        type: 'cardio_training',
        title: 'Morning HIIT',
        start_at: '2025-05-04T06:00:00Z',
        end_at: '2025-05-04T06:25:00Z',
        zone_offset_min: 120,
        duration_s: 1500,
        calories_kcal: 210,
        source: 'samsung / SM-L315F / Galaxy Watch7',
      },
      {
        ...absent,
        external_id: '3c3662bc-b661-46de-a79c-636744c66b62-s0',
        type: 'cycling',
        start_at: '2025-05-05T16:00:00Z',
        end_at: '2025-05-05T16:45:10Z',
        zone_offset_min: 120,
        duration_s: 2710,
        calories_kcal: 402,
        distance_m: 15230,
        heart_rate_min: 92,
        heart_rate_avg: 138,
        heart_rate_max: 161,
        average_speed: 5.62,
        max_speed: 12.1,
        average_cadence: 78,
        elevation_gain_m: 122,
        elevation_high_m: 311,
        elevation_low_m: 240,
        source: 'samsung / SM-L315F / Galaxy Watch7',
      },
    ],
    samples: ['2025-05-05T16:45:10Z cadence 78 120', '2025-05-05T16:45:10Z vo2_max 44.1 120'],
  },
  'health-connect-mix': {
    rows: [
      {
        ...absent,
        external_id: 'd9dca034-a610-42ae-a3d9-d0424377a1cc',
        type: 'other',
        entry_source: 'automatic',
        start_at: '2025-05-02T08:00:00Z',
        end_at: '2025-05-02T08:10:00Z',
        zone_offset_min: 120,
        duration_s: 600,
        source: 'health_connect / Pixel 9 / com.google.android.apps.fitness',
      },
      {
        ...absent,
        external_id: 'c128213d-aee3-4f2b-b5ce-c025c28c95e3',
        type: 'hiking',
        entry_source: 'automatic',
        start_at: '2025-05-03T08:00:00Z',
        end_at: '2025-05-03T10:10:00Z',
        zone_offset_min: 120,
        duration_s: 7800,
        route: [
          [Date.parse('2025-05-03T08:00:00Z') / 1000, 49.231, 19.9818, 905, 4, 6],
          [Date.parse('2025-05-03T08:00:10Z') / 1000, 49.2311, 19.9821, null, null, null],
        ],
        source: 'health_connect / Pixel 9 / com.google.android.apps.fitness',
      },
      {
        ...absent,
        external_id: '445e46b1-450c-4326-bbc4-91bc827a742a',
        type: 'indoor_cycling',
        title: '45 min Power Zone Ride',
        notes: 'felt good',
        entry_source: 'automatic',
        start_at: '2025-05-05T18:00:00Z',
        end_at: '2025-05-05T18:45:00Z',
        zone_offset_min: 120,
        duration_s: 2700,
        moving_s: 2580,
        calories_kcal: 512,
        distance_m: 22140,
        heart_rate_min: 88,
        heart_rate_avg: 142.6,
        heart_rate_max: 171,
        average_speed: 8.2,
        max_speed: 11.4,
        average_cadence: 83,
        average_watts: 186.2,
        segments: [
          ['18:00', '18:20', 'cycling'],
          ['18:20', '18:22', 'rest'],
          ['18:22', '18:45', 'cycling'],
        ].map(([start, end, type]) => ({
          start_time: `2025-05-05T${start}:00Z`,
          end_time: `2025-05-05T${end}:00Z`,
          type,
          repetitions: 0,
        })),
        laps: [
          ['18:00', '18:22', 10900],
          ['18:22', '18:45', null],
        ].map(([start, end, distance_meters]) => ({
          start_time: `2025-05-05T${start}:00Z`,
          end_time: `2025-05-05T${end}:00Z`,
          type: null,
          duration_seconds: null,
          distance_meters,
        })),
        source: 'health_connect /  / com.onepeloton.callisto',
      },
    ],
    samples: ['2025-05-05T18:45:00Z cadence 83 120'],
  },
  'malformed-records': {
    rows: [
      {
        ...absent,
        external_id: '02AAAA89-19E6-40B7-A09E-27C4AC984CAC',
        type: 'swimming',
        start_at: '2025-05-01T08:00:00Z',
        end_at: '2025-05-01T08:30:00Z',
        duration_s: 1800,
        source: APPLE_WATCH,
      },
      {
        ...absent,
        external_id: '7A21FB13-2EA2-483D-9D65-058E994AE1C4',
        type: 'pool_swimming',
        start_at: '2025-05-04T08:00:00Z',
        end_at: '2025-05-04T08:41:30Z',
        duration_s: 2410,
        calories_kcal: 321,
        distance_m: 1500,
        heart_rate_avg: 132.4,
        source: APPLE_WATCH,
      },
    ],
    samples: ['2025-05-04T08:41:30Z swimming_stroke_count 812 -'],
  },
}

oneEngine(t, 'workouts', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)

  for (const [name, { rows, samples }] of Object.entries(expected)) {
    await t.test(`of ${name} are stored with all they say`, async (t) => {
      const { provider, workouts } = await workoutsOf(name)
      const user = await createUser(app)
      const batch = await importWorkouts(app, user, workouts, provider)
      t.equal(batch.status, rows.length < workouts.length ? 'partial' : 'success')
      t.strictSame(await saved(app, batch), { inserted: rows.length, updated: 0, unchanged: 0 })
      t.strictSame(await stored(app.db, user), rows)
      const written = (await storedSamples(app.db, user)).map(({ ts, type, value, zone }) =>
        [ts, type, value, zone ?? '-'].join(' '),
      )
      t.strictSame(written.sort(), samples)
      if (rows.length < workouts.length) {
        t.match(batch.dropped, [{ collection: 'workouts', index: 1, loc: ['data', 'workouts', 1, 'startDate'] }])
      }

      const before = await versions(app.db, user)
      const again = await importWorkouts(app, user, workouts, provider)
      t.strictSame(await saved(app, again), { inserted: 0, updated: 0, unchanged: rows.length })
      t.strictSame(await versions(app.db, user), before, 'the same again writes no row')
    })
  }

  await t.test('come out the same however they are spread over uploads', async (t) => {
    // Without the malformed ones: one of those stands for a workout of another file.
    const names = Object.keys(expected).slice(0, 3)
    const sent = (await Promise.all(names.map(workoutsOf))).flatMap(({ provider, workouts }) =>
      // Which zone is the nearest one depends on what came before.
      workouts.map((workout) => ({ provider, workout: { ...workout, zoneOffset: workout.zoneOffset ?? '+02:00' } })),
    )
    const rows = names
      .flatMap((name) => expected[name]?.rows ?? [])
      .toSorted((a, b) => Date.parse(a.start_at) - Date.parse(b.start_at))
    const random = fc.sample(fc.shuffledSubarray([...sent, ...sent], { minLength: sent.length * 2 }), {
      seed: 8,
      numRuns: runs(1, 4),
    })
    for (const [round, order] of random.entries()) {
      const user = await createUser(app)
      // One upload per workout, queued faster than they are imported.
      const queued = order.map(({ provider, workout }) =>
        upload(app, user, body([], { provider, data: { workouts: [workout] } })),
      )
      for (const { status } of await Promise.all(queued)) t.equal(status, 202)
      await waitForAll(app, user)
      t.strictSame(await stored(app.db, user), rows, `round ${round}`)
    }
  })

  await t.test('are the same when their id is, wherever they move', async (t) => {
    const user = await createUser(app)
    await importWorkouts(app, user, [run('a', 0, 30, energy(100)), run('b', 60)])
    const [a, b] = await ids(app.db, user)
    const edited = await importWorkouts(app, user, [run('a', 90, 20, { ...energy(80), source: PHONE }), run('b', 60)])
    t.match(counts(edited), { inserted: 0, updated: 1, unchanged: 1 })
    t.strictSame(await brief(app.db, user), ['b 60 30 ', 'a 90 20 80'])
    t.strictSame(await ids(app.db, user), [b, a], 'and keep their rows')
    const { items } = await app.db.one<{ items: unknown }>(
      `select jsonb_agg(jsonb_build_array(data_type, kind, items_inserted, items_updated, covered_start, covered_end)) as items
       from sync_run_type where user_id = $1 and run_key = $2 and data_type = 'workout'`,
      [user, edited.run_id],
    )
    t.strictSame(items, [['workout', 'event', 0, 1, '2026-02-24T13:30:00+00:00', '2026-02-24T13:50:00+00:00']])
  })

  await t.test('are the same when source and times are, whatever their id', async (t) => {
    const user = await createUser(app)
    await importWorkouts(app, user, [run('a', 0), run(null, 60)])
    const before = await ids(app.db, user)
    const batch = await importWorkouts(app, user, [
      run('a2', 0, 30, energy(5)),
      run('b', 60),
      run('c', 0, 30, { source: PHONE }),
    ])
    t.match(counts(batch), { inserted: 1, updated: 1, unchanged: 1 })
    t.strictSame((await brief(app.db, user)).sort(), ['a+a2 0 30 5', 'b 60 30 ', 'c 0 30 '])
    t.strictSame(
      (await ids(app.db, user)).filter((id) => before.includes(id)),
      before,
    )
    t.match(
      counts(await importWorkouts(app, user, [run(null, 60)])),
      { updated: 0, unchanged: 1 },
      'ids are not forgotten',
    )
    t.match(counts(await importWorkouts(app, user, [run('a', 0)], 'samsung')), { inserted: 1 }, 'one provider each')
    t.equal((await ids(app.db, user)).length, 4)
  })

  await t.test('may change places, or take the place of another', async (t) => {
    const user = await createUser(app)
    await importWorkouts(app, user, [run('a', 0), run('b', 60), run('c', 120)])
    const [a, b] = await ids(app.db, user)
    t.match(counts(await importWorkouts(app, user, [run('a', 60), run('b', 0)])), { inserted: 0, updated: 2 })
    t.strictSame(await brief(app.db, user), ['b 0 30 ', 'a 60 30 ', 'c 120 30 '])
    t.strictSame((await ids(app.db, user)).slice(0, 2), [b, a])
    t.match(counts(await importWorkouts(app, user, [run('a', 120)])), { inserted: 0, updated: 1 })
    t.strictSame(await brief(app.db, user), ['b 0 30 ', 'a+c 120 30 '])
    t.strictSame(await ids(app.db, user), [b, a], 'the two are one, under both ids')

    const revision = async () => (await rowVersions(app.db, user)).users
    const before = await revision()
    const back = await importWorkouts(app, user, [run('a', 0), run('a', 120)])
    t.match(counts(back), { received: 2, inserted: 0, updated: 0 })
    t.strictSame(await brief(app.db, user), ['b 0 30 ', 'a+c 120 30 '], 'b is there when a has left again')
    t.strictSame(await ids(app.db, user), [b, a])
    t.strictSame(await revision(), before)

    const apart = await importWorkouts(app, user, [run('a', 200)])
    t.match(counts(apart), { inserted: 1, updated: 0 })
    t.strictSame(await brief(app.db, user), ['b 0 30 ', 'c 120 30 ', 'a 200 30 '], 'two again')
    t.strictSame((await ids(app.db, user)).slice(0, 2), [b, a])
  })

  await t.test('that repeat one another in an upload count once, the last of them', async (t) => {
    const user = await createUser(app)
    const batch = await importWorkouts(app, user, [
      run('a', 0, 30, energy(1)),
      run('a', 0, 30, energy(2)),
      run(null, 0, 30, energy(3)),
      run('b', 60),
      run('a', 5, 30, energy(4)),
      run('c', 60),
      run(null, 90),
    ])
    t.match(counts(batch), { received: 7, inserted: 3, updated: 0, unchanged: 0, duplicates: 4, dropped_count: 0 })
    t.strictSame(await brief(app.db, user), ['a 5 30 4', 'b+c 60 30 ', ' 90 30 '])
  })

  await t.test('end in the same rows in one upload as one by one', async (t) => {
    const item = fc.record({
      id: fc.constantFrom('a', 'b', 'c', null),
      minutes: fc.constantFrom(0, 60, 120),
      kcal: fc.integer({ min: 1, max: 3 }),
    })
    const histories = fc.sample(fc.array(item, { minLength: 1, maxLength: 7 }), { numRuns: runs(2, 25) })
    for (const history of histories) {
      const workouts = history.map(({ id, minutes, kcal }) => run(id, minutes, 30, energy(kcal)))
      const [together, apart, halves] = [await createUser(app), await createUser(app), await createUser(app)]
      for (const workout of workouts) await upload(app, apart, body([], { data: { workouts: [workout] } }))
      const half = Math.floor(workouts.length / 2)
      for (const some of [workouts.slice(0, half), workouts.slice(half)]) {
        await upload(app, halves, body([], { data: { workouts: some } }))
      }
      const batch = await importWorkouts(app, together, workouts)
      t.equal(batch.inserted + batch.duplicates, workouts.length)
      await Promise.all([waitForAll(app, apart), waitForAll(app, halves)])
      const rows = await brief(app.db, together)
      t.strictSame(rows, simulated(history), JSON.stringify(history))
      t.strictSame(await brief(app.db, apart), rows)
      t.strictSame(await brief(app.db, halves), rows)
    }
  })

  await t.test('go by the ids of the platform, sessions with the id they are made of', async (t) => {
    const user = await createUser(app)
    await importWorkouts(app, user, [run('a', 0), run('b', 60), run('u-s0', 120), run('u-s1', 180), run('u-s1x', 240)])
    await importWorkouts(app, user, [run('a', 0)], 'samsung')
    const remove = (...external: string[]) =>
      app.db.transaction((tx) =>
        deleteWorkouts(tx, { userId: user, provider: 'apple', scope: null, sourceIds: [] }, external),
      )
    t.strictSame((await remove('a', 'x', 'u')).sort(), ['a', 'u'])
    t.strictSame((await brief(app.db, user)).sort(), ['a 0 30 ', 'b 60 30 ', 'u-s1x 240 30 '])
    t.strictSame(await remove('a', 'u'), [])
    t.strictSame(await remove(), [])
  })

  await t.test('take the samples along that came with them', async (t) => {
    const user = await createUser(app)
    const samples = async () =>
      (await storedSamples(app.db, user)).map(({ type, ts, value }) => `${type} ${ts} ${value}`)
    const fit = (value: number) => ({ values: [{ type: 'vo2Max', value, unit: 'mL/kg/min' }] })
    const first = await importWorkouts(app, user, [run('a', 0, 30, fit(44)), run('b', 60, 30, fit(45))])
    t.equal(accounted(first), first.received, 'such samples are no items')
    t.strictSame(await samples(), ['vo2_max 2026-02-24T12:30:00Z 44', 'vo2_max 2026-02-24T13:30:00Z 45'])
    await importWorkouts(app, user, [run('a', 0, 40, fit(44))])
    t.strictSame(await samples(), ['vo2_max 2026-02-24T12:40:00Z 44', 'vo2_max 2026-02-24T13:30:00Z 45'])
    await importBody(app, user, body([], { data: { deleted: [{ id: 'a', type: 'HKWorkoutTypeIdentifier' }] } }))
    t.strictSame(await samples(), ['vo2_max 2026-02-24T13:30:00Z 45'])
    await importWorkouts(app, user, [run('c', 60, 30, fit(46))])
    t.strictSame(await samples(), ['vo2_max 2026-02-24T13:30:00Z 46'], 'one that takes the place of another')
    await importBody(app, user, body([], { data: { deleted: [{ id: 'c' }, { id: 'b' }] } }))
    t.strictSame(await samples(), [])
    t.strictSame(await brief(app.db, user), [])
  })

  await t.test('may hold any text and any number', async (t) => {
    const user = await createUser(app)
    const strange = 'a"b\\c\u0000d\ud800e {"f"} \u{1f3c3}'
    const part = { startDate: iso(NOON), endDate: iso(NOON + MINUTE_MS), type: strange, repetitions: 1e300 }
    const point = { timestamp: iso(NOON), latitude: 1e-300, longitude: -0, altitudeM: 1e308 }
    const fields = { title: strange, notes: strange, segments: [part], laps: [part], route: [point] }
    const batch = await importWorkouts(app, user, [run('x'.repeat(200), 0, 30, fields)])
    t.match(counts(batch), { inserted: 1 })
    const [workout] = await stored(app.db, user)
    const text = 'a"b\\cde {"f"} \u{1f3c3}'
    t.match(workout, { title: text, notes: text, external_id: /^sha256:[0-9a-f]{64}$/ })
    t.match(workout, { segments: [{ type: text, repetitions: null }], laps: [{ type: text }] })
    t.match(workout, { route: [[NOON / 1000, 1e-300, 0, null, null, null]] })
    t.match(counts(await importWorkouts(app, user, [run('x'.repeat(200), 0, 30, fields)])), { unchanged: 1 })
  })

  await t.test('come by the hundred', async (t) => {
    const user = await createUser(app)
    const statistics = (n: number) => ({
      values: ['duration', 'distance', 'stepCount', 'averageHeartRate', 'maxHeartRate', 'vo2Max'].map((type) => ({
        type,
        value: 100 + (n % 50),
        unit: null,
      })),
    })
    const count = runs(150, 2_000)
    const thousands = Array.from({ length: count }, (_, n) => run(`w-${n}`, -60 * n, 30, statistics(n)))
    const seconds = async (what: string, expected: object) => {
      const started = performance.now()
      const batch = await importWorkouts(app, user, thousands)
      t.match(await saved(app, batch), expected)
      t.comment(`${what}: ${Math.round(performance.now() - started)} ms`)
    }
    await seconds(`${count} new workouts`, { inserted: count })
    const before = await versions(app.db, user)
    await seconds('the same again', { unchanged: count, updated: 0 })
    t.strictSame(await versions(app.db, user), before)
    for (const workout of thousands) Object.assign(workout, { title: 'Run' })
    await seconds('all with a title', { updated: count, inserted: 0 })
    t.equal((await ids(app.db, user)).length, count)
    const all = thousands.map(({ id }) => String(id))
    const target = { userId: user, provider: 'apple', scope: null, sourceIds: [] }
    t.equal((await app.db.transaction((tx) => deleteWorkouts(tx, target, all))).length, count)
    t.strictSame(await ids(app.db, user), [])
  })
})

/** The rule in other words: an item takes its id from wherever it was, and goes to what is at its time. */
function simulated(history: { id: string | null; minutes: number; kcal: number }[]): string[] {
  const rows = new Map<number, { ids: string[]; kcal: number }>()
  for (const { id, minutes, kcal } of history) {
    const row = rows.get(minutes) ?? { ids: [], kcal }
    for (const [time, other] of rows) {
      if (other === row || id === null || !other.ids.includes(id)) continue
      other.ids = other.ids.filter((one) => one !== id)
      if (other.ids.length === 0) rows.delete(time)
    }
    if (id !== null && !row.ids.includes(id)) row.ids.push(id)
    rows.set(minutes, { ...row, kcal })
  }
  return [...rows]
    .toSorted(([a], [b]) => a - b)
    .map(([minutes, { ids, kcal }]) => [ids.toSorted().join('+'), minutes, 30, kcal].join(' '))
}
