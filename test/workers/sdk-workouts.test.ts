// Workouts of an upload: sdk-types 8, sdk-payload 4.4 and 5.3.
import fc from 'fast-check'
import t from 'tap'
import { type Batch, NO_ZONE, type Workout } from '../../server/batch/columns.ts'
import { seriesById } from '../../server/catalogue/series.ts'
import type { SdkProvider } from '../../server/providers/index.ts'
import { parseJsonBytes } from '../../workers/json-bytes.ts'
import { readSdkBatch } from '../../workers/sdk-batch.ts'
import { body, iso, WATCH } from '../support/sdk.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

type Fields = Record<string, unknown>

/** A run of an hour from noon. */
const run = (fields: Fields = {}): Fields => ({
  id: 'run-1',
  type: 'running',
  startDate: iso(NOON),
  endDate: iso(NOON + HOUR_MS),
  zoneOffset: '+01:00',
  source: WATCH,
  ...fields,
})

/** In the form in which phones send them: as bytes, in which repeated sources are replaced. */
function read(workouts: unknown[], provider: SdkProvider = 'apple'): Batch {
  const parsed = parseJsonBytes(Buffer.from(JSON.stringify(body([], { data: { workouts } }))))
  if (typeof parsed === 'string') throw new Error(parsed)
  return readSdkBatch(parsed, provider, NOON + DAY_MS)
}

function readOne(fields: Fields, provider: SdkProvider = 'apple'): Workout {
  const { events, rejections } = read([run(fields)], provider)
  const [workout] = events.workouts
  if (!workout) throw new Error(JSON.stringify(rejections))
  return workout
}

const values = (...statistics: [type: string, value: unknown, unit?: unknown][]) => ({
  values: statistics.map(([type, value, unit]) => ({ type, value, unit })),
})

/** Samples as `series value @seconds after noon`. */
const samplesOf = ({ derived }: Batch) =>
  derived.flatMap(({ seriesId, timeMs, value }) =>
    Array.from(timeMs, (ms, at) => `${seriesById.get(seriesId)?.type} ${value[at]} @${(ms - NOON) / 1000}`),
  )

const reason = (fields: Fields) => {
  const { rejections, events, received, rejected } = read([run(fields)])
  return [received, rejected, events.workouts.length, rejections[0]?.loc.at(-1), rejections[0]?.type]
}

const nothing = {
  movingSeconds: null,
  caloriesKcal: null,
  distanceMeters: null,
  steps: null,
  heartRateMin: null,
  heartRateAvg: null,
  heartRateMax: null,
  averageSpeed: null,
  maxSpeed: null,
  averageCadence: null,
  averageWatts: null,
  maxWatts: null,
  elevationGainMeters: null,
  elevationHighMeters: null,
  elevationLowMeters: null,
  segments: null,
  laps: null,
  route: null,
}

t.test('a workout without statistics says what it is and how long it took', async (t) => {
  t.strictSame(readOne({}), {
    ...nothing,
    source: 0,
    externalId: 'run-1',
    startMs: NOON,
    endMs: NOON + HOUR_MS,
    zoneMin: 60,
    type: 'running',
    title: null,
    notes: null,
    entrySource: null,
    durationSeconds: 3600,
  })
  t.strictSame(samplesOf(read([run()])), [])
})

// sdk-types 8.2: the sent statistic, and the field of the workout, or the sample at its end, that it becomes.
const fields: [type: string, value: number, unit: string | null, field: keyof Workout, stored: number][] = [
  ['duration', 2751.3, 's', 'durationSeconds', 2751],
  ['duration', 2_710_000, 'ms', 'durationSeconds', 2710],
  ['duration', 2_710_000, '', 'durationSeconds', 2710],
  ['duration', 45, 'min', 'durationSeconds', 2700],
  ['duration', 2700, null, 'durationSeconds', 2700],
  ['totalDuration', 1_500_999, 'ms', 'durationSeconds', 1500],
  ['totalDuration', 1_500_999, null, 'durationSeconds', 1500],
  ['totalDuration', 1500, 's', 'durationSeconds', 1500],
  ['TOTAL_DURATION', 1_500_000, '', 'durationSeconds', 1500],
  ['activeEnergyBurned', 512.4, 'kcal', 'caloriesKcal', 512.4],
  ['activeEnergyBurned', 512_400, 'cal', 'caloriesKcal', 512.4],
  ['activeEnergyBurned', 2092, 'kJ', 'caloriesKcal', 500],
  ['calories', 402, 'kcal', 'caloriesKcal', 402],
  ['totalCalories', 512, 'kcal', 'caloriesKcal', 512],
  ['TOTAL_CALORIES', 210, '', 'caloriesKcal', 210],
  ['totalEnergyBurned', 210, 'kcal', 'caloriesKcal', 210],
  ['distance', 8342.7, 'm', 'distanceMeters', 8342.7],
  ['distance', 8.3427, 'km', 'distanceMeters', 8342.7],
  ['distance', 0, 'm', 'distanceMeters', 0],
  ['totalDistance', 8342.7, 'm', 'distanceMeters', 8342.7],
  ['stepCount', 7541.6, 'count', 'steps', 7541],
  ['totalSteps', 7541, 'count', 'steps', 7541],
  ['minHeartRate', 96, 'bpm', 'heartRateMin', 96],
  ['averageHeartRate', 151.72, 'bpm', 'heartRateAvg', 151.72],
  ['averageHeartRate', 2.5, 'count/s', 'heartRateAvg', 150],
  ['meanHeartRate', 138, 'bpm', 'heartRateAvg', 138],
  ['maxHeartRate', 174, 'bpm', 'heartRateMax', 174],
  ['averageRunningPower', 241.3, 'W', 'averageWatts', 241.3],
  ['averageCyclingPower', 168, 'W', 'averageWatts', 168],
  ['meanPower', 168, '', 'averageWatts', 168],
  ['maxPower', 650, '', 'maxWatts', 650],
  ['averageRunningSpeed', 3.032, 'm/s', 'averageSpeed', 3.032],
  ['averageCyclingSpeed', 6.89, 'm/s', 'averageSpeed', 6.89],
  ['averageSpeed', 6.91, 'm/s', 'averageSpeed', 6.91],
  ['averageSpeed', 36, 'km/hr', 'averageSpeed', 10],
  ['meanSpeed', 5.62, 'm/s', 'averageSpeed', 5.62],
  ['maxSpeed', 12.1, 'm/s', 'maxSpeed', 12.1],
  ['elevationAscended', 84.2, 'm', 'elevationGainMeters', 84.2],
  ['altitudeGain', 122, 'm', 'elevationGainMeters', 122],
  ['maxAltitude', 311, 'm', 'elevationHighMeters', 311],
  ['minAltitude', -420.5, 'm', 'elevationLowMeters', -420.5],
  ['meanCadence', 83, 'rpm', 'averageCadence', 83],
  ['meanCadence', 78, 'spm', 'averageCadence', 78],
  ['averageCyclingCadence', 82, 'count/min', 'averageCadence', 82],
]

const sampled: [type: string, value: number, unit: string | null, series: string, stored: number][] = [
  ['averageRunningStrideLength', 1.106, 'm', 'running_stride_length', 110.6],
  ['averageRunningStrideLength', 1.106, null, 'running_stride_length', 110.6],
  ['averageRunningStrideLength', 110.6, 'cm', 'running_stride_length', 110.6],
  ['averageVerticalOscillation', 8.7, 'cm', 'running_vertical_oscillation', 8.7],
  ['averageGroundContactTime', 247, 'ms', 'running_ground_contact_time', 247],
  ['averageMETs', 9.6, 'kcal/kg/hr', 'average_met', 9.6],
  ['swimmingStrokeCount', 812, 'count', 'swimming_stroke_count', 812],
  ['averageCyclingCadence', 82, 'count/min', 'cadence', 82],
  ['meanCadence', 83, 'rpm', 'cadence', 83],
  ['meanCadence', 78, 'spm', 'cadence', 78],
  ['vo2Max', 44.1, 'mL/kg/min', 'vo2_max', 44.1],
  ['weatherTemperature', 17.2, 'degC', 'weather_temperature', 17.2],
  ['weatherTemperature', -4, '°C', 'weather_temperature', -4],
  ['weatherTemperature', 50, '°F', 'weather_temperature', 10],
  ['weatherHumidity', 0.61, '%', 'weather_humidity', 61],
]

t.test('every statistic becomes its field, in any spelling and in its unit', async (t) => {
  const alsoSampled = new Set(['averageCadence'])
  for (const [type, value, unit, field, stored] of fields) {
    for (const name of [type, type.toUpperCase(), type.replaceAll(/[A-Z]/g, (letter) => `_${letter}`)]) {
      const workout = readOne(values([name, value, unit]))
      t.strictSame(workout, { ...readOne({}), [field]: stored }, `${name} ${unit}`)
      if (!alsoSampled.has(field)) t.strictSame(samplesOf(read([run(values([name, value, unit]))])), [])
    }
  }
})

t.test('every statistic without a field becomes a sample at the end of the workout', async (t) => {
  for (const [type, value, unit, series, stored] of sampled) {
    const batch = read([run(values([type, value, unit]))])
    t.strictSame(samplesOf(batch), [`${series} ${stored} @3600`], `${type} ${unit}`)
    t.strictSame([...(batch.derived[0]?.zoneMin ?? [])], [60])
    if (series !== 'cadence') t.strictSame(batch.events.workouts[0], readOne({}))
  }
  const [unknown] = read([run({ ...values(['vo2Max', 44.1]), zoneOffset: null })]).derived
  t.equal(unknown?.zoneMin[0], NO_ZONE)
})

t.test('of statistics that say the same one counts, whatever their order, never their sum', async (t) => {
  const contests: [field: keyof Workout, ...named: [string, number][]][] = [
    ['caloriesKcal', ['activeEnergyBurned', 1], ['calories', 2], ['totalCalories', 3], ['totalEnergyBurned', 4]],
    ['distanceMeters', ['distance', 1], ['totalDistance', 2]],
    ['steps', ['stepCount', 1], ['totalSteps', 2]],
    ['averageSpeed', ['averageSpeed', 1], ['meanSpeed', 2], ['averageRunningSpeed', 3], ['averageCyclingSpeed', 4]],
    ['averageWatts', ['averageRunningPower', 1], ['averageCyclingPower', 2], ['meanPower', 3]],
    ['averageCadence', ['meanCadence', 1], ['averageCyclingCadence', 2]],
    ['elevationGainMeters', ['elevationAscended', 1], ['altitudeGain', 2]],
  ]
  for (const [field, ...named] of contests) {
    for (const order of [named, named.toReversed()]) t.equal(readOne(values(...order))[field], 1, field)
  }
  for (const order of [[101, 102] as const, [102, 101] as const]) {
    const named = order.map((bpm): [string, number] => [bpm === 101 ? 'averageHeartRate' : 'meanHeartRate', bpm])
    t.equal(readOne(values(...named)).heartRateAvg, 101)
  }
  t.equal(readOne(values(['duration', 60, 's'], ['totalDuration', 90_000, 'ms'])).durationSeconds, 60)
  t.equal(readOne(values(['calories', 5], ['basalEnergyBurned', 60.5])).caloriesKcal, 5)
  t.equal(readOne(values(['basalEnergyBurned', 60.5])).caloriesKcal, null, 'basal energy is not that of the workout')
  t.equal(readOne(values(['distance', 5], ['distance', 7])).distanceMeters, 7, 'the later of two of one name')
  t.equal(readOne(values(['distance', 5], ['distance', 'far'])).distanceMeters, 5)
  t.strictSame(samplesOf(read([run(values(['maxCadence', 104], ['meanCadence', 78], ['maxCadence', 104]))])), [
    'cadence 78 @3600',
  ])
})

t.test('a bad or unknown statistic costs nothing but itself', async (t) => {
  const bad = ['far', '8342.7', null, true, {}, [], undefined, -1, 1e10]
  for (const value of bad) {
    const spoiled = values(['distance', value, 'm'], ['stepCount', 5, 'count'], ['vo2Max', 44])
    t.strictSame(readOne(spoiled), { ...readOne({}), steps: 5 }, String(value))
    t.strictSame(samplesOf(read([run(spoiled)])), ['vo2_max 44 @3600'])
  }
  t.equal(readOne(values(['duration', 8 * 86_400, 's'])).durationSeconds, 3600, 'longer than a week')
  const impossible = values(
    ['distance', 9e8, 'm'],
    ['activeEnergyBurned', 9e8, 'kcal'],
    ['stepCount', 9e8],
    ['elevationAscended', 9e8, 'm'],
    ['averageHeartRate', 5000, 'bpm'],
  )
  t.strictSame(readOne(impossible), readOne({}), 'what cannot be true')
  const unknown = ['elevationDescended', 'altitudeLoss', 'count', 'lapLength', 'maxRpm', 'declineTime', '', '__proto__']
  for (const type of unknown) {
    t.strictSame(readOne(values([type, 7, 'm'])), readOne({}), type)
    t.strictSame(samplesOf(read([run(values([type, 7, 'm']))])), [])
  }
  for (const list of [null, {}, 'values', 7, [null, 'a', 7, [], {}, { type: 7, value: 7 }]]) {
    t.strictSame(readOne({ values: list }), readOne({}))
  }
})

t.test('marks among the statistics refine the type', async (t) => {
  const cases: [type: string, expected: string, ...marks: [string, unknown][]][] = [
    ['running', 'treadmill', ['indoorWorkout', 1]],
    ['running', 'treadmill', ['indoorWorkout', true]],
    ['running', 'running', ['indoorWorkout', 0]],
    ['running', 'running', ['indoorWorkout', false]],
    ['running', 'running', ['indoorWorkout', 'yes']],
    ['running', 'running', ['swimmingLocationType', 1]],
    ['cycling', 'indoor_cycling', ['indoorWorkout', 1]],
    ['swimming', 'pool_swimming', ['swimmingLocationType', 1], ['indoorWorkout', 1]],
    ['swimming', 'open_water_swimming', ['swimmingLocationType', 2]],
    ['swimming', 'swimming', ['swimmingLocationType', 0], ['indoorWorkout', 1]],
    ['swimming', 'swimming', ['swimmingLocationType', 1.5]],
    ['swimming', 'swimming', ['swimmingLocationType', -1]],
    ['rowing', 'rowing', ['indoorWorkout', 1]],
  ]
  for (const [type, expected, ...marks] of cases) {
    t.equal(readOne({ type, ...values(...marks) }).type, expected, `${type} ${marks.join(' ')}`)
  }
  for (const type of [null, undefined, 7, 'underwater_basket_weaving']) t.equal(readOne({ type }).type, 'other')
  t.equal(readOne({ type: '10007' }, 'samsung').type, 'cardio_training')
})

t.test('how a workout was recorded follows from its source, whether that is repeated or not', async (t) => {
  const methods: [method: unknown, entry: string | null][] = [
    ['active', 'automatic'],
    ['automatic', 'automatic'],
    ['MANUAL', 'manual'],
    ['unknown', 'unknown'],
    ['telepathic', null],
    [null, null],
    [7, null],
  ]
  const sent = [...methods, ...methods].map(([recordingMethod], index) =>
    run({ id: `run-${index}`, source: { ...WATCH, recordingMethod } }),
  )
  const { events, sources } = read(sent, 'health_connect')
  t.strictSame(
    events.workouts.map(({ entrySource }) => entrySource),
    [...methods, ...methods].map(([, entry]) => entry),
  )
  t.equal(sources.length, 1, 'it makes no other source')
  t.equal(readOne({ source: { recording_method: 'manual' } }).entrySource, 'manual')
  for (const source of [null, 'watch', 123_456_789]) t.equal(readOne({ source }).entrySource, null)
})

t.test('title and notes are kept as text of bounded length', async (t) => {
  const { title, notes } = readOne({ title: '  Läufe\u0000 im\nWald 🏃 ', notes: 'n'.repeat(10_000) })
  t.equal(title, 'Läufe im Wald 🏃')
  t.equal(notes?.length, 4_000)
  t.equal(readOne({ title: '🏃'.repeat(300) }).title, '🏃'.repeat(255))
  t.equal(readOne({ title: 'x\ud800y' }).title, 'xy', 'half a character')
  t.match(readOne({ title: ' ', notes: 7 }), { title: null, notes: null })
})

t.test('segments say which part of a workout somebody moved', async (t) => {
  const at = (minute: number) => iso(NOON + minute * 60_000)
  const part = (from: number, to: number, type: unknown = 'cycling', more: Fields = {}) => ({
    startDate: at(from),
    endDate: at(to),
    type,
    ...more,
  })
  const moving = (segments: unknown, provider: SdkProvider = 'health_connect') =>
    readOne({ segments }, provider).movingSeconds
  t.equal(moving([part(0, 20), part(20, 22, 'rest'), part(22, 45)]), 43 * 60)
  t.equal(moving([part(0, 20, 'other_39'), part(30, 40, 'PAUSE')]), 30 * 60, 'all but the pauses')
  t.equal(moving([part(0, 20, 'other_40'), part(20, 60, 'rest')]), 20 * 60)
  t.equal(moving([part(-30, 60)]), 3600, 'never longer than the workout')
  t.equal(moving([part(0, 90, 'rest')]), 0, 'never negative')
  for (const none of [null, [], {}, [part(0, 20, null), part(20, 0), { type: 'running' }, 'running', null]]) {
    t.equal(moving(none), null)
  }
  t.equal(moving([part(0, 20), part(20, 22, 'rest')], 'samsung'), 20 * 60)
  t.equal(moving([part(0, 20), part(20, 22, 'rest')], 'apple'), null, 'whose duration leaves pauses out')

  const sent = [
    part(0, 20, ' SQUAT ', { repetitions: 12, weightKg: 60 }),
    part(20, 20, 'rest', { repetitions: -1 }),
    part(30, 40, 'plank', { repetitions: 1.5 }),
    part(50, 40),
    part(60, 70, ''),
    { ...part(60, 70), startDate: '2026-02-24' },
    'running',
  ]
  t.strictSame(JSON.parse(readOne({ segments: sent }, 'health_connect').segments ?? ''), [
    { start_time: at(0), end_time: at(20), type: 'squat', repetitions: 12 },
    { start_time: at(20), end_time: at(20), type: 'rest', repetitions: null },
    { start_time: at(30), end_time: at(40), type: 'plank', repetitions: null },
  ])
  const many = Array.from({ length: 2_500 }, (_, n) => part(n / 60, n / 60, 'rest'))
  t.equal(JSON.parse(readOne({ segments: many }).segments ?? '').length, 2_000)

  const minutes = fc.integer({ min: -10, max: 70 })
  const segment = fc.tuple(minutes, minutes, fc.constantFrom('running', 'rest', 'other_39'))
  const property = fc.property(fc.array(segment, { maxLength: 8 }), (segments) => {
    const valid = segments.filter(([from, to]) => from <= to)
    const sum = (some: typeof valid) => some.reduce((total, [from, to]) => total + to - from, 0)
    const active = valid.filter(([, , type]) => type === 'running')
    const expected = active.length > 0 ? sum(active) : 60 - sum(valid)
    const clamped = valid.length === 0 ? null : Math.min(Math.max(expected, 0), 60) * 60
    return moving(segments.map(([from, to, type]) => part(from, to, type))) === clamped
  })
  fc.assert(property)
})

t.test('laps and routes are kept without what is wrong in them', async (t) => {
  const laps = [
    { type: 'lap', startDate: iso(NOON), endDate: iso(NOON + 60_000), duration: 55.5, distanceM: 400, metadata: {} },
    { startDate: iso(NOON), endDate: iso(NOON), distanceM: null },
    { type: 'lap', startDate: iso(NOON), endDate: null },
    null,
  ]
  t.strictSame(JSON.parse(readOne({ laps }).laps ?? ''), [
    { start_time: iso(NOON), end_time: iso(NOON + 60_000), type: 'lap', duration_seconds: 55.5, distance_meters: 400 },
    { start_time: iso(NOON), end_time: iso(NOON), type: null, duration_seconds: null, distance_meters: null },
  ])
  const point = { timestamp: iso(NOON), latitude: 49.231, longitude: 19.9818 }
  const route = [
    { ...point, altitudeM: 905, horizontalAccuracyM: 4, verticalAccuracyM: 6, extra: 1 },
    { ...point, altitudeM: -3.5, horizontalAccuracyM: -1, verticalAccuracyM: 'x' },
    { ...point, timestamp: null },
    { ...point, timestamp: iso(NOON + 3 * DAY_MS) },
    { ...point, latitude: 90.1 },
    { ...point, longitude: -180.1 },
    { ...point, latitude: '49' },
    7,
  ]
  t.strictSame(JSON.parse(readOne({ route }).route ?? ''), [
    [NOON / 1000, 49.231, 19.9818, 905, 4, 6],
    [NOON / 1000, 49.231, 19.9818, -3.5, null, null],
  ])
  const long = Array.from({ length: 45_000 }, (_, n) => ({ ...point, timestamp: iso(NOON - DAY_MS + n * 1000) }))
  const kept = JSON.parse(readOne({ route: long }).route ?? '') as number[][]
  t.equal(kept.length, 15_000)
  t.strictSame(
    kept.slice(0, 2).map(([time]) => time),
    [NOON / 1000 - 86_400, NOON / 1000 - 86_400 + 3],
    'every third point, from the first to the end',
  )
  for (const none of [null, [], {}, 'x', [null]]) {
    t.match(readOne({ laps: none, route: none, segments: none }), { laps: null, route: null, segments: null })
  }
})

t.test('samples of a workout are samples of its source', async (t) => {
  const sample = (type: unknown, value: unknown, unit: unknown, second = 10) => ({
    timestamp: iso(NOON + second * 1000),
    type,
    value,
    unit,
  })
  const samples = [
    sample('heartRate', 140, 'bpm'),
    sample('HEART_RATE', 2.5, 'count/s', 20),
    sample('cadence', 160, 'spm'),
    sample('speed', 3.1, 'm/s'),
    sample('speed', 36, 'km/h', 20),
    sample('power', '250', 'W'),
    sample('power', 'much', 'W', 20),
    sample('power', 1e16, 'W', 20),
    sample('mood', 5, ''),
    sample(7, 5, ''),
    { ...sample('power', 5, 'W'), timestamp: '2026-02-24' },
    null,
  ]
  const batch = read([run({ samples })])
  t.strictSame(samplesOf(batch), [
    'heart_rate 140 @10',
    'heart_rate 150 @20',
    'cadence 160 @10',
    'power 250 @10',
    'speed 3.1 @10',
    'speed 10 @20',
  ])
  t.ok(batch.derived.every(({ source, zoneMin }) => source === 0 && zoneMin.every((zone) => zone === 60)))
})

t.test('a workout that cannot have happened is rejected with the reason', async (t) => {
  t.strictSame(reason({ startDate: null }), [1, 1, 0, 'startDate', 'missing'])
  t.strictSame(reason({ endDate: undefined }), [1, 1, 0, 'endDate', 'missing'])
  t.strictSame(reason({ endDate: '2026-02-24' }), [1, 1, 0, 'endDate', 'datetime_parsing'])
  t.strictSame(reason({ endDate: iso(NOON - 1000) }), [1, 1, 0, 'endDate', 'end_before_start'])
  t.strictSame(reason({ startDate: iso(NOON - 8 * DAY_MS) }), [1, 1, 0, 'endDate', 'implausible_duration'])
  t.strictSame(reason({ endDate: iso(NOON + 3 * DAY_MS) }), [1, 1, 0, 'endDate', 'implausible_timestamp'])
  t.strictSame(reason({ zoneOffset: 'Europe' }), [1, 0, 1, undefined, undefined], 'an offset costs nothing')
  t.strictSame(reason({ endDate: iso(NOON) }), [1, 0, 1, undefined, undefined], 'no time at all is plausible')
  t.strictSame(reason({ startDate: iso(NOON - 7 * DAY_MS), endDate: iso(NOON) }), [1, 0, 1, undefined, undefined])
  t.strictSame(samplesOf(read([run({ endDate: iso(NOON - 1000), ...values(['vo2Max', 44]) })])), [])
  const { rejected, rejections, events } = read([null, 'run', run(), [run()]])
  t.strictSame([rejected, rejections.map(({ index }) => index), events.workouts.length], [3, [0, 1, 3], 1])
})
