// The weeks of docs/reading.md, as the SDKs of the phones upload them. What is to be read of them stands on that page.
import { DEVICES } from './lives.ts'
import { iso, type SdkRecord } from './sdk.ts'

const MINUTE = 60_000
const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun', 'Mon again']
const MONDAY = Date.UTC(2026, 2, 2)

/** Local times of the week from Monday, 2 March 2026: `Tue 20:00` is that of the clock there, `zone` such as `-05:00`. */
export function clock(zone: string): (local: string) => number {
  const [hours, minutes] = zone.slice(1).split(':').map(Number) as [number, number]
  const offset = (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
  return (local) => {
    const [day, time] = [local.slice(0, -6), local.slice(-5)]
    const place = day === 'Sun before' ? -1 : DAYS.indexOf(day)
    const [hour, minute] = time.split(':').map(Number) as [number, number]
    return MONDAY + place * 24 * 60 * MINUTE + (hour * 60 + minute - offset) * MINUTE
  }
}

type Name = keyof typeof DEVICES

interface Body {
  provider: string
  sdkVersion: string
  syncTimestamp: string
  data: { records: SdkRecord[]; sleep: SdkRecord[]; workouts: SdkRecord[] }
}

let made = 0
const uuid = () => {
  made += 1
  return `7d1f0000-0000-4000-8000-${String(made).padStart(12, '0')}`
}

/** Items of one device in one time zone. */
export function itemsOf(name: Name, zone: string) {
  const at = clock(zone)
  const source = DEVICES[name].sent
  const item = (fields: SdkRecord, zoned: boolean): SdkRecord => ({
    id: uuid(),
    parentId: null,
    zoneOffset: zoned ? zone : null,
    source,
    metadata: null,
    ...fields,
  })
  const times = (start: number, minutes: number) => ({ startDate: iso(start), endDate: iso(start + minutes * MINUTE) })
  return {
    /** A value from a time on, for some minutes. */
    record: (type: string, local: string, [minutes, value, unit]: [number, number, string], fields: SdkRecord = {}) =>
      item({ type, ...times(at(local), minutes), value, unit, ...fields }, fields.zoned === true),
    /** Stages that follow each other from a time on; `parentId` and its numbers where the platform has sessions. */
    stages: (local: string, list: [stage: string, minutes: number][], parentId: string | null = null) => {
      let start = at(local)
      return list.map(([stage, minutes], n) => {
        const one = item({ stage, ...times(start, minutes), values: null }, true)
        start += minutes * MINUTE
        return parentId ? { ...one, id: `${parentId}-s${n}`, parentId } : one
      })
    },
    workout: (local: string, minutes: number, [ascent, meters]: [name: string, meters: number]) => {
      const values = [
        { type: 'duration', value: minutes * 60, unit: 's' },
        { type: ascent, value: meters, unit: 'm' },
      ]
      return item({ type: 'running', ...times(at(local), minutes), title: null, notes: null, values }, true)
    },
  }
}

/** An upload of an SDK that was released. */
export const uploadOf = (provider: string, data: Partial<Body['data']>): Body => ({
  provider,
  sdkVersion: provider === 'apple' ? '0.15.0' : '0.13.0',
  syncTimestamp: '2026-03-09T08:00:00Z',
  data: { records: [], sleep: [], workouts: [], ...data },
})

const STEPS = 'HKQuantityTypeIdentifierStepCount'
const DISTANCE = 'HKQuantityTypeIdentifierDistanceWalkingRunning'
const ENERGY = 'HKQuantityTypeIdentifierActiveEnergyBurned'
const BASAL = 'HKQuantityTypeIdentifierBasalEnergyBurned'
const RATE = 'HKQuantityTypeIdentifierHeartRate'
const RESTING = 'HKQuantityTypeIdentifierRestingHeartRate'

/** Samsung Health in New York: the phone reports steps and energy of hours, the watch heart rates and nights. */
export function samsung(): Body[] {
  const phone = itemsOf('galaxy', '-05:00')
  const watch = itemsOf('galaxyWatch', '-05:00')
  const summer = { phone: itemsOf('galaxy', '-04:00'), watch: itemsOf('galaxyWatch', '-04:00') }
  const hour = (local: string, steps: number, from = phone) => [
    from.record('STEP_COUNT', local, [60, steps, 'count']),
    from.record('ACTIVE_CALORIES_BURNED', local, [60, steps / 25, 'kcal']),
  ]
  const beat = (local: string, bpm: number, from = watch) =>
    from.record('HEART_RATE', local, [0, bpm, 'bpm'], { zoned: true })
  const night = (local: string, id: string, from = watch) =>
    from.stages(
      local,
      [
        ['light', 240],
        ['deep', 60],
        ['awake', 30],
        ['rem', 90],
      ],
      id,
    )
  const restless = watch.stages(
    'Mon 22:30',
    [
      ['light', 200],
      ['awake', 10],
      ['light', 100],
      ['deep', 60],
      ['rem', 90],
    ],
    'tue',
  )
  const records = [
    ...[...hour('Mon 08:00', 1200), ...hour('Mon 18:00', 2400), beat('Mon 09:00', 60), beat('Mon 09:10', 80)],
    ...[...hour('Tue 20:00', 3000), beat('Tue 20:00', 90), beat('Tue 20:10', 110)],
    ...hour('Wed 12:00', 5000),
    ...[...hour('Thu 08:00', 670), beat('Thu 08:00', 70)],
    phone.record('STEP_COUNT', 'Thu 08:05', [30, 30_000, 'count'], {
      source: { ...DEVICES.galaxy.sent, recordingMethod: 'manual' },
    }),
    ...[...hour('Fri 12:00', 4000), beat('Fri 12:00', 75)],
    ...[...hour('Sat 10:00', 8000), beat('Sat 10:00', 120)],
    ...[...hour('Sun 20:00', 2500, summer.phone), beat('Sun 20:00', 85, summer.watch)],
  ]
  const nap = watch.stages(
    'Fri 14:00',
    [
      ['light', 30],
      ['rem', 10],
    ],
    'nap',
  )
  return [
    uploadOf('samsung', { sleep: restless }),
    uploadOf('samsung', {
      records,
      sleep: [
        ...night('Sun before 23:30', 'mon'),
        ...night('Mon 22:30', 'tue'),
        ...night('Wed 23:00', 'thu'),
        ...night('Fri 00:10', 'fri'),
        ...night('Fri 23:30', 'sat'),
        ...night('Sat 23:00', 'sun'),
        ...nap,
      ],
    }),
  ]
}

/** Oura writes into Apple Health beside an iPhone; on Thursday both fly from Berlin to New York. */
export function oura(): Body[] {
  const [home, ring] = [itemsOf('iphone', '+01:00'), itemsOf('oura', '+01:00')]
  const [away, ringAway] = [itemsOf('iphone', '-05:00'), itemsOf('oura', '-05:00')]
  const walk = (local: string, steps: number, from = home) => [
    from.record(STEPS, local, [10, steps, 'count']),
    from.record(DISTANCE, local, [10, steps * 0.7, 'm']),
  ]
  const day = (name: string, kcal: number, from = ring) => [
    from.record(ENERGY, `${name} 12:00`, [30, kcal, 'Cal']),
    from.record(RESTING, `${name} 07:00`, [0, 50, 'count/min']),
  ]
  const night = (local: string, from = ring) =>
    from.stages(local, [
      ['core', 240],
      ['deep', 80],
      ['awake', 20],
      ['rem', 100],
    ])
  const inBed = (local: string, minutes: number, from = home) => from.stages(local, [['in_bed', minutes]])
  const records = [
    ...[...walk('Mon 08:00', 900), ...walk('Mon 17:55', 1200), ...day('Mon', 300)],
    ...[...walk('Tue 08:00', 1000), ...day('Tue', 250)],
    ...walk('Wed 08:00', 1100),
    ...[...walk('Thu 08:00', 500), ...day('Thu', 100), ...walk('Thu 22:00', 4000, away)],
    ...[...walk('Fri 09:00', 6000, away), ...day('Fri', 500, ringAway)],
    ...[...walk('Sat 09:00', 7000, away), ...day('Sat', 550, ringAway)],
    ...[...walk('Sun 09:00', 2000, away), ...day('Sun', 150, ringAway)],
  ]
  const again = night('Mon 23:00')
  const sleep = [
    ...[...night('Sun before 23:00'), ...inBed('Sun before 22:45', 480)],
    ...[...again, ...inBed('Tue 23:00', 450), ...night('Wed 23:00')],
    ...[...night('Thu 23:00', ringAway), ...night('Fri 23:00', ringAway), ...night('Sat 23:00', ringAway)],
    ...ringAway.stages('Sat 15:00', [['core', 30]]),
  ]
  // The app writes a night again, under new ids.
  const copies = again.map((one) => ({ ...one, id: uuid() }))
  return [uploadOf('apple', { records, sleep }), uploadOf('apple', { sleep: copies })]
}

/** An Apple Watch, an iPhone and a running app that writes its own workouts; London in winter. */
export function runner(): Body[] {
  const [phone, watch, app] = [itemsOf('iphone', '+00:00'), itemsOf('watch', '+00:00'), itemsOf('strava', '+00:00')]
  const day = (name: string) => [
    watch.record(STEPS, `${name} 08:00`, [10, 1000, 'count']),
    watch.record(ENERGY, `${name} 08:00`, [10, 40, 'Cal']),
    watch.record(BASAL, `${name} 06:00`, [600, 1000, 'Cal']),
    watch.record(RATE, `${name} 08:00`, [0, 80, 'count/min']),
    phone.record(STEPS, `${name} 08:01`, [10, 960, 'count']),
  ]
  const run = (name: string, from: typeof watch, [meters, kcal]: [number, number]) => [
    from.record(DISTANCE, `${name} 18:00`, [30, meters, 'm']),
    from.record(ENERGY, `${name} 18:00`, [30, kcal, 'Cal']),
  ]
  const night = (local: string) =>
    watch.stages(local, [
      ['core', 250],
      ['deep', 50],
      ['rem', 90],
      ['awake', 10],
    ])
  const watchDays = ['Mon', 'Tue', 'Thu', 'Fri', 'Sat', 'Sun']
  const [berlin, there] = [itemsOf('watch', '+01:00'), itemsOf('iphone', '+01:00')]
  const records = [
    ...watchDays.flatMap(day),
    ...run('Tue', watch, [5000, 350]),
    ...run('Tue', app, [5100, 400]),
    phone.record(DISTANCE, 'Tue 18:00', [30, 4900, 'm']),
    ...run('Wed', app, [5200, 410]),
    phone.record(DISTANCE, 'Wed 18:00', [30, 4950, 'm']),
    phone.record(STEPS, 'Wed 18:00', [30, 4800, 'count']),
    berlin.record(STEPS, 'Sat 00:05', [5, 400, 'count']),
    there.record(STEPS, 'Sat 00:05', [5, 390, 'count']),
    berlin.record(RATE, 'Sat 00:05', [0, 90, 'count/min']),
  ]
  const workouts = [
    watch.workout('Tue 18:00', 30, ['elevationAscended', 42]),
    app.workout('Tue 18:00', 30, ['elevationAscended', 45]),
    app.workout('Wed 18:00', 30, ['elevationAscended', 48]),
  ]
  const sleep = [
    ...['Sun before 23:00', 'Mon 23:00', 'Wed 23:00', 'Sun 00:30'].flatMap(night),
    ...phone.stages('Mon 22:50', [['in_bed', 430]]),
    ...watch.stages('Thu 15:00', [['core', 25]]),
    ...berlin.stages('Sat 00:10', [
      ['core', 300],
      ['rem', 100],
    ]),
  ]
  return [uploadOf('apple', { records, sleep, workouts })]
}

/** Health Connect, into which a Fitbit band and a phone with Google Fit write; Berlin. */
export function twoWriters(): Body[] {
  const [band, phone, app] = [itemsOf('fitbit', '+01:00'), itemsOf('pixel', '+01:00'), itemsOf('writer', '+01:00')]
  const zoned = { zoned: true }
  const worn = (name: string) => [
    band.record('STEP_COUNT', `${name} 09:00`, [1, 110, 'count'], zoned),
    band.record('STEP_COUNT', `${name} 09:01`, [1, 90, 'count'], zoned),
    band.record('ACTIVE_CALORIES_BURNED', `${name} 09:00`, [2, 12, 'kcal'], zoned),
    band.record('BASAL_METABOLIC_RATE', `${name} 00:01`, [0, 1600, 'kcal/day'], zoned),
    band.record('RESTING_HEART_RATE', `${name} 08:00`, [0, 56, 'bpm'], zoned),
  ]
  const carried = (name: string, steps: number) => [
    phone.record('STEP_COUNT', `${name} 08:55`, [20, steps, 'count'], zoned),
    phone.record('BASAL_METABOLIC_RATE', `${name} 10:00`, [0, 1540, 'kcal/day'], zoned),
    phone.record('TOTAL_CALORIES_BURNED', `${name} 08:00`, [60, 90, 'kcal'], zoned),
  ]
  const days = ['Mon', 'Tue', 'Wed', 'Thu', 'Sat', 'Sun']
  const records = [
    ...days.flatMap(worn),
    ...[...carried('Mon', 400), ...carried('Fri', 5000), ...carried('Sat', 400)],
    phone.record('STEP_COUNT', 'Tue 18:00', [15, 2500, 'count'], zoned),
    band.record('DISTANCE', 'Wed 18:00', [30, 5000, 'm'], zoned),
    phone.record('DISTANCE', 'Wed 18:10', [35, 7000, 'm'], zoned),
    itemsOf('pixel', '+00:00').record('STEP_COUNT', 'Sun 23:30', [10, 800, 'count'], zoned),
  ]
  const night = (local: string, id: string) =>
    band.stages(
      local,
      [
        ['light', 250],
        ['deep', 70],
        ['rem', 80],
        ['awake', 20],
      ],
      id,
    )
  const grown = [300, 400, 440].flatMap((minutes) => app.stages('Tue 23:30', [['sleeping', minutes]]))
  const sleep = [
    ...[...night('Sun before 23:00', 'mon'), ...night('Mon 23:00', 'tue'), ...grown],
    ...[...night('Wed 23:00', 'thu'), ...night('Fri 23:00', 'sat'), ...night('Sat 23:00', 'sun')],
    ...band.stages('Thu 13:00', [['light', 40]], 'nap'),
    ...app.stages('Fri 00:00', [['sleeping', 420]]),
  ]
  const workouts = [
    band.workout('Wed 18:00', 30, ['altitudeGain', 31]),
    phone.workout('Wed 18:10', 35, ['altitudeGain', 36]),
  ]
  return [uploadOf('google', { records, sleep, workouts })]
}

/** An iPhone and nothing else; from New York to London on Friday night. */
export function phoneOnly(): Body[] {
  const [phone, health] = [itemsOf('iphone', '-05:00'), itemsOf('health', '-05:00')]
  const abroad = itemsOf('iphone', '+00:00')
  const typed = { metadata: { HKWasUserEntered: '1' } }
  const records = [
    phone.record(STEPS, 'Mon 08:00', [10, 800, 'count']),
    phone.record('HKQuantityTypeIdentifierFlightsClimbed', 'Mon 08:05', [1, 3, 'count']),
    phone.record(STEPS, 'Tue 21:30', [10, 1500, 'count']),
    phone.record(STEPS, 'Wed 08:00', [10, 600, 'count']),
    health.record(STEPS, 'Wed 08:00', [15, 20_000, 'count'], typed),
    health.record(STEPS, 'Thu 12:00', [60, 4000, 'count'], typed),
    phone.record(STEPS, 'Fri 23:55', [10, 500, 'count']),
    abroad.record(STEPS, 'Sat 15:00', [10, 2000, 'count']),
    abroad.record(STEPS, 'Sun 15:00', [20, 2400, 'count']),
  ]
  const sleep = [
    ...phone.stages('Sun before 23:00', [['in_bed', 480]]),
    ...phone.stages('Mon 23:00', [['in_bed', 200]]),
    ...phone.stages('Tue 02:30', [['in_bed', 270]]),
    ...['Wed 23:00', 'Thu 23:00'].flatMap((local) => phone.stages(local, [['in_bed', 420]])),
    ...phone.stages('Fri 18:00', [['in_bed', 30]]),
    ...abroad.stages('Sat 13:00', [['in_bed', 60]]),
    ...abroad.stages('Sat 23:30', [['in_bed', 510]]),
  ]
  return [uploadOf('apple', { records, sleep })]
}
