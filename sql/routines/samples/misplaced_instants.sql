-- The instants of each series' samples on local days, by the zone that they have, whose zone is another one than that of the
-- day; each day with the span, [lo, hi] in seconds, that its samples are looked for in. Successive days of a series in one
-- zone are one probe. Planned as in write_samples.sql.
create or replace function misplaced_instants(
  source_ids int4[], series_ids int2[], los float8[], his float8[], days int4[], zones int2[]
) returns table (source_id int4, series_id int2, at float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  first timestamptz := (select to_timestamp(min(lo)) from unnest(los) lo);
  last timestamptz := (select to_timestamp(max(hi)) from unnest(his) hi);
begin
  return query
    select k.source_id, k.series_id, date_part('epoch', s.ts)
    from (
      select d.source_id, d.series_id, d.zone, to_timestamp(min(d.lo)) as lo, to_timestamp(max(d.hi)) as hi, array_agg(d.day) as days
      from (
        select g.*, g.day - row_number() over (partition by g.source_id, g.series_id, g.zone order by g.day) as run
        from unnest(source_ids, series_ids, los, his, days, zones) g (source_id, series_id, lo, hi, day, zone)
      ) d
      group by d.source_id, d.series_id, d.zone, d.run
    ) k
    cross join lateral (
      select p.ts
      from sample p
      where p.source_id = k.source_id
        and p.series_id = k.series_id
        and p.ts >= k.lo
        and p.ts <= k.hi
        and p.ts >= first
        and p.ts <= last
        and p.zone_offset_min is distinct from k.zone
        and local_day(p.ts, p.zone_offset_min) = any (k.days)
      -- Keeps one probe per run of days.
      offset 0
    ) s;
end
$$;
