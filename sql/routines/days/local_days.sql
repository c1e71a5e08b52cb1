-- What a series adds up to on local days. The day of a whole quarter hour is that of its latest sample, so that a day does
-- not change when its samples are archived. `rollup_local_day` knows the days that are over; this file fills and reads it.

-- The instant from which on samples can be of a local day, and the one from which on none is any more: civil offsets are
-- at most 18 hours.
create or replace function day_starts(day int4) returns timestamptz
language sql immutable parallel safe
return to_timestamp(day::float8 * 86400 - 64800);
create or replace function day_ends(day int4) returns timestamptz
language sql immutable parallel safe
return to_timestamp((day::float8 + 1) * 86400 + 64800);

-- The local days that samples from `lo` to `hi` can be of; the last one excluded.
create or replace function days_of(lo timestamptz, hi timestamptz) returns int4range
language sql immutable parallel safe
as $$ select int4range(local_day(time_bucket('15 minutes', lo), -1080::int2), local_day(hi, 1080::int2) + 1) $$;

-- Days before this one are worth keeping: they are over everywhere, or about to be archived.
create or replace function local_days_due() returns int4
language sql stable
as $$
  select greatest(local_day(now(), -1080::int2), local_day(a.raw_floor, 1080::int2) + 1) from archival a
$$;

-- Whether minutes of a series are counted: of heart rate and steps, measured or entered by hand.
create or replace function has_minutes(the_series int2) returns boolean
language sql immutable parallel safe
return the_series in (1, 80, 5001, 5080);

-- The place of a minute with `n` samples among the values that are counted. Means of heart rate have two places for each
-- number from 50 to 167: the number itself, and what lies between it and the next; below and above nothing is distinguished,
-- since the bounds of effort are shares of a largest heart rate from 100 to 220 (see effort_bounds). Means are not whole,
-- and those that differ by less than a billionth are the same. Sums of steps have two: fewer than 30, and from 30 on,
-- which make a minute an active one (contract 12.3).
create or replace function minute_place(the_series int2, total float8, n int8) returns int4
language sql immutable parallel safe
return case
  when the_series in (80, 5080) then 1 + (total >= 30)::int4
  else least(greatest(2 * (floor(total / n) - 50) + case when total / n > floor(total / n) + 1e-9 then 2 else 1 end, 0), 236)::int4
end;

-- Places of light, moderate and vigorous effort (contract 12.3): half of the largest heart rate, then what is above 63 %
-- and 76 % of it. The largest is 220 less the age on `on_day`, at least 100; 190 when the date of birth is not known.
create or replace function effort_places(the_user uuid, on_day int4) returns int4[]
language sql stable
as $$
  select array[2 * (m.highest / 2 - 50) + 1, 2 * (m.highest * 63 / 100 - 50) + 2, 2 * (m.highest * 76 / 100 - 50) + 2]
  from (
    select coalesce(
      (
        select least(220, greatest(100, 220 - extract(year from age(date '1970-01-01' + on_day, p.birth_date))::int4))
        from personal_record p
        where p.user_id = the_user and p.birth_date is not null
      ),
      190
    ) as highest
  ) m;
$$;

drop function if exists minutes_by_place(int4, int2, int4[], timestamptz[], timestamptz[]);

-- Minutes of a series by place within parts of local days, as `rollup_local_day` has them; no row where there are none.
create or replace function minutes_by_place(the_source int4, the_series int2, days int4[], spans tstzmultirange[])
returns table (day int4, minutes int2[])
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := (select min(lower(s)) from unnest(spans) s);
  high timestamptz := (select max(upper(s)) from unnest(spans) s);
begin
  return query
    select c.day, array_agg(c.reached::int2 order by p.place)
    from (
      -- How many minutes are at this place or beyond, and the last place before it that any are at.
      select k.day, k.place, sum(k.n) over (partition by k.day order by k.place desc) as reached,
             lead(k.place, 1, 0) over (partition by k.day order by k.place desc) as before
      from (
        select w.day, m.place, count(*) as n
        from unnest(days, spans) w (day, spans)
        cross join lateral unnest(w.spans) r
        cross join lateral (
          select minute_place(the_series, sum(s.value), count(*)) as place
          from sample s
          where s.source_id = the_source and s.series_id = the_series and s.ts >= lower(r) and s.ts < upper(r)
            and s.ts >= low and s.ts < high
          group by time_bucket('1 minute', s.ts)
        ) m
        where m.place > 0
        group by 1, 2
      ) k
    ) c
    cross join lateral generate_series(c.before + 1, c.place) p (place)
    group by 1;
end
$$;

drop function if exists local_days(int4, int2, int4, int4, boolean);
drop function if exists computed_days(int4, int2, int4, int4, boolean);

-- What a series adds up to on each local day of [first_day, end_day), computed from its quarter hours, and where it is
-- asked for from its samples. A day that is archived, or a part of it, keeps its minutes as long as nothing was added to it.
create or replace function computed_days(
  the_source int4, the_series int2, first_day int4, end_day int4, with_minutes boolean, with_reach boolean
) returns table (
  day int4, n int8, total float8, lowest float8, highest float8, minutes int2[], spread_minutes int2[], spill_runs int2[],
  spills float8[], reached int8[], firm int8[]
)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  lengths boolean := with_minutes and has_lengths(the_source, the_series);
begin
  if not with_minutes or not has_minutes(the_series) then
    return query
      select d.day, d.n, d.total, d.lowest, d.highest, null::int2[], null::int2[], y.spill_runs, y.spills, y.reached, y.firm
      from (
        select d.day, sum(d.n)::int8 as n, sum(d.total) as total, min(d.lowest) as lowest, max(d.highest) as highest
        from day_sums(the_source, the_series, day_starts(first_day), day_ends(end_day - 1)) d
        where d.day >= first_day and d.day < end_day
        group by 1
      ) d
      left join (
        select y.* from (select 1 where with_reach) w cross join lateral day_reach(the_source, the_series, first_day, end_day) y
      ) y on y.day = d.day;
    return;
  end if;
  return query
    with quarter as materialized (
      select local_day(q.bucket, q.last_zone) as day, q.*
      from quarter_hours(the_source, the_series, day_starts(first_day), day_ends(end_day - 1)) q
      where local_day(q.bucket, q.last_zone) >= first_day and local_day(q.bucket, q.last_zone) < end_day
    ),
    summed as materialized (
      select g.*, is_live(the_source, the_series, g.spans) as live
      from (
        select q.day, sum(q.n)::int8 as n, sum(q.total) as total, min(q.lowest) as lowest, max(q.highest) as highest,
               range_agg(tstzrange(q.bucket, q.bucket + interval '15 minutes')) as spans
        from quarter q
        group by 1
      ) g
    ),
    live as materialized (
      select array_agg(s.day) as days, array_agg(s.spans) as spans from summed s where s.live
    )
    select s.day, s.n, s.total, s.lowest, s.highest,
           case when s.live then coalesce(m.minutes, '{}') when k.kept then o.minutes end,
           case
             when the_series not in (80, 5080) then null
             when s.live and lengths then p.minutes
             when s.live then coalesce(m.minutes, '{}')
             when k.kept then o.spread_minutes
           end,
           y.spill_runs, y.spills, y.reached, y.firm
    from summed s
    left join (select m.* from live l cross join lateral minutes_by_place(the_source, the_series, l.days, l.spans) m) m
      on m.day = s.day
    left join (
      select p.* from live l cross join lateral spread_minutes_by_place(the_source, the_series, l.days, l.spans, null) p
      where lengths and the_series in (80, 5080)
    ) p on p.day = s.day
    left join (
      select y.* from (select 1 where with_reach) w cross join lateral day_reach(the_source, the_series, first_day, end_day) y
    ) y on y.day = s.day
    left join rollup_local_day o on o.source_id = the_source and o.series_id = the_series and o.day = s.day
    cross join lateral (
      select o.n = s.n and (o.total = s.total or s.spans <@ archived_time(the_source, the_series)) as kept
    ) k;
end
$$;

-- What a series adds up to on each local day of [first_day, end_day): the days that are kept and up to date, the others
-- computed. Minutes, and what records carry over and reach, only where they are asked for: they are most of the bytes.
create or replace function local_days(
  the_source int4, the_series int2, first_day int4, end_day int4, with_minutes boolean, with_reach boolean default false
) returns table (
  day int4, n int8, total float8, lowest float8, highest float8, minutes int2[], spread_minutes int2[], spill_runs int2[],
  spills float8[], reached int8[], firm int8[]
)
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  oldest timestamptz := rollup_floor();
  behind int4multirange;
  part int4range;
begin
  if oldest > '-infinity' then
    first_day := greatest(first_day, lower(days_of(oldest, oldest)));
  end if;
  select int4multirange(int4range(first_day, greatest(first_day, end_day))) * range_agg(b.days)
  into behind
  from (
    select days_of(d.lo, d.hi) as days
    from rollup_dirty d
    where d.source_id = the_source and d.series_id = the_series
      and d.lo < day_ends(end_day - 1) and d.hi >= day_starts(first_day)
    union all
    select int4range(r.day, r.day + 1)
    from rollup_local_day r
    where r.source_id = the_source and r.series_id = the_series and r.day >= first_day and r.day < end_day
      and (r.stale or with_reach and r.reached is null and is_merged(the_series))
    union all
    -- Nothing is kept from before it, not even of a day that goes on behind it.
    select days_of(oldest, oldest) where oldest > '-infinity'
  ) b;
  if behind is null or isempty(behind) then
    return query
      select r.day, r.n, r.total, r.lowest, r.highest, case when with_minutes then r.minutes end,
             case when with_minutes then r.spread_minutes end, case when with_reach then r.spill_runs end,
             case when with_reach then r.spills end, case when with_reach then r.reached end, case when with_reach then r.firm end
      from rollup_local_day r
      where r.source_id = the_source and r.series_id = the_series and r.day >= first_day and r.day < end_day;
    return;
  end if;
  return query
    select r.day, r.n, r.total, r.lowest, r.highest, case when with_minutes then r.minutes end,
           case when with_minutes then r.spread_minutes end, case when with_reach then r.spill_runs end,
           case when with_reach then r.spills end, case when with_reach then r.reached end, case when with_reach then r.firm end
    from rollup_local_day r
    where r.source_id = the_source and r.series_id = the_series and r.day >= first_day and r.day < end_day
      and not behind @> r.day;
  for part in select unnest(behind)
  loop
    return query
      select * from computed_days(the_source, the_series, lower(part), upper(part), with_minutes, with_reach);
  end loop;
end
$$;

-- Notes that the days of samples are behind, while the rollups of these are brought up to date, and that they were added up before.
create or replace function note_stale_days(source_ids int4[], series_ids int2[], los timestamptz[], his timestamptz[]) returns void
language sql as $$
  delete from rollup_total t
  using unnest(source_ids, series_ids, los) k (source_id, series_id, lo)
  where t.source_id = k.source_id and t.series_id = k.series_id and t.before > time_bucket('1 day', k.lo);
  insert into rollup_local_day as r (source_id, series_id, day, stale)
  select distinct k.source_id, k.series_id, d.day, true
  from unnest(source_ids, series_ids, los, his) k (source_id, series_id, lo, hi)
  cross join lateral generate_series(lower(days_of(k.lo, k.hi)), upper(days_of(k.lo, k.hi)) - 1) d (day)
  on conflict (source_id, series_id, day) do update set stale = true where not r.stale;
$$;

-- Computes stale days of a series before `before`, at most `most` of them, the oldest first. Returns whether it did
-- anything: false when there is none or another session is at it.
create or replace function refresh_local_days(the_source int4, the_series int2, before int4, most int4) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
declare
  claimed int4[];
  part int4range;
begin
  if not claim_series(the_source, the_series) then
    return false;
  end if;
  claimed := array(
    select r.day
    from rollup_local_day r
    where r.source_id = the_source and r.series_id = the_series and r.day < before and r.stale
    order by r.day
    limit most
  );
  if cardinality(claimed) = 0 then
    return false;
  end if;
  for part in select unnest(range_agg(int4range(c, c + 1))) from unnest(claimed) c
  loop
    with computed as (
      select * from computed_days(the_source, the_series, lower(part), upper(part), true, true)
    )
    insert into rollup_local_day as r (
      source_id, series_id, day, stale, n, total, lowest, highest, minutes, spread_minutes, spill_runs, spills, reached, firm,
      held_minutes, held_fives
    )
    select the_source, the_series, c.day, false, c.n, c.total, c.lowest, c.highest, c.minutes, c.spread_minutes,
           c.spill_runs, c.spills, c.reached, c.firm, h.minutes, h.fives
    from computed c
    left join held_of_days(the_source, the_series, lower(part), upper(part)) h on h.day = c.day
    on conflict (source_id, series_id, day) do update
    set stale = false, n = excluded.n, total = excluded.total, lowest = excluded.lowest, highest = excluded.highest,
        minutes = excluded.minutes, spread_minutes = excluded.spread_minutes, spill_runs = excluded.spill_runs,
        spills = excluded.spills, reached = excluded.reached, firm = excluded.firm, held_minutes = excluded.held_minutes,
        held_fives = excluded.held_fives;
    delete from rollup_local_day r
    where r.source_id = the_source and r.series_id = the_series and r.day >= lower(part) and r.day < upper(part) and r.stale;
    if exists (
      select 1 from rollup_local_day r
      where r.source_id = the_source and r.series_id = the_series and r.day >= lower(part) and r.day < upper(part)
        and r.minute_marks is not null
    ) then
      perform store_marks(the_source, the_series, lower(part), upper(part), true);
    end if;
  end loop;
  perform count_held(the_source, the_series, most);
  perform add_up(the_source, the_series);
  return true;
end
$$;

-- Computes stale days that are over of at most `most` series, those with the oldest days first, at most `days` of each. Each
-- in a transaction of its own, like refresh_due_series.
create or replace procedure refresh_due_days(days int4, most int4, inout did boolean)
language plpgsql
as $$
declare
  due record;
begin
  did := false;
  for due in
    select r.source_id, r.series_id
    from (
      select s.source_id, s.series_id, s.day
      from rollup_local_day s
      where s.stale and s.day < local_days_due()
      order by s.day
      limit 1000
    ) r
    group by r.source_id, r.series_id
    order by min(r.day)
    limit most
  loop
    perform set_config('synchronous_commit', 'off', true);
    did := refresh_local_days(due.source_id, due.series_id, local_days_due(), days) or did;
    commit;
  end loop;
end
$$;
