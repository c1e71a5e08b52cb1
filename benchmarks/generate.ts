import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Records in one upload body, as phones send their history. */
export const RECORDS_PER_BODY = 2_000

/** Instant of the first record of every dataset, epoch ms. */
export const DATA_START_MS = Date.UTC(2024, 0, 1)

/** Upload bodies of one user, written to disk once: generating them is never measured. */
export interface Dataset {
  bodies: number
  records: number
  /** The results of the records of a first upload. */
  expected: Counts
  read(body: number): Promise<Buffer>
}

/** New samples, records that repeat another one, records that cannot be imported. */
export interface Counts {
  inserted: number
  repeated: number
  rejected: number
}

interface Plan {
  /** `whole`: mixed, with a night of sleep in every body and a workout in every third one. */
  kind: 'heart rate' | 'mixed' | 'whole'
  bodies: number
  everySeconds: number
  seed: number
}

// HealthKit identifier without HKQuantityTypeIdentifier, unit as the SDK writes it, lowest value, range, decimals.
const TYPES = [
  ['HeartRate', 'bpm', 48, 110, 0],
  ['StepCount', 'count', 1, 60, 0],
  ['ActiveEnergyBurned', 'Cal', 0.1, 5, 3],
  ['BasalEnergyBurned', 'Cal', 0.5, 1, 3],
  ['DistanceWalkingRunning', 'm', 1, 40, 2],
  ['RespiratoryRate', 'breaths/min', 11, 9, 1],
  ['OxygenSaturation', '%', 0.93, 0.07, 2],
  ['HeartRateVariabilitySDNN', 'ms', 20, 90, 2],
  ['WalkingSpeed', 'm/s', 0.8, 0.9, 3],
  ['WalkingStepLength', 'm', 0.5, 0.3, 3],
  ['EnvironmentalAudioExposure', 'dBASPL', 40, 45, 2],
  ['PhysicalEffort', 'kcal/hr/kg', 1, 6, 1],
] as const

/** Number of series types in a mixed dataset. */
export const MIXED_TYPES = TYPES.length

const SOURCE = JSON.stringify({
  appId: 'com.apple.health.3F1C7A52-8E0B-4C1D-9B64-0D2A7E915C33',
  name: 'Ana’s Apple Watch',
  deviceId: null,
  deviceName: 'Apple Watch',
  deviceManufacturer: 'Apple Inc.',
  deviceModel: 'Watch7,5',
  deviceType: 'watch',
  recordingMethod: null,
  deviceSoftwareVersion: '11.4',
  operatingSystemVersion: { majorVersion: 11, minorVersion: 4, patchVersion: 0 },
})

/** A seeded generator of numbers in [0, 1): mulberry32, the same sequence on every machine. */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * Writes a dataset as the iOS SDK would send it, in time order: heart rate alone, or every second record of one of
 * eleven other types. Records are `everySeconds` apart on average, on whole seconds, no instant twice.
 */
export async function generate(directory: string, plan: Plan): Promise<Dataset> {
  const whole = plan.kind === 'whole'
  await writeBodies(directory, cleanRecords(plan), whole ? eventsOf(plan.seed) : undefined)
  const workouts = whole ? Math.ceil(plan.bodies / WORKOUT_EVERY_BODIES) : 0
  const events = whole ? plan.bodies * STAGES_PER_NIGHT + workouts : 0
  const records = plan.bodies * RECORDS_PER_BODY
  return {
    ...dataset(directory, plan.bodies, { inserted: records + events, repeated: 0, rejected: 0 }),
    records: records + events,
  }
}

const STAGES_PER_NIGHT = 25
const WORKOUT_EVERY_BODIES = 3
const STAGES = ['light', 'deep', 'light', 'rem', 'awake'] as const

/** The night and, sometimes, the workout of a body: JSON of its items. */
interface Events {
  sleep: string[]
  workouts: string[]
}

function eventsOf(seed: number): (body: number) => Events {
  const random = seededRandom(seed + 7)
  return (body) => {
    const night = DATA_START_MS + body * 86_400_000 - 2 * 3_600_000
    let at = night
    const sleep = Array.from({ length: STAGES_PER_NIGHT }, (_, stage) => {
      const start = at
      at += (5 + Math.floor(random() * 25)) * 60_000
      return stageRecord(STAGES[stage % STAGES.length] as string, start, at, random)
    })
    const evening = night - 5 * 3_600_000
    const workout = workoutRecord(evening, evening + 2_700_000, random)
    return { sleep, workouts: body % WORKOUT_EVERY_BODIES === 0 ? [workout] : [] }
  }
}

// Statistic, unit, lowest value, range.
const WORKOUT_STATISTICS = [
  ['duration', 's', 2_400, 300],
  ['activeEnergyBurned', 'kcal', 300, 300],
  ['distance', 'm', 6_000, 4_000],
  ['stepCount', 'count', 5_000, 3_000],
  ['minHeartRate', 'bpm', 80, 20],
  ['averageHeartRate', 'bpm', 130, 30],
  ['maxHeartRate', 'bpm', 165, 20],
  ['averageRunningPower', 'W', 200, 80],
  ['averageRunningStrideLength', 'm', 0.9, 0.3],
  ['elevationAscended', 'm', 10, 200],
] as const

/**
 * Writes as many records as `generate` would, out of order over the whole dataset: 30 % repeat another record,
 * 1 % cannot be imported.
 */
export async function generateDisordered(directory: string, plan: Plan): Promise<Dataset> {
  const random = seededRandom(plan.seed + 1)
  const count = plan.bodies * RECORDS_PER_BODY
  const repeated = Math.round(count * 0.3)
  const rejected = Math.round(count * 0.01)
  const kept = [...cleanRecords(plan)].slice(0, count - repeated - rejected)
  const pick = () => kept[Math.floor(random() * kept.length)] as string
  const repeats = Array.from({ length: repeated }, pick)
  const bad = Array.from({ length: rejected }, (_, index) =>
    index % 2 === 0
      ? pick().replace(/"value":[^,]+/, '"value":null')
      : pick().replace(/"startDate":"[^"]+"/, '"startDate":"yesterday"'),
  )
  await writeBodies(directory, shuffle([...kept, ...repeats, ...bad], random))
  return dataset(directory, plan.bodies, { inserted: kept.length, repeated, rejected })
}

function dataset(directory: string, bodies: number, expected: Counts): Dataset {
  const read = (body: number) => readFile(join(directory, `${body}.json`))
  return { bodies, records: bodies * RECORDS_PER_BODY, expected, read }
}

function* cleanRecords({ kind, bodies, everySeconds, seed }: Plan): Generator<string> {
  const random = seededRandom(seed)
  for (let index = 0; index < bodies * RECORDS_PER_BODY; index += 1) {
    const other = kind !== 'heart rate' && index % 2 === 1
    const type = TYPES[other ? 1 + (((index - 1) / 2) % (MIXED_TYPES - 1)) : 0] as (typeof TYPES)[number]
    const seconds = index * everySeconds + Math.floor(random() * everySeconds)
    yield record(type, DATA_START_MS + seconds * 1000, random)
  }
}

function record(type: (typeof TYPES)[number], timeMs: number, random: () => number): string {
  const [name, unit, lowest, range, decimals] = type
  return quantityRecord({ name, unit, value: (lowest + random() * range).toFixed(decimals), timeMs }, random)
}

/** A value as the iOS SDK sends it; `name` without HKQuantityTypeIdentifier, `value` as it is to be written. */
export function quantityRecord(
  { name, unit, value, timeMs }: { name: string; unit: string; value: string; timeMs: number },
  random: () => number,
): string {
  return `{"id":"${uuid(random)}","type":"HKQuantityTypeIdentifier${name}",${span(timeMs, timeMs)},"source":${SOURCE},"value":${value},"unit":"${unit}","parentId":null,"metadata":null}`
}

/** A stage of sleep as the iOS SDK sends it. */
export function stageRecord(stage: string, startMs: number, endMs: number, random: () => number): string {
  return `{"id":"${uuid(random)}","parentId":null,"stage":"${stage}",${span(startMs, endMs)},"source":${SOURCE},"values":null,"metadata":null}`
}

/** A run as the iOS SDK sends it. */
export function workoutRecord(startMs: number, endMs: number, random: () => number): string {
  const statistics = WORKOUT_STATISTICS.map(
    ([type, unit, lowest, range]) =>
      `{"type":"${type}","value":${(lowest + random() * range).toFixed(2)},"unit":"${unit}"}`,
  )
  return `{"id":"${uuid(random)}","parentId":null,"type":"running",${span(startMs, endMs)},"source":${SOURCE},"title":null,"notes":null,"values":[${statistics.join(',')}],"segments":null,"laps":null,"route":null,"samples":null,"metadata":null}`
}

/** The items of an upload, each as JSON. */
interface Items {
  readonly records: readonly string[]
  readonly sleep: readonly string[]
  readonly workouts: readonly string[]
}

/** The body of an upload. */
export const bodyWith = (items: Items, syncType: 'live' | 'historical' = 'live') =>
  `{"provider":"apple","sdkVersion":"0.15.0","syncTimestamp":"2026-01-01T00:00:00Z","syncType":"${syncType}","data":{"records":[${items.records.join(',')}],"sleep":[${items.sleep.join(',')}],"workouts":[${items.workouts.join(',')}]}}`

function span(startMs: number, endMs: number): string {
  const at = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`
  return `"startDate":"${at(startMs)}","endDate":"${at(endMs)}","zoneOffset":"+01:00"`
}

function uuid(random: () => number): string {
  const hex = () =>
    Math.floor(random() * 4_294_967_296)
      .toString(16)
      .toUpperCase()
      .padStart(8, '0')
  const [a, b, c, d] = [hex(), hex(), hex(), hex()]
  return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-A${c.slice(1, 4)}-${c.slice(4)}${d}`
}

/** Puts items in another order, in place. */
export function shuffle<Item>(items: Item[], random: () => number): Item[] {
  for (let index = items.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1))
    const item = items[index] as Item
    items[index] = items[other] as Item
    items[other] = item
  }
  return items
}

/** Syncs each file to disk before the next one: no write-back of ours shares the disk with the measured work. */
async function writeBodies(
  directory: string,
  records: Iterable<string>,
  eventsOf: (body: number) => Events = () => ({ sleep: [], workouts: [] }),
): Promise<void> {
  await mkdir(directory, { recursive: true })
  let body = 0
  let batch: string[] = []
  for (const text of records) {
    batch.push(text)
    if (batch.length < RECORDS_PER_BODY) continue
    const json = bodyWith({ records: batch, ...eventsOf(body) })
    await writeFile(join(directory, `${body}.json`), json, { flush: true })
    body += 1
    batch = []
  }
}
