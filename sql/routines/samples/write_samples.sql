-- These functions run for every upload, so their plans are made once: planning over many chunks costs more than running.
-- The outer bounds (`first`, `last`) let TimescaleDB skip chunks before it starts; testing every chunk again for each
-- segment would cost 0.5 ms a segment at 37 chunks, so that is off (the setting has no effect on a plain server).

-- Number of stored samples within each segment, at most its `most`; in the order of the segments.
create or replace function count_stored(source_ids int4[], series_ids int2[], los float8[], his float8[], most int4[])
returns table (stored int8)
language plpgsql
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  first timestamptz := (select to_timestamp(min(lo)) from unnest(los) lo);
  last timestamptz := (select to_timestamp(max(hi)) from unnest(his) hi);
begin
  return query
    select (
      select count(*)
      from (
        select 1
        from sample s
        where s.source_id = k.source_id
          and s.series_id = k.series_id
          and s.ts >= to_timestamp(k.lo)
          and s.ts <= to_timestamp(k.hi)
          and s.ts >= first
          and s.ts <= last
        limit k.most
      ) found
    )
    from unnest(source_ids, series_ids, los, his, count_stored.most)
      with ordinality k (source_id, series_id, lo, hi, most, position)
    order by k.position;
end
$$;

-- What is stored within each segment, as a fingerprint: SHA-256 of its instants, values, zones and lengths, each an array in the
-- binary form of the protocol, ascending by time. In the order of the segments.
create or replace function stored_digests(source_ids int4[], series_ids int2[], los float8[], his float8[])
returns table (digest bytea)
language plpgsql
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  first timestamptz := (select to_timestamp(min(lo)) from unnest(los) lo);
  last timestamptz := (select to_timestamp(max(hi)) from unnest(his) hi);
begin
  return query
    select (
      select sha256(
        array_send(array_agg(o.ts)) || array_send(array_agg(o.value))
        || array_send(array_agg(o.zone_offset_min)) || array_send(array_agg(o.lasts_s))
      )
      from (
        select s.ts, s.value, s.zone_offset_min, s.lasts_s
        from sample s
        where s.source_id = k.source_id
          and s.series_id = k.series_id
          and s.ts >= to_timestamp(k.lo)
          and s.ts <= to_timestamp(k.hi)
          and s.ts >= first
          and s.ts <= last
        order by s.ts
      ) o
    )
    from unnest(source_ids, series_ids, los, his) with ordinality k (source_id, series_id, lo, hi, position)
    order by k.position;
end
$$;

-- Notes that samples between `los` and `his` (seconds) were added to series, whose longest records last `longest` seconds:
-- the series of each source, and the ranges in which rollups are outdated.
drop function if exists note_added(int4[], int2[], float8[], float8[]);
create or replace function note_added(source_ids int4[], series_ids int2[], los float8[], his float8[], longest int4[] default null) returns void
language sql as $$
  insert into source_series as s (source_id, series_id, longest_s)
  select k.source_id, k.series_id, max(k.longest)
  from unnest(source_ids, series_ids, longest) k (source_id, series_id, longest)
  group by 1, 2
  on conflict (source_id, series_id) do update set longest_s = excluded.longest_s
  where excluded.longest_s > coalesce(s.longest_s, 0);
  insert into rollup_dirty (source_id, series_id, lo, hi)
  select k.source_id, k.series_id, to_timestamp(k.lo), to_timestamp(k.hi)
  from unnest(source_ids, series_ids, los, his) k (source_id, series_id, lo, hi);
$$;

drop function if exists delete_samples(int4, int2, timestamptz, timestamptz);

-- Removes single samples, at `ats` (seconds); the rollups follow. Returns the positions in the arrays of those it found.
-- Archived data is final. The caller holds the user's ingest lock. Samples of one series and day are removed together, since
-- a statement takes a millisecond, more with many chunks.
create or replace function delete_sample_points(source_ids int4[], series_ids int2[], ats float8[])
returns table (place int8)
language plpgsql
as $$
#variable_conflict use_column
declare
  points record;
  gone timestamptz[];
begin
  for points in
    select k.source_id, k.series_id, array_agg(p.ts) as instants, array_agg(k.place) as places
    from unnest(source_ids, series_ids, ats) with ordinality k (source_id, series_id, at, place)
    cross join lateral to_timestamp(k.at) p (ts)
    where p.ts >= raw_floor() or not archived_time(k.source_id, k.series_id) @> p.ts
    group by k.source_id, k.series_id, time_bucket('1 day', p.ts)
  loop
    gone := delete_instants('sample', 'ts', points.source_id, points.series_id, points.instants);
    insert into rollup_dirty (source_id, series_id, lo, hi)
    select points.source_id, points.series_id, min(g), max(g) from unnest(gone) g having count(*) > 0;
    return query select p.place from unnest(points.instants, points.places) p (ts, place) where p.ts = any (gone);
  end loop;
end
$$;

-- Removes all data of sources. Samples have no foreign key. The caller has locked the sources and holds the ingest lock of
-- their user.
create or replace function delete_sources(source_ids int4[]) returns void
language plpgsql
as $$
begin
  perform delete_of_sources('sample', source_ids);
  perform delete_rollups(source_ids);
end
$$;

-- Moves the rows of the session's `incoming` table into `sample`: new keys are inserted, changed ones updated, unchanged
-- ones not touched at all (no row lock, no WAL). Runs of days with changes become dirty ranges. Returns counts per series,
-- one row for the new rows and one for the changed ones, with the positions of these rows if requested, and the positions and
-- zones of those that keep the zone that is stored. Stored rows are read by segment: a whole range if data is dense, otherwise
-- single instants. The caller holds the user's ingest lock, so the rows read stay current.
drop function if exists merge_samples(int4[], int2[], float8[], float8[]);
drop function if exists merge_samples(int4[], int2[], float8[], float8[], boolean);
create or replace function merge_samples(
  source_ids int4[], series_ids int2[], los float8[], his float8[], with_places boolean
) returns table (
  series int2, is_new boolean, row_count int8, first_ts timestamptz, last_ts timestamptz, places int4multirange,
  kept_places int4[], kept_zones int2[]
)
language plpgsql
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  first timestamptz := (select to_timestamp(min(lo)) from unnest(los) lo);
  last timestamptz := (select to_timestamp(max(hi)) from unnest(his) hi);
begin
  perform expect_changed((select count(*) from incoming));
  return query
    with old as materialized (
      select s.source_id, s.series_id, s.ts, s.value, s.zone_offset_min, s.lasts_s
      from unnest(source_ids, series_ids, los, his) k (source_id, series_id, lo, hi)
      cross join lateral (
        select source_id, series_id, ts, value, zone_offset_min, lasts_s
        from sample
        where source_id = k.source_id
          and series_id = k.series_id
          and ts >= to_timestamp(k.lo)
          and ts <= to_timestamp(k.hi)
          and ts >= first
          and ts <= last
      ) s
    ), changed as materialized (
      select i.ts, i.value, i.source_id, i.series_id, z.zone_offset_min, i.lasts_s, i.place, o.ts is null as is_new,
             z.zone_offset_min is distinct from i.zone_offset_min as keeps_zone
      from incoming i
      left join old o on o.source_id = i.source_id and o.series_id = i.series_id and o.ts = i.ts
      -- A sample that arrives again without a zone keeps the zone it has.
      cross join lateral (
        select case when i.zone_taken then coalesce(o.zone_offset_min, i.zone_offset_min) else i.zone_offset_min end
      ) z (zone_offset_min)
      where o.ts is null
         or (o.value, o.zone_offset_min, o.lasts_s) is distinct from (i.value, z.zone_offset_min, i.lasts_s)
    ), written as (
      insert into sample (ts, value, source_id, series_id, zone_offset_min, lasts_s)
      select c.ts, c.value, c.source_id, c.series_id, c.zone_offset_min, c.lasts_s
      from changed c
      on conflict (source_id, series_id, ts) do update
      set value = excluded.value, zone_offset_min = excluded.zone_offset_min, lasts_s = excluded.lasts_s
    ), lengthened as (
      update source_series s set longest_s = c.longest_s
      from (select source_id, series_id, max(lasts_s) as longest_s from changed group by 1, 2) c
      where s.source_id = c.source_id and s.series_id = c.series_id and c.longest_s > coalesce(s.longest_s, 0)
    ), days as (
      select c.source_id, c.series_id, time_bucket('1 day', c.ts) as day, min(c.ts) as lo, max(c.ts) as hi
      from changed c
      group by 1, 2, 3
    ), runs as (
      -- The difference between a day and its number in the order is the same for successive days.
      select d.*, d.day - interval '1 day' * row_number() over (partition by d.source_id, d.series_id order by d.day) as run
      from days d
    ), dirtied as (
      insert into rollup_dirty (source_id, series_id, lo, hi)
      select r.source_id, r.series_id, min(r.lo), max(r.hi)
      from runs r
      group by r.source_id, r.series_id, r.run
    )
    select c.series_id, c.is_new, count(*), min(c.ts), max(c.ts),
           case when with_places then range_agg(int4range(c.place, c.place + 1)) end,
           array_agg(c.place) filter (where c.keeps_zone), array_agg(c.zone_offset_min) filter (where c.keeps_zone)
    from changed c
    group by c.series_id, c.is_new;
end
$$;
