-- Archives the data of a user's series from before `until`, including data that arrived late since the last run: from now
-- on only the rollups cover it. Without rollups, all of it will be removed. A series that another session refreshes, or whose
-- rollups are dirty, is left for another run, with those of the same type of its source. Returns whether everything is archived: false also while an import holds the
-- user's ingest lock, which keeps the data archived here from changing.
create or replace function archive_user(the_user uuid, until timestamptz, with_rollups boolean) returns boolean
language plpgsql
set plan_cache_mode = force_custom_plan
as $$
declare
  own int4[];
  oldest timestamptz := rollup_floor();
  series record;
  first timestamptz;
  now_archived tstzmultirange;
  changed boolean := false;
  left_kinds int8[] := '{}';
begin
  -- Keeps rollups from being converted meanwhile.
  perform pg_advisory_xact_lock_shared(hashtextextended('archival', 0));
  if not pg_try_advisory_xact_lock(hashtextextended('ingest:' || the_user, 0))
     or not pg_try_advisory_xact_lock_shared(hashtextextended('refresh all rollups', 0)) then
    return false;
  end if;
  own := array(select d.id from data_source d where d.user_id = the_user);
  if with_rollups then
    for series in
      select k.source_id, k.series_id, kind_of(k.source_id, k.series_id) as kind
      from source_series k
      where k.source_id = any (own) and (k.archived_to is null or k.archived_to < until)
      order by 1, 2
    loop
      if not is_archivable(series.source_id, series.series_id, until) then
        left_kinds := left_kinds || series.kind;
      end if;
    end loop;
    -- What was entered by hand is archived together with what was measured: they share minutes.
    perform keep_shared_minutes(k.source_id, k.series_id, until)
    from source_series k
    join source_series e on e.source_id = k.source_id and e.series_id = k.series_id + 5000
    where k.source_id = any (own) and k.series_id < 5000 and has_minutes(k.series_id)
      and (k.archived_to is null or k.archived_to < until or e.archived_to is null or e.archived_to < until)
      and kind_of(k.source_id, k.series_id) <> all (left_kinds);
  end if;
  for series in
    select k.source_id, k.series_id, k.archived
    from source_series k
    where k.source_id = any (own) and (k.archived_to is null or k.archived_to < until)
      and kind_of(k.source_id, k.series_id) <> all (left_kinds)
    order by 1, 2
  loop
    now_archived := series.archived * tstzmultirange(tstzrange(oldest, null));
    if with_rollups then
      first := (
        select r.bucket from rollup_1day r
        where r.source_id = series.source_id and r.series_id = series.series_id and r.bucket >= oldest and r.bucket < until
        order by r.bucket
        limit 1
      );
      if first is not null then
        now_archived := now_archived + tstzmultirange(tstzrange(first, until));
      end if;
    end if;
    perform keep_sums(the_user, series.source_id, series.series_id, now_archived - series.archived);
    changed := changed or now_archived <> series.archived;
    update source_series k
    set archived = now_archived, archived_to = until, to_remove = true
    where k.source_id = series.source_id and k.series_id = series.series_id;
    -- Records of archived samples.
    delete from sample_origin o
    where o.source_id = series.source_id and o.series_id = series.series_id and o.lo < until
      and tstzrange(o.lo, o.hi, '[]') <@ (now_archived + tstzmultirange(tstzrange('-infinity', oldest)));
  end loop;
  delete from zone_run z where z.user_id = the_user and z.hi < oldest;
  if changed then
    -- Earlier answers become invalid.
    update app_user set revision = revision + 1 where id = the_user;
  end if;
  return cardinality(left_kinds) = 0;
end
$$;

-- A type of data of a source: all its series, those entered by hand among them, have the same.
create or replace function kind_of(the_source int4, the_series int2) returns int8
language sql immutable parallel safe
return the_source::int8 << 16 | (the_series % 5000);

-- Completes the rollups of a series before an instant, unless another session uses them. Returns whether they are complete.
create or replace function is_archivable(the_source int4, the_series int2, until timestamptz) returns boolean
language plpgsql
set plan_cache_mode = force_custom_plan
as $$
begin
  -- Keeps its quarter hours from being removed (thin_series) until this is committed.
  if not claim_series(the_source, the_series) then
    return false;
  end if;
  while is_behind(the_source, the_series, until) and refresh_local_days(the_source, the_series, local_days_due(), 120)
  loop
  end loop;
  while keep_minutes(the_source, the_series, until, 30) loop
  end loop;
  return not is_behind(the_source, the_series, until)
    and not exists (select 1 from days_without_marks(the_source, the_series, until));
end
$$;

-- Whether rollups or local days of a series before an instant are outdated, or its quarter hours are not all kept.
create or replace function is_behind(the_source int4, the_series int2, until timestamptz) returns boolean
language plpgsql stable
as $$
begin
  return exists (
    select 1 from rollup_dirty d where d.source_id = the_source and d.series_id = the_series and d.lo < until
  ) or exists (
    select 1 from rollup_local_day r
    where r.source_id = the_source and r.series_id = the_series and r.stale and day_starts(r.day) < until
  ) or exists (
    select 1 from sparse_time t
    where t.source_id = the_source and t.series_id = the_series and t.months && tstzmultirange(tstzrange(null, until))
  );
end
$$;

-- Removes archived samples of a series, at most about `most` of them, and expired rollups. Returns 0 once nothing is left,
-- null while another session uses the series. Samples in chunks that will be dropped whole stay until then:
-- drop_archived_chunk, in storage.sql of the engine. server/rollups/archive.ts calls both.
-- It works in portions of time, with constants, so only compressed batches with removed samples are opened.
create or replace function remove_archived(the_source int4, the_series int2, most int4) returns int8
language plpgsql
set plan_cache_mode = force_custom_plan
as $$
declare
  oldest timestamptz := rollup_floor();
  gone tstzmultirange;
  part tstzrange;
  cut timestamptz;
  found_rows int8;
  removed int8 := 0;
begin
  -- Chunks are not compressed meanwhile (compress_next).
  if not pg_try_advisory_xact_lock_shared(hashtextextended('refresh all rollups', 0)) then
    return null;
  end if;
  -- A deletion of the user waits for this; a running one leaves nothing to do. An import of late samples changes this row
  -- before it writes them.
  perform 1 from data_source where id = the_source for key share skip locked;
  select k.archived into gone
  from source_series k
  where found and k.source_id = the_source and k.series_id = the_series
  for no key update skip locked;
  if gone is null then
    return null;
  end if;
  gone := gone + tstzmultirange(tstzrange('-infinity', oldest));
  for part in select unnest(gone * tstzmultirange(tstzrange(removed_by_row_from(), null)))
  loop
    cut := (
      select s.ts from sample s
      where s.source_id = the_source and s.series_id = the_series and s.ts >= lower(part) and s.ts < upper(part)
      order by s.ts
      offset most - removed
      limit 1
    );
    delete from sample s
    where s.source_id = the_source and s.series_id = the_series and s.ts >= lower(part) and s.ts < coalesce(cut, upper(part));
    get diagnostics found_rows = row_count;
    removed := removed + found_rows;
    if removed >= most then
      return removed;
    end if;
  end loop;
  if oldest > '-infinity' then
    -- A refresh that does not know the new floor would bring rollups back.
    if not pg_try_advisory_xact_lock(hashtextextended('rollup:' || the_source || ':' || the_series, 0)) then
      return null;
    end if;
    removed := removed + delete_expired_rollups(the_source, the_series, oldest, most);
  end if;
  if removed = 0 then
    update source_series k set to_remove = false, expired_to = oldest where k.source_id = the_source and k.series_id = the_series;
  end if;
  return removed;
end
$$;

-- Removes the rollups of a series from before the horizon, a midnight of UTC, at most about `most` quarter hours of them.
-- A local day that continues after the horizon is recomputed from the rest of it.
create or replace function delete_expired_rollups(the_source int4, the_series int2, horizon timestamptz, most int4) returns int8
language plpgsql
set plan_cache_mode = force_custom_plan
as $$
declare
  cut timestamptz := (
    select time_bucket('1 day', r.bucket) from rollup_1hour r
    where r.source_id = the_source and r.series_id = the_series and r.bucket < horizon
    order by r.bucket
    offset most / 4
    limit 1
  );
  found_rows int8;
  deleted int8 := 0;
begin
  -- Whole days, at least one: a day has no more than 96 quarter hours.
  cut := coalesce(cut, horizon);
  delete from rollup_15min r where r.source_id = the_source and r.series_id = the_series and r.bucket < cut;
  get diagnostics found_rows = row_count;
  deleted := deleted + found_rows;
  delete from rollup_1hour r where r.source_id = the_source and r.series_id = the_series and r.bucket < cut;
  get diagnostics found_rows = row_count;
  deleted := deleted + found_rows;
  delete from rollup_total t where t.source_id = the_source and t.series_id = the_series;
  delete from rollup_1day r where r.source_id = the_source and r.series_id = the_series and r.bucket < cut;
  get diagnostics found_rows = row_count;
  deleted := deleted + found_rows;
  if rollup_from('1 minute') < 'infinity' then
    delete from rollup_1min r where r.source_id = the_source and r.series_id = the_series and r.bucket < cut;
    delete from rollup_5min r where r.source_id = the_source and r.series_id = the_series and r.bucket < cut;
  end if;
  delete from kept_sum m where m.source_id = the_source and m.series_id = the_series and m.ends <= cut;
  delete from rollup_local_day r where r.source_id = the_source and r.series_id = the_series and day_ends(r.day) <= cut;
  get diagnostics found_rows = row_count;
  update rollup_local_day r set stale = true
  where r.source_id = the_source and r.series_id = the_series and not r.stale and r.day <@ days_of(horizon, horizon);
  return deleted + found_rows;
end
$$;

-- Whether any series has samples within [lo, hi) that are not archived.
create or replace function holds_live(lo timestamptz, hi timestamptz) returns boolean
language plpgsql stable
set plan_cache_mode = force_custom_plan
as $$
begin
  return exists (
    select 1
    from source_series k
    cross join lateral unnest(live_time(k.source_id, k.series_id, lo, hi)) r
    cross join lateral (
      select 1 from sample s
      where s.source_id = k.source_id and s.series_id = k.series_id and s.ts >= lower(r) and s.ts < upper(r)
        and s.ts >= lo and s.ts < hi
      limit 1
    ) s
    -- All other series have none.
    where k.archived_to is null or k.archived_to < hi
  );
end
$$;
drop function if exists delete_archived_samples(int4);
drop function if exists delete_archived_origins(int4);
drop function if exists delete_expired_rollups(int4);

-- For each segment to be written (seconds, both ends included), the parts in which samples cannot simply be stored: archived
-- time, in whole quarter hours, and time before anything is kept, with the instant from which data is kept. The archive will
-- check series with samples that old again. The caller holds the user's ingest lock.
create or replace function archived_within(source_ids int4[], series_ids int2[], los float8[], his float8[])
returns table (place int8, starts float8, ends float8, kept_from float8)
language plpgsql
as $$
declare
  oldest timestamptz := rollup_floor();
begin
  if (select min(lo) from unnest(los) lo) >= date_part('epoch', raw_floor()) then
    return;
  end if;
  update source_series k set archived_to = null
  from unnest(source_ids, series_ids, los, his) s (source_id, series_id, lo, hi)
  where k.source_id = s.source_id and k.series_id = s.series_id and k.archived_to > to_timestamp(s.lo)
    -- For segments within archived time, take_late decides.
    and not (k.archived + tstzmultirange(tstzrange('-infinity', oldest)))
      @> tstzrange(
        time_bucket('15 minutes', to_timestamp(s.lo)),
        least(time_bucket('15 minutes', to_timestamp(s.hi)) + interval '15 minutes', k.archived_to)
      );
  return query
    select s.place, date_part('epoch', lower(r)), date_part('epoch', upper(r)), null::float8
    from unnest(source_ids, series_ids, los, his) with ordinality s (source_id, series_id, lo, hi, place)
    cross join lateral unnest(
      archived_time(s.source_id, s.series_id)
      * tstzmultirange(tstzrange(
          greatest(time_bucket('15 minutes', to_timestamp(s.lo)), oldest),
          greatest(time_bucket('15 minutes', to_timestamp(s.hi)) + interval '15 minutes', oldest)
        ))
    ) r
    union all
    select s.place, s.lo, least(s.hi, date_part('epoch', oldest)), date_part('epoch', oldest)
    from unnest(los, his) with ordinality s (lo, hi, place)
    where s.lo < date_part('epoch', oldest)
    order by 1, 2;
end
$$;

-- Opens quarter hours (seconds) of archived time for late samples if no data of the series is archived in them: they are
-- read from their samples until the next archive run. Returns the positions of the others. The caller holds the user's
-- ingest lock.
create or replace function take_late(source_ids int4[], series_ids int2[], quarters float8[]) returns table (place int8)
language plpgsql
as $$
begin
  return query
    with asked as materialized (
      select k.place, k.source_id, k.series_id, to_timestamp(k.at) as bucket
      from unnest(source_ids, series_ids, quarters) with ordinality k (source_id, series_id, at, place)
    ), held as materialized (
      -- As one range of each series: a probe for each quarter hour would open a batch of the columnstore each time.
      select g.source_id, g.series_id, r.bucket
      from (select a.source_id, a.series_id, min(a.bucket) as lo, max(a.bucket) as hi from asked a group by 1, 2) g
      cross join lateral (
        select r.bucket from rollup_15min r
        where r.source_id = g.source_id and r.series_id = g.series_id and r.bucket >= g.lo and r.bucket <= g.hi
        offset 0
      ) r
    ), refused as materialized (
      select a.place from asked a join held h on (h.source_id, h.series_id, h.bucket) = (a.source_id, a.series_id, a.bucket)
    ), taken as (
      update source_series k set archived = k.archived - t.ranges, archived_to = null
      from (
        select a.source_id, a.series_id, range_agg(tstzrange(a.bucket, a.bucket + interval '15 minutes')) as ranges
        from asked a
        where a.place not in (select r.place from refused r)
        group by 1, 2
      ) t
      where k.source_id = t.source_id and k.series_id = t.series_id
    )
    select r.place from refused r;
end
$$;
