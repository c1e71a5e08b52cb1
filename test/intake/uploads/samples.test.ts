// The bodies of test/samples, uploaded as by phones. The expected results: sdk-payload 15, sdk-types 2 to 9.
import { readFile } from 'node:fs/promises'
import { brotliDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import type { Database } from '../../../server/db/database.ts'
import { startTestApp } from '../../support/app.ts'
import { storedEvents } from '../../support/events.ts'
import {
  accounted,
  createUser,
  eachEngine,
  importBody,
  onceIsEnough,
  rowVersions,
  type SdkRecord,
  type StoredSample,
  startImports,
  storedSamples,
  timeseries,
  upload,
  waitForAll,
} from '../../support/sdk.ts'
import { runs } from '../../support/thorough.ts'

interface SampleBody {
  provider: string
  data: { records: SdkRecord[]; sleep: SdkRecord[]; workouts: SdkRecord[]; deleted?: { id: string }[] }
}

const sampleText = (name: string) => readFile(new URL(`../../samples/${name}.json`, import.meta.url), 'utf8')
const sampleBody = async (name: string) => JSON.parse(await sampleText(name)) as SampleBody

interface Expected {
  counts: Record<string, unknown>
  /**
   * By `device / source / type of device`: time, series, value and zone of every row; if the record has no zone, that of the
   * nearest one. The date is 2025-05-06 unless given.
   */
  rows: Record<string, readonly string[]>
  /** Samples that came with workouts, in the same notation. */
  derived?: Record<string, readonly string[]>
  /** Everything that is not a sample, see `eventLines`. */
  events?: readonly string[]
}

const WATCH = 'Watch7,5 / Ana’s Apple Watch / watch'
const GALAXY = 'SM-L315F / Galaxy Watch7 / watch'
const PIXEL = 'Pixel 9 / com.google.android.apps.fitness / phone'
const PIXEL_WATCH = 'Pixel Watch 3 / com.fitbit.FitbitMobile / watch'
const saved = (inserted: number) => ({ inserted, updated: 0, unchanged: 0 })
const none = { updated: 0, unchanged: 0, duplicates: 0, ignored_type: 0, dropped_count: 0, deleted: 0, saved: {} }

const expected: Record<string, Expected> = {
  'apple-heart-rate-batch': {
    counts: { ...none, status: 'success', received: 23, inserted: 23, saved: { activity: saved(1) } },
    events: ['meditation 05-06T05:40 300 s'],
    rows: {
      [WATCH]: [
        '2025-05-05 22:01:00 resting_heart_rate 54 120',
        '03:02:11 heart_rate_variability_sdnn 48.26113 120',
        '03:30:00 respiratory_rate 14.5 120',
        '03:30:05 oxygen_saturation 97 120',
        '06:00:00 basal_energy 17.902 120',
        '06:10:04 heart_rate 58 120',
        '06:15:05 heart_rate 57 120',
        '06:20:08 heart_rate 61 120',
        '06:25:01 heart_rate 63 120',
        '06:30:14 heart_rate 72 120',
        '06:31:02 steps 405 120',
        '06:31:02 energy 21.734 120',
        '06:35:12 heart_rate 88 120',
        '06:35:17 heart_rate 91 120',
        '06:35:22 heart_rate 94 120',
        '06:35:28 heart_rate 97 120',
        '06:40:05 heart_rate 70 120',
      ],
      'iPhone17,1 / Ana’s iPhone / phone': [
        '06:31:00 steps 412 120',
        '06:31:00 walking_step_length 71 120',
        '06:31:00 walking_asymmetry_percentage 3.2 120',
      ],
      'iPhone17,1 / Health / phone': ['2025-05-01 07:00:00 height 168 120'],
      'iPhone17,1 / Withings / phone': ['05:58:00 body_fat_percentage 24.3 120'],
    },
  },
  'apple-sleep-night': {
    counts: {
      ...none,
      status: 'success',
      received: 20,
      inserted: 18,
      duplicates: 1,
      ignored_type: 1,
      saved: { sleep: saved(18) },
    },
    rows: {},
    events: [
      'sleep 05-05T21:04 to 05-06T04:44 asleep 450 of 472, awake 10, light 283, deep 86, rem 81, 95.34 %',
      'nap 05-06T12:20 to 05-06T12:48 asleep 28 of 28, awake 0, light 21, deep 7, rem 0, 100 %',
    ],
  },
  'apple-workouts-with-statistics': {
    counts: { ...none, status: 'success', received: 4, inserted: 4, saved: { workout: saved(4) } },
    rows: {},
    derived: {
      [WATCH]: [
        '2025-05-04 08:41:30 swimming_stroke_count 812 120',
        '15:48:52 average_met 9.6 120',
        '15:48:52 running_vertical_oscillation 8.7 120',
        '15:48:52 running_ground_contact_time 247 120',
        '15:48:52 running_stride_length 110.6 120',
        '15:48:52 weather_temperature 17.2 120',
        '15:48:52 weather_humidity 61 120',
      ],
      'iPhone17,1 / Strava / phone': ['2025-05-03 10:32:10 cadence 82 120'],
    },
    events: [
      'other 05-02T09:00 1200 s, null kcal, null m, null steps, null W',
      'cycling 05-03T09:00 5530 s, null kcal, 38120 m, null steps, 168 W',
      'pool_swimming 05-04T08:00 2410 s, 321 kcal, 1500 m, null steps, null W',
      'running 05-06T15:02 2751 s, 512.4 kcal, 8342.7 m, 7541 steps, 241.3 W',
    ],
  },
  'samsung-mix': {
    counts: {
      ...none,
      status: 'success',
      received: 33,
      inserted: 33,
      saved: { sleep: saved(9), workout: saved(2) },
    },
    derived: { [GALAXY]: ['2025-05-05 16:45:10 vo2_max 44.1 120', '2025-05-05 16:45:10 cadence 78 120'] },
    events: [
      'cardio_training 05-04T06:00 1500 s, 210 kcal, null m, null steps, null W',
      'cycling 05-05T16:00 2710 s, 402 kcal, 15230 m, null steps, null W',
      'sleep 05-05T22:10 to 05-06T04:30 asleep 375 of 380, awake 5, light 250, deep 68, rem 57, 98.68 %',
      'score sleep 78 05-05T22:10',
    ],
    rows: {
      'SM-S918B / dm3q / phone': [
        '05:00:00 steps 118 120',
        '05:00:00 energy 6 120',
        '06:00:00 steps 1240 120',
        '06:00:00 energy 48.5 120',
        '07:00:00 steps 3310 120',
        '07:00:00 energy 121.2 120',
      ],
      [GALAXY]: [
        '2025-05-05 22:00:00 basal_energy(day) 1640 120',
        '02:00:00 oxygen_saturation 96 120',
        '05:12:00 heart_rate 62 120',
        '05:20:00 height 176 120',
        '05:20:00 weight 74.8 120',
        '05:20:00 body_fat_percentage 21.4 120',
        '05:20:00 body_mass_index 24.1 120',
        '05:20:00 lean_body_mass 58.8 120',
        '05:20:00 body_fat_mass 16 120',
        '05:20:00 skeletal_muscle_mass 33.1 120',
        '06:30:00 blood_glucose 96.937916 120',
        '06:40:00 heart_rate 66 120',
        '06:40:00 blood_pressure_systolic 121 120',
        '06:40:00 blood_pressure_diastolic 78 120',
        '07:02:00 flights_climbed 3 120',
        '07:30:00 hydration 250 120',
      ],
    },
  },
  'health-connect-mix': {
    counts: {
      ...none,
      status: 'partial',
      received: 41,
      inserted: 38,
      ignored_type: 2,
      dropped_count: 1,
      saved: { sleep: saved(9), workout: saved(3) },
    },
    derived: { ' / com.onepeloton.callisto / unknown': ['2025-05-05 18:45:00 cadence 83 120'] },
    events: [
      'other 05-02T08:00 600 s, null kcal, null m, null steps, null W',
      'hiking 05-03T08:00 7800 s, null kcal, null m, null steps, null W',
      'sleep 05-04T21:00 to 05-05T04:30 asleep 450 of 450, awake null, light null, deep null, rem null, 100 %',
      'indoor_cycling 05-05T18:00 2700 s, 512 kcal, 22140 m, null steps, 186.2 W',
      'sleep 05-05T21:30 to 05-06T03:19 asleep 335 of 347, awake 3, light 214, deep 50, rem 71, 96.54 %',
    ],
    rows: {
      [PIXEL_WATCH]: [
        '03:00:00 heart_rate_variability_rmssd 41.7 120',
        '03:00:00 oxygen_saturation 96.5 120',
        '04:00:00 resting_heart_rate 56 120',
        '04:00:00 vo2_max 46 120',
        '06:00:00 heart_rate 64 120',
        '06:00:30 heart_rate 66 120',
        '06:01:00 heart_rate 69 120',
        '06:01:30 heart_rate 75 120',
        '06:02:00 heart_rate 81 120',
      ],
      [PIXEL]: [
        '2025-05-05 22:00:00 basal_energy(day) 1655 120',
        '06:00:00 steps 912 120',
        '06:00:00 energy 31.4 120',
        '06:00:00 distance_walking_running 688.4 120',
        '07:05:00 body_temperature 36.7 120',
        '07:30:00 hydration 330 120',
      ],
      'Body+ / com.withings.wiscale2 / scale': [
        '2025-05-01 05:30:00 height 182 120',
        '05:30:00 weight 81.2 120',
        '05:30:00 body_fat_percentage 18.9 120',
      ],
      'HEM-7361T / com.omronhealthcare.omronconnect / bp_monitor': [
        '06:50:00 blood_pressure_systolic 118 0',
        '06:50:00 blood_pressure_diastolic 76 0',
      ],
      ' / com.freestylelibre3.app / glucose_meter': ['07:00:00 blood_glucose 100.90192 120'],
      ' / com.onepeloton.callisto / unknown': [
        '2025-05-05 18:00:00 cadence 84 120',
        '2025-05-05 18:00:00 power 180 120',
        '2025-05-05 18:00:00 speed 8.1 120',
        '2025-05-05 18:00:01 power 192 120',
        '2025-05-05 18:00:01 speed 8.3 120',
      ],
    },
  },
  'malformed-records': {
    counts: {
      ...none,
      status: 'partial',
      received: 22,
      inserted: 9,
      duplicates: 2,
      ignored_type: 2,
      dropped_count: 9,
      saved: { sleep: saved(1), workout: saved(2) },
    },
    derived: { [WATCH]: ['2025-05-04 08:41:30 swimming_stroke_count 812 -'] },
    events: [
      'swimming 05-01T08:00 1800 s, null kcal, null m, null steps, null W',
      'pool_swimming 05-04T08:00 2410 s, 321 kcal, 1500 m, null steps, null W',
      'sleep 05-05T22:00 to 05-05T22:30 asleep 30 of 30, awake 0, light 30, deep 0, rem 0, 100 %',
    ],
    rows: {
      [WATCH]: [
        '06:00:00 heart_rate 60 -',
        '06:01:00 heart_rate 61 -',
        '06:05:00 heart_rate 61 -',
        '06:09:00 heart_rate 61 -',
        '06:10:00 heart_rate 61 -',
      ],
      ' /  / unknown': ['06:01:00 heart_rate 61 -'],
    },
  },
  'nutrition-apple': {
    counts: { ...none, status: 'success', received: 18, inserted: 18, saved: { meal: saved(15) } },
    events: ['meal Banana breakfast 05-06T10:30 3', 'meal Greek yogurt, 170 g breakfast 05-06T10:30 9'],
    rows: {
      [WATCH]: ['10:30:00 heart_rate 71 -'],
      'iPhone17,1 / HiCoffee / phone': ['07:15:00 dietary_caffeine 95 -'],
      'iPhone17,1 / Waterllama / phone': ['07:20:00 hydration 350 -'],
      'iPhone17,1 / MyFitnessPal / phone': ['13:00:00 dietary_protein 9 -'],
    },
  },
  'nutrition-health-connect': {
    counts: { ...none, status: 'success', received: 15, inserted: 15, saved: { meal: saved(13) } },
    events: ['meal Chicken salad lunch 05-06T11:00 12'],
    rows: {
      ' / com.cronometer.android.gold / unknown': ['12:00:00 dietary_caffeine 80 120', '12:05:00 hydration 500 120'],
    },
  },
  'menstrual-cycle-apple': {
    counts: {
      ...none,
      status: 'success',
      received: 12,
      inserted: 11,
      ignored_type: 1,
      saved: { menstrual_cycle: saved(10) },
    },
    events: [
      'cycle 03-31T22:00 to 04-28T22:00 of 28 days, period 5, predicted false',
      'cycle 04-28T22:00 to 04-30T22:00 of 28 days, period 2, predicted true',
    ],
    rows: { 'iPhone17,1 / Health / phone': ['2025-04-15 05:30:00 body_temperature 36.62 120'] },
  },
  'deletions-extension': {
    counts: { ...none, status: 'success', received: 5, inserted: 0, ignored_type: 5 },
    rows: {},
  },
}

const providers: Record<string, string> = {
  'samsung-mix': 'samsung',
  'health-connect-mix': 'health_connect',
  'nutrition-health-connect': 'health_connect',
}

/** Stored samples in the notation of `expected`, which sorts rows of one time by the id of the series. */
function described(samples: StoredSample[]): Record<string, string[]> {
  const rows: Record<string, string[]> = {}
  for (const { device, source, device_type, ts, type, daily, value, zone } of samples) {
    const time = ts.replace('2025-05-06T', '').replace('T', ' ').replace('Z', '')
    const key = `${device} / ${source} / ${device_type}`
    rows[key] = [...(rows[key] ?? []), `${time} ${type}${daily ? '(day)' : ''} ${value} ${zone ?? '-'}`]
  }
  return rows
}

type Row = Record<string, string | number | boolean | null>

/** Everything stored besides samples, one line each, in order of time. */
function eventLines(events: Record<string, unknown[]>): string[] {
  const at = (value: unknown) => String(value).slice(5, 16)
  const minutes = (value: unknown) => (value === null ? null : Math.floor(Number(value) / 60))
  const seconds = (row: Row) => (Date.parse(String(row.end_at)) - Date.parse(String(row.start_at))) / 1000
  const lines: Record<string, (row: Row) => string> = {
    sleep: (row) =>
      `${row.is_nap ? 'nap' : 'sleep'} ${at(row.start_at)} to ${at(row.end_at)} asleep ${minutes(row.asleep_s)} of ${minutes(row.in_bed_s)}, ` +
      `awake ${minutes(row.awake_s)}, light ${minutes(row.light_s)}, deep ${minutes(row.deep_s)}, rem ${minutes(row.rem_s)}, ${row.efficiency_percent} %`,
    workout: (row) =>
      `${row.type} ${at(row.start_at)} ${row.duration_s} s, ${row.calories_kcal} kcal, ${row.distance_m} m, ${row.steps} steps, ${row.average_watts} W`,
    meal: (row) => `meal ${row.title} ${row.meal_type} ${at(row.start_at)} ${Object.keys(row.nutrients ?? {}).length}`,
    menstrual_cycle: (row) =>
      `cycle ${at(row.start_at)} to ${at(row.end_at)} of ${row.cycle_length} days, period ${row.period_length}, predicted ${row.is_predicted_cycle}`,
    activity: (row) => `${row.type} ${at(row.start_at)} ${seconds(row)} s`,
    health_score: (row) => `score ${row.category} ${row.value} ${at(row.recorded_at)}`,
  }
  return Object.entries(lines)
    .flatMap(([table, line]) => (events[table] as Row[]).map((row) => ({ when: row.start_at, line: line(row) })))
    .sort((a, b) => (String(a.when) < String(b.when) ? -1 : 1))
    .map(({ line }) => line)
}

/** The first of several platform ids depends on the order of the uploads; the set of ids does not. */
function withoutOrder(row: unknown): object {
  const { external_id = null, other_ids = null, ...rest } = row as { external_id?: string; other_ids?: string[] }
  return { ...rest, ids: [external_id, ...(other_ids ?? [])].sort() }
}

/** Everything that is stored for a user. */
async function everything(db: Database, user: string): Promise<Record<string, unknown[]>> {
  const events = Object.entries(await storedEvents(db, user)).map(([kind, rows]) => [kind, rows.map(withoutOrder)])
  return { samples: await storedSamples(db, user), ...Object.fromEntries(events) }
}

eachEngine(t, 'each body gives the rows that are listed here, and only once:', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const range = { start_time: '2000-01-01', end_time: '2026-01-01' }
  const etagOf = async (user: string) => (await timeseries(app, user, range)).headers.get('etag')
  const versions = async (user: string) => ({
    ...(await rowVersions(app.db, user)),
    events: await app.db.query(
      `select xmin::text from sleep_stage where source_id in (select id from data_source where user_id = $1)
       union all select xmin::text from sleep where user_id = $1
       union all select xmin::text from workout where user_id = $1
       union all select xmin::text from meal where user_id = $1
       union all select xmin::text from meal_nutrient where user_id = $1
       union all select xmin::text from cycle_observation where user_id = $1
       union all select xmin::text from menstrual_cycle where user_id = $1
       union all select xmin::text from activity where user_id = $1
       union all select xmin::text from health_score where user_id = $1`,
      [user],
    ),
  })

  /** Bodies with samples of every kind of record; the others mostly have events, which are stored the same way everywhere. */
  const bringSamples = ['samsung-mix', 'malformed-records']
  for (const [name, { counts, rows, derived = {}, events = [] }] of Object.entries(expected)) {
    await t.test(name, bringSamples.includes(name) ? {} : onceIsEnough(engine), async (t) => {
      const user = await createUser(app)
      const text = await sampleText(name)
      const batch = await importBody(app, user, text)
      t.match(batch, counts)
      t.strictSame(batch.saved, counts.saved)
      t.equal(accounted(batch), batch.received)
      const samples = await storedSamples(app.db, user)
      t.strictSame(sortedLines(described(samples)), sortedLines(together(rows, derived)))
      t.strictSame(eventLines(await storedEvents(app.db, user)).sort(), [...events].sort())
      const provider = providers[name] ?? 'apple'
      t.ok(
        samples.every((one) => one.provider === provider),
        provider,
      )
      const stored = await app.db.one<{ body: Buffer }>('select body from upload_body where user_id = $1', [user])
      t.equal(brotliDecompressSync(stored.body).toString(), text, 'the body is kept')

      const before = await versions(user)
      const etag = await etagOf(user)
      t.ok(etag)
      // The same bytes, the same content in other bytes, and new ids, which Samsung's hourly totals get at every read.
      const content = await sampleBody(name)
      const renamed = { ...content, data: { ...content.data, records: content.data.records.map(withNewId) } }
      for (const again of [text, JSON.stringify(content, null, 4), JSON.stringify(renamed)]) {
        const repeated = await importBody(app, user, again)
        const { received, duplicates, ignored_type, dropped_count } = batch
        t.match(repeated, { received, duplicates, ignored_type, dropped_count, inserted: 0, updated: 0 })
        t.equal(repeated.unchanged, batch.inserted)
        t.equal(accounted(repeated), repeated.received)
      }
      t.strictSame(await versions(user), before, 'no row was written')
      t.equal(await etagOf(user), etag)
    })
  }

  await t.test('split, shuffled, twice and all at once, they give the same rows', onceIsEnough(engine), async (t) => {
    const parts = Array.from({ length: runs(3, 5) }, (_, part) => part)
    for (const name of Object.keys(expected)) {
      const content = withZones(await sampleBody(name))
      // Index 9 contradicts 7 and 10 at the same instant: the winner depends on the order, as it should.
      const records = content.data.records.filter((_, index) => name !== 'malformed-records' || index !== 9)
      const whole = await createUser(app)
      await importBody(app, whole, { ...content, data: { ...content.data, records } })
      const wanted = withoutWhole(await everything(app.db, whole))
      const items = [
        ...records.map((item) => ['records', item] as const),
        ...content.data.sleep.map((item) => ['sleep', item] as const),
        ...content.data.workouts.map((item) => ['workouts', item] as const),
      ]
      if (items.length === 0) continue

      const pieces = fc.array(fc.nat(parts.length - 1), { minLength: items.length, maxLength: items.length })
      const order = fc.shuffledSubarray([...items.keys()], { minLength: items.length })
      const turns = fc.shuffledSubarray([...parts, ...parts], { minLength: 2 * parts.length })
      await fc.assert(
        fc.asyncProperty(pieces, order, turns, async (pieceOf, order, turns) => {
          const split = parts.map(() => ({
            records: [] as SdkRecord[],
            sleep: [] as SdkRecord[],
            workouts: [] as SdkRecord[],
          }))
          for (const index of order) {
            const [collection, item] = items[index] as (typeof items)[number]
            split[pieceOf[index] ?? 0]?.[collection].push(item)
          }
          const user = await createUser(app)
          await Promise.all(turns.map((piece) => upload(app, user, { ...content, data: split[piece] })))
          const batches = await waitForAll(app, user)
          t.strictSame(withoutWhole(await everything(app.db, user)), wanted, name)
          t.equal(sum(batches.map(accounted)), items.length * 2)
        }),
        { numRuns: runs(1, 3), seed: 20_250_506 },
      )
    }
  })

  await t.test('what the platform deletes is removed, with everything derived from it', async (t) => {
    const user = await createUser(app)
    const names = ['apple-heart-rate-batch', 'apple-sleep-night', 'apple-workouts-with-statistics', 'nutrition-apple']
    for (const name of names) await importBody(app, user, await sampleText(name))
    const before = await everything(app.db, user)
    const { data } = await sampleBody('deletions-extension')
    const batch = await importBody(app, user, await sampleText('deletions-extension'))
    t.match(batch, { status: 'success', received: 5, deleted: 4, ignored_type: 1 }, 'one id is unknown')
    t.equal(data.deleted?.length, 5)
    const after = await everything(app.db, user)
    const count = (rows: Record<string, unknown[]>) =>
      Object.fromEntries(Object.entries(rows).map(([table, { length }]) => [table, length]))
    t.strictSame(count(after), {
      ...count(before),
      // A heart rate, and the strokes that came with the swim.
      samples: (before.samples?.length ?? 0) - 2,
      sleep_stage: (before.sleep_stage?.length ?? 0) - 1,
      workout: 3,
      meal: 1,
      meal_nutrient: (before.meal_nutrient?.length ?? 0) - 9,
    })
    t.notSame(after.sleep, before.sleep, 'the night is computed again')
    t.match(await importBody(app, user, await sampleText('deletions-extension')), { deleted: 0, ignored_type: 5 })
  })
})

/** Whether a session arrived whole depends on how it is split. */
const withoutWhole = ({ sleep = [], ...rows }: Record<string, unknown[]>) => ({
  ...rows,
  sleep: sleep.map((one) => ({ ...(one as object), whole: undefined })),
})

/** Records without a zone take that of earlier uploads, so the order of uploads would matter. */
function withZones(content: SampleBody): SampleBody {
  const zoned = (items: SdkRecord[] = []) =>
    items.map((item) => (typeof item === 'object' && item ? { zoneOffset: '+02:00', ...withoutNull(item) } : item))
  const { records, sleep, workouts } = content.data
  return {
    ...content,
    data: { ...content.data, records: zoned(records), sleep: zoned(sleep), workouts: zoned(workouts) },
  }
}

function withoutNull({ zoneOffset, ...item }: SdkRecord): SdkRecord {
  return zoneOffset === null ? item : { ...item, ...(zoneOffset === undefined ? {} : { zoneOffset }) }
}

/** Meals, cycles and sessions are identified by their id, samples are not. */
const withNewId = (item: SdkRecord, index: number): SdkRecord =>
  typeof item === 'object' && !item.parentId && !/Food|FOOD|Category/.test(String(item.type))
    ? { ...item, id: `new ${index}` }
    : item

const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0)

type Lines = Record<string, readonly string[]>

/** Lines of both, source by source. */
function together(one: Lines, other: Lines): Lines {
  const sources = new Set([...Object.keys(one), ...Object.keys(other)])
  return Object.fromEntries([...sources].map((source) => [source, [...(one[source] ?? []), ...(other[source] ?? [])]]))
}

const sortedLines = (lines: Lines) =>
  Object.fromEntries(
    Object.keys(lines)
      .sort()
      .map((source) => [source, [...(lines[source] ?? [])].sort()]),
  )
