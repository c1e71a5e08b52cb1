-- Claims a series for the caller's transaction, which is about to compute what is derived from its samples. False, without
-- waiting, when another session is at it, or its source is being deleted.
create or replace function claim_series(the_source int4, the_series int2) returns boolean
language plpgsql
as $$
begin
  -- A session that refreshes or converts all rollups, or compresses a chunk, holds the first lock alone; it may claim single
  -- series itself.
  if not pg_try_advisory_xact_lock_shared(hashtextextended('refresh all rollups', 0))
     or not pg_try_advisory_xact_lock(hashtextextended('rollup:' || the_source || ':' || the_series, 0)) then
    return false;
  end if;
  -- Deleting the user waits for this; if a deletion is already running, there is nothing to do.
  perform 1 from data_source where id = the_source for key share skip locked;
  return found;
end
$$;

-- Waits until the transactions that wrote dirty ranges are over. What they wrote shows before other sessions learn that a chunk
-- now has rows beside its columns: whoever reads it at that moment, by a plan that is kept, would not find these rows. Their
-- locks last longer than that. Released at once, since there may be more of them than one transaction can hold.
create or replace function await_writers(seqs int8[]) returns void
language plpgsql
as $$
begin
  perform pg_advisory_lock_shared(w.writer), pg_advisory_unlock_shared(w.writer)
  from (select distinct d.writer from rollup_dirty d where d.seq = any (seqs) and d.writer is not null) w;
end
$$;

-- Refreshes at most `most` series that are dirty before `until`, those that have waited longest first, at most `span` of each.
-- Each in a transaction of its own: a session learns of the changed chunks (await_writers) only when it locks them, and holds
-- these locks until its transaction ends. What was dirty is forgotten in another one, for the same reason: whoever read it as
-- clean while the rollups are being committed, by a plan that is kept, would not find rollups in a chunk that came with them.
-- What a crash takes of the last ones is dirty again, so no commit waits for the disk.
create or replace procedure refresh_due_series(span interval, most int4, until timestamptz, inout did boolean)
language plpgsql
as $$
declare
  due record;
  done record;
begin
  did := false;
  for due in
    select d.source_id, d.series_id
    from rollup_dirty d
    group by d.source_id, d.series_id
    having min(d.lo) < until
    order by min(d.seq)
    limit most
  loop
    perform set_config('synchronous_commit', 'off', true);
    done := compute_rollups(due.source_id, due.series_id, span);
    commit;
    if done.claimed is not null then
      did := true;
      perform set_config('synchronous_commit', 'off', true);
      -- Another session may be computing the same again: only what is dirty is not archived meanwhile. It forgets it as well.
      if claim_series(due.source_id, due.series_id) then
        delete from rollup_dirty d where d.seq = any (done.claimed) and d.hi < done.until;
        update rollup_dirty d set lo = done.until where d.seq = any (done.claimed) and d.lo < done.until;
      end if;
      commit;
    end if;
  end loop;
end
$$;

drop function if exists refresh_series(int4, int2, interval);

-- Computes the rollups of a series where they are dirty, at most `span` of time from its first dirty instant on, from the
-- samples, never by adding differences. Returns the dirty ranges, which are covered before `until`, and stay: changes committed
-- in the meantime have dirty ranges of their own. Null if nothing is dirty or another session is refreshing the series.
create or replace function compute_rollups(
  the_source int4, the_series int2, span interval, out claimed int8[], out until timestamptz
)
language plpgsql
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz;
  high timestamptz;
  ranges tstzmultirange;
  changed tstzmultirange;
  sparse tstzmultirange;
begin
  if not claim_series(the_source, the_series) then
    return;
  end if;
  select array_agg(d.seq), min(d.lo), max(d.hi) into claimed, low, high
  from rollup_dirty d
  where d.source_id = the_source and d.series_id = the_series;
  if claimed is null then
    return;
  end if;
  perform await_writers(claimed);
  -- Whole days, so the rest starts at a bucket boundary of every width.
  until := time_bucket('1 day', least(high, low + span)) + interval '1 day';
  select range_agg(q.quarters), range_agg(q.quarters) filter (where q.changed)
  into ranges, changed
  from (
    select tstzrange(time_bucket('15 minutes', d.lo), least(time_bucket('15 minutes', d.hi) + interval '15 minutes', until)) as quarters,
           d.changed
    from rollup_dirty d
    where d.seq = any (claimed) and d.lo < until
  ) q;
  -- Dirty ranges may enclose archived or expired time, which cannot be recomputed.
  ranges := ranges - archived_time(the_source, the_series) - tstzmultirange(tstzrange('-infinity', rollup_floor()));

  perform refresh_minutes(the_source, the_series, ranges);
  sparse := judge_months(the_source, the_series, ranges);
  perform refresh_15min(the_source, the_series, ranges - sparse);
  perform refresh_1hour(the_source, the_series, widened(ranges - sparse, interval '1 hour'));
  perform refresh_sparse_1hour(the_source, the_series, widened(ranges * sparse, interval '1 hour'));
  perform refresh_1day(the_source, the_series, widened(ranges, interval '1 day'));
  perform note_stale_days(array_agg(the_source), array_agg(the_series), array_agg(lower(r)), array_agg(upper(r) - interval '1 microsecond'))
  from unnest(ranges * changed) r;
end
$$;

-- Ranges with their ends moved out to whole buckets.
create or replace function widened(ranges tstzmultirange, width interval) returns tstzmultirange
language sql immutable
return (
  select range_agg(tstzrange(time_bucket(width, lower(r)), time_bucket(width, upper(r) + width - interval '1 microsecond')))
  from unnest(ranges) r
);

-- Creates the function `refresh_<name>`, which recomputes every bucket of the rollup `rollup_<name>` within ranges from
-- the samples or a narrower rollup, stores those that changed and deletes those that lost their last sample. One text
-- generates the functions of all widths, so their statements are planned once: planning at each call took twice the
-- time. Rows are looked up bucket by bucket by key, so any plan opens only the columnstore batches that change. Summing
-- the same numbers in another order may change the last bits, which does not count as a change. The latest sample of a
-- bucket is the largest of (time, value, zone), compared as arrays. It handles one range at a time: with new tables the
-- planner joined the ranges with the rows quadratically.
drop function if exists create_refresh(text, interval, text);
create or replace function create_refresh(name text, width interval, narrower text, kind text default '') returns void
language plpgsql
as $create$
declare
  computed text := case narrower
    when 'sample' then $$
        select time_bucket(%L, s.ts) as bucket, count(*) as n, sum(s.value) as total, min(s.value) as lowest,
               max(s.value) as highest,
               max(array[date_part('epoch', s.ts), s.value, coalesce(s.zone_offset_min, -32768)]) as last
        from %I s
        where s.source_id = the_source and s.series_id = the_series and s.ts >= lower(part) and s.ts < upper(part)
        group by 1$$
    else $$
        select time_bucket(%L, s.bucket) as bucket, sum(s.n)::int8 as n, sum(s.total) as total,
               min(s.lowest) as lowest, max(s.highest) as highest,
               max(array[date_part('epoch', s.bucket), s.last_value, coalesce(s.last_zone, -32768)]) as last
        from %I s
        where s.source_id = the_source and s.series_id = the_series and s.bucket >= lower(part) and s.bucket < upper(part)
        group by 1$$
  end;
begin
  execute format(
    $function$
create or replace function %1$I(the_source int4, the_series int2, ranges tstzmultirange) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
declare
  part tstzrange;
  gone timestamptz[];
begin
  foreach part in array array(select unnest(ranges))
  loop
    with computed as (%3$s
    ), stored as (
      select *
      from %2$I o
      where o.source_id = the_source and o.series_id = the_series and o.bucket >= lower(part) and o.bucket < upper(part)
    ), changed as materialized (
      select coalesce(c.bucket, o.bucket) as bucket, c.n, c.total, c.lowest, c.highest, l.last_value, l.last_zone
      from computed c
      full join stored o on o.bucket = c.bucket
      cross join lateral (select c.last[2] as last_value, nullif(c.last[3], -32768)::int2 as last_zone) l
      where (c.n, c.lowest, c.highest, l.last_value, l.last_zone)
            is distinct from (o.n, o.lowest, o.highest, o.last_value, o.last_zone)
         or abs(c.total - o.total) > 1e-12 * abs(c.total)
    ), written as (
      insert into %2$I (source_id, series_id, bucket, n, total, lowest, highest, last_value, last_zone)
      select the_source, the_series, c.bucket, c.n, c.total, c.lowest, c.highest, c.last_value, c.last_zone
      from changed c
      where c.n is not null
      -- Neighbours in time are then neighbours on disk: a merged page of three weeks read 6,534 pages of quarter hours in the
      -- order of hashes.
      order by c.bucket
      on conflict (source_id, series_id, bucket) do update
      set n = excluded.n, total = excluded.total, lowest = excluded.lowest, highest = excluded.highest,
          last_value = excluded.last_value, last_zone = excluded.last_zone
    )
    select array_agg(c.bucket) into gone from changed c where c.n is null;
    if gone is not null then
      perform delete_instants(%2$L, 'bucket', the_source, the_series, gone);
    end if;
  end loop;
end
$$
    $function$,
    'refresh_' || kind || name, 'rollup_' || name, format(computed, width, narrower)
  );
end
$create$;

do $$
begin
  perform create_refresh('15min', '15 minutes', 'sample');
  perform create_refresh('1hour', '1 hour', 'rollup_15min');
  perform create_refresh('1hour', '1 hour', 'sample', 'sparse_');
  perform create_refresh('1day', '1 day', 'rollup_1hour');
end
$$;

-- Removes the rollups of sources. The caller has locked the sources, which keeps refreshes of their series away. Waits
-- for a refresh of all rollups, which may have read the samples already, and for a chunk that is being compressed.
create or replace function delete_rollups(source_ids int4[]) returns void
language plpgsql
as $$
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('refresh all rollups', 0));
  perform delete_of_sources('rollup_15min', source_ids);
  perform delete_of_sources('rollup_1hour', source_ids);
  perform delete_of_sources('rollup_1day', source_ids);
  delete from rollup_local_day where source_id = any (source_ids);
  delete from rollup_total where source_id = any (source_ids);
  delete from sparse_time where source_id = any (source_ids);
  if rollup_from('1 minute') < 'infinity' then
    perform delete_of_sources('rollup_1min', source_ids);
    perform delete_of_sources('rollup_5min', source_ids);
  end if;
end
$$;
