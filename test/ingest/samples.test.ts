// The bodies of test/samples, uploaded as phones upload them. What must come out: sdk-payload 15, sdk-types 2 to 5.
import { readFile } from 'node:fs/promises'
import { brotliDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { startTestApp } from '../support/app.ts'
import {
  accounted,
  createUser,
  eachEngine,
  importBody,
  rowVersions,
  type SdkRecord,
  type StoredSample,
  startImports,
  storedSamples,
  timeseries,
  upload,
  waitForAll,
} from '../support/sdk.ts'

interface SampleBody {
  provider: string
  data: { records: SdkRecord[]; sleep: unknown[]; workouts: unknown[]; deleted?: unknown[] }
}

const sampleText = (name: string) => readFile(new URL(`../samples/${name}.json`, import.meta.url), 'utf8')
const sampleBody = async (name: string) => JSON.parse(await sampleText(name)) as SampleBody

interface Expected {
  counts: Record<string, unknown>
  /** By `device / source / type of device`: time, series, value and zone of every row; 2025-05-06 unless given. */
  rows: Record<string, readonly string[]>
}

const WATCH = 'Watch7,5 / Ana’s Apple Watch / watch'
const GALAXY = 'SM-L315F / Galaxy Watch7 / watch'
const PIXEL = 'Pixel 9 / com.google.android.apps.fitness / phone'
const PIXEL_WATCH = 'Pixel Watch 3 / com.fitbit.FitbitMobile / watch'
const none = { updated: 0, unchanged: 0, duplicates: 0, ignored_type: 0, dropped_count: 0, deferred: {} }

const expected: Record<string, Expected> = {
  'apple-heart-rate-batch': {
    counts: { ...none, status: 'success', received: 23, inserted: 22, ignored_type: 1 },
    rows: {
      [WATCH]: [
        '2025-05-05 22:01:00 resting_heart_rate 54 -',
        '03:02:11 heart_rate_variability_sdnn 48.26113 -',
        '03:30:00 respiratory_rate 14.5 120',
        '03:30:05 oxygen_saturation 97 -',
        '06:00:00 basal_energy 17.902 -',
        '06:10:04 heart_rate 58 -',
        '06:15:05 heart_rate 57 -',
        '06:20:08 heart_rate 61 -',
        '06:25:01 heart_rate 63 -',
        '06:30:14 heart_rate 72 -',
        '06:31:02 steps 405 -',
        '06:31:02 energy 21.734 -',
        '06:35:12 heart_rate 88 -',
        '06:35:17 heart_rate 91 -',
        '06:35:22 heart_rate 94 -',
        '06:35:28 heart_rate 97 -',
        '06:40:05 heart_rate 70 -',
      ],
      'iPhone17,1 / Ana’s iPhone / phone': [
        '06:31:00 steps 412 -',
        '06:31:00 walking_step_length 71 -',
        '06:31:00 walking_asymmetry_percentage 3.2 -',
      ],
      'iPhone17,1 / Health / phone': ['2025-05-01 07:00:00 height 168 -'],
      'iPhone17,1 / Withings / phone': ['05:58:00 body_fat_percentage 24.3 -'],
    },
  },
  'apple-sleep-night': {
    counts: { ...none, status: 'success', received: 20, inserted: 0, deferred: { sleep: 20 } },
    rows: {},
  },
  'apple-workouts-with-statistics': {
    counts: { ...none, status: 'success', received: 4, inserted: 0, deferred: { workouts: 4 } },
    rows: {},
  },
  'samsung-mix': {
    counts: { ...none, status: 'success', received: 33, inserted: 22, deferred: { sleep: 9, workouts: 2 } },
    rows: {
      'SM-S918B / dm3q / phone': [
        '05:00:00 steps 118 -',
        '05:00:00 energy 6 -',
        '06:00:00 steps 1240 -',
        '06:00:00 energy 48.5 -',
        '07:00:00 steps 3310 -',
        '07:00:00 energy 121.2 -',
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
      inserted: 26,
      ignored_type: 1,
      dropped_count: 1,
      deferred: { sleep: 10, workouts: 3 },
    },
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
        '2025-05-05 18:00:00 cadence 84 -',
        '2025-05-05 18:00:00 power 180 -',
        '2025-05-05 18:00:00 speed 8.1 -',
        '2025-05-05 18:00:01 power 192 -',
        '2025-05-05 18:00:01 speed 8.3 -',
      ],
    },
  },
  'malformed-records': {
    counts: {
      ...none,
      status: 'partial',
      received: 22,
      inserted: 6,
      duplicates: 2,
      ignored_type: 1,
      dropped_count: 7,
      deferred: { sleep: 3, workouts: 3 },
    },
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
    counts: { ...none, status: 'success', received: 18, inserted: 4, deferred: { meals: 14 } },
    rows: {
      [WATCH]: ['10:30:00 heart_rate 71 -'],
      'iPhone17,1 / HiCoffee / phone': ['07:15:00 dietary_caffeine 95 -'],
      'iPhone17,1 / Waterllama / phone': ['07:20:00 hydration 350 -'],
      'iPhone17,1 / MyFitnessPal / phone': ['13:00:00 dietary_protein 9 -'],
    },
  },
  'nutrition-health-connect': {
    counts: { ...none, status: 'success', received: 15, inserted: 2, deferred: { meals: 13 } },
    rows: {
      ' / com.cronometer.android.gold / unknown': ['12:00:00 dietary_caffeine 80 120', '12:05:00 hydration 500 120'],
    },
  },
  'menstrual-cycle-apple': {
    counts: { ...none, status: 'success', received: 12, inserted: 1, ignored_type: 1, deferred: { cycles: 10 } },
    rows: { 'iPhone17,1 / Health / phone': ['2025-04-15 05:30:00 body_temperature 36.62 -'] },
  },
  'deletions-extension': {
    counts: { ...none, status: 'success', received: 5, inserted: 0, deferred: { deletions: 5 } },
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

eachEngine(t, 'each body gives the rows the specification lists, and only once:', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const range = { start_time: '2000-01-01', end_time: '2026-01-01' }
  const etagOf = async (user: string) => (await timeseries(app, user, range)).headers.get('etag')

  for (const [name, { counts, rows }] of Object.entries(expected)) {
    await t.test(name, async (t) => {
      const user = await createUser(app)
      const text = await sampleText(name)
      const batch = await importBody(app, user, text)
      t.match(batch, counts)
      t.strictSame(batch.deferred, counts.deferred)
      t.equal(accounted(batch), batch.received)
      const samples = await storedSamples(app.db, user)
      t.strictSame(described(samples), rows)
      const provider = providers[name] ?? 'apple'
      t.ok(
        samples.every((one) => one.provider === provider),
        provider,
      )
      const stored = await app.db.one<{ body: Buffer }>('select body from upload_body where user_id = $1', [user])
      t.equal(brotliDecompressSync(stored.body).toString(), text, 'the body is kept, with what is deferred')

      const before = await rowVersions(app.db, user)
      const etag = await etagOf(user)
      t.ok(etag)
      // The same bytes, the same content in other bytes, and new ids, as Samsung's hourly totals have at every read.
      const content = await sampleBody(name)
      const renamed = { ...content, data: { ...content.data, records: content.data.records.map(withNewId) } }
      for (const again of [text, JSON.stringify(content, null, 4), JSON.stringify(renamed)]) {
        const repeated = await importBody(app, user, again)
        t.match(repeated, { ...counts, inserted: 0, updated: 0, unchanged: batch.inserted })
        t.equal(accounted(repeated), repeated.received)
      }
      t.strictSame(await rowVersions(app.db, user), before, 'no row was written')
      t.equal(await etagOf(user), etag)
    })
  }

  await t.test('split into pieces and shuffled they give the same rows', async (t) => {
    const names = Object.keys(expected).filter((name) => Object.keys(expected[name]?.rows ?? {}).length > 0)

    for (const name of names) {
      const content = await sampleBody(name)
      // Index 9 says otherwise about the instant of 7 and 10: which one wins depends on the order, as it should.
      const records = content.data.records.filter((_, index) => name !== 'malformed-records' || index !== 9)
      const whole = await createUser(app)
      const { received } = await importBody(app, whole, { ...content, data: { ...content.data, records } })
      const rows = await storedSamples(app.db, whole)

      const pieces = fc.array(fc.nat(3), { minLength: records.length, maxLength: records.length })
      const order = fc.shuffledSubarray([...records.keys()], { minLength: records.length })
      await fc.assert(
        fc.asyncProperty(pieces, order, async (pieceOf, order) => {
          const split: SdkRecord[][] = [[], [], [], []]
          for (const index of order) {
            const item = records[index] as SdkRecord
            split[mealOf(records, item) ?? pieceOf[index] ?? 0]?.push(item)
          }
          const user = await createUser(app)
          for (const [index, piece] of split.entries()) {
            const data = index === 0 ? { ...content.data, records: piece } : { records: piece }
            await upload(app, user, { ...content, data })
          }
          const batches = await waitForAll(app, user)
          t.strictSame(await storedSamples(app.db, user), rows, name)
          t.equal(sum(batches.map(accounted)), received)
          t.equal(sum(batches.map((batch) => batch.inserted)), rows.length)
        }),
        { numRuns: 1, seed: 20_250_506 },
      )
    }
  })
})

/** Meals and cycles are known by their id, samples are not. */
const withNewId = (item: SdkRecord, index: number): SdkRecord =>
  typeof item === 'object' && !item.parentId && !/Food|FOOD|Menstrual/.test(String(item.type))
    ? { ...item, id: `new ${index}` }
    : item

const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0)

/** The piece for a meal and its nutrients, which belong together in one upload. */
function mealOf(records: SdkRecord[], item: SdkRecord): number | undefined {
  if (typeof item !== 'object') return undefined
  const isMeal = (one: SdkRecord) => /Food$|^FOOD$/.test(String(one.type))
  const id = isMeal(item) ? item.id : item.parentId
  const at = records.findIndex((one) => isMeal(one) && one.id === id && id !== null && id !== undefined)
  return at < 0 ? undefined : at % 4
}
