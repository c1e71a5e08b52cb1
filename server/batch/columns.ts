import type { DeviceType } from '../catalogue/devices.ts'
import type { ScoreCategory } from '../catalogue/score-categories.ts'
import type { WorkoutType } from '../catalogue/workouts.ts'
import type { DayCounts, LocalDays, RejectedDays, RejectedLocally } from './counted-days.ts'
import type { ZoneRun } from './zones.ts'

/** Sources of an upload, and of a user: a person has a handful, and every read looks at each of them. */
export const MAX_SOURCES = 200

/** The fields that identify a source within a user and provider (contract 12.9), and other known facts. */
export interface SourceIdentity {
  deviceModel: string
  source: string
  softwareVersion: string | null
  deviceType: string
}

/**
 * The samples of one series from one source, ascending by time, one per instant. `timeMs`: epoch milliseconds; `value`
 * in the unit of the series; `zoneMin`: minutes east of UTC or NO_ZONE.
 */
export interface SampleColumns {
  /** Index into the batch's sources. */
  source: number
  /** Series id, or that of one of its twins: see DAILY_TOTAL_OFFSET, IMPLAUSIBLE_OFFSET and MANUAL_OFFSET. */
  seriesId: number
  /** Of the total of a day its local midnight; its start while its zone is not known. */
  timeMs: Float64Array
  value: Float64Array
  zoneMin: Int16Array
  /** How long the records lasted, in seconds; 0 where that is not kept (see `keptLength`). Null when all are. */
  lastsS: Int32Array | null
  /** 1 where the zone is that of another record, or where there is none and none may be taken; null when none is. */
  zoneTaken: Uint8Array | null
  /** Which records they came from (see origins.ts); null when none of them had an id. */
  origins: SampleOrigins | null
  /** Each record has one sample: another instant at which it came before is wrong now. So it is of totals of days. */
  once?: true
}

/** Records of samples by their hashed ids, as `encodeOrigins` writes them, and the first and last instant in epoch ms. */
export interface SampleOrigins {
  firstMs: number
  lastMs: number
  bytes: Uint8Array
}

/** Marks an unknown zone offset in `zoneMin`. */
export const NO_ZONE = -32_768

/** Why one item was not imported; never contains a measured value. */
export interface Rejection {
  collection: string
  index: number | null
  id: string | null
  loc: (string | number)[]
  type: string
  msg: string
}

/** An upload turned into columns, with an account of all its items. */
export interface Batch {
  sources: SourceIdentity[]
  samples: SampleColumns[]
  /** The zones that its records know of themselves, in order of time. */
  zones: ZoneRun[]
  /** Samples that came with events, such as the stride length of a run; they do not count as items. */
  derived: SampleColumns[]
  /** Items in all collections. */
  received: number
  /** Items whose key another item of the same upload repeated; the last one counts. */
  duplicates: number
  /** Records of a type that is not stored. */
  ignored: number
  rejected: number
  /** The first REJECTIONS_KEPT of them, and of parts of items that are left out. */
  rejections: Rejection[]
  /** Implausible statistics of workouts, which are left out: their number by the id of the series whose range counts. */
  implausibleParts: Record<number, number>
  /** Ignored and rejected items, counted by type and reason. */
  unstored: Unstored[]
  /** The first UNKNOWN_FIELDS_KEPT unknown fields of the body, and of its `data`. */
  unknownFields: UnknownField[]
  days: DayCounts
  /** The rejected ones among `days`. */
  rejectedDays: RejectedDays
  rejectedLocally: RejectedLocally
  /** The counts by local day, once it is known which zones its records take from others. */
  local?: LocalDays
  events: BatchEvents
}

/** Items of one kind that are not stored for one reason. */
export interface Unstored {
  collection: string
  /** The platform's name; null when the item has none, or the upload has too many types to list. */
  type: string | null
  /** `ignored_type`, or the machine code of a rejection. */
  reason: string
  items: number
  /** For an ignored type: the most similar name that this provider has, and the providers with this very name. */
  likely?: string | null
  known_to?: string[]
}

/** An unknown field of the body, or `data.x` of its `data`. */
export interface UnknownField {
  field: string
  /** Its number of entries; null when it is neither list nor object. */
  items: number | null
  /** The field that was probably meant; null when none is similar. */
  likely: string | null
}

/** How many unknown fields of an upload are listed. */
export const UNKNOWN_FIELDS_KEPT = 20

/** Everything in a batch except samples; sources are places in the batch's list, as for samples. */
export interface BatchEvents {
  sleep: SleepStage[]
  workouts: Workout[]
  meals: Meal[]
  nutrients: Nutrient[]
  cycles: CycleObservation[]
  activities: Activity[]
  deletions: Deletion[]
  nights: Night[]
  scores: Score[]
  unscored: Unscored[]
  wholeCycles: WholeCycle[]
  currents: Current[]
  spans: Span[]
}

/** The events of a batch that holds samples only. */
export const noEvents = (): BatchEvents => ({
  ...{ sleep: [], workouts: [], meals: [], nutrients: [], cycles: [], activities: [], deletions: [] },
  ...{ nights: [], scores: [], unscored: [], wholeCycles: [], currents: [], spans: [] },
})

/**
 * The fields of every event: its source, epoch milliseconds, minutes east of UTC or null, the platform's id or null.
 */
export interface EventItem {
  source: number
  externalId: string | null
  startMs: number
  endMs: number
  zoneMin: number | null
  /** The zone was taken from the nearest record (store/zones.ts): a stored one stays. */
  zoneTaken?: true
}

/** Stages of sleep that are stored (contract 2.2 SleepStageType without `unknown`). */
export const sleepStages = ['in_bed', 'awake', 'sleeping', 'light', 'deep', 'rem'] as const
export type SleepStageName = (typeof sleepStages)[number]

/** The longest accepted stage (sdk-types 7.4 Cap). */
export const MAX_STAGE_MS = 24 * 3_600_000

/** The longest accepted night of a provider; a longer one was never ended. */
export const MAX_NIGHT_MS = 2 * 24 * 3_600_000

/** One interval of sleep as a phone sends it; sessions are made of them. */
export interface SleepStage extends EventItem {
  stage: SleepStageName
  /** The platform's own session; '' if sessions follow from the gaps between stages. */
  session: string
  /** Whether the batch itself says that it contains all of that session. */
  whole: boolean
  /** The platform's score of the session, 0 to 100. */
  score: number | null
}

/** One workout; fields and units as the columns of the table `workout` (contract 5.3, sdk-types 8). */
export interface Workout extends EventItem, WorkoutMeasures {
  type: WorkoutType
  title: string | null
  notes: string | null
  entrySource: EntrySource | null
  durationSeconds: number
  movingSeconds: number | null
  // Documents, as JSON text: handing that to another thread is one copy, however many points a route has.
  /** WorkoutSegment[] */
  segments: string | null
  /** WorkoutLap[] */
  laps: string | null
  /** RoutePoint[] */
  route: string | null
  // What only cloud providers report.
  intensity?: 'low' | 'moderate' | 'high'
  /** {zones: [{zone, seconds}]} (contract 5.3), as JSON text. */
  hrZones?: string
  /** The provider's time of the last change, epoch ms: an older one never overwrites; absent = not said. */
  version?: number
  /** When the provider said so, epoch ms: without versions an older answer never overwrites. */
  atMs?: number
  /** What is null is not said, and stays as stored. */
  partial?: true
}

/** Who or what started a workout (contract 2.2). */
export type EntrySource = 'manual' | 'automatic' | 'unknown'

/** Measures of a workout as a whole; null = not reported. */
export interface WorkoutMeasures {
  /** Active energy, if the platform separates it. */
  caloriesKcal: number | null
  distanceMeters: number | null
  steps: number | null
  heartRateMin: number | null
  heartRateAvg: number | null
  heartRateMax: number | null
  /** Metres per second. */
  averageSpeed: number | null
  maxSpeed: number | null
  /** Steps or revolutions per minute. */
  averageCadence: number | null
  averageWatts: number | null
  maxWatts: number | null
  elevationGainMeters: number | null
  elevationHighMeters: number | null
  elevationLowMeters: number | null
}

/** A part of a workout: an exercise or a rest; instants as contract 1.2. */
export interface WorkoutSegment {
  start_time: string
  end_time: string
  /** The platform's word, in lower case. */
  type: string
  repetitions: number | null
}

/** A lap, or a part that the platform marks as one; instants as contract 1.2. */
export interface WorkoutLap {
  start_time: string
  end_time: string
  /** lap, segment or marker; null when the platform does not say. */
  type: string | null
  /** Without pauses, if the platform reports that. */
  duration_seconds: number | null
  distance_meters: number | null
}

/** A place on a route: epoch seconds, degrees north and east, then metres or null. */
export type RoutePoint = readonly [
  time: number,
  latitude: number,
  longitude: number,
  altitude: number | null,
  horizontalAccuracy: number | null,
  verticalAccuracy: number | null,
]

/** A meal without what was eaten. */
export interface Meal extends EventItem {
  externalId: string
  title: string | null
  mealType: string | null
}

/** A nutrient that names a meal; only the database knows whether that exists. */
export interface Nutrient extends EventItem {
  /** External id of the meal. */
  meal: string
  /** As that of samples. */
  seriesId: number
  value: number
}

/** Observations of a menstrual cycle: flow of one day, of all days of an interval, and signs between periods. */
export type CycleObservationKind = 'flow' | 'period' | 'intermenstrual_bleeding' | 'cervical_mucus' | 'ovulation_test'

/** One observation of a menstrual cycle. */
export interface CycleObservation extends EventItem {
  kind: CycleObservationKind
  /** The observed value, in our words; null when the platform does not report it. */
  level: string | null
  /** Whether the platform calls it the first day of a cycle; null when it does not say. */
  cycleStart: boolean | null
}

/** A session that is neither workout nor sleep. */
export interface Activity extends EventItem {
  type: string
}

/**
 * A night or a nap that a provider gives as a whole, perhaps with totals only; in whole seconds, null = not said. Parts of
 * one source make up sessions as stages do.
 */
export interface Night extends EventItem {
  externalId: string
  /** As those of workouts; null = not said. */
  version: number | null
  atMs: number
  /** Of two that overlap by more than half the higher one stands alone, then the later one. */
  rank: number
  asleepS: number | null
  inBedS: number | null
  awakeS: number | null
  lightS: number | null
  deepS: number | null
  remS: number | null
  efficiencyPercent: number | null
  isNap: boolean | null
  /** Ascending, without overlaps, epoch ms; null = not known. */
  stages: [stage: SleepStageName, startMs: number, endMs: number][] | null
}

/** A provider's health score, on its own scale (contract 14.1). */
export interface Score extends Pick<EventItem, 'source' | 'zoneMin' | 'zoneTaken'> {
  category: ScoreCategory
  /** Unique within provider and category: a score that moved replaces itself. */
  externalId: string
  timeMs: number
  value: number | null
  qualifier: string | null
  components: Record<string, { value: number | null; qualifier: string | null }> | null
  /** External id of the night or the workout that it describes. */
  night: string | null
  workout: string | null
  /** As those of workouts. */
  version: number | null
  atMs: number
}

/** The provider has no such score: one that is stored goes, unless it was said later. */
export type Unscored = Pick<Score, 'category' | 'externalId' | 'timeMs' | 'version' | 'atMs'>

/** A menstrual cycle that a provider gives as a whole; fields as the columns of the table `menstrual_cycle`. */
export interface WholeCycle extends EventItem {
  externalId: string
  currentPhase: number | null
  currentPhaseType: string | null
  dayInCycle: number | null
  cycleLength: number | null
  predictedCycleLength: number | null
  periodLength: number | null
  lengthOfCurrentPhase: number | null
  daysUntilNextPhase: number | null
  fertileWindowStart: number | null
  lengthOfFertileWindow: number | null
  isPredictedCycle: boolean | null
  hasSpecifiedCycleLength: boolean | null
  hasSpecifiedPeriodLength: boolean | null
  lastUpdatedMs: number | null
  /** A list of objects, as JSON text. */
  pregnancySnapshot: string | null
  /** As that of workouts; `lastUpdatedMs` is the version. */
  atMs: number
}

/** A value that held when the provider was asked: a sample, unless the latest stored one differs by 0.01 at most. */
export interface Current {
  source: number
  /** As that of samples: its own, or the twin of implausible values. */
  seriesId: number
  timeMs: number
  zoneMin: number | null
  value: number
}

/**
 * The batch holds everything that there is of a kind from `loMs` until before `hiMs`: what else is stored goes. Samples of
 * the source by their time; nights, workouts and scores of its provider, of any device, by their start or time, if they
 * have an external id.
 */
export interface Span {
  source: number
  /** Samples of all devices of the provider, or of all of a type, not only of the source. */
  devices?: 'all' | DeviceType
  /** A series id, or that plus DAILY_TOTAL_OFFSET; with it goes the twin of implausible values. */
  what: number | 'nights' | 'workouts' | { score: ScoreCategory }
  loMs: number
  hiMs: number
  /** When the provider said so, epoch ms: what is newer stays, when a batch is imported again. */
  atMs: number
  /** Only samples without a record, on this local day (since 1970) by the zone that they have, which is not this one (minutes). */
  placed?: { day: number; zoneMin: number }
}

/** The platform deleted something. */
export interface Deletion {
  externalId: string
  /** Series of the deleted record; null = any, as its type is unknown; 'none' = by its type, it is no sample. */
  seriesId: number | 'none' | null
  /** When the provider said so, epoch ms: events stored from a later answer stay; absent: all go. */
  atMs?: number
}

/** How many rejections of an upload are listed; all are counted. */
export const REJECTIONS_KEPT = 100

/** Number of samples in column sets. */
export function countSamples(samples: readonly SampleColumns[]): number {
  return samples.reduce((sum, { timeMs }) => sum + timeMs.length, 0)
}
