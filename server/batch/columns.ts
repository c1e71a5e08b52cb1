import type { WorkoutType } from '../catalogue/workouts.ts'

/** What identifies a source within a user and provider (design: data model), and what is known about it. */
export interface SourceIdentity {
  deviceModel: string
  source: string
  softwareVersion: string | null
  deviceType: string
}

/**
 * The samples of one series from one source, ascending by time, no instant twice.
 * `timeMs`: epoch milliseconds; `value` in the unit of the series; `zoneMin`: minutes east of UTC or NO_ZONE.
 */
export interface SampleColumns {
  /** Index into the batch's sources. */
  source: number
  /** Series id, or that plus DAILY_TOTAL_OFFSET for daily totals; plus IMPLAUSIBLE_OFFSET for implausible values. */
  seriesId: number
  timeMs: Float64Array
  value: Float64Array
  zoneMin: Int16Array
  /** Which records they were (see origins.ts); null when none of them had an id. */
  origins: SampleOrigins | null
}

/** Records of samples by their hashed ids, as `encodeOrigins` writes them, and the first and last instant in epoch ms. */
export interface SampleOrigins {
  firstMs: number
  lastMs: number
  bytes: Uint8Array
}

/** Stands for an unknown zone offset in `zoneMin`. */
export const NO_ZONE = -32_768

/** Why one item was not imported; never carries a measured value. */
export interface Rejection {
  collection: string
  index: number | null
  id: string | null
  loc: (string | number)[]
  type: string
  msg: string
}

/** An upload turned into columns, with an account of every item it had. */
export interface Batch {
  sources: SourceIdentity[]
  samples: SampleColumns[]
  /** Samples that events bring along, such as the stride length of a run; they are no items of their own. */
  derived: SampleColumns[]
  /** Items in all collections. */
  received: number
  /** Items whose key another item of the same upload repeated; the last one counts. */
  duplicates: number
  /** Records of a type that is not stored. */
  ignored: number
  rejected: number
  /** The first REJECTIONS_KEPT of them. */
  rejections: Rejection[]
  /** What is ignored or rejected, counted by what it was and why. */
  unstored: Unstored[]
  /** The first UNKNOWN_FIELDS_KEPT fields of the body, and of its `data`, that mean nothing. */
  unknownFields: UnknownField[]
  days: DayCounts
  /** Those of `days` that are rejected. */
  rejectedDays: RejectedDays
  events: BatchEvents
}

/** Items of one kind that are not stored for one reason. */
export interface Unstored {
  collection: string
  /** As the platform calls it; null when the item does not say, or the upload has too many types to list. */
  type: string | null
  /** `ignored_type`, or the machine code of a rejection. */
  reason: string
  items: number
  /** Of an ignored type: the name this provider has that is most like it, and the providers that have this very name. */
  likely?: string | null
  known_to?: string[]
}

/** A field of the body, `data.x` of its `data`, that means nothing. */
export interface UnknownField {
  field: string
  /** How many entries it has; null when it is neither list nor object. */
  items: number | null
  /** The field that was probably meant; null when none is like it. */
  likely: string | null
}

/** How many unknown fields of an upload are listed. */
export const UNKNOWN_FIELDS_KEPT = 20

/** Number of items by type and day of UTC: series types for samples, else the type of the event. */
export type DayCounts = Record<string, Record<string, number>>

/** Number of rejected items by type, day of UTC and reason. */
export type RejectedDays = Record<string, Record<string, Record<string, number>>>

/** Everything of a batch that is no sample; sources are places in the batch's list, as those of samples are. */
export interface BatchEvents {
  sleep: SleepStage[]
  workouts: Workout[]
  meals: Meal[]
  nutrients: Nutrient[]
  cycles: CycleObservation[]
  activities: Activity[]
  deletions: Deletion[]
}

/** What every event has: its source, epoch milliseconds, minutes east of UTC or null, the platform's id or null. */
export interface EventItem {
  source: number
  externalId: string | null
  startMs: number
  endMs: number
  zoneMin: number | null
}

/** Stages of sleep that are stored (contract 2.2 SleepStageType without `unknown`). */
export const sleepStages = ['in_bed', 'awake', 'sleeping', 'light', 'deep', 'rem'] as const
export type SleepStageName = (typeof sleepStages)[number]

/** The longest stage that is taken (sdk-types 7.4 Cap). */
export const MAX_STAGE_MS = 24 * 3_600_000

/** One interval of sleep as a phone sends it; sessions are made of them. */
export interface SleepStage extends EventItem {
  stage: SleepStageName
  /** The platform's own session; '' where sessions follow from the gaps between stages. */
  session: string
  /** Whether the batch holds all of that session, as far as it says so itself. */
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
}

/** How a workout came to be (contract 2.2). */
export type EntrySource = 'manual' | 'automatic' | 'unknown'

/** What is measured of a workout as a whole; null = the source does not say. */
export interface WorkoutMeasures {
  /** Active energy where the platform tells it apart. */
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

/** A lap, or what the platform marks as one; instants as contract 1.2. */
export interface WorkoutLap {
  start_time: string
  end_time: string
  /** lap, segment or marker; null when the platform does not say. */
  type: string | null
  /** Without pauses, where the platform says so. */
  duration_seconds: number | null
  distance_meters: number | null
}

/** Where somebody was: epoch seconds, degrees north and east, then metres or null. */
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

/** A nutrient that names a meal; whether that exists is known in the database. */
export interface Nutrient extends EventItem {
  /** External id of the meal. */
  meal: string
  /** As that of samples. */
  seriesId: number
  value: number
}

/** What is observed of a menstrual cycle: flow of one day, of all days of an interval, and signs between periods. */
export type CycleObservationKind = 'flow' | 'period' | 'intermenstrual_bleeding' | 'cervical_mucus' | 'ovulation_test'

/** One observation of a menstrual cycle. */
export interface CycleObservation extends EventItem {
  kind: CycleObservationKind
  /** What was observed, in our words; null when the platform does not say. */
  level: string | null
  /** Whether the platform calls it the first day of a cycle; null when it does not say. */
  cycleStart: boolean | null
}

/** A session that is neither workout nor sleep. */
export interface Activity extends EventItem {
  type: string
}

/** The platform deleted something. */
export interface Deletion {
  externalId: string
  /** Series of the deleted record; null when its type is none of a sample, or unknown. */
  seriesId: number | null
}

/** How many rejections of an upload are listed; all are counted. */
export const REJECTIONS_KEPT = 100

/** Number of samples in column sets. */
export function countSamples(samples: readonly SampleColumns[]): number {
  return samples.reduce((sum, { timeMs }) => sum + timeMs.length, 0)
}
