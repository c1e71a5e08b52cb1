-- The latest sample of a series before an instant. If it is archived, only its value and its quarter hour are known.
create or replace function latest_sample(the_source int4, the_series int2, before timestamptz)
returns table (ts timestamptz, value float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  latest timestamptz := nearest_sample(the_source, the_series, greatest(raw_floor(), '1970-01-01'), before, true);
  archived tstzmultirange;
  part tstzrange;
begin
  if latest is null and raw_floor() > '-infinity' then
    before := least(before, raw_floor());
    archived := archived_time(the_source, the_series);
    select r.bucket, r.last_value into ts, value
    from rollup_15min r
    where r.source_id = the_source and r.series_id = the_series and r.bucket >= rollup_floor() and r.bucket < before
      and archived @> r.bucket
    order by r.bucket desc
    limit 1;
    -- Late samples may be newer than the archived ones.
    for part in
      select p from unnest(live_time(the_source, the_series, coalesce(ts, '1970-01-01'), before)) p order by p desc
    loop
      latest := nearest_sample(the_source, the_series, lower(part), upper(part), true);
      exit when latest is not null;
    end loop;
    if latest is null and ts is not null then
      return next;
    end if;
  end if;
  return query
    select s.ts, s.value from sample s where s.source_id = the_source and s.series_id = the_series and s.ts = latest;
end
$$;

-- When the earliest and the latest sample of a series begin; of archived samples, their quarter hour. Null without any.
create or replace function series_ends(the_source int4, the_series int2)
returns table (first_at timestamptz, last_at timestamptz)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  archived tstzmultirange := '{}';
  earliest timestamptz;
  part tstzrange;
begin
  if raw_floor() > '-infinity' then
    archived := archived_time(the_source, the_series);
  end if;
  if not isempty(archived) then
    select r.bucket into first_at
    from rollup_15min r
    where r.source_id = the_source and r.series_id = the_series and r.bucket >= rollup_floor() and r.bucket < raw_floor()
      and archived @> r.bucket
    order by r.bucket
    limit 1;
  end if;
  -- Late samples may be older than the archived ones.
  for part in
    select p from unnest(live_time(the_source, the_series, '1970-01-01', coalesce(first_at, '2200-01-01'))) p order by p
  loop
    earliest := nearest_sample(the_source, the_series, lower(part), upper(part), false);
    exit when earliest is not null;
  end loop;
  first_at := coalesce(earliest, first_at);
  last_at := (select l.ts from latest_sample(the_source, the_series, now() + interval '2 days') l);
  return next;
end
$$;
