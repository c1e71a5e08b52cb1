import { coverageOf } from '../charts/coverage.ts'
import { answered, api } from './client.ts'

/** What arrived of some local days, at most 366, and what of it is stored. */
export async function readCoverage(id: string, [first, last]: readonly [string, string], signal: AbortSignal) {
  const query = { start_date: first, end_date: last, days: 'local' as const }
  const params = { path: { user_id: id }, query }
  return coverageOf(await answered(api.GET('/api/v1/users/{user_id}/coverage', { params, signal })), last)
}
