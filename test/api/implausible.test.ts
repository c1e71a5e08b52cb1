// Impossible values (a heart rate of 5000, -5 steps): they are kept, flagged wherever single samples are shown, and
// left out of every computation. Corrections move them in and out.
import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { readUpload } from '../../workers/sdk-upload.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { recordedEvents } from '../support/recorded.ts'
import {
  body,
  createUser,
  heartRate,
  importBody,
  iso,
  oneEngine,
  record,
  type SdkRecord,
  startImports,
  steps,
  timeseries,
  WATCH,
} from '../support/sdk.ts'
import { type Engine, engines } from '../support/servers.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const MINUTE_MS = 60_000
const DAY = { start_time: '2026-02-24', end_time: '2026-02-24' }
const weight = (ms: number, value: number, fields: SdkRecord = {}) =>
  record('HKQuantityTypeIdentifierBodyMass', ms, value, { unit: 'kg', ...fields })

interface Reason {
  reason: string
  items: number
}

interface Shown {
  timestamp: string
  type: string
  value: number
  implausible?: true
}

const shown = (rows: Shown[]) =>
  rows.map(({ timestamp, type, value, implausible }) => {
    return `${timestamp.slice(11, 19)} ${type} ${value}${implausible ? ' implausible' : ''}`
  })

const read = async (app: TestApp, user: string, query: Record<string, unknown> = {}) => {
  const { body } = await timeseries(app, user, { ...DAY, limit: 100, ...query })
  return { rows: shown(body.data), total: body.pagination.total_count }
}

const get = async (app: TestApp, path: string) => (await app.request('GET', path)).body

oneEngine(t, 'values that cannot be true', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)

  await t.test('a value that cannot be true is kept and counts nowhere', async (t) => {
    const user = await createUser(app)
    const records = [
      heartRate(NOON, 60),
      heartRate(NOON + MINUTE_MS, 5000),
      heartRate(NOON + 2 * MINUTE_MS, 80),
      heartRate(NOON + 3 * MINUTE_MS, -3),
      steps(NOON, 100),
      steps(NOON + MINUTE_MS, -5),
      weight(NOON, 70),
      weight(NOON + MINUTE_MS, 70_000),
      record('HKQuantityTypeIdentifierRestingHeartRate', NOON, 0, { unit: 'bpm' }),
    ]
    const batch = await importBody(app, user, body(records))
    t.match(batch, { status: 'success', received: 9, inserted: 9, dropped_count: 0 })
    t.strictSame(batch.implausible, [
      { type: 'heart_rate', unit: 'bpm', lowest: 6, highest: 300, items: 2 },
      { type: 'resting_heart_rate', unit: 'bpm', lowest: 10, highest: 300, items: 1 },
      { type: 'steps', unit: 'count', lowest: 0, highest: 500_000, items: 1 },
      { type: 'weight', unit: 'kg', lowest: 0.2, highest: 700, items: 1 },
    ])
    const total = record('BASAL_METABOLIC_RATE', NOON, 1_000_000, { unit: 'kcal/day' })
    t.match(await importBody(app, user, body([total], { provider: 'samsung' })), {
      implausible: [{ type: 'basal_energy', items: 1 }],
    })

    const answers = async () => {
      const users = `/api/v1/users/${user}`
      const day = 'start_date=2026-02-24&end_date=2026-02-24'
      const activity = await get(app, `${users}/summaries/activity?${day}`)
      const merged = await get(app, `${users}/summaries/activity?${day}&merge=segments&explain=true`)
      const slow = await get(app, `${users}/summaries/body`)
      const data = await get(app, `${users}/summaries/data`)
      const timeline = await get(app, `${users}/summaries/data/timeline?group_by=series_type`)
      const coverage = await get(app, `${users}/coverage?${day}`)
      return {
        raw: await read(app, user),
        columns: (
          await timeseries(app, user, DAY, { headers: { Accept: 'application/vnd.pulsebase.columns+json' } })
        ).body.series
          .filter(({ implausible }: { implausible?: true }) => implausible)
          .map(({ type }: { type: string }) => type)
          .sort(),
        csv: String((await timeseries(app, user, DAY, { headers: { Accept: 'text/csv' } })).body)
          .split('\r\n')
          .filter((line) => line.endsWith(',true')).length,
        hours: await read(app, user, { resolution: '1hour' }),
        minutes: await read(app, user, { resolution: '1min', types: 'heart_rate' }),
        best: await read(app, user, { filter_by_priority: true }),
        activity: activity.data.map(({ steps, heart_rate, total_calories_kcal }: Record<string, unknown>) => {
          return { steps, heart_rate, total_calories_kcal }
        }),
        merged: merged.data.map(({ steps, heart_rate, sources }: Record<string, unknown[]>) => {
          return { steps, heart_rate, sources: sources?.length }
        }),
        weight: slow.slow_changing.weight_kg,
        resting: slow.averaged.resting_heart_rate_bpm,
        counts: data.series_type_counts,
        timeline: timeline.series.map(({ key, buckets }: { key: string; buckets: unknown }) => [key, buckets]),
        coverage: coverage.days.map(({ type, provider, stored, implausible }: Record<string, unknown>) => {
          return `${provider} ${type} ${stored} ${implausible}`
        }),
      }
    }
    const heart = { avg_bpm: 70, max_bpm: 80, min_bpm: 60 }
    const wanted = {
      raw: {
        rows: [
          '00:00:00 basal_energy 1000000 implausible',
          '12:00:00 heart_rate 60',
          '12:00:00 weight 70',
          '12:00:00 steps 100',
          '12:00:00 resting_heart_rate 0 implausible',
          '12:01:00 heart_rate 5000 implausible',
          '12:01:00 weight 70000 implausible',
          '12:01:00 steps -5 implausible',
          '12:02:00 heart_rate 80',
          '12:03:00 heart_rate -3 implausible',
        ],
        total: 10,
      },
      columns: ['basal_energy', 'heart_rate', 'resting_heart_rate', 'steps', 'weight'],
      csv: 6,
      hours: { rows: ['12:00:00 heart_rate 70', '12:00:00 weight 70', '12:00:00 steps 100'], total: 3 },
      minutes: { rows: ['12:00:00 heart_rate 60', '12:02:00 heart_rate 80'], total: 2 },
      best: {
        rows: ['12:00:00 heart_rate 60', '12:00:00 weight 70', '12:00:00 steps 100', '12:02:00 heart_rate 80'],
        total: 4,
      },
      activity: [{ steps: 100, heart_rate: heart, total_calories_kcal: null }],
      merged: [{ steps: 100, heart_rate: heart, sources: 1 }],
      weight: 70,
      resting: null,
      counts: { heart_rate: 2, steps: 1, weight: 1 },
      timeline: [
        ['heart_rate', [['2026-02-24', 2]]],
        ['steps', [['2026-02-24', 1]]],
        ['weight', [['2026-02-24', 1]]],
      ],
      coverage: [
        'apple heart_rate 4 2',
        'apple resting_heart_rate 1 1',
        'apple steps 2 1',
        'apple weight 2 1',
        'samsung basal_energy 1 1',
      ],
    }
    t.strictSame(await answers(), wanted, 'from the samples')
    while (await refreshRollups(app.db)) t.comment('rollups are refreshed')
    t.equal((await app.db.query('select 1 from rollup_dirty')).length, 0)
    t.strictSame(await answers(), wanted, 'from the rollups')
  })

  await t.test('a corrected value has the instant to itself', async (t) => {
    const user = await createUser(app)
    const at = (minute: number, value: number, id?: string) => heartRate(NOON + minute * MINUTE_MS, value, { id })
    const send = async (...records: SdkRecord[]) => {
      const { inserted, updated, unchanged, duplicates } = await importBody(app, user, body(records))
      return `${inserted} new, ${updated} changed, ${unchanged} same, ${duplicates} twice`
    }
    const now = async () => {
      const { rows, total } = await read(app, user)
      const hours = await read(app, user, { resolution: '1hour' })
      return [...rows, ...hours.rows.map((row) => `mean ${row}`), total].join('; ').replaceAll(' heart_rate', '')
    }

    t.equal(await send(at(0, 60, 'a'), at(1, 5000, 'b'), at(2, 80, 'c')), '3 new, 0 changed, 0 same, 0 twice')
    t.equal(await now(), '12:00:00 60; 12:01:00 5000 implausible; 12:02:00 80; mean 12:00:00 70; 3')
    const tag = async () => (await timeseries(app, user, DAY)).headers.get('etag')
    const before = await tag()
    t.equal(await send(at(0, 60, 'a'), at(1, 5000, 'b'), at(2, 80, 'c')), '0 new, 0 changed, 3 same, 0 twice')
    t.equal(await tag(), before, 'what is sent again changes nothing')

    t.equal(await send(at(0, 6000, 'a'), at(1, 100, 'b')), '0 new, 2 changed, 0 same, 0 twice', 'both ways at once')
    t.equal(await now(), '12:00:00 6000 implausible; 12:01:00 100; 12:02:00 80; mean 12:00:00 90; 3')
    while (await refreshRollups(app.db)) t.comment('rollups are refreshed')
    t.equal(await now(), '12:00:00 6000 implausible; 12:01:00 100; 12:02:00 80; mean 12:00:00 90; 3')

    t.equal(await send(at(0, 62, 'a'), at(0, 6000, 'a'), at(0, 64, 'a')), '0 new, 1 changed, 0 same, 2 twice')
    t.equal(await now(), '12:00:00 64; 12:01:00 100; 12:02:00 80; mean 12:00:00 81.33333333333333; 3', 'the last one')
    t.equal(await send(at(3, -1, 'd'), at(2, 1000, 'c')), '1 new, 1 changed, 0 same, 0 twice')

    const gone = (...ids: string[]) => ({ data: { deleted: ids.map((id) => ({ id })) } })
    t.match(await importBody(app, user, body([], gone('c', 'd', 'b'))), { deleted: 3 }, 'deleted by their ids')
    t.equal(await now(), '12:00:00 64; mean 12:00:00 64; 1')
  })

  await t.test('workouts and meals count plausible values only', async (t) => {
    const user = await createUser(app)
    const span = { startDate: iso(NOON), endDate: iso(NOON + 10 * MINUTE_MS), source: WATCH }
    const run = (values: unknown[], samples: unknown[] = []) => [
      { ...span, id: 'run', type: 'running', values, samples },
    ]
    const heart = [120, 140, 9000].map((value, n) => heartRate(NOON + n * MINUTE_MS, value))
    const workouts = run(
      [
        { type: 'maxHeartRate', value: 9000, unit: 'bpm' },
        { type: 'distance', value: 2000, unit: 'm' },
        { type: 'stepCount', value: 900, unit: 'parsecs' },
        { type: 'weatherTemperature', value: 900, unit: 'degC' },
        { type: 'averageMETs', value: 9, unit: 'hogsheads' },
        { type: 'averageCyclingCadence', value: 9000, unit: 'rpm' },
        { type: 'duration', value: -7, unit: 's' },
        { type: 'elevationAscended', value: -7, unit: 'm' },
        { type: 'swimmingStrokeCount', value: 1e10, unit: 'count' },
        { type: 'weather', value: 1, unit: 'parsecs' },
      ],
      [
        { type: 'heartRate', timestamp: iso(NOON + MINUTE_MS), value: 130, unit: 'parsecs' },
        { type: 'heartRate', timestamp: iso(NOON + 2 * MINUTE_MS), value: 7000, unit: 'bpm' },
        { type: 'speed', timestamp: 'yesterday', value: 3, unit: 'm/s' },
        { type: 'power', timestamp: iso(NOON + MINUTE_MS), value: 'much', unit: 'W' },
        { type: 'power', timestamp: iso(NOON + MINUTE_MS), value: 1e16, unit: 'W' },
        { type: 'luck', timestamp: iso(NOON + MINUTE_MS), value: 1e16, unit: 'W' },
      ],
    )
    const food = (type: string, value: number, unit: string) =>
      record(`HKQuantityTypeIdentifier${type}`, NOON, value, { unit, id: type, parentId: 'meal' })
    const records = [
      ...heart,
      record('HKCorrelationTypeIdentifierFood', NOON, 1, { id: 'meal' }),
      food('DietaryProtein', 20, 'g'),
      food('DietaryCarbohydrates', 50_000, 'kg'),
      food('DietaryFatTotal', -4, 'g'),
    ]
    const batch = await importBody(app, user, body([], { data: { records, workouts } }))
    t.match(batch, { status: 'success' })
    t.strictSame(
      (batch.implausible as { type: string; items: number }[]).map(({ type, items }) => `${items} ${type}`),
      // A record, a statistic and a sample of the workout; its temperature and its cadence.
      ['3 heart_rate', '1 cadence', '1 dietary_carbohydrates', '1 dietary_fat_total', '1 weather_temperature'],
    )
    t.match(batch, { dropped_count: 0, saved: { workout: { inserted: 1 } } }, 'the workout itself is stored')
    t.strictSame(
      batch.dropped.map(({ collection, id, loc, type }) => [collection, id, loc.slice(2).join('.'), type].join(' ')),
      [
        'workouts run 0.values.2.unit unit',
        'workouts run 0.values.4.unit unit',
        'workouts run 0.values.6.value implausible_duration',
        'workouts run 0.values.7.value implausible_value',
        'workouts run 0.values.8.value implausible_value',
        'workouts run 0.samples.0.unit unit',
        'workouts run 0.samples.2.timestamp datetime_parsing',
        'workouts run 0.samples.3.value float_parsing',
        'workouts run 0.samples.4.value implausible_value',
      ],
    )
    const day = 'start_date=2026-02-24&end_date=2026-02-24'
    const [workout] = (await get(app, `/api/v1/users/${user}/events/workouts?${day}`)).data
    t.match(workout, { avg_heart_rate_bpm: 130, max_heart_rate_bpm: null, distance_meters: 2000, steps_count: null })
    const [meal] = (await get(app, `/api/v1/users/${user}/events/meals?${day}`)).data
    t.strictSame(meal.nutrients, { dietary_protein: { value: 20, unit: 'g' } })
    const { rows } = await read(app, user, { types: 'weather_temperature' })
    t.strictSame(rows, ['12:10:00 weather_temperature 900 implausible'])
    const coverage = await get(app, `/api/v1/users/${user}/coverage?${day}`)
    const rejected = coverage.days.flatMap((day: { type: string; received: number; reasons: Reason[] }) =>
      day.reasons.map(({ reason, items }) => `${day.type} ${items} of ${day.received}: ${reason}`),
    )
    t.strictSame(rejected.sort(), [
      'average_met 1 of 1: unit',
      'heart_rate 1 of 5: unit',
      'power 1 of 2: float_parsing',
      'power 1 of 2: implausible_value',
      'swimming_stroke_count 1 of 1: implausible_value',
    ])
    t.match(
      coverage.days.find(({ type }: { type: string }) => type === 'meal_nutrient'),
      { stored: 3, implausible: 2 },
    )

    // A nutrient that has no meal yet, implausible at first.
    const loose = (value: number) => body([{ ...food('DietaryProtein', value, 'g'), id: 'bar', parentId: 'snack' }])
    await importBody(app, user, loose(-8))
    t.strictSame((await read(app, user, { types: 'dietary_protein' })).rows, [
      '12:00:00 dietary_protein -8 implausible',
    ])
    await importBody(app, user, loose(8))
    t.strictSame((await read(app, user, { types: 'dietary_protein' })).rows, ['12:00:00 dietary_protein 8'])
    await importBody(app, user, body([record('HKCorrelationTypeIdentifierFood', NOON, 1, { id: 'snack' })]))
    t.strictSame((await read(app, user, { types: 'dietary_protein' })).rows, [])
  })
})

const [engine] = engines()

t.test('events carry what counts', async (t) => {
  const app = await startTestApp(t, engine as Engine, { eventFeedEnabled: true })
  await startImports(t, app)
  const user = await createUser(app)
  const told = async (...records: SdkRecord[]) => {
    const before = (await recordedEvents(app)).at(-1)?.id ?? 0
    await importBody(app, user, body(records))
    return (await recordedEvents(app, before)).flatMap(({ body: { data } }) =>
      (data.samples ?? []).map(({ value }: { value: number }) => `${value} of ${data.sample_count}`),
    )
  }
  t.strictSame(await told(heartRate(NOON, 60), heartRate(NOON + 1000, 5000)), ['60 of 1'])
  t.strictSame(await told(heartRate(NOON, 60), heartRate(NOON + 1000, 100)), ['100 of 1'], 'once it is corrected')
  t.strictSame(await told(heartRate(NOON, -60)), [], 'what is taken out is not told, as what is deleted is not')
})

t.test('nothing that real phones sent is implausible, or in a unit of another kind', async (t) => {
  const folder = new URL('../samples/', import.meta.url)
  const wrong: unknown[] = []
  for (const name of (await readdir(folder)).filter((name) => name !== 'sdk-logs-request.json')) {
    const bytes = await readFile(new URL(name, folder))
    const result = readUpload({ bytes, encoding: 'identity', queryProvider: null, provider: null, nowMs: Date.now() })
    if (!result.ok) throw new Error(`${name}: ${result.code}`)
    const { samples, derived, events, rejections, unknownFields, implausibleParts } = result.batch
    wrong.push(...Object.keys(implausibleParts).map((id) => [name, id]))
    const ids = [...samples, ...derived, ...events.nutrients].map(({ seriesId }) => seriesId)
    wrong.push(...ids.filter((id) => id >= 20_000).map((id) => [name, id]))
    wrong.push(...rejections.filter(({ type }) => type === 'unit').map(({ loc }) => [name, loc]))
    wrong.push(...unknownFields.map(({ field }) => [name, field]))
  }
  t.strictSame(wrong, [])
})
