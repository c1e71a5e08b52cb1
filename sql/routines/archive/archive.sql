-- Removes archived samples that no chunk took along, at most `most` of them; returns how many.
create or replace function delete_archived_samples(most int4) returns int8
language plpgsql
set plan_cache_mode = force_generic_plan
set timescaledb.max_tuples_decompressed_per_dml_transaction = 0
as $$
declare
  archived timestamptz := raw_floor();
  deleted int8;
begin
  if archived = '-infinity' then
    return 0;
  end if;
  with doomed as (
    select s.source_id, s.series_id, s.ts
    from source_series k
    cross join lateral (
      select p.source_id, p.series_id, p.ts
      from sample p
      where p.source_id = k.source_id and p.series_id = k.series_id and p.ts < archived
      limit most
    ) s
    limit most
  )
  delete from sample s
  using doomed d
  where s.source_id = d.source_id and s.series_id = d.series_id and s.ts = d.ts;
  get diagnostics deleted = row_count;
  return deleted;
end
$$;

-- Removes what is known of the records of archived samples, at most `most` lists of it; returns how many.
create or replace function delete_archived_origins(most int4) returns int8
language sql as $$
  with gone as (
    delete from sample_origin where seq in (select o.seq from sample_origin o, archival a where o.hi < a.raw_floor limit most)
    returning 1
  )
  select count(*) from gone;
$$;

-- Removes rollups before the horizon, of as many series as hold `most` of them; returns how many.
create or replace function delete_expired_rollups(most int4) returns int8
language plpgsql
set timescaledb.max_tuples_decompressed_per_dml_transaction = 0
as $$
declare
  horizon timestamptz := rollup_floor();
  series record;
  found_rows int8;
  deleted int8 := 0;
begin
  if horizon = '-infinity' then
    return 0;
  end if;
  for series in select k.source_id, k.series_id from source_series k
  loop
    delete from rollup_15min r
    where r.source_id = series.source_id and r.series_id = series.series_id and r.bucket < horizon;
    get diagnostics found_rows = row_count;
    deleted := deleted + found_rows;
    delete from rollup_1hour r
    where r.source_id = series.source_id and r.series_id = series.series_id and r.bucket < horizon;
    delete from rollup_1day r
    where r.source_id = series.source_id and r.series_id = series.series_id and r.bucket < horizon;
    delete from rollup_local_day r
    where r.source_id = series.source_id and r.series_id = series.series_id and day_ends(r.day) <= horizon;
    exit when deleted >= most;
  end loop;
  return deleted;
end
$$;
