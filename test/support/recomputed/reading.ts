// What was uploaded, item by item, as the rules of docs/uploads.md, events.md and sdk-types.md read it.
import {
  type Body,
  DAY,
  type Device,
  type Facts,
  type Item,
  MINUTE,
  type Point,
  QUARTER,
  type Source,
  type Workout,
} from './facts.ts'
import { type PlatformNights, readSleepItem, sleepOf } from './stages.ts'
import { type Zoned, zonesOf } from './zones.ts'

/** Series with their plausible range (contract 2.6), and whether entries by hand matter, of sums lengths, too. */
const SERIES: Record<string, [lowest: number, highest: number, entered?: 'sum' | 'mean']> = {
  steps: [0, 500_000, 'sum'],
  distance: [0, 2_000_000, 'sum'],
  floors: [0, 20_000, 'sum'],
  energy: [0, 50_000, 'sum'],
  basal: [0, 12_000, 'sum'],
  active_time: [0, 1500, 'sum'],
  exercise_time: [0, 1500, 'sum'],
  heart_rate: [6, 300, 'mean'],
  resting: [10, 300, 'mean'],
  sdnn: [0.5, 1000, 'mean'],
  rmssd: [0.5, 1000, 'mean'],
  spo2: [2, 100, 'mean'],
  breath: [1, 150, 'mean'],
  weight: [0.2, 700],
  height: [20, 300],
  fat: [1, 90],
  lean: [0, 500],
  muscle: [0.01, 200],
  bmi: [2, 200],
  temperature: [9, 47],
  skin: [-10, 60],
  systolic: [15, 500],
  diastolic: [0, 400],
}

const HK = 'HKQuantityTypeIdentifier'
/** Types of records (docs/record-types.md) and their series. */
const TYPES: Record<string, string> = {
  [`${HK}StepCount`]: 'steps',
  [`${HK}DistanceWalkingRunning`]: 'distance',
  [`${HK}FlightsClimbed`]: 'floors',
  [`${HK}ActiveEnergyBurned`]: 'energy',
  [`${HK}BasalEnergyBurned`]: 'basal',
  [`${HK}AppleMoveTime`]: 'active_time',
  [`${HK}AppleExerciseTime`]: 'exercise_time',
  [`${HK}HeartRate`]: 'heart_rate',
  [`${HK}RestingHeartRate`]: 'resting',
  [`${HK}HeartRateVariabilitySDNN`]: 'sdnn',
  [`${HK}OxygenSaturation`]: 'spo2',
  [`${HK}RespiratoryRate`]: 'breath',
  [`${HK}BodyMass`]: 'weight',
  [`${HK}Height`]: 'height',
  [`${HK}BodyFatPercentage`]: 'fat',
  [`${HK}LeanBodyMass`]: 'lean',
  [`${HK}BodyMassIndex`]: 'bmi',
  [`${HK}BodyTemperature`]: 'temperature',
  [`${HK}AppleSleepingWristTemperature`]: 'skin',
  [`${HK}BloodPressureSystolic`]: 'systolic',
  [`${HK}BloodPressureDiastolic`]: 'diastolic',
  STEP_COUNT: 'steps',
  DISTANCE: 'distance',
  FLOORS_CLIMBED: 'floors',
  ACTIVE_CALORIES_BURNED: 'energy',
  BASAL_METABOLIC_RATE: 'basal',
  HEART_RATE: 'heart_rate',
  RESTING_HEART_RATE: 'resting',
  HEART_RATE_VARIABILITY: 'rmssd',
  OXYGEN_SATURATION: 'spo2',
  RESPIRATORY_RATE: 'breath',
  WEIGHT: 'weight',
  HEIGHT: 'height',
  BODY_FAT: 'fat',
  LEAN_BODY_MASS: 'lean',
  SKELETAL_MUSCLE_MASS: 'muscle',
  BMI: 'bmi',
  BODY_TEMPERATURE: 'temperature',
  BLOOD_PRESSURE_SYSTOLIC: 'systolic',
  BLOOD_PRESSURE_DIASTOLIC: 'diastolic',
}

/** Units that are not those of the series, and their size (sdk-types 1.1). */
const UNITS: Record<string, Record<string, number>> = {
  distance: { km: 1000, mi: 1609.344 },
  energy: { kJ: 1 / 4.184, cal: 1 / 1000 },
  basal: { kJ: 1 / 4.184, cal: 1 / 1000 },
  height: { m: 100 },
  weight: { g: 1 / 1000, lb: 0.45359237 },
  active_time: { s: 1 / 60, hr: 60 },
}

/** Reads the uploads of a person in the order in which they came. */
export function factsOf(devices: readonly Device[], uploads: readonly Body[]): Facts {
  const sources = new Map<Device, Source>()
  const points = new Map<string, Point | { zone: number | null; kind: 'implausible' }>()
  const totals = new Map<string, string>()
  const workouts = new Map<string, Workout>()
  const nights: PlatformNights = new Map()
  const known: Zoned[] = []
  for (const { provider: named, data } of uploads) {
    const provider = named === 'google' ? 'health_connect' : named
    const sourceOf = (item: Item): Source => {
      const device = devices.find((one) => one.provider === provider && sameAs(one.sent, item.source as Item))
      if (!device) throw new Error(`nobody's: ${JSON.stringify(item.source)}`)
      const source = sources.get(device) ?? { ...device, seen: sources.size }
      sources.set(device, source)
      return source
    }
    const zoneOf = zonesOf([...data.records, ...data.sleep, ...data.workouts], known)
    for (const item of data.records) {
      if (!TYPES[item.type as string]) continue
      const { key, point } = pointOf(item, sourceOf(item), zoneOf(item))
      const before = points.get(key)
      // The total of a day moves when its record has another midnight now.
      const moved = point.kind === 'total' && totals.get(item.id as string)
      if (moved) points.delete(moved)
      if (point.kind === 'total') totals.set(item.id as string, key)
      if (point.zone.taken && before) point.zone.minutes = before.zone ?? point.zone.minutes
      points.delete(key)
      points.set(key, settle(point))
    }
    for (const item of data.workouts) {
      const end = Date.parse(item.endDate as string)
      workouts.set(`${provider} ${item.id}`, {
        source: sourceOf(item),
        end,
        zone: zoneOf(item).minutes,
        ascent: ascentOf(item),
      })
    }
    sleepOf(
      nights,
      data.sleep.map((item) => readSleepItem(item, sourceOf(item), zoneOf(item))),
    )
  }
  return {
    points: [...points.values()].filter((one) => one.kind !== 'implausible'),
    stages: [...nights.values()].flatMap((night) => [...night.stages.values()]),
    workouts: [...workouts.values()],
  }
}

const sameAs = (device: Item, sent: Item) => device.deviceModel === sent.deviceModel && writer(device) === writer(sent)
const writer = (one: Item) => one.name ?? one.deviceName ?? one.appId

interface Read extends Omit<Point, 'zone'> {
  zone: { minutes: number | null; taken: boolean }
}

function pointOf(item: Item, source: Source, zone: Read['zone']): { key: string; point: Read } {
  const series = TYPES[item.type as string]
  if (!series) throw new Error(`no series: ${item.type}`)
  const start = Date.parse(item.startDate as string)
  const isTotal = item.type === 'BASAL_METABOLIC_RATE'
  const shift = (zone.minutes ?? 0) * MINUTE
  const ms = isTotal ? Math.floor((start + shift) / DAY) * DAY - shift : start
  const told = SERIES[series]?.[2]
  const entered =
    (item.source as Item).recordingMethod === 'manual' ||
    ['1', 'true', true, 1].includes(((item.metadata ?? {}) as Item).HKWasUserEntered as string)
  const kind = isTotal ? 'total' : told && entered ? 'manual' : 'measured'
  const lasts = told === 'sum' && !isTotal ? lengthOf(start, Date.parse(item.endDate as string)) : 0
  return {
    key: `${source.seen} ${series} ${ms} ${isTotal}`,
    point: { source, series, ms, value: amountOf(item, series), zone, lasts, kind },
  }
}

/** How long a record lasts, ms; 0 where it stays within a quarter hour and a minute. */
function lengthOf(start: number, end: number): number {
  const lasts = Math.min(end - start, DAY)
  const stays = Math.floor(start / QUARTER) === Math.floor((start + lasts - 1) / QUARTER)
  return lasts <= 0 || (lasts <= MINUTE && stays) ? 0 : lasts
}

function amountOf(item: Item, series: string): number {
  const value = Number(item.value) * (UNITS[series]?.[item.unit as string] ?? 1)
  const apple = (item.type as string).startsWith(HK)
  const fraction = apple && (series === 'fat' || (series === 'spo2' && value <= 1))
  return Number((fraction ? value * 100 : value).toFixed(9))
}

function settle(point: Read): Point | { zone: number | null; kind: 'implausible' } {
  const [lowest, highest] = SERIES[point.series] as [number, number]
  const zone = point.zone.minutes
  return point.value < lowest || point.value > highest ? { zone, kind: 'implausible' } : { ...point, zone }
}

function ascentOf(item: Item): number | null {
  const values = (item.values ?? []) as { type: string; value: unknown }[]
  const found = values.find(({ type }) => type === 'elevationAscended' || type === 'altitudeGain')
  return found ? Number(found.value) : null
}
