import { type TSchema, Type } from 'typebox'
import { type EventName, eventTypes, seriesOfEvent } from '../catalogue/events.ts'
import { Macros, Nutrients } from '../events/meal.ts'
import { SleepStageInterval, SleepStages } from '../events/sleep.ts'
import { type Components, pascalCase } from '../http/components.ts'
import { Enum, Instant, Nullable, SyncScope, Uuid } from '../http/schema.ts'
import { exampleData } from './examples.ts'

const EventSource = Type.Object(
  { provider: Type.String(), device: Nullable(Type.String({ description: 'Model of the device' })) },
  { title: 'EventSource' },
)

/** The fields of every session (contract 10.3). */
const session = {
  id: Uuid({ description: 'The same as in the lists' }),
  user_id: Uuid(),
  start_time: Instant(),
  end_time: Instant(),
  zone_offset: Nullable(Type.String()),
}

const SleepEvent = Type.Object({
  ...session,
  source: Type.Object(
    { ...EventSource.properties, source: Nullable(Type.String({ description: 'Writer app' })) },
    { title: 'SleepEventSource' },
  ),
  duration_seconds: Type.Integer({ description: 'From start to end' }),
  sleep_duration_seconds: Nullable(Type.Integer()),
  efficiency_percent: Nullable(Type.Number()),
  stages: Nullable(SleepStages),
  sleep_stage_intervals: Nullable(Type.Array(SleepStageInterval)),
  is_nap: Type.Boolean(),
})

const MealEvent = Type.Object({
  ...session,
  timestamp: Instant({ description: 'The same as start_time' }),
  source: EventSource,
  title: Nullable(Type.String()),
  meal_type: Nullable(Type.String()),
  calories_kcal: Nullable(Type.Number()),
  macros: Nullable(Macros),
  water_ml: Nullable(Type.Number()),
  nutrients: Nutrients,
})

const MenstrualCycleEvent = Type.Object({
  ...session,
  source: EventSource,
  current_phase_type: Nullable(Type.String()),
  day_in_cycle: Nullable(Type.Integer()),
  cycle_length: Nullable(Type.Integer()),
  is_predicted_cycle: Nullable(Type.Boolean()),
  pregnancy_snapshot: Nullable(Type.Array(Type.Record(Type.String(), Type.Unknown()))),
})

const WorkoutEvent = Type.Object({
  ...session,
  source: EventSource,
  type: Type.String(),
  duration_seconds: Nullable(Type.Integer()),
  calories_kcal: Nullable(Type.Number()),
  distance_meters: Nullable(Type.Number()),
  avg_heart_rate_bpm: Nullable(Type.Integer()),
  max_heart_rate_bpm: Nullable(Type.Integer()),
  avg_pace_sec_per_km: Nullable(Type.Number()),
  elevation_gain_meters: Nullable(Type.Number()),
})

const connection = { user_id: Uuid(), provider: Type.String(), connection_id: Uuid() }

/** The `data` of all events except those of samples (contract 10.3). */
const sessions: Partial<Record<EventName, TSchema>> = {
  'connection.created': Type.Object({ ...connection, connected_at: Instant() }),
  'connection.revoked': Type.Object({
    ...connection,
    reason: Enum(['refresh_failed', 'deregistration', 'user_disconnected']),
    revoked_at: Instant(),
  }),
  'workout.created': WorkoutEvent,
  'sleep.created': SleepEvent,
  'meal.created': MealEvent,
  'menstrual_cycle.created': MenstrualCycleEvent,
  'activity.created': Type.Object({
    ...session,
    source: EventSource,
    type: Type.String(),
    duration_seconds: Type.Integer(),
  }),
}

/** The `data` of an event of samples: those of one series type of one upload, or a part of them (contract 10.3). */
const SampleBatch = Type.Object(
  {
    user_id: Uuid(),
    provider: Type.String(),
    series_type: Type.String(),
    sample_count: Type.Integer({ description: 'Of all parts' }),
    start_time: Instant({ description: 'Of the first sample here' }),
    end_time: Instant({ description: 'Of the last sample here' }),
    samples: Type.Array(
      Type.Object(
        {
          timestamp: Instant(),
          zone_offset: Nullable(Type.String()),
          type: Type.String(),
          value: Type.Number(),
          unit: Type.String(),
          source: EventSource,
          is_daily_total: Nullable(Type.Boolean()),
        },
        { title: 'EventSample' },
      ),
      { description: 'Ascending by time, 2,500 at most' },
    ),
    chunk_index: Type.Optional(
      Type.Integer({ description: 'Which part this is, from 0; absent when it is the only one' }),
    ),
    total_chunks: Type.Optional(Type.Integer()),
  },
  { title: 'SampleBatch' },
)

/** The body of every delivery of an event: `{"type": …, "scope": …, "data": {…}}`. */
const bodyOf = (name: EventName) =>
  Type.Object(
    { type: Enum([name]), scope: Type.Optional(SyncScope()), data: sessions[name] ?? SampleBatch },
    { title: `${pascalCase(name)}Event` },
  )

/** Not those of the routes: generators make one class of each. */
export const EVENTS_TAG = 'Events sent'

const signed = (name: string, description: string, format: object = {}) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string', ...format },
})

const HEADERS = [
  signed('hook-id', 'Id of the message, the same at every attempt'),
  signed('hook-timestamp', 'Unix seconds of the attempt', { pattern: '^[0-9]+$' }),
  signed(
    'hook-signature',
    '`v1,` and the base64 HMAC-SHA256 of `<id>.<timestamp>.<body>`; several are separated by spaces',
  ),
]

/** The `webhooks` of the API description: what is sent to endpoints, for each kind of event. */
export function describedEvents({ refer }: Components): Record<string, object> {
  return Object.fromEntries(
    eventTypes.map(({ name, description }) => {
      const types = seriesOfEvent(name)
      const schema = refer(bodyOf(name as EventName), name)
      const example = { type: name, scope: 'live', data: JSON.parse(exampleData(name as EventName)) }
      const operation = {
        operationId: `on${pascalCase(name)}`,
        summary: description,
        ...(types.length > 0 && { description: `Series types: ${types.join(', ')}.` }),
        tags: [EVENTS_TAG],
        parameters: HEADERS,
        requestBody: { required: true, content: { 'application/json': { schema, example } } },
        responses: {
          '2XX': { description: 'Received. Anything else, a redirect included, is tried again later' },
          410: { description: 'No longer wanted: disables the endpoint' },
        },
      }
      return [name, { post: operation }]
    }),
  )
}
