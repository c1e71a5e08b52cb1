import type { EventItem, SleepStageName, WholeCycle, Workout, WorkoutMeasures } from '../batch/columns.ts'
import type { ScoreCategory } from '../catalogue/score-categories.ts'
import type { SeriesName } from '../catalogue/series.ts'
import type { WorkoutType } from '../catalogue/workouts.ts'
import type { Totals } from '../store/sleep/totals.ts'

// The mapping half of the seam: what a folder gets of an answer, and where it puts what that means.

/** Everything that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A part of a parcel: one answer, and all that may be known when it is read, again next year too. */
export interface Part {
  readonly stream: string
  /** The parsed body, with integers beyond 2^53 as text. */
  readonly body: unknown
  /** When it was answered, epoch milliseconds. */
  readonly atMs: number
  /** The person's zone, as it was known then. */
  readonly zone: string | null
  /** Those of the request. */
  readonly args: Json
}

/** Adds what a part holds to `out`. Never throws, whatever the provider sent. */
export type MapPart = (part: Part, out: Out) => void

/** What a mapping can fill, for the matrix of who sends what (contract 11); its golden files hold exactly this. */
export interface Brings {
  readonly series: readonly SeriesName[]
  /** Beside type, times and duration. */
  readonly workouts: readonly (keyof WorkoutMeasures | 'title' | 'entrySource' | 'intensity' | 'hrZones')[]
  /** Beside times; empty: no nights. */
  readonly nights: readonly (keyof Totals)[]
  readonly scores: readonly ScoreCategory[]
}

/** An instant, in epoch milliseconds, and minutes east of UTC; null = not said. */
export interface At {
  readonly ms: number
  readonly zoneMin: number | null
  /** A date: 00:00 UTC of it, without a zone, and none is taken from elsewhere: it would be of another day there. */
  readonly isDate?: true
}

/**
 * A JSON object of a provider, to be read field by field; `path` is the way to a nested one. A field that is absent or
 * null is undefined. So is one of the wrong type, which is rejected, by its place and with the reason, and loses nothing
 * else.
 */
export interface Item {
  /** A finite number of at most 15 digits. */
  number(...path: readonly string[]): number | undefined
  boolean(...path: readonly string[]): boolean | undefined
  /** Text of at most 65,536 characters; where it is stored, it is cleaned and cut. */
  text(...path: readonly string[]): string | undefined
  /** An identifier: text, or a whole number as text; a longer one than 100 characters is hashed. */
  id(...path: readonly string[]): string | undefined
  /** A date-time, with the zone that it is written in, from 1970-01-02 to 24 hours after the answer. */
  instant(...path: readonly string[]): At | undefined
  /** A date, `YYYY-MM-DD`. */
  day(...path: readonly string[]): At | undefined
  /** Minutes east of UTC of a zone offset; null when it is absent or cannot be read, which loses nothing. */
  zoneMin(...path: readonly string[]): number | null
  object(...path: readonly string[]): Item | undefined
  /** A list of numbers, as `number`; what is null, or was rejected, is undefined. */
  numbers(...path: readonly string[]): readonly (number | undefined)[] | undefined
  /** Rejects a field that is required, or whose value cannot be true; once, if it was rejected already. */
  reject(reason: Reason, ...path: readonly string[]): void
}

/** Why an item is rejected. */
export type Reason = 'missing' | 'end_before_start' | 'implausible_duration' | 'implausible_value' | 'enum'

/** Collects what a part holds; a value that is undefined is not stored. */
export interface Out {
  /** The objects of the list at `path` of the body. */
  items(...path: readonly string[]): Iterable<Item>
  /** The body itself, if it is an object. */
  whole(): Iterable<Item>
  /** Whose measurements follow, until the next call: device model and app as reads show them, '' for none. */
  source(device: string, app: string): void
  /** One sample, in the unit of its series; `record`: the provider's id of what it belongs to, and is deleted with. */
  sample(series: SeriesName, at: At, value: number | undefined, record?: string): void
  /** The total of the day of `at`; stored at the midnight of that day, and moved when `record` comes with another zone. */
  total(series: SeriesName, at: At, value: number | undefined, record: string): void
  /** False when its times cannot be true: then it is rejected, and what belongs to it should not be added. */
  workout(workout: WorkoutPart): boolean
  night(night: NightPart): boolean
  /** Without a value and a word there is no score, and one that an earlier answer had goes. */
  score(score: ScorePart): void
  cycle(cycle: CyclePart): void
  /** A value that holds when the provider answers, such as the weight of a profile: stored where it has changed. */
  current(series: SeriesName, value: number | undefined): void
  /**
   * These are all: what else is stored of the source from `loMs` until before `hiMs`, a day at most, goes. Samples and
   * totals by their time, nights and workouts by their start. Without effect where anything of the part was rejected.
   */
  only(what: Listed, loMs: number, hiMs: number): void
  /** The provider deleted what has this id. */
  gone(externalId: string): void
  /** Counts something that is known and not stored, by its type. */
  ignore(type: string): void
}

/** What a page can list completely. */
export type Listed = { readonly series: SeriesName } | { readonly total: SeriesName } | 'nights' | 'workouts'

/** Fields of which any may be left out. */
type Given<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined }

/** What identifies an event, and when it was. */
interface EventPart {
  readonly externalId: string
  readonly start: At
  readonly endMs: number
  /** The provider's time of the last change, epoch milliseconds: an older one never overwrites. */
  readonly version?: number | undefined
}

/** A workout; what is left out is not known. */
export interface WorkoutPart
  extends EventPart,
    Given<
      WorkoutMeasures &
        Pick<Workout, 'title' | 'notes' | 'entrySource' | 'durationSeconds' | 'movingSeconds' | 'intensity'>
    > {
  readonly type: WorkoutType
  /** Time in each zone of heart rate, the lowest first; seconds. */
  readonly zoneSeconds?: readonly (number | undefined)[]
  /** What is left out stays as stored. */
  readonly partial?: true
}

/** A night or a nap as the provider gives it; what is left out is not known. */
export interface NightPart extends EventPart {
  /** Of two that overlap by more than half the higher one stands alone; 0 by default. */
  readonly rank?: number
  readonly asleepSeconds?: number | undefined
  readonly inBedSeconds?: number | undefined
  readonly awakeSeconds?: number | undefined
  readonly lightSeconds?: number | undefined
  readonly deepSeconds?: number | undefined
  readonly remSeconds?: number | undefined
  readonly efficiencyPercent?: number | undefined
  readonly isNap?: boolean | undefined
  /** Ascending, without overlaps, within the night; epoch milliseconds. */
  readonly stages?: readonly (readonly [stage: SleepStageName, startMs: number, endMs: number])[] | undefined
}

/** A whole menstrual cycle. */
export interface CyclePart extends EventPart, Given<Omit<WholeCycle, keyof EventItem>> {}

/** A provider's score on its own scale (contract 14.1). */
export interface ScorePart {
  readonly category: ScoreCategory
  /** Unique among the scores of the provider and category. */
  readonly externalId: string
  readonly at: At
  readonly value?: number | undefined
  /** The provider's word for it. */
  readonly qualifier?: string | undefined
  readonly components?: Readonly<Record<string, number | string | boolean | undefined>>
  /** External id of the night, or of the workout, that it describes and goes with. */
  readonly night?: string
  readonly workout?: string
  readonly version?: number | undefined
}
