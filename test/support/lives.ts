// Weeks of people as their phones upload them: a phone with a watch, a ring that writes through the phone's platform, two
// apps that write the same run; with travel, naps, entries by hand, days without the watch, and everything sent twice.
import type { Body, Device, Item } from './recomputed/facts.ts'
import { DEFAULT_PRIORITIES, type Priorities } from './recomputed/ranking.ts'
import { iso } from './sdk.ts'
import { seeded } from './summaries.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A week of a person. */
export interface Life {
  devices: readonly Device[]
  uploads: Body[]
  firstDay: number
  endDay: number
  birthDate: string | null
  priorities: Priorities
}

const device = (
  provider: Device['provider'],
  sent: Item,
  [source, model, type, name]: [string, string | null, string, string | null],
): Device => ({
  provider,
  sent: { recordingMethod: null, ...sent },
  shown: { provider, source, device: model, device_type: type, device_name: name },
})

/** What people wear and carry, as SDKs describe it, and what a reader is to see. */
export const DEVICES = {
  watch: device(
    'apple',
    { name: 'Ana’s Apple Watch', deviceName: 'Apple Watch', deviceModel: 'Watch7,5', deviceType: 'watch' },
    ['Ana’s Apple Watch', 'Watch7,5', 'watch', 'Apple Watch Ultra 2'],
  ),
  iphone: device(
    'apple',
    { name: 'Ana’s iPhone', deviceName: 'iPhone', deviceModel: 'iPhone17,1', deviceType: 'phone' },
    ['Ana’s iPhone', 'iPhone17,1', 'phone', 'iPhone 16 Pro'],
  ),
  oura: device('apple', { appId: 'com.ouraring.oura', name: 'Oura', deviceModel: null, deviceType: 'unknown' }, [
    'Oura',
    null,
    'ring',
    null,
  ]),
  strava: device('apple', { appId: 'com.strava.run', name: 'Strava', deviceModel: null, deviceType: 'unknown' }, [
    'Strava',
    null,
    'unknown',
    null,
  ]),
  health: device('apple', { name: 'Health', deviceModel: 'iPhone17,1', deviceType: 'phone' }, [
    'Health',
    'iPhone17,1',
    'phone',
    'iPhone 16 Pro',
  ]),
  galaxy: device('samsung', { deviceName: 'dm3q', deviceModel: 'SM-S918B', deviceType: 'phone' }, [
    'dm3q',
    'SM-S918B',
    'phone',
    'Galaxy S23 Ultra',
  ]),
  galaxyWatch: device('samsung', { deviceName: 'Galaxy Watch7', deviceModel: 'SM-L315F', deviceType: 'phone' }, [
    'Galaxy Watch7',
    'SM-L315F',
    'watch',
    'Galaxy Watch7 44mm LTE',
  ]),
  pixel: device(
    'health_connect',
    { appId: 'com.google.android.apps.fitness', deviceModel: 'Pixel 9', deviceType: 'phone' },
    ['com.google.android.apps.fitness', 'Pixel 9', 'phone', 'Pixel 9'],
  ),
  fitbit: device(
    'health_connect',
    { appId: 'com.fitbit.FitbitMobile', deviceModel: 'Charge 6', deviceType: 'fitness_band' },
    ['com.fitbit.FitbitMobile', 'Charge 6', 'band', 'Charge 6'],
  ),
  writer: device('health_connect', { appId: 'com.sec.android.app.shealth', deviceModel: null, deviceType: 'unknown' }, [
    'com.sec.android.app.shealth',
    null,
    'unknown',
    null,
  ]),
} satisfies Record<string, Device>

type Name = keyof typeof DEVICES

/** Who has what; the last ones have changed phones, or use two platforms at once. */
const PEOPLE: readonly (readonly Name[])[] = [
  ['iphone'],
  ['iphone', 'watch'],
  ['iphone', 'watch', 'health'],
  ['iphone', 'oura'],
  ['iphone', 'strava'],
  ['iphone', 'watch', 'oura', 'strava'],
  ['iphone', 'watch', 'strava', 'health'],
  ['galaxy'],
  ['galaxy', 'galaxyWatch'],
  ['pixel', 'fitbit'],
  ['pixel', 'writer'],
  ['pixel', 'fitbit', 'writer'],
  ['galaxy', 'galaxyWatch', 'pixel', 'writer'],
  ['iphone', 'watch', 'pixel', 'fitbit'],
  ['iphone', 'galaxy', 'galaxyWatch'],
]

/** Homes with the offsets of their clocks in winter and summer, and where summer time begins and ends in 2025. */
const HOMES: readonly { winter: number; summer: number; from: string; until: string }[] = [
  { winter: 60, summer: 120, from: '2025-03-30T01:00:00Z', until: '2025-10-26T01:00:00Z' },
  { winter: -300, summer: -240, from: '2025-03-09T07:00:00Z', until: '2025-11-02T06:00:00Z' },
  { winter: 345, summer: 345, from: '2025-01-01T00:00:00Z', until: '2025-01-01T00:00:00Z' },
  { winter: 540, summer: 540, from: '2025-01-01T00:00:00Z', until: '2025-01-01T00:00:00Z' },
  { winter: 840, summer: 840, from: '2025-01-01T00:00:00Z', until: '2025-01-01T00:00:00Z' },
  { winter: -600, summer: -600, from: '2025-01-01T00:00:00Z', until: '2025-01-01T00:00:00Z' },
]

/** Mondays of weeks in which clocks change or a month of the archive ends (13 March, 8 November 2025), and of two others. */
export const MONDAYS = [
  '2025-03-07',
  '2025-03-10',
  '2025-03-24',
  '2025-06-16',
  '2025-10-20',
  '2025-10-27',
  '2025-11-03',
]

interface Person {
  random: () => number
  names: readonly Name[]
  zoneAt: (ms: number) => number
  first: number
}

/** Makes the week of a seed; `nowMs` is where a recent one ends. */
export function lifeOf(seed: number, nowMs: number): Life {
  const random = seeded(seed)
  const recent = random() < 0.2
  const monday = Date.parse(`${pick(random, MONDAYS)}T00:00:00Z`)
  const first = recent ? Math.floor(nowMs / DAY) * DAY - 7 * DAY : monday
  const names = pick(random, PEOPLE)
  const person: Person = { random, names, first, zoneAt: zonesOf(random, first) }
  const items = names.flatMap((name) => itemsOf(person, name).map((item) => ({ ...item, name })))
  const past = items.filter(({ item }) => Date.parse(item.endDate as string) <= nowMs - HOUR)
  return {
    devices: Object.values(DEVICES),
    uploads: uploadsOf(random, past),
    firstDay: first / DAY - 2,
    endDay: first / DAY + 9,
    birthDate: random() < 0.7 ? `${1940 + Math.floor(random() * 70)}-0${1 + Math.floor(random() * 9)}-11` : null,
    priorities: prioritiesOf(random),
  }
}

const pick = <T>(random: () => number, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T

function prioritiesOf(random: () => number): Priorities {
  if (random() < 0.6) return DEFAULT_PRIORITIES
  const number = () => 1 + Math.floor(random() * 4)
  const renumbered = (numbers: Record<string, number>) =>
    Object.fromEntries(Object.keys(numbers).map((name) => [name, number()]))
  return { providers: renumbered(DEFAULT_PRIORITIES.providers), types: renumbered(DEFAULT_PRIORITIES.types) }
}

/** The clock of the person: at home, and in half of the weeks somewhere else from some hour of the week on. */
function zonesOf(random: () => number, first: number): (ms: number) => number {
  const [home, away] = [pick(random, HOMES), pick(random, HOMES)]
  const leaves = random() < 0.5 ? first + Math.floor(random() * 7 * 24 * 4) * 15 * MINUTE : Infinity
  const returns = random() < 0.5 ? leaves + Math.floor(random() * 3 * 24) * HOUR : Infinity
  return (ms) => {
    const { winter, summer, from, until } = ms >= leaves && ms < returns ? away : home
    return ms >= Date.parse(from) && ms < Date.parse(until) ? summer : winter
  }
}

interface Sent {
  kind: 'records' | 'sleep' | 'workouts'
  item: Item
}

interface Bout {
  start: number
  end: number
  pace: number
  run: boolean
}

/** What one device or app has to say about the week. */
function itemsOf(person: Person, name: Name): Sent[] {
  // Everybody sees the same walks and nights, each in its own way.
  const walks = seeded(person.first / DAY + person.names.length)
  const worn = (): boolean => name === 'iphone' || person.random() < 0.85
  const sent: Sent[] = []
  for (let day = 0; day < 7; day += 1) {
    const midnight = person.first + day * DAY - person.zoneAt(person.first + day * DAY) * MINUTE
    const bouts = boutsOf(walks, midnight)
    const night = nightOf(walks, midnight)
    if (!worn()) continue
    sent.push(...STYLES[name](person, { midnight, bouts, night, name }))
    if (person.random() < 0.5) sent.push(...edges(person, name, midnight))
  }
  return sent
}

interface Day {
  midnight: number
  bouts: Bout[]
  night: { start: number; end: number; nap: number | null }
  name: Name
}

function boutsOf(random: () => number, midnight: number): Bout[] {
  const bouts = Array.from({ length: 3 + Math.floor(random() * 5) }, () => {
    const start = midnight + Math.floor((7 + random() * 16.8) * 3600) * SECOND
    const run = random() < 0.15
    const minutes = run ? 20 + random() * 40 : 2 + random() * random() * 50
    return { start, end: start + Math.floor(minutes * 60) * SECOND, pace: run ? 160 : 20 + random() * 90, run }
  })
  bouts.sort((a, b) => a.start - b.start)
  return bouts.filter(({ start }, n) => n === 0 || start >= (bouts[n - 1] as Bout).end)
}

function nightOf(random: () => number, midnight: number) {
  const start = midnight + Math.floor((random() * 4 - 2.5) * 3600) * SECOND
  const nap = random() < 0.25 ? midnight + Math.floor((11 + random() * 8) * 60) * MINUTE : null
  return { start, end: start + Math.floor((4 + random() * 5) * 3600) * SECOND, nap }
}

let made = 0
const id = () => {
  made += 1
  return `00000000-0000-4000-8000-${String(made).padStart(12, '0')}`
}

const offsetText = (minutes: number) => {
  const text = (part: number) => String(part).padStart(2, '0')
  return `${minutes < 0 ? '-' : '+'}${text(Math.floor(Math.abs(minutes) / 60))}:${text(Math.abs(minutes) % 60)}`
}

/** A record; `zoned` is how likely it says its offset. */
function record(
  { random, zoneAt }: Person,
  name: Name,
  [type, start, end, value, unit]: [string, number, number, number, string | null],
  zoned = 0.1,
): Sent {
  const zoneOffset = random() < zoned ? offsetText(zoneAt(start)) : null
  const source = DEVICES[name].sent
  const times = { startDate: iso(start), endDate: iso(end) }
  return {
    kind: 'records',
    item: { id: id(), type, ...times, zoneOffset, source, value, unit, parentId: null, metadata: null },
  }
}

const HK = 'HKQuantityTypeIdentifier'

/** Amounts of walks in records of `shortest` to `longest` seconds, which end where the walk ends. */
function walked(
  person: Person,
  name: Name,
  bouts: readonly Bout[],
  { types, seconds: [shortest, longest], zoned }: { types: Types; seconds: [number, number]; zoned?: number },
): Sent[] {
  const { random } = person
  return bouts.flatMap(({ start, end, pace }) => {
    const sent: Sent[] = []
    for (let at = start; at < end; ) {
      const until = Math.min(end, at + Math.floor(shortest + random() * (longest - shortest)) * SECOND)
      for (const [type, share, unit] of types) {
        const amount = ((until - at) / MINUTE) * pace * share
        const value = /step/i.test(type) ? Math.round(amount) : Number(amount.toFixed(3))
        sent.push(record(person, name, [type, at, until, value, unit], zoned))
      }
      at = until + (random() < 0.3 ? Math.floor(random() * 90) * SECOND : 0)
    }
    return sent
  })
}

type Types = readonly (readonly [type: string, share: number, unit: string | null])[]

const APPLE: Types = [
  [`${HK}StepCount`, 1, 'count'],
  [`${HK}DistanceWalkingRunning`, 0.72, 'm'],
]
const APPLE_ENERGY: Types = [[`${HK}ActiveEnergyBurned`, 0.05, 'Cal']]
const ANDROID: Types = [
  ['STEP_COUNT', 1, 'count'],
  ['DISTANCE', 0.7, 'm'],
]

/** Single values from `start` to `end` every so many minutes. */
function readings(
  person: Person,
  name: Name,
  [start, end]: [number, number],
  { type, every, low, high, unit, zoned }: Reading,
): Sent[] {
  const { random } = person
  const sent: Sent[] = []
  for (let at = start; at < end; at += Math.floor(every * (0.5 + random()) * 60) * SECOND + SECOND)
    sent.push(record(person, name, [type, at, at, Math.round((low + random() * (high - low)) * 10) / 10, unit], zoned))
  return sent
}

interface Reading {
  type: string
  every: number
  low: number
  high: number
  unit: string
  zoned?: number
}

const STYLES: Record<Name, (person: Person, day: Day) => Sent[]> = {
  iphone: (person, { midnight, bouts, night, name }) => [
    ...walked(person, name, bouts, { types: APPLE, seconds: [5, 600] }),
    ...walked(person, name, bouts.slice(0, 1), { types: [[`${HK}FlightsClimbed`, 0.02, 'count']], seconds: [10, 90] }),
    ...(person.random() < 0.4 ? inBed(person, name, night) : []),
    ...(person.random() < 0.3 ? [record(person, name, [`${HK}Height`, midnight, midnight, 1.68, 'm'])] : []),
  ],
  watch: (person, { midnight, bouts, night, name }) => [
    ...walked(person, name, bouts, { types: [...APPLE, ...APPLE_ENERGY], seconds: [20, 200] }),
    ...walked(
      person,
      name,
      [{ start: midnight, end: midnight + pick(person.random, [3, 20]) * HOUR, pace: 1, run: false }],
      {
        types: [[`${HK}BasalEnergyBurned`, 1.1, 'Cal']],
        seconds: [900, 3600],
      },
    ),
    ...bouts.filter(({ run }) => run).map((bout) => workout(person, name, bout, 'elevationAscended')),
    ...(person.random() < 0.3
      ? walked(person, name, bouts, { types: [[`${HK}AppleMoveTime`, 0.01, 'min']], seconds: [60, 60] })
      : []),
    ...readings(person, name, [midnight, midnight + 23 * HOUR], heart(`${HK}HeartRate`, 25, 45, 190)),
    ...nightly(person, name, night, [`${HK}HeartRateVariabilitySDNN`, `${HK}OxygenSaturation`, `${HK}RespiratoryRate`]),
    record(person, name, [`${HK}RestingHeartRate`, midnight, midnight + DAY - 1000, 50 + (midnight % 9), 'bpm']),
    ...staged(person, name, night),
  ],
  oura: (person, { bouts, night, name }) => [
    ...walked(person, name, bouts, { types: [...APPLE.slice(0, 1), ...APPLE_ENERGY], seconds: [300, 3600] }),
    ...readings(person, name, [night.start, night.end], heart(`${HK}HeartRate`, 10, 42, 70)),
    ...nightly(person, name, night, [`${HK}HeartRateVariabilitySDNN`, `${HK}RespiratoryRate`]),
    // Where the night began, which may be on the day before.
    record(person, name, [
      `${HK}RestingHeartRate`,
      night.start,
      night.start,
      45 + Math.floor(person.random() * 9),
      'bpm',
    ]),
    ...atEnd(person, name, night),
    ...staged(person, name, night),
  ],
  strava: (person, { bouts, name }) => [
    ...bouts
      .filter(({ run }) => run || person.random() < 0.1)
      .flatMap((bout) => [
        workout(person, name, bout, 'elevationAscended'),
        ...(person.random() < 0.5 ? [] : tracked(person, name, bout)),
      ]),
  ],
  health: (person, { midnight, name, night }) => [
    ...byHand(person, name, midnight, APPLE),
    ...vitalsByHand(person, name, { midnight, night }),
  ],
  galaxy: (person, { midnight, bouts, night, name }) => [
    ...hourly(person, name, bouts),
    ...(person.random() < 0.3 ? byHand(person, name, midnight, ANDROID) : []),
    ...vitalsByHand(person, name, { midnight, night }),
    ...weighed(person, name, midnight),
  ],
  galaxyWatch: (person, { midnight, bouts, night, name }) => [
    ...readings(person, name, [midnight, midnight + 23 * HOUR], heart('HEART_RATE', 10, 50, 170, 0.9)),
    ...bouts.filter(({ run }) => run).map((bout) => workout(person, name, bout, 'altitudeGain')),
    ...nightly(person, name, night, ['HEART_RATE_VARIABILITY', 'OXYGEN_SATURATION']),
    ...staged(person, name, night),
  ],
  pixel: (person, { midnight, bouts, night, name }) => [
    ...walked(person, name, bouts, { types: ANDROID, seconds: [60, 1800], zoned: 0.8 }),
    ...(person.random() < 0.7
      ? [
          record(
            person,
            name,
            ['BASAL_METABOLIC_RATE', midnight + 9 * HOUR, midnight + 9 * HOUR, 1540.5, 'kcal/day'],
            0.9,
          ),
        ]
      : []),
    ...(person.random() < 0.3 ? byHand(person, name, midnight, ANDROID) : []),
    ...vitalsByHand(person, name, { midnight, night }),
    ...weighed(person, name, midnight),
  ],
  fitbit: (person, { midnight, bouts, night, name }) => [
    ...walked(person, name, bouts, {
      types: [...ANDROID, ['ACTIVE_CALORIES_BURNED', 0.06, 'kcal']],
      seconds: [60, 60],
      zoned: 0.8,
    }),
    record(person, name, ['BASAL_METABOLIC_RATE', midnight + MINUTE, midnight + MINUTE, 1601, 'kcal/day'], 0.9),
    ...readings(person, name, [midnight, midnight + 24 * HOUR], heart('HEART_RATE', 20, 48, 180, 0.9)),
    record(person, name, ['RESTING_HEART_RATE', midnight + 8 * HOUR, midnight + 8 * HOUR, 55, 'bpm'], 0.5),
    ...(person.random() < 0.3
      ? [record(person, name, ['RESTING_HEART_RATE', night.end, night.end, 53, 'bpm'], 0.5)]
      : []),
    ...nightly(person, name, night, ['HEART_RATE_VARIABILITY', 'OXYGEN_SATURATION', 'RESPIRATORY_RATE']),
    ...staged(person, name, night),
  ],
  writer: (person, { midnight, bouts, night, name }) => [
    ...(person.random() < 0.3
      ? [record(person, name, ['STEP_COUNT', midnight, midnight + DAY, 6000, 'count'], 0.8)]
      : walked(person, name, bouts, { types: ANDROID, seconds: [600, 3600], zoned: 0.8 })),
    ...bouts.filter(({ run }) => run).map((bout) => workout(person, name, bout, 'altitudeGain')),
    ...(person.random() < 0.5 ? unstaged(person, name, night) : staged(person, name, night)),
  ],
}

const heart = (type: string, every: number, low: number, high: number, zoned?: number): Reading => ({
  ...{ type, every, low, high, unit: 'bpm' },
  ...(zoned !== undefined && { zoned }),
})

const UNITS: Record<string, [low: number, high: number, unit: string]> = {
  [`${HK}HeartRateVariabilitySDNN`]: [20, 90, 'ms'],
  [`${HK}OxygenSaturation`]: [91, 99, '%'],
  [`${HK}RespiratoryRate`]: [11, 18, 'count/min'],
  HEART_RATE_VARIABILITY: [20, 90, 'ms'],
  OXYGEN_SATURATION: [91, 99, '%'],
  RESPIRATORY_RATE: [11, 18, 'count/min'],
}

/** What an app writes at the end of a night about all of it. */
function atEnd(person: Person, name: Name, { end }: Day['night']): Sent[] {
  const types = [`${HK}HeartRateVariabilitySDNN`, `${HK}OxygenSaturation`]
  return types.flatMap((type) => {
    const [low, high, unit] = UNITS[type] as [number, number, string]
    const value = Math.round((low + person.random() * (high - low)) * 10) / 10
    return person.random() < 0.5 ? [record(person, name, [type, end, end, value, unit])] : []
  })
}

/** What an app records of a run besides the workout. */
function tracked(person: Person, name: Name, bout: Bout): Sent[] {
  const distance: Types = [[`${HK}DistanceWalkingRunning`, 0.8, 'm']]
  return [
    ...walked(person, name, [bout], { types: [...distance, ...APPLE_ENERGY], seconds: [60, 7200] }),
    ...readings(person, name, [bout.start, bout.end], heart(`${HK}HeartRate`, 0.3, 120, 185)),
  ]
}

/** What is measured in a night, and now and then by day. */
function nightly(person: Person, name: Name, { start, end }: Day['night'], types: readonly string[]): Sent[] {
  return types.flatMap((type) => {
    const [low, high, unit] = UNITS[type] as [number, number, string]
    if (person.random() < 0.2) return []
    const noon = end + Math.floor(person.random() * 8) * HOUR
    const by = { type, every: 50, low, high, unit, zoned: 0.3 }
    return [
      ...readings(person, name, [start - 20 * MINUTE, end + 10 * MINUTE], by),
      ...(person.random() < 0.3 ? readings(person, name, [noon, noon + MINUTE], by) : []),
    ]
  })
}

/** Samsung's totals of an hour. */
function hourly(person: Person, name: Name, bouts: readonly Bout[]): Sent[] {
  const hours = new Map<number, number>()
  for (const { start, end, pace } of bouts) {
    const hour = Math.floor(start / HOUR) * HOUR
    hours.set(hour, (hours.get(hour) ?? 0) + Math.round(((end - start) / MINUTE) * pace))
  }
  return [...hours].flatMap(([hour, steps]) => [
    record(person, name, ['STEP_COUNT', hour, hour + HOUR, steps, 'count'], 0),
    record(person, name, ['ACTIVE_CALORIES_BURNED', hour, hour + HOUR, steps / 25, 'kcal'], 0),
  ])
}

/** Entries by hand: alone, beside what was measured, of an instant and of hours. */
function byHand(person: Person, name: Name, midnight: number, types: Types): Sent[] {
  const { random } = person
  if (random() < 0.4) return []
  const start = midnight + Math.floor(random() * 24 * 12) * 5 * MINUTE
  const lasts = pick(random, [0, 60, 600, 3600, 3 * 3600]) * SECOND
  return types.slice(0, 1 + Math.floor(random() * 2)).map(([type, share, unit]) => {
    return entered(name, record(person, name, [type, start, start + lasts, Math.round(30_000 * share), unit]))
  })
}

/** A record as its platform marks one that was entered by hand. */
function entered(name: Name, { kind, item }: Sent): Sent {
  const marked =
    DEVICES[name].provider === 'apple'
      ? { metadata: { HKWasUserEntered: '1' } }
      : { source: { ...DEVICES[name].sent, recordingMethod: 'manual' } }
  return { kind, item: { ...item, ...marked } }
}

/** Readings of a cuff or an oximeter that somebody typed in, in the night, in the morning, or both. */
function vitalsByHand(person: Person, name: Name, { midnight, night }: Pick<Day, 'midnight' | 'night'>): Sent[] {
  const { random } = person
  const types = Object.keys(UNITS).filter((type) => type.startsWith(HK) === (DEVICES[name].provider === 'apple'))
  const resting = DEVICES[name].provider === 'apple' ? `${HK}RestingHeartRate` : 'RESTING_HEART_RATE'
  return [...types, resting].flatMap((type) => {
    if (random() < 0.7) return []
    const [low, high, unit] = UNITS[type] ?? [90, 120, 'bpm']
    const asleep = night.start + Math.floor(random() * (night.end - night.start))
    const times = pick(random, [[asleep], [midnight + 8 * HOUR], [asleep, midnight + 8 * HOUR, midnight + 9 * HOUR]])
    return times.map((ms) => {
      const value = Math.round((low + random() * (high - low)) * 10) / 10
      return entered(name, record(person, name, [type, ms, ms, value, unit]))
    })
  })
}

/** A morning on the scale, with a cuff for the blood pressure now and then. */
function weighed(person: Person, name: Name, midnight: number): Sent[] {
  const { random } = person
  const at = midnight + 7 * HOUR + Math.floor(random() * 3600) * SECOND
  const one = (type: string, ms: number, value: number, unit: string) =>
    record(person, name, [type, ms, ms, value, unit], 0.5)
  const body = [one('WEIGHT', at, 70 + Math.floor(random() * 50) / 10, 'kg'), one('BODY_FAT', at, 21.5, '%')]
  const pressure = [
    one('BLOOD_PRESSURE_SYSTOLIC', at, 118 + Math.floor(random() * 10), 'mmHg'),
    one('BLOOD_PRESSURE_DIASTOLIC', at + Math.floor(random() * 7) * SECOND, 77, 'mmHg'),
  ]
  return [...(random() < 0.5 ? body : []), ...(random() < 0.5 ? pressure : [])]
}

/** Records that lie on borders: of quarter hours, minutes and the day, of every length; and values that cannot be true. */
function edges(person: Person, name: Name, midnight: number): Sent[] {
  const { random } = person
  const apple = DEVICES[name].provider === 'apple'
  const [steps, beats] = apple ? [`${HK}StepCount`, `${HK}HeartRate`] : ['STEP_COUNT', 'HEART_RATE']
  return Array.from({ length: 1 + Math.floor(random() * 4) }, () => {
    const border = midnight + pick(random, [0, 24, 24, Math.floor(random() * 96) / 4]) * HOUR
    const start = border + pick(random, [-900, -600, -60, -1, 0, 0, 1, 30]) * SECOND
    const lasts = pick(random, [0, 1, 30, 59, 60, 61, 120, 420, 600, 899, 900, 901, 3600, 7200, 86_400, 90_000])
    const value = pick(random, [Math.round(lasts / 2), Math.floor(random() * 2000), 0, -5])
    if (random() < 0.2) return record(person, name, [beats, start, start, pick(random, [5000, 60, 95, 120]), 'bpm'])
    return record(person, name, [steps, start, start + lasts * SECOND, value, 'count'], 0.3)
  })
}

function workout({ zoneAt, random }: Person, name: Name, { start, end }: Bout, ascent: string): Sent {
  const values = [
    { type: 'duration', value: (end - start) / SECOND, unit: 's' },
    ...(random() < 0.7 ? [{ type: ascent, value: pick(random, [0, Math.floor(random() * 900) / 10]), unit: 'm' }] : []),
  ]
  const times = { startDate: iso(start), endDate: iso(end), zoneOffset: offsetText(zoneAt(start)) }
  return {
    kind: 'workouts',
    item: { id: id(), parentId: null, type: 'running', ...times, source: DEVICES[name].sent, values },
  }
}

interface Span {
  stage: string
  start: number
  end: number
}

/** A night or nap in stages, with waking, getting up (a hole) and a fragment now and then. */
function stagesOf(random: () => number, start: number, end: number): Span[] {
  const spans: Span[] = []
  for (let at = start; at < end; ) {
    const until = Math.min(end, at + Math.floor(60 + random() * 3600) * SECOND)
    spans.push({ stage: pick(random, ['light', 'light', 'deep', 'rem', 'awake', 'sleeping']), start: at, end: until })
    const hole = random() < 0.06 ? pick(random, [10, 15, 16, 100, 120, 121]) * MINUTE : 0
    at = until + hole
  }
  return spans
}

function staged(person: Person, name: Name, { start, end, nap }: Day['night']): Sent[] {
  const { random } = person
  const shift = () => Math.floor((random() - 0.5) * 40 * 60) * SECOND
  const from = random() < 0.1 ? end - Math.floor(random() * 3 * 60) * MINUTE : start + shift()
  const night = stagesOf(random, from, end + shift())
  const napping = random() < 0.2 ? 180 + Math.floor(random() * 120) : 20 + Math.floor(random() * 90)
  const naps = nap !== null && random() < 0.7 ? stagesOf(random, nap, nap + napping * MINUTE) : []
  return [...sessionItems(person, name, night), ...sessionItems(person, name, naps)]
}

/** A night that an app stores without stages, and again under a new id whenever it has grown, or in parts that overlap. */
function unstaged(person: Person, name: Name, { start, end }: Day['night']): Sent[] {
  const copies = 1 + Math.floor(person.random() * 4)
  const inParts = person.random() < 0.3
  return Array.from({ length: copies }, (_, n) => {
    const until = end - Math.floor(((copies - 1 - n) * (end - start)) / copies / SECOND) * SECOND
    const from = inParts ? Math.max(start, until - Math.floor(((end - start) * 1.3) / copies / SECOND) * SECOND) : start
    return sleepItem(person, name, { stage: 'sleeping', start: from, end: until }, { id: id(), parentId: null })
  })
}

function inBed(person: Person, name: Name, { start, end }: Day['night']): Sent[] {
  return [sleepItem(person, name, { stage: 'in_bed', start: start - 12 * MINUTE, end: end + 9 * MINUTE }, { id: id() })]
}

function sessionItems(person: Person, name: Name, spans: readonly Span[]): Sent[] {
  const parent = DEVICES[name].provider === 'apple' ? null : id()
  return spans.map((span, n) =>
    sleepItem(person, name, span, { id: parent ? `${parent}-s${n}` : id(), parentId: parent }),
  )
}

function sleepItem({ random, zoneAt }: Person, name: Name, span: Span, ids: Item): Sent {
  const { stage, start, end } = span
  const zoneOffset = random() < 0.8 ? offsetText(zoneAt(start)) : null
  const times = { startDate: iso(start), endDate: iso(end), zoneOffset }
  return { kind: 'sleep', item: { parentId: null, ...ids, stage, ...times, source: DEVICES[name].sent, values: null } }
}

/** Uploads of a day or two at a time, platform by platform; some of it again, as it was or changed, some of it late. */
function uploadsOf(random: () => number, sent: readonly (Sent & { name: Name })[]): Body[] {
  const days = new Map<string, (Sent & { name: Name })[]>()
  const delay = 1 + Math.floor(random() * 3)
  for (const one of sent) {
    const late = random() < 0.03 ? 3 * DAY : 0
    const day = Math.floor((Date.parse(one.item.endDate as string) + late) / DAY / delay)
    const night = one.item.parentId as string | null
    // A session of a platform comes as one, but for a few that an upload's end divides.
    const key = `${night && random() < 0.98 ? dayOfNight(sent, night, delay) : day} ${DEVICES[one.name].provider}`
    days.set(key, [...(days.get(key) ?? []), one])
  }
  const order = [...days].sort(([a], [b]) => Number(a.split(' ')[0]) - Number(b.split(' ')[0]))
  if (random() < 0.2) order.reverse()
  const uploads = order.map(([key, items]) => bodyOf(key.split(' ')[1] as string, items))
  const again = order.filter(() => random() < 0.3)
  for (const [key, items] of again) uploads.push(bodyOf(key.split(' ')[1] as string, resent(random, items)))
  return uploads
}

function dayOfNight(sent: readonly Sent[], parent: string, delay: number): number {
  const ends = sent.filter(({ item }) => item.parentId === parent).map(({ item }) => Date.parse(item.endDate as string))
  return Math.floor(Math.max(...ends) / DAY / delay)
}

/** What an SDK reads again: mostly the same, some values corrected, a night with fewer stages, no offsets any more. */
function resent(random: () => number, items: readonly (Sent & { name: Name })[]): Sent[] {
  const shorter = new Set(items.map(({ item }) => item.parentId).filter((one) => one && random() < 0.3))
  return items.flatMap((one): Sent[] => {
    if (one.kind === 'sleep' && shorter.has(one.item.parentId)) {
      const place = Number(/-s(\d+)$/.exec(one.item.id as string)?.[1] ?? 0)
      return place < 4 ? [one] : []
    }
    if (one.kind !== 'records' || random() < 0.8) return [one]
    const item: Item = { ...one.item, ...(random() < 0.5 && { zoneOffset: null }) }
    const isSum = typeof item.value === 'number' && random() < 0.5
    return [{ kind: one.kind, item: isSum ? { ...item, value: Number(item.value) + 1 } : item }]
  })
}

function bodyOf(provider: string, items: readonly Sent[]): Body {
  const of = (kind: Sent['kind']) => items.filter((one) => one.kind === kind).map(({ item }) => item)
  return {
    provider: provider === 'health_connect' ? 'google' : provider,
    data: { records: of('records'), sleep: of('sleep'), workouts: of('workouts') },
  }
}
