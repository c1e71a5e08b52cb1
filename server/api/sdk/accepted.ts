import { type Static, Type } from 'typebox'
import { Uuid } from '../../http/schema.ts'

/** UploadDataResponse of contract 9.1; its counters are those of a batch that is not imported yet. */
export const Accepted = Type.Object({
  status_code: Type.Integer(),
  response: Type.String(),
  user_id: Uuid(),
  dropped_count: Type.Integer(),
  records_saved: Type.Integer(),
  records_inserted: Type.Integer(),
  records_updated: Type.Integer(),
  types: Type.Array(Type.String()),
  workouts_saved: Type.Integer(),
  meals_saved: Type.Integer(),
  sleep_saved: Type.Integer(),
})

/** The 202 with this text for people. */
export const accepted = (response: string, userId: string, droppedCount = 0): Static<typeof Accepted> => ({
  status_code: 202,
  response,
  user_id: userId,
  dropped_count: droppedCount,
  records_saved: 0,
  records_inserted: 0,
  records_updated: 0,
  types: [],
  workouts_saved: 0,
  meals_saved: 0,
  sleep_saved: 0,
})
