-- Number and sum of the samples of a series within each of the given spans [lo, hi), which are short compared with the time
-- from the first to the last; `place` counts from 1. The result is that of span_sums for each. If rollups are clean, one
-- statement makes three probes a span, whereas span_sums reads its parts one by one (0.1 ms). The outer bounds keep
-- TimescaleDB from opening other chunks (see read_samples.sql). In a span that reaches into archived time, the archived
-- samples count by kept_sum (see keep_sums), or by whole quarter hours if no sum was stored for exactly this span. A sum from
-- before everything that is kept does not count, whether or not it has been deleted yet.
--
-- Of a series with few samples a span is read in one probe, whole: a probe costs 3 µs, and one into a compressed batch 10 to 30.
drop function if exists sample_means(int4[], int2, float8[], float8[]);
create or replace function sums_in_spans(the_source int4, the_series int2, los timestamptz[], his timestamptz[])
returns table (place int8, n int8, total float8)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set timescaledb.enable_runtime_exclusion = off
as $$
declare
  low timestamptz := (select min(lo) from unnest(los) lo);
  high timestamptz := (select max(hi) from unnest(his) hi);
  -- Time without readable samples.
  gone tstzmultirange := case
    when low < raw_floor() then archived_time(the_source, the_series) + tstzmultirange(tstzrange('-infinity', rollup_floor()))
    else '{}'
  end;
  -- Time in which a quarter hour may differ from its samples, or is not kept.
  dirty tstzmultirange := coalesce(
    (
      select t.months * tstzmultirange(tstzrange(low, high, '[]'))
      from sparse_time t
      where t.source_id = the_source and t.series_id = the_series
    ),
    '{}'
  ) + (
    select coalesce(range_agg(tstzrange(d.lo - interval '15 minutes', d.hi + interval '15 minutes', '[]')), '{}')
    from rollup_dirty d
    where d.source_id = the_source
      and d.series_id = the_series
      and d.lo < high + interval '15 minutes'
      and d.hi >= low - interval '15 minutes'
  );
  -- At most four samples a quarter hour, as far as the rollups know. Where they are behind, samples are read anyway.
  is_sparse boolean := (
    select coalesce(sum(r.n), 0) * interval '225 seconds' <= high - low
    from rollup_1day r
    where r.source_id = the_source and r.series_id = the_series and r.bucket > low - interval '1 day' and r.bucket < high
  );
begin
  if is_sparse then
    return query
      select k.place, v.n, coalesce(v.total, 0)
      from unnest(los, his) with ordinality k (lo, hi, place)
      cross join lateral (
        select count(*) as n, sum(s.value) as total
        from sample s
        where s.source_id = the_source and s.series_id = the_series and s.ts >= k.lo and s.ts < k.hi and s.ts >= low and s.ts < high
      ) v
      where k.lo < k.hi and not tstzrange(k.lo, k.hi) && gone;
  else
    return query
      -- The edges are computed once, not for each bound: of a compressed batch for each of its samples.
      with span as materialized (
        select e.*, greatest(e.first, e.last) as rest
        from (
          select k.place, k.lo, k.hi, least(time_bucket('15 minutes', k.lo + interval '15 minutes' - interval '1 microsecond'), k.hi) as first,
                 time_bucket('15 minutes', k.hi) as last
          from unnest(los, his) with ordinality k (lo, hi, place)
          where k.lo < k.hi and not tstzrange(k.lo, k.hi) && dirty and not tstzrange(k.lo, k.hi) && gone
        ) e
      )
      select k.place, b.n + coalesce(r.n, 0)::int8 + a.n, coalesce(b.total, 0) + coalesce(r.total, 0) + coalesce(a.total, 0)
      from span k
      cross join lateral (
        select count(*) as n, sum(s.value) as total
        from sample s
        where s.source_id = the_source and s.series_id = the_series and s.ts >= k.lo and s.ts < k.first and s.ts >= low and s.ts < high
      ) b
      cross join lateral (
        select sum(q.n) as n, sum(q.total) as total
        from rollup_15min q
        where q.source_id = the_source and q.series_id = the_series and q.bucket >= k.first and q.bucket < k.last
          and q.bucket >= low and q.bucket < high
      ) r
      cross join lateral (
        select count(*) as n, sum(s.value) as total
        from sample s
        where s.source_id = the_source and s.series_id = the_series and s.ts >= k.rest and s.ts < k.hi
          and s.ts >= low and s.ts < high
      ) a;
  end if;
  if isempty(gone) and (is_sparse or isempty(dirty)) then
    return;
  end if;
  return query
    select k.place, coalesce(m.n, 0) + coalesce(v.n, 0)::int8, coalesce(m.total, 0) + coalesce(v.total, 0)
    from (
      select k.*, tstzmultirange(tstzrange(k.lo, k.hi)) as span
      from unnest(los, his) with ordinality k (lo, hi, place)
      where k.lo < k.hi and (tstzrange(k.lo, k.hi) && gone or (not is_sparse and tstzrange(k.lo, k.hi) && dirty))
    ) k
    left join kept_sum m
      on m.source_id = the_source and m.series_id = the_series and m.starts = k.lo and m.ends = k.hi and k.span && gone
        and m.ends > rollup_floor()
    cross join lateral (
      select sum(p.n) as n, sum(p.total) as total
      from unnest(case when m.n is null then k.span else k.span - gone end) r
      cross join lateral span_sums(the_source, the_series, lower(r), upper(r)) p
    ) v;
end
$$;
