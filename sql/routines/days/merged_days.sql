-- Local days of several sources together (merge=segments; what comes of them is decided in
-- server/api/summaries/activity-days.ts): in each quarter hour a series counts for the source with the smallest rank that
-- has samples in it. By quarter hour and not by minute, since a sum that a phone sends is stored at the start of the
-- minutes it is of, and the rollups of archived samples know no less. The best source of a series counts with all it has:
-- quarter hours are looked at only of others, on days on which or beside which a better one has anything.

drop function if exists rival_quarters(int4[], int2[], int4[], int4, int4);
drop function if exists merged_parts(int4[], int2[], int4[], int8[], int4, int4);
drop function if exists minutes_reached(int2, int4[], int4[], int4[]);
drop function if exists merged_minutes_reached(int4[], int2, int4[], int4[]);

-- The quarter hours of a series that count on local days of [first_day, end_day): none of the sources `better` has samples
-- in them. Half days that these fill are not looked at.
create or replace function counted_quarters(the_source int4, the_series int2, better int4[], first_day int4, end_day int4)
returns table (day int4, bucket timestamptz, n int8, total float8, lowest float8, highest float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  starts timestamptz := day_starts(first_day);
  ends timestamptz := day_ends(end_day - 1);
  free tstzmultirange;
begin
  with taken as materialized (
    select b.half, bit_or(b.bits) as bits
    from unnest(better) k (source_id)
    cross join lateral quarter_bits_within(k.source_id, the_series, tstzmultirange(tstzrange(starts, ends))) b
    group by 1
  ),
  open as materialized (
    select range_agg(tstzrange(h, h + interval '12 hours')) * tstzmultirange(tstzrange(starts, ends)) as ranges
    from generate_series(time_bucket('12 hours', starts), ends - interval '1 microsecond', interval '12 hours') h
    where h not in (select t.half from taken t where t.bits = (1::int8 << 48) - 1)
    having count(*) > 0
  ),
  own as (
    select b.half, bit_or(b.bits) as bits
    from open o
    cross join lateral quarter_bits_within(the_source, the_series, o.ranges) b
    group by 1
  )
  select range_agg(tstzrange(q.bucket, q.bucket + interval '15 minutes'))
  into free
  from own o
  left join taken t on t.half = o.half
  cross join generate_series(0, 47) number
  cross join lateral (select o.half + number * interval '15 minutes' as bucket) q
  where (o.bits & ~coalesce(t.bits, 0)) >> number & 1 = 1;
  if free is null then
    return;
  end if;
  return query
    select d.day, q.bucket, q.n, q.total, q.lowest, q.highest
    from quarter_hours_within(the_source, the_series, free) q
    cross join lateral (select local_day(q.bucket, q.last_zone) as day) d
    where d.day >= first_day and d.day < end_day;
end
$$;

-- What each series of a source adds up to on each local day of [low, high), once what counts and once what does not, of
-- which `lowest` and `highest` are those of the day. `place` is the place of the series in the arrays, from 1. Daily totals
-- count in any case.
create or replace function merged_parts(source_ids int4[], series_ids int2[], ranks int4[], low int4, high int4)
returns table (day int4, place int8, counted boolean, n int8, total float8, lowest float8, highest float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    with around as materialized (
      -- Two devices may disagree by two days about the day of a quarter hour.
      select k.place, k.source_id, k.series_id, k.rank, d.*,
             k.series_id < 10000 and k.rank > min(k.rank) over (
               partition by k.series_id order by d.day range between 2 preceding and 2 following
             ) as met
      from unnest(source_ids, series_ids, ranks) with ordinality k (source_id, series_id, rank, place)
      cross join lateral local_days(k.source_id, k.series_id, low - 2, high + 2, false) d
    ),
    whole as materialized (
      select * from around a where a.day >= low and a.day < high
    ),
    part as materialized (
      select m.place, q.day, sum(q.n)::int8 as n, sum(q.total) as total, min(q.lowest) as lowest, max(q.highest) as highest
      from (
        select w.place, w.source_id, w.series_id, min(w.day) as first_day, max(w.day) + 1 as end_day,
               array(
                 select b.source_id
                 from unnest(source_ids, series_ids, ranks) b (source_id, series_id, rank)
                 where b.series_id = w.series_id and b.rank < w.rank
               ) as better
        from whole w
        where w.met
        group by w.place, w.source_id, w.series_id, w.rank
      ) m
      cross join lateral counted_quarters(m.source_id, m.series_id, m.better, m.first_day, m.end_day) q
      group by 1, 2
    )
    select w.day, w.place, true, w.n, w.total, w.lowest, w.highest
    from whole w
    where not w.met
    union all
    select w.day, w.place, true, p.n, p.total, p.lowest, p.highest
    from whole w
    join part p on p.place = w.place and p.day = w.day
    where w.met
    union all
    select w.day, w.place, false, w.n - coalesce(p.n, 0), w.total - coalesce(p.total, 0), w.lowest, w.highest
    from whole w
    left join part p on p.place = w.place and p.day = w.day
    where w.met and w.n > coalesce(p.n, 0);
end
$$;

-- On how many minutes of local days the samples of a series reached each of `places` (see minute_place), by source.
-- `days` and `day_sources` say which source counts on which day; `in_part` that it does so only in the quarter hours in
-- which none of those has samples that come before it in `rivals`. Null when it is not known, since samples are archived.
create or replace function minutes_reached(
  the_series int2, days int4[], day_sources int4[], in_part boolean[], rivals int4[], places int4[]
) returns table (day int4, reached int8[])
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    with asked as materialized (
      select a.source_id, a.in_part, range_agg(int4range(a.day, a.day + 1)) as days,
             rivals[:array_position(rivals, a.source_id) - 1] as better
      from unnest(days, day_sources, in_part) a (day, source_id, in_part)
      group by 1, 2
    ),
    part as materialized (
      select g.*, is_live(g.source_id, the_series, g.spans) as live
      from (
        select a.source_id, q.day, range_agg(tstzrange(q.bucket, q.bucket + interval '15 minutes')) as spans
        from asked a
        cross join lateral counted_quarters(a.source_id, the_series, a.better, lower(a.days), upper(a.days)) q
        where a.in_part and q.day <@ a.days
        group by 1, 2
      ) g
    ),
    counted as (
      select d.day, d.minutes
      from asked a
      cross join lateral local_days(a.source_id, the_series, lower(a.days), upper(a.days), true) d
      where not a.in_part and d.day <@ a.days
      union all
      select p.day, case when p.live then coalesce(m.minutes, '{}') end
      from part p
      left join (
        select k.source_id, m.*
        from (
          select p.source_id, array_agg(p.day) as days, array_agg(p.spans) as spans
          from part p
          where p.live
          group by 1
        ) k
        cross join lateral minutes_by_place(k.source_id, the_series, k.days, k.spans) m
      ) m on m.source_id = p.source_id and m.day = p.day
    )
    select c.day, case when c.minutes is not null then array(select coalesce(c.minutes[p], 0)::int8 from unnest(places) p) end
    from counted c;
end
$$;
