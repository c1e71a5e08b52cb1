-- Minutes of archived days by quarter hour. If several sources are merged, the minutes of one may count only in some quarter
-- hours of a day, depending on all other sources. So if there are other sources, minutes are stored before samples are
-- removed.

-- The quarter hour of a mark of a day.
create or replace function mark_bucket(day int4, mark int4) returns timestamptz
language sql immutable parallel safe
return to_timestamp((day::int8 * 96 - 96 + mark / 256) * 900);

-- The marks of a series on local days of [first_day, end_day), as in rollup_local_day: computed from samples, and for
-- archived time the stored ones. No row for a day without any.
create or replace function computed_marks(the_source int4, the_series int2, first_day int4, end_day int4)
returns table (day int4, marks int4[])
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := day_starts(first_day);
  high timestamptz := day_ends(end_day - 1);
  gone tstzmultirange := case when low < raw_floor() then archived_time(the_source, the_series) else '{}' end;
begin
  return query
    with dated as materialized (
      select q.bucket, local_day(q.bucket, q.last_zone) as day
      from quarter_hours(the_source, the_series, low, high) q
      where not gone @> q.bucket
    ),
    record as materialized (
      select d.day, date_part('epoch', s.ts) as starts, s.value, case when the_series % 5000 = 80 then s.lasts_s end as lasts_s
      from (
        select p.ts, p.value, p.lasts_s
        from unnest(live_time(the_source, the_series, low, high)) r
        cross join lateral (
          select s.ts, s.value, s.lasts_s
          from sample s
          where s.source_id = the_source and s.series_id = the_series and s.ts >= lower(r) and s.ts < upper(r)
            and s.ts >= low and s.ts < high
          -- "offset 0" keeps it a probe for each range.
          offset 0
        ) p
      ) s
      join dated d on d.bucket = time_bucket('15 minutes', s.ts)
    ),
    piece as (
      select r.day, floor(r.starts / 60)::int8 as minute, r.value as amount
      from record r
      where r.lasts_s is null
      union all
      select r.day, m.minute,
             r.value * (least(r.starts + r.lasts_s, (m.minute + 1) * 60) - greatest(r.starts, m.minute * 60)) / r.lasts_s
      from record r
      cross join lateral generate_series(floor(r.starts / 60)::int8, ceil((r.starts + r.lasts_s) / 60)::int8 - 1) m (minute)
      where r.lasts_s <= 900
    ),
    mark as (
      select m.day, ((m.minute / 15 - m.day::int8 * 96 + 96) * 256 + m.place)::int4 as mark
      from (
        select p.day, p.minute, minute_place(the_series, sum(p.amount), count(*)) as place from piece p group by 1, 2
      ) m
      where m.place > 0
      union all
      select r.day, ((q.quarter - r.day::int8 * 96 + 96) * 256 + 255)::int4
      from record r
      cross join lateral generate_series(floor(r.starts / 900)::int8, ceil((r.starts + r.lasts_s) / 900)::int8 - 1) q (quarter)
      where r.lasts_s > 900
      group by 1, 2
      union all
      select r.day, k.mark
      from rollup_local_day r
      cross join lateral unnest(r.minute_marks) k (mark)
      where not isempty(gone) and r.source_id = the_source and r.series_id = the_series
        and r.day >= first_day and r.day < end_day and gone @> mark_bucket(r.day, k.mark)
    )
    select m.day, array_agg(m.mark order by m.mark) from mark m where m.day >= first_day and m.day < end_day group by 1;
end
$$;

-- Stores the marks of local days [first_day, end_day) that are up to date; with `again`, only of days that have marks.
create or replace function store_marks(the_source int4, the_series int2, first_day int4, end_day int4, again boolean) returns void
language sql
as $$
  update rollup_local_day r
  set minute_marks = coalesce(d.marks, '{}')
  from (
    select d.day, m.marks
    from generate_series(first_day, end_day - 1) d (day)
    left join computed_marks(the_source, the_series, first_day, end_day) m on m.day = d.day
  ) d
  where r.source_id = the_source and r.series_id = the_series and r.day = d.day and not r.stale
    and (not again or r.minute_marks is not null);
$$;

-- Local days with data before `until` whose minutes are not stored yet, on which another series of the type may count, too.
-- Minutes of days with archived samples are unknown. Checks only days that the archive has not reached.
create or replace function days_without_marks(the_source int4, the_series int2, until timestamptz) returns setof int4
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  gone tstzmultirange;
  looked_at timestamptz;
  own int4[];
  rival_sources int4[];
  rival_series int2[];
begin
  if not has_minutes(the_series) then
    return;
  end if;
  own := array(select d.id from data_source s join data_source d on d.user_id = s.user_id where s.id = the_source);
  select array_agg(k.source_id), array_agg(k.series_id) into rival_sources, rival_series
  from source_series k
  where k.source_id = any (own) and k.series_id in (the_series % 5000, the_series % 5000 + 5000)
    and (k.source_id, k.series_id) <> (the_source, the_series);
  if rival_sources is null then
    return;
  end if;
  select k.archived, coalesce(k.archived_to, '-infinity') into gone, looked_at
  from source_series k
  where k.source_id = the_source and k.series_id = the_series;
  return query
    select r.day
    from rollup_local_day r
    where r.source_id = the_source and r.series_id = the_series and not r.stale and r.minute_marks is null
      and day_starts(r.day) < until and day_ends(r.day) > looked_at
      and exists (
        select 1
        from unnest(rival_sources, rival_series) k (source_id, series_id)
        join rollup_local_day o on o.source_id = k.source_id and o.series_id = k.series_id
          and o.day >= r.day - 2 and o.day <= r.day + 2
      )
      and (
        not gone && tstzrange(day_starts(r.day), day_ends(r.day))
        or not exists (
          select 1
          from quarter_hours(the_source, the_series, day_starts(r.day), day_ends(r.day)) q
          where local_day(q.bucket, q.last_zone) = r.day and gone @> q.bucket
        )
      );
end
$$;

-- Stores the minutes of at most `most` days of a series that will be archived before `until`. Returns whether it stored any.
create or replace function keep_minutes(the_source int4, the_series int2, until timestamptz, most int4) returns boolean
language plpgsql
as $$
declare
  claimed int4[];
  part int4range;
begin
  if not claim_series(the_source, the_series) then
    return false;
  end if;
  claimed := array(select d from days_without_marks(the_source, the_series, until) d order by d limit most);
  if cardinality(claimed) = 0 then
    return false;
  end if;
  for part in select unnest(range_agg(int4range(c, c + 1))) from unnest(claimed) c
  loop
    perform store_marks(the_source, the_series, lower(part), upper(part), false);
  end loop;
  return true;
end
$$;

-- The number of minutes that reach each place, as in `minutes` of rollup_local_day.
create or replace function minutes_at(places int4[]) returns int2[]
language sql immutable parallel safe
as $$
  select coalesce(array_agg(c.reached::int2 order by c.place), '{}')
  from (
    select p.place, sum(coalesce(m.n, 0)) over (order by p.place desc) as reached
    from generate_series(1, (select max(a) from unnest(places) a)) p (place)
    left join (select a as place, count(*) as n from unnest(places) a group by 1) m on m.place = p.place
  ) c
$$;

-- The sum of minutes by place of two parts of a day.
create or replace function added_minutes(one int2[], other int2[]) returns int2[]
language sql immutable parallel safe
as $$
  select coalesce(array_agg((coalesce(u.a, 0) + coalesce(u.b, 0))::int2 order by u.number), '{}')
  from unnest(one, other) with ordinality u (a, b, number)
$$;

-- Minutes of a series by place on local days, counted only in whole quarter hours. Null if unknown.
create or replace function minutes_within(
  the_source int4, the_series int2, quarters tstzmultirange, days int4multirange, spread boolean
) returns table (day int4, minutes int2[])
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  by_record boolean := spread and the_series % 5000 = 80 and has_lengths(the_source, the_series);
  gone tstzmultirange := case
    when day_starts(lower(days)) < raw_floor() then archived_time(the_source, the_series) else '{}'
  end;
begin
  return query
    with part as materialized (
      select q.day, range_agg(tstzrange(q.bucket, q.bucket + interval '15 minutes')) as spans
      from (
        select local_day(b.bucket, b.last_zone) as day, b.bucket
        from (select 1 where not by_record) w
        cross join lateral quarter_hours_within(the_source, the_series, quarters) b
        union all
        -- Records may reach these quarter hours from any other one of their day.
        select local_day(b.bucket, b.last_zone), b.bucket
        from (select 1 where by_record) w
        cross join lateral quarter_hours(the_source, the_series, day_starts(lower(days)), day_ends(upper(days) - 1)) b
      ) q
      where days @> q.day
      group by 1
    ),
    kept as materialized (
      -- The stored marks of a day are complete unless something was added since.
      select p.day, r.minute_marks, r.minute_marks is not null as known,
             r.minute_marks is not null and not r.stale and not exists (
               select 1
               from rollup_dirty d
               where d.source_id = the_source and d.series_id = the_series and days_of(d.lo, d.hi) @> r.day
             ) as whole
      from part p
      left join rollup_local_day r on r.source_id = the_source and r.series_id = the_series and r.day = p.day
      where p.spans && gone
    ),
    live as materialized (
      select array_agg(p.day) as days, array_agg(p.spans - gone) as spans
      from part p
      where not p.spans <@ gone and p.day not in (select k.day from kept k where k.whole)
    ),
    measured as materialized (
      select m.day, m.minutes
      from (select * from live where not by_record and live.days is not null) l
      cross join lateral minutes_by_place(the_source, the_series, l.days, l.spans) m
      union all
      select s.day, s.minutes
      from (select * from live where by_record and live.days is not null) l
      cross join lateral spread_minutes_by_place(the_source, the_series, l.days, l.spans, quarters) s
    )
    select p.day,
           case
             when not k.known or 255 = any (k.places) or m.day is not null and m.minutes is null then null
             else added_minutes(minutes_at(coalesce(k.places, '{}')), coalesce(m.minutes, '{}'))
           end
    from part p
    left join measured m on m.day = p.day
    left join (
      select k.day, k.known, array(
        select a % 256
        from unnest(k.minute_marks) a
        where quarters @> mark_bucket(k.day, a) and (k.whole or gone @> mark_bucket(k.day, a))
      ) as places
      from kept k
    ) k on k.day = p.day;
end
$$;
