import { Type } from 'typebox'
import { eventFilters } from './selection.ts'

/** The parameters that select sleep sessions (contract 5.4). */
export const sleepFilters = {
  ...eventFilters,
  is_nap: Type.Optional(Type.Boolean({ description: 'Only naps, or everything except naps; both by default' })),
  filter_by_priority: Type.Boolean({
    default: false,
    description:
      'Only the sessions that count in the sleep summary: for each local date of waking up, those of the best source',
  }),
}

interface SleepFilters {
  is_nap?: boolean
  filter_by_priority: boolean
}

/**
 * The condition of `sleepFilters` on `e`; its parameter is the one at `place`. With `filter_by_priority`, only sessions
 * stay that count on the local date on which they ended, among the sources the query selects (contract 12.4). Other
 * sessions of that date may lie outside the range; no session lasts a month.
 */
export const whereSleep = (place: number, { filter_by_priority }: SleepFilters): string => `
  and ($${place}::bool is null or coalesce(e.is_nap, false) = $${place})
  ${filter_by_priority ? COUNTING : ''}`

const COUNTING = `
  and e.id in (
    select n.id
    from night_sessions($4, local_day($2::timestamptz, null) - 1, local_day($3::timestamptz, null) + 32) n
  )`

/** The parameter of `whereSleep`. */
export const sleepParams = ({ is_nap }: SleepFilters) => [is_nap ?? null]
