import { Type } from 'typebox'
import { type EventRow, zoneOf } from '../../events/row.ts'
import { route } from '../../http/route.ts'
import { CursorPage, Instant, Nullable, SourceMetadata, UserPath, Uuid } from '../../http/schema.ts'
import { listEvents, listParameters } from './page.ts'

/** Columns that are returned unchanged. */
const details = {
  current_phase: Nullable(Type.Integer()),
  current_phase_type: Nullable(Type.String()),
  day_in_cycle: Nullable(Type.Integer()),
  cycle_length: Nullable(Type.Integer()),
  predicted_cycle_length: Nullable(Type.Integer()),
  is_predicted_cycle: Nullable(Type.Boolean()),
  period_length: Nullable(Type.Integer()),
  length_of_current_phase: Nullable(Type.Integer()),
  days_until_next_phase: Nullable(Type.Integer()),
  fertile_window_start: Nullable(Type.Integer()),
  length_of_fertile_window: Nullable(Type.Integer()),
  last_updated_at: Nullable(Instant()),
  has_specified_cycle_length: Nullable(Type.Boolean()),
  has_specified_period_length: Nullable(Type.Boolean()),
  pregnancy_snapshot: Nullable(Type.Array(Type.Record(Type.String(), Type.Unknown()))),
}

const MenstrualCycle = Type.Object(
  {
    id: Uuid(),
    start_time: Instant(),
    end_time: Instant(),
    zone_offset: Nullable(Type.String()),
    source: SourceMetadata,
    ...details,
  },
  { title: 'MenstrualCycle' },
)

const example = {
  data: [
    {
      id: 'd4e5a1b6-0b0f-4c62-8f0e-9b7c51d2a3e8',
      start_time: '2026-02-10T00:00:00Z',
      end_time: '2026-03-10T00:00:00Z',
      zone_offset: null,
      source: { provider: 'garmin', source: 'garmin_connect_api', device: null, device_type: null, device_name: null },
      current_phase: 2,
      current_phase_type: 'FOLLICULAR',
      day_in_cycle: 9,
      cycle_length: 28,
      predicted_cycle_length: 28,
      is_predicted_cycle: false,
      period_length: 5,
      length_of_current_phase: 8,
      days_until_next_phase: 4,
      fertile_window_start: 11,
      length_of_fertile_window: 6,
      last_updated_at: '2026-02-18T07:00:00Z',
      has_specified_cycle_length: true,
      has_specified_period_length: true,
      pregnancy_snapshot: null,
    },
  ],
  pagination: { next_cursor: null, previous_cursor: null, has_more: false, total_count: 1 },
  metadata: { resolution: null, sample_count: 1, start_time: '2026-02-01T00:00:00Z', end_time: '2026-03-01T00:00:00Z' },
}

type CycleRow = EventRow & Record<keyof typeof details, unknown>

const names = Object.keys(details) as (keyof typeof details)[]
const listing = { name: 'menstrual-cycles', table: 'menstrual_cycle', columns: names.map((name) => `e.${name}`).join() }

/** Menstrual cycles of a user, the latest first (contract 5.5). */
export const listMenstrualCycles = route(
  {
    method: 'GET',
    path: '/api/v1/users/{user_id}/events/menstrual-cycles',
    operationId: 'listMenstrualCycles',
    summary: 'Menstrual cycles of a user',
    description: "Those that start within the range, the latest first. The ETag changes when the user's data does.",
    tag: 'Events',
    guard: 'key',
    csv: { name: 'menstrual_cycles', list: 'data' },
    fromReplicas: true,
    params: UserPath,
    query: Type.Object(listParameters),
    revalidated: true,
    response: CursorPage(MenstrualCycle),
    example,
    errors: { 400: 'Bad date or cursor' },
  },
  async (input, deps) =>
    listEvents<CycleRow>(listing, input, deps, (rows, sourceOf) =>
      rows.map((row) => ({
        id: row.id,
        start_time: row.start_at,
        end_time: row.end_at,
        zone_offset: zoneOf(row),
        source: sourceOf(row),
        ...Object.fromEntries(names.map((name) => [name, row[name]])),
      })),
    ),
)
