import { type DateOnlyEnd, parseDateInput } from '../../http/dates.ts'

/** All of history: no sample is older than 1970-01-02 or lies more than a day ahead (sdk-payload 4.5). */
const ALWAYS_START_MS = Date.UTC(1970, 0, 1)
const ALWAYS_END_MS = Date.UTC(2200, 0, 1)

/**
 * The half-open window of two optional date inputs, in Unix seconds; neither = the whole history (contract 1.3).
 * @throws AppError bad_datetime
 */
export function optionalWindow(
  query: { start_date?: string; end_date?: string },
  dateOnlyEnd: DateOnlyEnd,
): { start: number; end: number } {
  const startMs = query.start_date === undefined ? ALWAYS_START_MS : parseDateInput(query.start_date)
  const endMs = query.end_date === undefined ? ALWAYS_END_MS : parseDateInput(query.end_date, dateOnlyEnd)
  return { start: Math.max(startMs, ALWAYS_START_MS) / 1000, end: Math.min(endMs, ALWAYS_END_MS) / 1000 }
}
