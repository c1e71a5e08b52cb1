import { Type } from 'typebox'
import { eventFilters } from './selection.ts'

/** The parameters that say which sleep sessions are meant (contract 5.4). */
export const sleepFilters = {
  ...eventFilters,
  is_nap: Type.Optional(Type.Boolean({ description: 'Naps only, or all but naps; none = both' })),
  filter_by_priority: Type.Boolean({
    default: false,
    description: 'Per local date of waking up the sessions of the best source only',
  }),
}

/**
 * The conditions of `sleepFilters` on `e`; their parameters begin at `first`. A session goes where a better source, one
 * further ahead in $4, has any that ended on the same local date (contract 12.1, 12.2), nap or not, within the range or
 * not: such ends lie less than 24 h apart on the wall clock, and zones 36 h. A subquery with a limit is asked for each
 * session by index; as a join the planner would compare all sessions with all.
 */
export const whereSleep = (first: number): string => `
  and ($${first}::bool is null or coalesce(e.is_nap, false) = $${first})
  and (not $${first + 1}::bool or (
    select true
    from sleep better
    where better.source_id = any (($4::int4[])[:array_position($4::int4[], e.source_id) - 1])
      and better.end_at > e.end_at - interval '60 hours'
      and better.end_at < e.end_at + interval '60 hours'
      and local_day(better.end_at, better.zone_offset_min) = local_day(e.end_at, e.zone_offset_min)
    limit 1
  ) is null)`

/** The parameters of `whereSleep`. */
export const sleepParams = (query: { is_nap?: boolean; filter_by_priority: boolean }) => [
  query.is_nap ?? null,
  query.filter_by_priority,
]
