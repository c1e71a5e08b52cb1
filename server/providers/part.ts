import type { EventItem, SleepStageName, WholeCycle, Workout, WorkoutMeasures } from '../batch/columns.ts'
import type { DeviceType } from '../catalogue/devices.ts'
import type { ScoreCategory } from '../catalogue/score-categories.ts'
import type { SeriesName } from '../catalogue/series.ts'
import type { WorkoutType } from '../catalogue/workouts.ts'
import type { Totals } from '../store/sleep/totals.ts'

// The mapping half of the interface: what a folder receives of an answer, and where it puts the data.

/** Everything that JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A part of a parcel: one answer, with everything that a mapping may use, now and in a replay next year. */
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

/** Adds the data of a part to `out`. Never throws, whatever the provider sent. */
export type MapPart = (part: Part, out: Out) => void

/** What a mapping can fill, for the matrix of who sends what (contract 11); its golden files hold exactly this. */
export interface Brings {
  readonly series: readonly SeriesName[]
  /** Beside type, times and duration. */
  readonly workouts: readonly (
    | keyof WorkoutMeasures
    | 'movingSeconds'
    | 'title'
    | 'entrySource'
    | 'intensity'
    | 'hrZones'
  )[]
  /** Beside times; empty: no nights. */
  readonly nights: readonly (keyof Totals)[]
  /** What meals consist of; absent: no meals. */
  readonly meals?: readonly SeriesName[]
  readonly scores: readonly ScoreCategory[]
}

/** An instant, in epoch milliseconds, and minutes east of UTC; null = unknown. */
export interface At {
  readonly ms: number
  readonly zoneMin: number | null
  /** A date, as 00:00 UTC without a zone; it takes none from its neighbours, which would move it to another day. */
  readonly isDate?: true
  /** End of the time that an amount was counted in, in epoch milliseconds: `sample` spreads it over that time. */
  readonly endMs?: number | undefined
}

/**
 * A JSON object of a provider, to be read field by field; `path` leads to a nested field, and `in_zone` also finds
 * `in-zone`. An absent or null field is undefined. So is a field of the wrong type, which is rejected with its place and
 * the reason; the others are kept.
 */
export interface Item {
  /** A finite number of at most 15 digits. */
  number(...path: readonly string[]): number | undefined
  /** The same, also of a text that holds such a number. */
  numeric(...path: readonly string[]): number | undefined
  boolean(...path: readonly string[]): boolean | undefined
  /** Text of at most 65,536 characters; where it is stored, it is cleaned and cut. */
  text(...path: readonly string[]): string | undefined
  /** An identifier: text, or a whole number as text; beyond 100 characters it is hashed. */
  id(...path: readonly string[]): string | undefined
  /** A date-time, with the zone that it is written in, from 1970-01-02 to 24 hours after the answer. */
  instant(...path: readonly string[]): At | undefined
  /** A date, `YYYY-MM-DD`. */
  day(...path: readonly string[]): At | undefined
  /** Minutes east of UTC of a zone offset; null if it is absent or unreadable, which rejects nothing. */
  zoneMin(...path: readonly string[]): number | null
  object(...path: readonly string[]): Item | undefined
  /** A list or an object as JSON text, at most 65,536 characters, as the database can hold it. */
  document(...path: readonly string[]): string | undefined
  /** A list of numbers, each as `number`; null and rejected ones are undefined. */
  numbers(...path: readonly string[]): readonly (number | undefined)[] | undefined
  /** The same of a text with commas between the numbers; what is empty, or `null`, is undefined. */
  csv(...path: readonly string[]): readonly (number | undefined)[] | undefined
  /** The objects of a list; what is none is rejected. */
  objects(...path: readonly string[]): readonly Item[]
  /** The fields of an object that has numbers by names which are not known beforehand, each as `numeric`. */
  figures(...path: readonly string[]): readonly (readonly [name: string, value: number])[]
  /** The names of its fields, where they are not known beforehand. */
  names(): readonly string[]
  /** Rejects a required field that is missing, or one with an impossible value; only once per field. */
  reject(reason: Reason, ...path: readonly string[]): void
}

/** Why an item is rejected. */
export type Reason = 'missing' | 'end_before_start' | 'implausible_duration' | 'implausible_value' | 'enum'

/** Collects the data of a part; undefined values are not stored. */
export interface Out {
  /**
   * The objects of the list at `path` of the body; without a path, of the body that is a list. What was asked for by
   * itself (`args` with `one`: true) is one of them, without a list.
   */
  items(...path: readonly string[]): Iterable<Item>
  /** The same, of a list where the provider writes null for nothing. */
  entries(...path: readonly string[]): Iterable<Item>
  /** The body itself, if it is an object. */
  whole(): Iterable<Item>
  /**
   * The source of everything until the next call: device model and app as reads show them, '' for none; `kind`: the
   * provider's word for the kind of device, as phones send it (sdk-payload 9.2).
   */
  source(device: string, app: string, kind?: string): void
  /** One sample, in the unit of its series; `record`: the provider's id of the item with which it is deleted. */
  sample(series: SeriesName, at: At, value: number | undefined, record?: string): void
  /** The same, of a record that has one value of the series: another instant at which it came before is wrong now. */
  once(series: SeriesName, at: At, value: number | undefined, record: string): void
  /** The total of the day of `at`, stored at its local midnight; it moves when `record` comes with another zone. */
  total(series: SeriesName, at: At, value: number | undefined, record: string): void
  /** False if its times are impossible: then it is rejected, and its samples and scores should not be added. */
  workout(workout: WorkoutPart): boolean
  night(night: NightPart): boolean
  /** Without a value and a qualifier there is no score: one from an earlier answer is deleted. */
  score(score: ScorePart): void
  cycle(cycle: CyclePart): void
  /** What somebody ate or drank. */
  meal(meal: MealPart): void
  /** Something that a person did, which is no workout; its type is one of the provider's. */
  activity(activity: EventPart & { readonly type: string }): void
  /** A value of a profile, such as its weight, that holds at `at`, or when the provider answers: stored if it changed. */
  current(series: SeriesName, value: number | undefined, at?: At): void
  /**
   * The part is complete from `loMs` until before `hiMs`, at most a day: whatever else is stored there is deleted. Samples
   * and totals of the source go by their time; nights, workouts and scores by their start or time, whatever device they
   * name. No effect if anything of the part was rejected.
   */
  only(what: Listed, loMs: number, hiMs: number): void
  /**
   * The samples of a date by the person's clock, at 00:00 UTC, are placed by this zone, in minutes east of UTC: those that were
   * placed by another one before are deleted, but for samples of records. No effect if anything of the part was rejected.
   */
  placed(series: SeriesName, date: At, zoneMin: number): void
  /** The provider deleted the item with this id. */
  gone(externalId: string): void
  /** Counts an item of a known type that is not stored. */
  ignore(type: string): void
}

/** What a page can list completely. */
export type Listed =
  | {
      readonly series: SeriesName
      /** Of the sources of all devices, or of all of a type, not only of the one that was named. */
      readonly devices?: 'all' | DeviceType
    }
  | { readonly total: SeriesName }
  | { readonly score: ScoreCategory }
  | 'nights'
  | 'workouts'

/** The same fields, all optional. */
type Given<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined }

/** What identifies an event, and when it was. */
interface EventPart {
  readonly externalId: string
  readonly start: At
  readonly endMs: number
  /** The provider's time of the last change, epoch milliseconds, or another number that grows: an older one never overwrites. */
  readonly version?: number | undefined
}

/** A workout; omitted fields are unknown. */
export interface WorkoutPart
  extends EventPart,
    Given<
      WorkoutMeasures &
        Pick<Workout, 'title' | 'notes' | 'entrySource' | 'durationSeconds' | 'movingSeconds' | 'intensity'>
    > {
  readonly type: WorkoutType
  /** Time in each zone of heart rate, the lowest first; seconds. */
  readonly zoneSeconds?: readonly (number | undefined)[]
  /** Omitted fields stay as stored. */
  readonly partial?: true
}

/** A night or a nap as the provider gives it; omitted fields are unknown. */
export interface NightPart extends EventPart {
  /**
   * Of two that overlap by more than half, only the one with the higher rank counts; one with the same id is not replaced
   * by a lower one. 0 by default.
   */
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

/** A meal; what was eaten in the units of these series. The meal replaces what it was before. */
export interface MealPart extends EventPart {
  readonly title?: string | undefined
  readonly mealType?: string | undefined
  readonly nutrients: readonly (readonly [series: SeriesName, value: number | undefined])[]
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
  /** External id of the night, or of the workout, that it describes and is deleted with. */
  readonly night?: string
  readonly workout?: string
  /** When it was changed, or how final it is: a lower one never replaces a higher one. */
  readonly version?: number | undefined
}
