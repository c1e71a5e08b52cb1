-- The series whose means a night shows (server/api/summaries/sleep-days.ts): heart rate, its variability (SDNN and RMSSD),
-- oxygen saturation and respiratory rate, each with what was entered by hand. Ids of series never change.
create or replace function measured_asleep(the_series int2) returns boolean
language sql immutable parallel safe
return the_series in (1, 3, 7, 20, 24, 5001, 5003, 5007, 5020, 5024);

-- The spans that reach into `ranges` and show a mean of a series of a user: every session of sleep, those of the same source
-- with and without their last instant, and for heart rate the workouts of the same source, including their last instant. No
-- session lasts a month.
create or replace function shown_spans(the_user uuid, the_source int4, the_series int2, ranges tstzmultirange)
returns table (starts timestamptz, ends timestamptz)
language plpgsql stable
set plan_cache_mode = force_custom_plan
as $$
begin
  return query
    select s.start_at, s.end_at
    from sleep s
    where s.user_id = the_user and s.start_at >= lower(ranges) - interval '30 days' and s.start_at < upper(ranges)
      and tstzrange(s.start_at, s.end_at) && ranges
    union
    select s.start_at, s.end_at + interval '1 microsecond'
    from sleep s
    where s.user_id = the_user and s.source_id = the_source
      and s.start_at >= lower(ranges) - interval '30 days' and s.start_at < upper(ranges)
      and tstzrange(s.start_at, s.end_at, '[]') && ranges
    union
    select w.start_at, w.end_at + interval '1 microsecond'
    from workout w
    where the_series = 1 and w.user_id = the_user and w.source_id = the_source
      and w.start_at >= lower(ranges) - interval '30 days' and w.start_at < upper(ranges)
      and tstzrange(w.start_at, w.end_at, '[]') && ranges;
end
$$;

-- Stores the sums within each night and workout of the samples of a series in `ranges`, which are about to be archived:
-- quarter hours reach beyond the start and end of a span, so their sums would not be exact. If a part of a span is already
-- archived and has no sum, its quarter hours count, as before. A span without data in its quarter hours needs no row. Call
-- this before the series is marked as archived.
create or replace function keep_sums(the_user uuid, the_source int4, the_series int2, ranges tstzmultirange) returns void
language plpgsql
set plan_cache_mode = force_custom_plan
as $$
declare
  archived tstzmultirange;
begin
  if isempty(ranges) or not measured_asleep(the_series) then
    return;
  end if;
  archived := archived_time(the_source, the_series);
  insert into kept_sum as k (source_id, series_id, starts, ends, n, total)
  with span as materialized (
    select row_number() over () as place, t.*,
           time_bucket('15 minutes', t.starts) as first,
           time_bucket('15 minutes', t.ends - interval '1 microsecond') + interval '15 minutes' as last
    from shown_spans(the_user, the_source, the_series, ranges) t
  ), part as materialized (
    select row_number() over () as place, t.place as span_place, lower(r) as lo, upper(r) as hi
    from span t
    cross join lateral unnest(ranges * tstzmultirange(tstzrange(t.starts, t.ends))) r
  ), measured as materialized (
    select p.span_place, sum(v.n)::int8 as n, sum(v.total) as total
    from (select array_agg(lo order by place) as los, array_agg(hi order by place) as his from part) a
    cross join lateral sums_in_spans(the_source, the_series, a.los, a.his) v
    join part p on p.place = v.place
    group by 1
  ), around as materialized (
    select v.place
    from (select array_agg(first order by place) as los, array_agg(last order by place) as his from span) a
    cross join lateral sums_in_spans(the_source, the_series, a.los, a.his) v
    where v.n > 0
  )
  select the_source, the_series, t.starts, t.ends, m.n + coalesce(b.n, 0), m.total + coalesce(b.total, 0)
  from span t
  join around q on q.place = t.place
  join measured m on m.span_place = t.place
  cross join lateral (
    select sum(s.n)::int8 as n, sum(s.total) as total
    from unnest(archived * tstzmultirange(tstzrange(t.starts, t.ends))) r
    cross join lateral span_sums(the_source, the_series, lower(r), upper(r)) s
    where not exists (
      select from kept_sum o
      where o.source_id = the_source and o.series_id = the_series and o.starts = t.starts and o.ends = t.ends
    )
  ) b
  on conflict (source_id, series_id, starts, ends) do update set n = k.n + excluded.n, total = k.total + excluded.total;
end
$$;
