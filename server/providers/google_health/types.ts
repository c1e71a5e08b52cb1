import type { Listed } from '../part.ts'

// The data types of Google Health that are read, each a stream: how its points are found by time, what allows to read them
// (docs/providers.md), and of which of our series they are complete lists.

/** What Google asks people for, without the prefix. */
export const ACTIVITY = 'activity_and_fitness.readonly'
export const HEALTH = 'health_metrics_and_measurements.readonly'
export const NUTRITION = 'nutrition.readonly'
export const SLEEP = 'sleep.readonly'
export const SETTINGS = 'settings.readonly'

/**
 * How points are found: by the start of their interval, by their instant, by date, by the civil start of a session, by
 * its end.
 */
export type Shape = 'interval' | 'sample' | 'daily' | 'session' | 'sleep'

/** A data type. */
export interface DataType {
  readonly name: string
  readonly shape: Shape
  readonly scope: string
  /** Days of a window: of few points many, and less than the longest range of a roll-up. */
  readonly days: number
  /** Whether Google adds it up by hours and days. */
  readonly isRolled?: true
  /** Whether there is a data type of days that stands for it when only days are wanted. */
  readonly hasDaily?: true
  /** Whether people enter points, and may move them: then one that has a name is at its last time only. */
  readonly isMovable?: true
  /** What its points are, which go with them when Google says that they were deleted. */
  readonly listed: readonly Listed[]
}

const series = (...names: readonly Extract<Listed, { series: unknown }>['series'][]): readonly Listed[] =>
  names.map((one) => ({ series: one }))

// Roll-ups reach 14 days, of these two types, and 90 days of the others; days of every zone and whole windows need some more.
const SHORT = 10
const LONG = 80

/** In the order in which they are asked for. */
export const dataTypes: readonly DataType[] = [
  { name: 'exercise', shape: 'session', scope: ACTIVITY, days: LONG, listed: ['workouts'] },
  { name: 'sleep', shape: 'sleep', scope: SLEEP, days: LONG, listed: ['nights'] },
  { name: 'steps', shape: 'interval', scope: ACTIVITY, days: LONG, isRolled: true, listed: series('steps') },
  {
    ...{ name: 'distance', shape: 'interval', scope: ACTIVITY, days: LONG, isRolled: true },
    listed: series('distance_walking_running'),
  },
  {
    ...{ name: 'active-energy-burned', shape: 'interval', scope: ACTIVITY, days: LONG, isRolled: true },
    listed: series('energy'),
  },
  { name: 'basal-energy-burned', shape: 'interval', scope: ACTIVITY, days: LONG, listed: series('basal_energy') },
  { name: 'floors', shape: 'interval', scope: ACTIVITY, days: LONG, isRolled: true, listed: series('flights_climbed') },
  {
    ...{ name: 'active-minutes', shape: 'interval', scope: ACTIVITY, days: SHORT, isRolled: true },
    listed: series('active_time', 'exercise_time'),
  },
  { name: 'heart-rate', shape: 'sample', scope: HEALTH, days: SHORT, isRolled: true, listed: series('heart_rate') },
  { name: 'daily-resting-heart-rate', shape: 'daily', scope: HEALTH, days: LONG, listed: series('resting_heart_rate') },
  {
    ...{ name: 'heart-rate-variability', shape: 'sample', scope: HEALTH, days: LONG, hasDaily: true },
    listed: series('heart_rate_variability_rmssd', 'heart_rate_variability_sdnn'),
  },
  {
    ...{ name: 'daily-heart-rate-variability', shape: 'daily', scope: HEALTH, days: LONG },
    listed: series('heart_rate_variability_rmssd', 'heart_rate_variability_sdnn'),
  },
  {
    ...{ name: 'oxygen-saturation', shape: 'sample', scope: HEALTH, days: LONG, hasDaily: true },
    listed: series('oxygen_saturation'),
  },
  { name: 'daily-oxygen-saturation', shape: 'daily', scope: HEALTH, days: LONG, listed: series('oxygen_saturation') },
  { name: 'daily-respiratory-rate', shape: 'daily', scope: HEALTH, days: LONG, listed: series('respiratory_rate') },
  {
    ...{ name: 'daily-sleep-temperature-derivations', shape: 'daily', scope: HEALTH, days: LONG },
    listed: series('skin_temperature', 'skin_temperature_deviation'),
  },
  { name: 'vo2-max', shape: 'sample', scope: ACTIVITY, days: LONG, listed: series('vo2_max') },
  { name: 'run-vo2-max', shape: 'sample', scope: ACTIVITY, days: LONG, listed: series('vo2_max') },
  { name: 'daily-vo2-max', shape: 'daily', scope: ACTIVITY, days: LONG, listed: series('vo2_max') },
  { name: 'weight', shape: 'sample', scope: HEALTH, days: LONG, isMovable: true, listed: series('weight') },
  { name: 'height', shape: 'sample', scope: HEALTH, days: LONG, isMovable: true, listed: series('height') },
  {
    name: 'body-fat',
    shape: 'sample',
    scope: HEALTH,
    days: LONG,
    isMovable: true,
    listed: series('body_fat_percentage'),
  },
  {
    ...{ name: 'core-body-temperature', shape: 'sample', scope: HEALTH, days: LONG, isRolled: true, isMovable: true },
    listed: series('body_temperature'),
  },
  {
    name: 'blood-glucose',
    shape: 'sample',
    scope: HEALTH,
    days: LONG,
    isRolled: true,
    isMovable: true,
    listed: series('blood_glucose'),
  },
  { name: 'hydration-log', shape: 'session', scope: NUTRITION, days: LONG, listed: series('hydration') },
  { name: 'nutrition-log', shape: 'session', scope: NUTRITION, days: LONG, listed: [] },
]

/** Types of the same series: what one of them no longer has another one may have. */
const families: readonly (readonly string[])[] = [
  ['heart-rate-variability', 'daily-heart-rate-variability'],
  ['oxygen-saturation', 'daily-oxygen-saturation'],
  ['vo2-max', 'run-vo2-max', 'daily-vo2-max'],
]

/** The types of the series of a type, itself among them. */
export const familyOf = (name: string): readonly string[] => families.find((one) => one.includes(name)) ?? [name]

/** Whether pages of a type say of its series what there is not: amounts of intervals, and what Google adds up. */
export const listsAll = ({ shape, isRolled }: DataType): boolean => shape === 'interval' || isRolled === true

/** The data type of that name. */
export const typeNamed = (name: string): DataType | undefined => dataTypes.find((one) => one.name === name)

/** The field of a point that holds its value: `heart-rate` is in `heartRate`. */
export const fieldOf = (name: string): string => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
