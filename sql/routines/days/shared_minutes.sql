-- Minutes in which a source measured something and something was entered by hand. With merge=none a minute is that of both
-- together: what each has by itself is known for archived days, too, so what these minutes differ by is stored before the first
-- of the two is archived.

-- The marks of shared minutes of a measured series within whole quarter hours, as in shared_marks of rollup_local_day: computed
-- from samples. None of quarter hours that both have archived, which rollup_local_day knows.
create or replace function computed_shared_marks(the_source int4, the_series int2, quarters tstzmultirange)
returns table (day int4, mark int4)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  measured_gone tstzmultirange := archived_time(the_source, the_series);
  entered_gone tstzmultirange := archived_time(the_source, the_series + 5000::int2);
  around tstzmultirange;
  low timestamptz;
  high timestamptz;
begin
  quarters := quarters - measured_gone * entered_gone;
  if isempty(quarters) then
    return;
  end if;
  -- Mostly little is entered. What is within two hours is looked up at once: each look-up opens a batch of the columnstore.
  select range_agg(tstzrange(q.bucket, q.bucket + interval '2 hours')) * quarters into around
  from quarter_hours_within(the_source, the_series + 5000::int2, quarters) q;
  if around is null then
    return;
  end if;
  low := lower(around);
  high := upper(around);
  return query
    with shared as materialized (
      select local_day(m.bucket, m.last_zone) as day, m.bucket, measured_gone @> m.bucket or entered_gone @> m.bucket as gone
      from quarter_hours_within(the_source, the_series, around) m
      join quarter_hours_within(the_source, the_series + 5000::int2, quarters) e on e.bucket = m.bucket
      where local_day(e.bucket, e.last_zone) = local_day(m.bucket, m.last_zone)
    ),
    live as materialized (
      select q.day, range_agg(tstzrange(q.bucket, q.bucket + interval '15 minutes')) as ranges
      from shared q
      where not q.gone
      group by 1
    ),
    -- Both are added up side by side: a join of the two was planned as a loop over all pairs.
    minute as (
      select l.day, floor(date_part('epoch', s.ts) / 60)::int8 as number,
             sum(s.value) filter (where not s.entered) as measured, count(*) filter (where not s.entered) as measured_n,
             sum(s.value) filter (where s.entered) as entered, count(*) filter (where s.entered) as entered_n
      from live l
      cross join unnest(array[the_series, the_series + 5000]::int2[]) t (series_id)
      cross join lateral (
        select p.ts, p.value, t.series_id <> the_series as entered
        from sample p
        where p.source_id = the_source and p.series_id = t.series_id
          and p.ts >= lower(l.ranges) and p.ts < upper(l.ranges) and l.ranges @> p.ts and p.ts >= low and p.ts < high
        -- "offset 0" keeps it a probe for each day: one for each quarter hour opened a batch of the columnstore each time.
        offset 0
      ) s
      group by 1, 2
    ),
    placed as (
      select m.day, m.number / 15 as quarter, k.sign, minute_place(the_series, k.total, k.n) as place
      from minute m
      cross join lateral (
        values (1, m.measured + m.entered, m.measured_n + m.entered_n), (-1, m.measured, m.measured_n), (-1, m.entered, m.entered_n)
      ) k (sign, total, n)
      where m.measured_n > 0 and m.entered_n > 0
    )
    select p.day, (p.sign * ((p.quarter - p.day::int8 * 96 + 96) * 256 + p.place))::int4 from placed p where p.place > 0
    union all
    select q.day, ((floor(date_part('epoch', q.bucket) / 900)::int8 - q.day::int8 * 96 + 96) * 256 + 255)::int4
    from shared q
    where q.gone;
end
$$;

drop function if exists mark_of(int4, timestamptz, int4);

-- What the minutes of a measured series and of what was entered by hand, each counted by itself, are to be changed by on local
-- days, so that those of both count once: at each of `marks`. Null when it is not known; no row for a day without any.
create or replace function shared_minutes(the_source int4, the_series int2, days int4multirange, marks int4[])
returns table (day int4, reached int8[])
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  oldest timestamptz := rollup_floor();
  time tstzmultirange := (
    select range_agg(tstzrange(day_starts(lower(d)), day_ends(upper(d) - 1))) from unnest(days) d
  );
begin
  return query
    with mark as (
      select m.day, m.mark from computed_shared_marks(the_source, the_series, time) m where days @> m.day
      union all
      select r.day, k.mark
      from rollup_local_day r
      cross join lateral unnest(r.shared_marks) k (mark)
      where r.source_id = the_source and r.series_id = the_series and r.day >= lower(days) and r.day < upper(days)
        and days @> r.day and mark_bucket(r.day, abs(k.mark)) >= oldest
    )
    select g.day, case when not bool_or(g.unknown) then array_agg(g.n order by g.number) end
    from (
      select m.day, k.number, bool_or(m.mark % 256 = 255) as unknown,
             coalesce(sum(sign(m.mark)) filter (where abs(m.mark) % 256 >= k.mark), 0)::int8 as n
      from mark m
      cross join unnest(marks) with ordinality k (mark, number)
      group by 1, 2
    ) g
    group by 1;
end
$$;

-- Stores the marks of shared minutes of a measured series before `until`. The caller archives both series up to there in the same
-- transaction, and both are up to date.
create or replace function keep_shared_minutes(the_source int4, the_series int2, until timestamptz) returns void
language sql
as $$
  update rollup_local_day r
  set shared_marks = coalesce(r.shared_marks, '{}') || m.marks
  from (
    select c.day, array_agg(c.mark order by abs(c.mark), c.mark) as marks
    from (
      select e.bucket
      from rollup_1day e
      where e.source_id = the_source and e.series_id = the_series + 5000 and e.bucket >= rollup_floor() and e.bucket < until
      order by e.bucket
      limit 1
    ) f
    -- In portions: a probe looks into every chunk of the time that is asked for.
    cross join lateral generate_series(f.bucket, until - interval '15 minutes', interval '720 hours') m (starts)
    cross join lateral computed_shared_marks(
      the_source, the_series, tstzmultirange(tstzrange(m.starts, least(m.starts + interval '720 hours', until)))
    ) c
    group by 1
  ) m
  where r.source_id = the_source and r.series_id = the_series and r.day = m.day;
$$;
