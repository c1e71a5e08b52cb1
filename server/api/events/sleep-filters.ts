import { Type } from 'typebox'
import { eventFilters } from './selection.ts'

/** The parameters that select sleep sessions (contract 5.4). */
export const sleepFilters = {
  ...eventFilters,
  is_nap: Type.Optional(Type.Boolean({ description: 'Only naps, or everything except naps; both by default' })),
  filter_by_priority: Type.Boolean({
    default: false,
    description: 'For each local date of waking up, only the sessions of the best source',
  }),
}

interface SleepFilters {
  is_nap?: boolean
  filter_by_priority: boolean
}

/**
 * The condition of `sleepFilters` on `e`; its parameter is the one at `place`. By priority, only those stay whose
 * source is the best of all that have a session, nap or not, which ended on the same local date (contract 12.1, 12.2).
 * Such a session may lie outside the range: ends of one date are 60 hours apart at most, and no session lasts a month.
 */
export const whereSleep = (place: number, { filter_by_priority }: SleepFilters): string => `
  and ($${place}::bool is null or coalesce(e.is_nap, false) = $${place})
  ${filter_by_priority ? BEST_OF_DATE : ''}`

const BEST_OF_DATE = `
  and (local_day(e.end_at, e.zone_offset_min), array_position($4, e.source_id)) in (
    select local_day(o.end_at, o.zone_offset_min), min(array_position($4, o.source_id))
    from sleep o
    where o.user_id = $1 and o.start_at >= $2::timestamptz - interval '30 days'
      and o.start_at < $3::timestamptz + interval '30 days'
    group by 1
  )`

/** The parameter of `whereSleep`. */
export const sleepParams = ({ is_nap }: SleepFilters) => [is_nap ?? null]
