import type { CycleObservationKind } from '../batch/columns.ts'
import { convertUnit, withoutNoise } from '../batch/units.ts'
import { type SeriesName, type SeriesType, seriesByName } from '../catalogue/series.ts'
import type { WorkoutType } from '../catalogue/workouts.ts'

/** How one wire type becomes samples of one series. */
export interface RecordRule {
  readonly series: SeriesType
  /** The value is the total of its local day: stored in the daily-total twin, stamped local midnight. */
  readonly dailyTotal: boolean
  /**
   * The value in the series unit; without a unit it is in the platform's documented wire unit. Undefined when the unit is
   * unknown or of another dimension (sdk-types 1.1).
   */
  convert(value: number, unit: string | null): number | undefined
}

/** How one wire type becomes observations of a menstrual cycle (sdk-types 3 and 9). */
export interface CycleRule {
  readonly observation: CycleObservationKind
  /** The meaning of the platform's values, in our words; null = observed, without details. */
  readonly levels: ReadonlyMap<number, string | null>
  /** Values not in `levels` make a bad record; otherwise they mean null. */
  readonly onlyLevels: boolean
  /** The metadata key that says whether this is the first day of a cycle. */
  readonly startKey: string | null
}

/** How one wire type becomes a session other than workouts and sleep. */
export interface ActivityRule {
  /** Type of the session, as stored. */
  readonly activity: string
}

/** A rule, or `meal`: a meal without its nutrients, or `ignored`: unknown, or known and not stored. */
export type RecordKind = RecordRule | CycleRule | ActivityRule | 'meal' | 'ignored'

/** The exports of the folder of a provider that a mobile SDK uploads for. */
export interface SdkAbility {
  /** Every wire type of a record that is stored, with its rule (sdk-types 2 to 6). */
  readonly records: ReadonlyMap<string, RecordKind>
  /** The rule for a record with this case-sensitive wire type; unknown types are `ignored` (sdk-types 1 step 1). */
  recordKind(type: string): RecordKind
  /** Our type of a workout by its wire type; `other` when it has none or an unknown one (sdk-types 8.5). */
  workoutType(wire: string | null): WorkoutType
  /** Lower-case types of segments in which nobody moves; absent where durations leave pauses out (sdk-types 8.3). */
  readonly idleSegments?: ReadonlySet<string>
  /** Whether the platform itself says which stages of sleep make up a session (sdk-types 7.4). */
  readonly givesSleepSessions: boolean
  /** Names of sleep and workouts, which are not records, in the logs of phones (sdk-types 3, 4; sdk-payload 11). */
  readonly loggedEvents: ReadonlyMap<string, 'sleep' | 'workout'>
}

/**
 * Rule for a wire type whose documented unit is `wireUnit`, by the generic conversions of sdk-types 1.1. `factor` is
 * for types whose unit text says nothing about the stored unit (sdk-types 1.1 exceptions): it takes a value in wireUnit
 * to the series unit.
 */
export function recordRule(name: SeriesName, wireUnit: string, factor?: number): RecordRule {
  const series = seriesByName.get(name)!
  const fromWire = (value: number) =>
    factor === undefined ? (convertUnit(value, wireUnit, series.unit) ?? value) : withoutNoise(value * factor)
  return {
    series,
    dailyTotal: false,
    convert(value, unit) {
      if (unit === null || unit === wireUnit || unit.trim() === '') return fromWire(value)
      // The iOS SDK writes `count` where it knows no unit, so beside a factor it means nothing (sdk-types 2, notes).
      if (unit === 'count' && factor !== undefined) return fromWire(value)
      return convertUnit(value, unit, series.unit)
    },
  }
}

/**
 * Whether samples of a series belong to a meal when their record names a parent: dietary_* and hydration (sdk-types 6).
 */
export function isNutrient(series: SeriesType): boolean {
  return series.type.startsWith('dietary_') || series.type === 'hydration'
}
