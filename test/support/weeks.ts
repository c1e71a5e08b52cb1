// Weeks of people as phones upload them, from a seed: they travel, change their clocks, wear several devices at once, take
// them off, nap, and weigh themselves. And what these uploads say, read without the service.
import { type Device, type Model, type Sample, withDays } from './activity-model.ts'
import { judged, type Nights, type Session } from './night-model.ts'
import { body, iso, type SdkRecord } from './sdk.ts'
import { stage } from './sleep.ts'
import { DAY_MS, localDay, MINUTE_MS, seeded } from './summaries.ts'
import { nearestZone, type Zoned } from './zones.ts'

const HOUR_MS = 60 * MINUTE_MS

/** Best first (contract 2.3, 2.4). */
export const DEVICES: readonly Device[] = [
  { provider: 'apple', device: 'Watch7,5', source: 'Watch of Ada', type: 'watch', name: 'Apple Watch Ultra 2' },
  { provider: 'apple', device: 'iPhone17,1', source: 'Phone of Ada', type: 'phone', name: 'iPhone 16 Pro' },
  { provider: 'health_connect', device: 'Pixel Watch 3', source: 'Steps', type: 'watch', name: 'Pixel Watch 3' },
  { provider: 'samsung', device: 'SM-L310', source: 'Samsung Health', type: 'watch', name: 'Galaxy Watch7 44mm' },
]

/** What a series is called on the wire, by provider of the SDK; and what its values are multiplied by there. */
const WIRE: Record<
  string,
  { apple?: [type: string, unit: string, times?: number]; android?: [type: string, unit: string, times?: number] }
> = {
  heart_rate: { apple: ['HeartRate', 'bpm'], android: ['HEART_RATE', 'bpm'] },
  steps: { apple: ['StepCount', 'count'], android: ['STEP_COUNT', 'count'] },
  energy: { apple: ['ActiveEnergyBurned', 'Cal'], android: ['ACTIVE_CALORIES_BURNED', 'kcal'] },
  // A rate of the whole day, and so its total.
  basal_energy: { apple: ['BasalEnergyBurned', 'Cal'], android: ['BASAL_METABOLIC_RATE', 'kcal/day'] },
  distance_walking_running: { apple: ['DistanceWalkingRunning', 'm'], android: ['DISTANCE', 'm'] },
  flights_climbed: { apple: ['FlightsClimbed', 'count'], android: ['FLOORS_CLIMBED', 'count'] },
  active_time: { apple: ['AppleMoveTime', 'min'] },
  resting_heart_rate: { apple: ['RestingHeartRate', 'bpm'], android: ['RESTING_HEART_RATE', 'bpm'] },
  heart_rate_variability_sdnn: { apple: ['HeartRateVariabilitySDNN', 'ms'] },
  heart_rate_variability_rmssd: { android: ['HEART_RATE_VARIABILITY', 'ms'] },
  respiratory_rate: { apple: ['RespiratoryRate', 'breaths/min'], android: ['RESPIRATORY_RATE', 'breaths/min'] },
  oxygen_saturation: { apple: ['OxygenSaturation', '%'], android: ['OXYGEN_SATURATION', '%'] },
  weight: { apple: ['BodyMass', 'kg'], android: ['WEIGHT', 'kg'] },
  height: { apple: ['Height', 'm', 0.01], android: ['HEIGHT', 'm', 0.01] },
  body_fat_percentage: { apple: ['BodyFatPercentage', '%', 0.01], android: ['BODY_FAT', '%'] },
  lean_body_mass: { apple: ['LeanBodyMass', 'kg'], android: ['LEAN_BODY_MASS', 'kg'] },
  skeletal_muscle_mass: { android: ['SKELETAL_MUSCLE_MASS', 'kg'] },
  body_mass_index: { apple: ['BodyMassIndex', 'kg/m²'], android: ['BMI', 'kg/m²'] },
  body_temperature: { apple: ['BodyTemperature', 'degC'], android: ['BODY_TEMPERATURE', '°C'] },
  skin_temperature: { apple: ['AppleSleepingWristTemperature', 'degC'] },
  blood_pressure_systolic: { apple: ['BloodPressureSystolic', 'mmHg'], android: ['BLOOD_PRESSURE_SYSTOLIC', 'mmHg'] },
  blood_pressure_diastolic: {
    apple: ['BloodPressureDiastolic', 'mmHg'],
    android: ['BLOOD_PRESSURE_DIASTOLIC', 'mmHg'],
  },
}
const APPLE = 'HKQuantityTypeIdentifier'

/** What can be true; outside of it a value is kept and no summary counts it. */
const PLAUSIBLE: Record<string, readonly [lowest: number, highest: number]> = {
  heart_rate: [6, 300],
  resting_heart_rate: [10, 300],
  steps: [0, 500_000],
  energy: [0, 50_000],
  basal_energy: [0, 12_000],
  distance_walking_running: [0, 2_000_000],
  flights_climbed: [0, 20_000],
  active_time: [0, 1_500],
  heart_rate_variability_sdnn: [0.5, 1_000],
  heart_rate_variability_rmssd: [0.5, 1_000],
  respiratory_rate: [1, 150],
  oxygen_saturation: [2, 100],
  weight: [0.2, 700],
  height: [20, 300],
  body_fat_percentage: [1, 90],
  lean_body_mass: [0.1, 500],
  skeletal_muscle_mass: [0.01, 200],
  body_mass_index: [2, 300],
  body_temperature: [9, 47],
  skin_temperature: [-10, 60],
  blood_pressure_systolic: [15, 500],
  blood_pressure_diastolic: [0, 400],
}

/** Clocks are put forward or back within these weeks, each in one of the zones. */
const STARTS = ['2025-03-05', '2025-03-26', '2025-04-02', '2025-10-01', '2025-10-22', '2025-10-29', '2025-07-10']
const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Sydney',
  'Asia/Kolkata',
  'Pacific/Kiritimati',
  'America/St_Johns',
]

const clocks = new Map(
  ZONES.map((zone) => [zone, new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })]),
)

/** Minutes east of UTC of a zone at an instant. */
function offsetOf(zone: string, ms: number): number {
  const text =
    clocks
      .get(zone)
      ?.formatToParts(ms)
      .find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [, sign, hours, minutes] = /^GMT(?:([+-])(\d\d):(\d\d))?$/.exec(text) ?? []
  return sign ? (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) : 0
}

const offsetText = (minutes: number) =>
  `${minutes < 0 ? '-' : '+'}${String(Math.floor(Math.abs(minutes) / 60)).padStart(2, '0')}:${String(Math.abs(minutes) % 60).padStart(2, '0')}`

/** One upload to the SDK's route. */
export interface Upload {
  provider: string
  records: SdkRecord[]
  sleep: SdkRecord[]
  workouts: SdkRecord[]
}

/** A week of somebody. */
export interface Week {
  uploads: Upload[]
  birthDate: string | null
  /** Local days, the last one excluded. */
  firstDay: number
  endDay: number
}

/** The body of an upload. */
export const bodyOf = ({ provider, ...data }: Upload): unknown => body([], { provider, data })

type Random = () => number
const whole = (random: Random, from: number, to: number) => from + Math.floor(random() * (to - from + 1))
const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)] as T

/** Whose week it is, and when. */
interface Person {
  random: Random
  startMs: number
  endMs: number
  /** Places of the devices that this person has. */
  places: number[]
  /** The phone in the drawer, which never learns where it is. */
  lost: number
  zoneAt(ms: number): number
}

/** What a week is written with. */
interface Pen extends Omit<Person, 'lost'> {
  /** What lasts is known by its start. */
  add(place: number, type: string, ms: number, value: number, lastsMs?: number): void
  night(place: number, startMs: number, endMs: number): void
  climb(place: number, startMs: number, meters: number): void
}

/** Somebody between here and there, with some of the devices. */
function personOf(random: Random, startMs: number): Person {
  const endMs = startMs + 7 * DAY_MS - 20 * MINUTE_MS
  const places = DEVICES.map((_, place) => place).filter(() => random() < 0.6)
  if (places.length === 0) places.push(whole(random, 0, DEVICES.length - 1))
  const trips = [{ fromMs: 0, zone: pick(random, ZONES) }]
  for (let n = whole(random, 0, 2); n > 0; n -= 1)
    trips.push({ fromMs: whole(random, startMs, endMs), zone: pick(random, ZONES) })
  const zoneAt = (ms: number) =>
    offsetOf(trips.filter(({ fromMs }) => fromMs <= ms).sort((a, b) => b.fromMs - a.fromMs)[0]?.zone ?? '', ms)
  return { random, startMs, endMs, places, lost: random() < 0.2 ? pick(random, places) : -1, zoneAt }
}

/** A pen that writes into uploads, one for each provider. */
function penOf({ lost, ...person }: Person): { pen: Pen; uploads: Upload[] } {
  const { random, endMs, zoneAt } = person
  const uploads = new Map(
    DEVICES.map(({ provider }) => [provider, { provider, records: [], sleep: [], workouts: [] } as Upload]),
  )
  const fields = (place: number, ms: number) => {
    const { device, source, type } = DEVICES[place] as Device
    return {
      source: { name: source, deviceModel: device, deviceType: type },
      zoneOffset: place === lost ? null : offsetText(zoneAt(ms)),
    }
  }
  const uploadOf = (place: number) => uploads.get(DEVICES[place]?.provider ?? '') as Upload
  const taken = new Set<string>()
  const pen: Pen = {
    ...person,
    add(place, type, ms, value, lastsMs = 0) {
      const wire = DEVICES[place]?.provider === 'apple' ? WIRE[type]?.apple : WIRE[type]?.android
      const atMs = Math.floor(ms / 1000) * 1000
      if (!wire || atMs >= endMs || taken.has(`${place} ${type} ${atMs}`)) return
      taken.add(`${place} ${type} ${atMs}`)
      const [name, unit, times = 1] = wire
      const sent = random() < 0.97 ? value : pick(random, [-1 - value, 1e6 + value])
      const typed = DEVICES[place]?.provider === 'apple' ? APPLE + name : name
      uploadOf(place).records.push({
        ...{ id: null, type: typed, startDate: iso(atMs), endDate: iso(atMs + lastsMs), value: sent * times, unit },
        ...{ parentId: null, metadata: null, ...fields(place, atMs) },
      })
    },
    night(place, fromMs, untilMs) {
      const given = DEVICES[place]?.provider === 'apple' ? null : `night ${fromMs} ${untilMs}`
      const detailed = random() < 0.8
      // Some apps say of a night that it was slept, and others write stages of it.
      if (detailed && random() < 0.15)
        uploadOf(place).sleep.push(stage('sleeping', fromMs, untilMs, { parentId: given, ...fields(place, fromMs) }))
      let first = true
      for (let atMs = fromMs; atMs < untilMs; first = false) {
        // The device was taken off for a while.
        if (!first && given && random() < 0.06)
          atMs = Math.min(untilMs - 10 * MINUTE_MS, atMs + whole(random, 20, 100) * MINUTE_MS)
        const endAtMs = Math.min(untilMs, atMs + whole(random, 2, 50) * MINUTE_MS)
        const name = first
          ? detailed
            ? 'light'
            : 'sleeping'
          : pick(random, detailed ? ['light', 'deep', 'rem', 'awake'] : ['sleeping', 'awake'])
        uploadOf(place).sleep.push(stage(name, atMs, endAtMs, { parentId: given, ...fields(place, fromMs) }))
        atMs = endAtMs
      }
    },
    climb(place, fromMs, meters) {
      uploadOf(place).workouts.push({
        ...{ id: null, type: 'hiking', startDate: iso(fromMs), endDate: iso(fromMs + HOUR_MS) },
        ...{ values: [{ type: 'elevationAscended', value: meters, unit: 'm' }], ...fields(place, fromMs + HOUR_MS) },
      })
    },
  }
  return { pen, uploads: [...uploads.values()] }
}

/** The week of a seed; `nowMs` ends some of them. */
export function weekOf(seed: number, nowMs: number): Week {
  const random = seeded(seed)
  const recent = random() < 0.4
  const startMs = recent
    ? nowMs - 7 * DAY_MS + 11 * MINUTE_MS
    : Date.parse(pick(random, STARTS)) + whole(random, 0, 23) * HOUR_MS
  const { pen, uploads } = penOf(personOf(random, startMs))
  const { endMs } = pen
  for (let dayMs = startMs; dayMs < endMs; dayMs += DAY_MS) writeDay(pen, dayMs)
  writeNights(pen)
  writeBody(pen, recent)
  const used = uploads.filter(({ records, sleep, workouts }) => records.length + sleep.length + workouts.length > 0)
  return {
    uploads: random() < 0.5 ? used : [...used, ...sentAgain(random, used)],
    birthDate: random() < 0.5 ? `${whole(random, 1930, 2010)}-0${whole(random, 1, 9)}-15` : null,
    firstDay: localDay(startMs, -720),
    endDay: localDay(endMs, 840) + 1,
  }
}

/** Some walks, which each device sees a part of in its own way, and what devices tell now and then. */
function writeDay({ random, places, add, climb }: Pen, dayMs: number): void {
  for (let n = whole(random, 2, 4); n > 0; n -= 1) {
    const walkMs = dayMs + whole(random, 0, 23 * 60) * MINUTE_MS + whole(random, 0, 59) * 1000
    const minutes = whole(random, 3, 20)
    for (const place of places) {
      if (random() < 0.3) continue
      const every = pick(random, [20_000, 60_000, 60_000, 90_000])
      const shiftMs = pick(random, [0, 0, 7_000])
      // As phones do it: sums of some minutes each, which begin and end when they like.
      const sums = random() < 0.4
      const next = () => (sums ? whole(random, 60, 12 * 60) * 1000 : every)
      let ms = walkMs + whole(random, 0, 5) * MINUTE_MS
      for (let stepMs = next(); ms < walkMs + minutes * MINUTE_MS; ms += stepMs, stepMs = next()) {
        const lastsMs = sums ? stepMs : 0
        add(place, 'steps', ms + shiftMs, whole(random, 0, sums ? 900 : 70), lastsMs)
        if (random() < 0.5) add(place, 'distance_walking_running', ms + shiftMs, whole(random, 0, 800) / 8, lastsMs)
        if (random() < 0.3) add(place, 'energy', ms, whole(random, 1, 60) / 4, lastsMs)
        if (DEVICES[place]?.type === 'watch') add(place, 'heart_rate', ms, whole(random, 70, 190))
      }
      if (random() < 0.4) add(place, 'flights_climbed', walkMs, whole(random, 1, 9))
      if (random() < 0.2) add(place, 'active_time', walkMs, whole(random, 1, 30))
    }
    if (random() < 0.15) climb(pick(random, places), walkMs, whole(random, 1, 900))
  }
  for (const place of places) {
    for (let ms = dayMs; ms < dayMs + DAY_MS; ms += whole(random, 10, 90) * MINUTE_MS) {
      if (DEVICES[place]?.type === 'watch') add(place, 'heart_rate', ms, whole(random, 45, 99))
      if (random() < 0.3) add(place, 'oxygen_saturation', ms, whole(random, 90, 100))
      if (random() < 0.2) add(place, 'respiratory_rate', ms, whole(random, 80, 200) / 8)
      if (random() < 0.2) add(place, 'heart_rate_variability_sdnn', ms, whole(random, 100, 900) / 8)
      if (random() < 0.2) add(place, 'heart_rate_variability_rmssd', ms, whole(random, 100, 900) / 8)
    }
    if (random() < 0.6) add(place, 'resting_heart_rate', dayMs + whole(random, 0, 86_000) * 1000, whole(random, 40, 70))
    if (random() < 0.7) add(place, 'basal_energy', dayMs + whole(random, 0, 86_000) * 1000, whole(random, 1200, 1900))
  }
}

/** Nights by the clock on the wall, some in two parts, and naps; never closer than two hours to each other. */
function writeNights({ random, places, startMs, endMs, zoneAt, night }: Pen): void {
  for (const place of places) {
    let freeMs = startMs
    const sleep = (fromMs: number, minutes: number) => {
      const atMs = Math.floor(fromMs / 1000) * 1000
      if (atMs < freeMs || atMs + minutes * MINUTE_MS > endMs || random() < 0.2) return
      night(place, atMs, atMs + minutes * MINUTE_MS)
      // An app that stores what it knows so far under an id of its own.
      const early = whole(random, 10, minutes - 5)
      if (random() < 0.1 && DEVICES[place]?.provider !== 'apple') night(place, atMs, atMs + early * MINUTE_MS)
      freeMs = atMs + (minutes + 125) * MINUTE_MS
    }
    for (let day = localDay(startMs, 0) - 1; day * DAY_MS < endMs; day += 1) {
      const midnightMs = day * DAY_MS - zoneAt(day * DAY_MS) * MINUTE_MS
      if (random() < 0.4) sleep(midnightMs + whole(random, 13 * 60, 16 * 60) * MINUTE_MS, whole(random, 20, 100))
      const bedMs = midnightMs + whole(random, 21 * 60, 25 * 60) * MINUTE_MS
      const minutes = whole(random, 240, 540)
      sleep(bedMs, minutes)
      if (random() < 0.2) sleep(bedMs + (minutes + whole(random, 130, 200)) * MINUTE_MS, whole(random, 40, 150))
    }
  }
}

/** Measurements of the body, some of them in the last hours. */
function writeBody({ random, places, startMs, endMs, add }: Pen, recent: boolean): void {
  const some = ['weight', 'height', 'body_fat_percentage', 'lean_body_mass', 'skeletal_muscle_mass', 'body_mass_index']
  for (const type of some.filter(() => random() < 0.4)) {
    for (let n = whole(random, 1, 3); n > 0; n -= 1)
      add(pick(random, places), type, whole(random, startMs, endMs), whole(random, 100, 1600) / 8)
  }
  if (!recent) return
  for (let n = whole(random, 0, 6); n > 0; n -= 1) {
    const [place, ms] = [pick(random, places), endMs - whole(random, 10, 26 * 60) * MINUTE_MS]
    add(place, pick(random, ['body_temperature', 'skin_temperature']), ms, whole(random, 280, 320) / 8)
    add(place, 'blood_pressure_systolic', ms, whole(random, 90, 180))
    if (random() < 0.8) add(place, 'blood_pressure_diastolic', ms + 2_000, whole(random, 50, 100))
  }
}

/** A phone sends part of it once more, some values corrected. */
const sentAgain = (random: Random, uploads: readonly Upload[]): Upload[] =>
  uploads.map(({ provider, records, sleep, workouts }) => ({
    provider,
    records: records
      .filter(() => random() < 0.2)
      // By a factor that makes something plausible now and then of what was not, and the other way round.
      .map((one) => ({ ...one, value: (one.value as number) * pick(random, [1, 1, 0.5, 0.5, 1e-4, -1, 1e6]) })),
    sleep: sleep.filter(() => random() < 0.5),
    workouts,
  }))

const types = new Map(
  Object.entries(WIRE).flatMap(([type, { apple, android }]) => [
    ...(apple ? [[APPLE + apple[0], { type, times: apple[2] ?? 1, daily: false }] as const] : []),
    ...(android ? [[android[0], { type, times: android[2] ?? 1, daily: type === 'basal_energy' }] as const] : []),
  ]),
)
const zoneOf = (text: unknown) => {
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)$/.exec(String(text)) ?? []
  return sign ? (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) : null
}
const placeOf = (provider: string, { source }: SdkRecord) =>
  DEVICES.findIndex((one) => one.provider === provider && one.source === (source as { name: string }).name)

/**
 * The uploads, in the order they are sent, with a zone where a record knows none: that of the nearest record of its upload
 * within a day, else of the nearest of its upload and of all before it. A sample that is sent again keeps the one it has.
 */
function zoned(uploads: readonly Upload[]): Upload[] {
  const known: Zoned[] = []
  const stored = new Map<string, unknown>()
  return uploads.map(({ provider, records, sleep, workouts }) => {
    const marks = [...records, ...sleep, ...workouts].flatMap(({ startDate, zoneOffset }): Zoned[] =>
      zoneOffset === null ? [] : [{ ms: Date.parse(startDate as string), zone: zoneOf(zoneOffset) as number }],
    )
    const settled = (one: SdkRecord): SdkRecord => {
      if (one.zoneOffset !== null) return one
      const ms = Date.parse(one.startDate as string)
      const [own, other] = [nearestZone(marks, ms), nearestZone(known, ms)]
      const apart = (mark: Zoned | undefined) => (mark ? Math.abs(mark.ms - ms) : Number.POSITIVE_INFINITY)
      const best = apart(own) <= DAY_MS || apart(own) <= apart(other) ? own : other
      return { ...one, zoneOffset: best ? offsetText(best.zone) : null }
    }
    const sample = (one: SdkRecord): SdkRecord => {
      const { type, times, daily } = types.get(one.type as string) as { type: string; times: number; daily: boolean }
      const plausible = isPlausible({ type, value: (one.value as number) / times })
      const key = `${placeOf(provider, one)} ${type} ${one.startDate}`
      const kept = stored.get(`${key} ${plausible}`)
      const result = one.zoneOffset === null && kept && !daily ? { ...one, zoneOffset: kept } : settled(one)
      stored.delete(`${key} ${!plausible}`)
      stored.set(`${key} ${plausible}`, result.zoneOffset)
      return result
    }
    const result = {
      provider,
      records: records.map(sample),
      sleep: sleep.map(settled),
      workouts: workouts.map(settled),
    }
    known.push(...marks)
    return result
  })
}

/** What the uploads of a week say: of several values of one instant the last one; `highest` is the largest heart rate. */
export function readWeek({ uploads: sent }: Week, highest: number): Model & Nights {
  const uploads = zoned(sent)
  const samples = new Map<string, Omit<Sample, 'day'> & { zone: number | null }>()
  const workouts = new Map<string, Model['workouts'][number]>()
  for (const { provider, records, ...upload } of uploads) {
    for (const one of records) {
      const { type, times, daily } = types.get(one.type as string) as { type: string; times: number; daily: boolean }
      const [place, zone, ms] = [placeOf(provider, one), zoneOf(one.zoneOffset), Date.parse(one.startDate as string)]
      const midnight = localDay(ms, zone) * DAY_MS - (zone ?? 0) * MINUTE_MS
      const lastsMs = daily ? 0 : keptMs(ms, Date.parse(one.endDate as string))
      const sample = {
        place,
        type,
        daily,
        zone,
        ms: daily ? midnight : ms,
        value: (one.value as number) / times,
        lastsMs,
      }
      samples.set(`${place} ${type} ${sample.ms}`, sample)
    }
    for (const one of upload.workouts) {
      const [{ value } = { value: 0 }] = one.values as { value: number }[]
      const place = placeOf(provider, one)
      const day = localDay(Date.parse(one.endDate as string), zoneOf(one.zoneOffset))
      workouts.set(`${place} ${one.startDate}`, { place, day, ascent: value })
    }
  }
  return {
    devices: DEVICES,
    samples: withDays([...samples.values()].filter(isPlausible).sort((a, b) => a.ms - b.ms)),
    workouts: [...workouts.values()],
    highest,
    sessions: sessionsOf(uploads),
    scores: [],
  }
}

/** How long a record lasts; 0 when it is over within a minute and its quarter hour. */
const keptMs = (startMs: number, endMs: number) =>
  endMs - startMs > MINUTE_MS || Math.ceil(endMs / 900_000) - 1 > Math.floor(startMs / 900_000) ? endMs - startMs : 0

function isPlausible({ type, value }: { type: string; value: number }): boolean {
  const [lowest, highest] = PLAUSIBLE[type] as readonly [number, number]
  return value >= lowest && value <= highest
}

interface Stage {
  place: number
  name: string
  startMs: number
  endMs: number
  zone: number | null
  given: unknown
}

/** Stages that belong together by what the platform says, else by gaps of more than two hours. */
function sessionsOf(uploads: readonly Upload[]): Session[] {
  const stages = new Map<string, Stage>()
  for (const { provider, sleep } of uploads) {
    for (const one of sleep) {
      const place = placeOf(provider, one)
      stages.set(`${place} ${one.startDate} ${one.endDate} ${one.stage}`, {
        ...{ place, name: one.stage as string, zone: zoneOf(one.zoneOffset), given: one.parentId },
        ...{ startMs: Date.parse(one.startDate as string), endMs: Date.parse(one.endDate as string) },
      })
    }
  }
  const groups: Stage[][] = []
  const given = new Map<string, Stage[]>()
  for (const one of [...stages.values()].sort((a, b) => a.place - b.place || a.startMs - b.startMs)) {
    if (one.given !== null) {
      const key = `${one.place} ${one.given}`
      given.set(key, [...(given.get(key) ?? []), one])
      continue
    }
    const last = groups.at(-1)
    const lastMs = Math.max(...(last ?? []).map(({ endMs }) => endMs))
    if (last?.[0]?.place === one.place && one.startMs - lastMs <= 2 * HOUR_MS) last.push(one)
    else groups.push([one])
  }
  return judged([...groups, ...given.values()].map(sessionOf)).sort(
    (a, b) => a.startMs - b.startMs || a.endMs - b.endMs,
  )
}

/** What is true from instant to instant: the stages, and sleep without detail where there is none. */
function painted(stages: readonly Stage[]): Stage[] {
  const at = [...new Set(stages.flatMap(({ startMs, endMs }) => [startMs, endMs]))].sort((a, b) => a - b)
  const shown: Stage[] = []
  for (const [n, startMs] of at.slice(0, -1).entries()) {
    const endMs = at[n + 1] as number
    const there = stages.filter((one) => one.startMs <= startMs && one.endMs >= endMs)
    const one = there.find(({ name }) => name !== 'sleeping') ?? there[0]
    const last = shown.at(-1)
    if (one && last && last.endMs === startMs && last.given === one) last.endMs = endMs
    else if (one) shown.push({ ...one, startMs, endMs, given: one })
  }
  return shown
}

function sessionOf(all: Stage[]): Session {
  const stages = painted(all)
  const [first, last] = [stages[0] as Stage, stages.at(-1) as Stage]
  const seconds = (...names: string[]) =>
    stages.reduce((sum, { name, startMs, endMs }) => sum + (names.includes(name) ? (endMs - startMs) / 1000 : 0), 0)
  const detailed = seconds('light', 'deep', 'rem') > 0
  const [asleep, awake] = [seconds('sleeping', 'light', 'deep', 'rem'), seconds('awake')]
  const zone = all.find((one) => one.zone !== null)?.zone ?? null
  return {
    ...{ place: first.place, startMs: first.startMs, endMs: last.endMs, zone, day: localDay(last.endMs, zone) },
    asleep_s: asleep,
    in_bed_s: asleep + awake,
    awake_s: detailed || awake > 0 ? awake : null,
    light_s: detailed ? seconds('light') : null,
    deep_s: detailed ? seconds('deep') : null,
    rem_s: detailed ? seconds('rem') : null,
    efficiency_percent: Math.round((asleep / (asleep + awake)) * 10_000) / 100,
    ...{ is_nap: false, covered: false },
    stages: stages.map(({ name, startMs, endMs }) => [name, startMs / 1000, endMs / 1000]),
  }
}
