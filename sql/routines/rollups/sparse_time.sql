-- Quarter hours are not kept of months in which a series has few samples in each hour (`sparse_time`): readers take them from the
-- samples, as they do where rollups are behind. Hours and days are always kept. A refresh judges months that are over before it
-- writes their first quarter hour, so that a long history never writes them; the others are judged once they are over, at night.
-- Months are those of the archive, 30 days since 1970, so that a chunk of rollups holds whole ones. Time that may be archived is
-- not judged: its quarter hours are all that will be left of it.

-- Samples in an hour that has any: at most so many make a month sparse, and more than so many end that.
create or replace function sparse_at_most() returns float8
language sql immutable parallel safe
return 8;
create or replace function dense_from() returns float8
language sql immutable parallel safe
return 12;

-- Whether the quarter hours of a series are read for merged days, since another source of the user has the type, too: from samples
-- a merged year took an eighth longer. Such months are not made sparse.
create or replace function has_rival(the_source int4, the_series int2) returns boolean
language plpgsql stable
as $$
begin
  return is_merged(the_series) and exists (
    select from data_source d
    join data_source o on o.user_id = d.user_id and o.id <> d.id
    join source_series k on k.source_id = o.id and k.series_id in (the_series % 5000, the_series % 5000 + 5000)
    where d.id = the_source
  );
end
$$;

-- The month of an instant.
create or replace function month_of(ts timestamptz) returns timestamptz
language sql stable parallel safe
return to_timestamp(floor(date_part('epoch', ts) / 2592000) * 2592000);

-- The end of the months that are over, and of whose days no rollup is refreshed together with those of other series (RECENT in
-- server/rollups/continuous.ts): that would take hours without quarter hours for empty.
create or replace function months_over() returns timestamptz
language sql stable
return month_of(now() - interval '3 days');

-- The time that is judged: whole months that are over, of which nothing may be archived.
create or replace function judged_time() returns tstzrange
language sql stable
as $$
  select tstzrange(f.first, greatest(f.first, months_over()))
  from (select month_of(raw_floor() + interval '720 hours' - interval '1 microsecond') as first) f
$$;

-- Ranges with their ends moved out to whole months.
create or replace function months_around(ranges tstzmultirange) returns tstzmultirange
language sql stable
return (
  select coalesce(range_agg(tstzrange(month_of(lower(r)), month_of(upper(r) - interval '1 microsecond') + interval '720 hours')), '{}')
  from unnest(ranges) r
);

-- How many samples a series has in an hour that has any, by month, within whole months: from the hours that are kept, and from the
-- samples in `dirty`, whole hours.
create or replace function month_loads(the_source int4, the_series int2, months tstzmultirange, dirty tstzmultirange)
returns table (month tstzrange, load float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := lower(months);
  high timestamptz := upper(months);
begin
  return query
    select tstzrange(g.starts, g.starts + interval '720 hours'), sum(g.n) / count(*)::float8
    from (
      select month_of(r.bucket) as starts, r.n
      from rollup_1hour r
      where r.source_id = the_source and r.series_id = the_series and r.bucket >= low and r.bucket < high
        and months @> r.bucket and not dirty @> r.bucket
      union all
      select month_of(s.hour), s.n
      from unnest(dirty * months) u
      cross join lateral (
        select time_bucket('1 hour', p.ts) as hour, count(*) as n
        from sample p
        where p.source_id = the_source and p.series_id = the_series and p.ts >= lower(u) and p.ts < upper(u) and p.ts >= low and p.ts < high
        group by 1
      ) s
    ) g
    group by 1;
end
$$;

-- Judges the months that a refresh is about to write to in `ranges`; the caller has claimed the series. Returns the time of which
-- the refresh writes no quarter hours. A month that has become dense is noted as dirty as a whole, so that another refresh fills it.
create or replace function judge_months(the_source int4, the_series int2, ranges tstzmultirange) returns tstzmultirange
language plpgsql
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  known tstzmultirange := coalesce(
    (select t.months from sparse_time t where t.source_id = the_source and t.series_id = the_series), '{}'
  );
  asked tstzmultirange := months_around(ranges) * tstzmultirange(judged_time());
  sparse tstzmultirange;
  dense tstzmultirange;
begin
  if isempty(asked) then
    return known;
  end if;
  select coalesce(range_agg(l.month) filter (where not l.kept and l.load <= sparse_at_most()), '{}'),
         coalesce(range_agg(l.month) filter (where l.kept and l.load > dense_from()), '{}')
  into sparse, dense
  from (
    select m.month, m.load, known @> m.month as kept
    from month_loads(the_source, the_series, asked, widened(ranges, '1 hour')) m
  ) l
  -- What has quarter hours keeps them: they may be compressed.
  where l.kept or not exists (
    select from rollup_15min r
    where r.source_id = the_source and r.series_id = the_series and r.bucket >= lower(l.month) and r.bucket < upper(l.month)
  );
  if not isempty(sparse) and has_rival(the_source, the_series) then
    sparse := '{}';
  end if;
  known := known + sparse;
  if not isempty(sparse) or not isempty(dense) then
    insert into sparse_time as t (source_id, series_id, months) values (the_source, the_series, known - dense)
    on conflict (source_id, series_id) do update set months = excluded.months;
    perform note_unchanged(the_source, the_series, dense);
  end if;
  return known;
end
$$;

-- Notes time of a series as dirty whose samples have not changed.
create or replace function note_unchanged(the_source int4, the_series int2, ranges tstzmultirange) returns void
language sql
as $$
  insert into rollup_dirty (source_id, series_id, lo, hi, changed)
  select the_source, the_series, lower(r), upper(r) - interval '1 microsecond', false from unnest(ranges) r
$$;

-- Judges the months of a series that are over since it last did, and removes the quarter hours of those that are sparse. Returns
-- false when another session is at the series. A whole run of months is removed at once, so of the columnstore only the batches at
-- its ends are opened.
create or replace function thin_series(the_source int4, the_series int2) returns boolean
language plpgsql
set plan_cache_mode = force_custom_plan
as $$
declare
  ends timestamptz;
  starts timestamptz;
  known tstzmultirange;
  sparse tstzmultirange;
  part tstzrange;
begin
  if not claim_series(the_source, the_series) then
    return false;
  end if;
  select t.months, t.judged_to into known, starts from sparse_time t where t.source_id = the_source and t.series_id = the_series;
  known := coalesce(known, '{}');
  ends := upper(judged_time());
  starts := greatest(starts, lower(judged_time()), (
    select month_of(r.bucket) from rollup_1day r where r.source_id = the_source and r.series_id = the_series order by r.bucket limit 1
  ));
  if starts < ends and isfinite(starts) and not has_rival(the_source, the_series) then
    sparse := (
      select range_agg(m.month)
      from month_loads(the_source, the_series, tstzmultirange(tstzrange(starts, ends)) - known, '{}') m
      where m.load <= sparse_at_most()
    );
  end if;
  for part in select unnest(sparse)
  loop
    delete from rollup_15min r
    where r.source_id = the_source and r.series_id = the_series and r.bucket >= lower(part) and r.bucket < upper(part);
  end loop;
  insert into sparse_time as t (source_id, series_id, months, judged_to)
  values (the_source, the_series, known + coalesce(sparse, '{}'), greatest(ends, months_over()))
  on conflict (source_id, series_id) do update set months = excluded.months, judged_to = excluded.judged_to;
  return true;
end
$$;

drop procedure if exists thin_due_series(int4, boolean);

-- Before samples are archived, the quarter hours of all that is older than `until` are to be kept: notes them as dirty. False, and
-- without effect, while another session is at the series.
create or replace function keep_quarters(the_source int4, the_series int2, until timestamptz) returns boolean
language plpgsql
as $$
declare
  due tstzmultirange;
begin
  if not claim_series(the_source, the_series) then
    return false;
  end if;
  select t.months * tstzmultirange(tstzrange(null, until)) into due
  from sparse_time t
  where t.source_id = the_source and t.series_id = the_series;
  update sparse_time t set months = t.months - due where t.source_id = the_source and t.series_id = the_series;
  perform note_unchanged(the_source, the_series, due * tstzmultirange(tstzrange(rollup_floor(), null)));
  return true;
end
$$;
