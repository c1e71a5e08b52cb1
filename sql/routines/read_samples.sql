-- Number of the local day of a sample: days since 1970-01-01 at its own zone offset (null = UTC).
create or replace function local_day(ts timestamptz, zone_offset_min int2) returns int4
language sql immutable parallel safe
return floor((extract(epoch from ts) + coalesce(zone_offset_min, 0) * 60) / 86400)::int4;

-- The first `most` buckets (the last ones with `backward`) that hold samples of one series of one source within
-- [lo, hi), computed from raw samples: jumps from bucket to bucket by index, so empty time costs nothing and the
-- scan ends with the page. `days` limits it to samples of those local days; null means all.
create or replace function bucket_page(
  the_source int4, the_series int2, lo timestamptz, hi timestamptz, width interval, most int4, backward boolean, days int4[]
) returns table (bucket timestamptz, n int8, total float8, highest float8, last_zone int2)
language plpgsql stable as $$
declare
  at timestamptz;
  low timestamptz := lo;
  high timestamptz := hi;
begin
  for found_buckets in 1..most loop
    if backward then
      select s.ts into at from sample s
      where s.source_id = the_source and s.series_id = the_series and s.ts >= low and s.ts < high
        and (days is null or local_day(s.ts, s.zone_offset_min) = any (days))
      order by s.ts desc limit 1;
    else
      select s.ts into at from sample s
      where s.source_id = the_source and s.series_id = the_series and s.ts >= low and s.ts < high
        and (days is null or local_day(s.ts, s.zone_offset_min) = any (days))
      order by s.ts limit 1;
    end if;
    exit when at is null;
    bucket := time_bucket(width, at);
    select count(*), sum(s.value), max(s.value), (array_agg(s.zone_offset_min order by s.ts desc))[1]
    into n, total, highest, last_zone
    from sample s
    where s.source_id = the_source and s.series_id = the_series
      and s.ts >= greatest(bucket, lo) and s.ts < least(bucket + width, hi)
      and (days is null or local_day(s.ts, s.zone_offset_min) = any (days));
    return next;
    if backward then
      high := bucket;
    else
      low := bucket + width;
    end if;
  end loop;
end
$$;
