import { seriesTypes } from './series.ts'

/** A kind of event that is pushed to developers. */
export interface EventType {
  readonly name: string
  readonly description: string
}

// In the order of contract 10.1. A new kind of event is one row here; those of samples are named by `seriesTypes`.
const rows = [
  ['connection.created', 'A user connected a provider, again or for the first time'],
  ['connection.revoked', 'A connection was ended or became invalid'],
  ['workout.created', 'A new workout was saved'],
  ['sleep.created', 'A sleep session is complete, or changed after that'],
  ['meal.created', 'A new meal was saved'],
  ['menstrual_cycle.created', 'A new menstrual cycle was saved'],
  ['activity.created', 'A new activity other than a workout was saved'],
  ['heart_rate.created', 'Samples of heart rate were saved'],
  ['heart_rate_variability.created', 'Samples of heart rate variability were saved'],
  ['steps.created', 'Samples of steps were saved'],
  ['calories.created', 'Samples of energy were saved'],
  ['spo2.created', 'Samples of blood oxygen were saved'],
  ['respiratory_rate.created', 'Samples of breathing were saved'],
  ['body_temperature.created', 'Samples of body or skin temperature were saved'],
  ['stress.created', 'Samples of stress were saved'],
  ['blood_glucose.created', 'Samples of blood glucose, alcohol or insulin were saved'],
  ['blood_pressure.created', 'Samples of blood pressure were saved'],
  ['body_composition.created', 'Samples of body measures were saved'],
  ['fitness_metrics.created', 'Samples of fitness were saved'],
  ['recovery_score.created', 'Samples of recovery were saved'],
  ['activity_timeseries.created', 'Samples of everyday activity were saved'],
  ['workout_metrics.created', 'Samples of movement were saved'],
  ['environmental.created', 'Samples of the surroundings were saved'],
  ['timeseries.created', 'Samples of any other type were saved'],
] as const

/** Name of a kind of event (contract 10.1). */
export type EventName = (typeof rows)[number][0]

/** Every kind of event, in the order of contract 10.1. */
export const eventTypes: readonly EventType[] = rows.map(([name, description]) => ({ name, description }))

/** Names of all kinds of events. */
export const eventNames: readonly EventName[] = rows.map(([name]) => name)

/** Wire names of the series types that an event of samples reports (contract 10.2); none for other events. */
export const seriesOfEvent = (name: string): readonly string[] =>
  seriesTypes.filter(({ event }) => event === name).map(({ type }) => type)
