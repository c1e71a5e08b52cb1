-- Refreshes the rollups of one and of five minutes of a series, as far back as they reach.
create or replace function refresh_minutes(the_source int4, the_series int2, ranges tstzmultirange) returns void
language plpgsql
as $$
begin
  ranges := ranges * tstzmultirange(tstzrange((select coalesce(minutes_from, 'infinity') from rollup_strategy), null));
  if not isempty(ranges) then
    perform refresh_1min(the_source, the_series, ranges);
    perform refresh_5min(the_source, the_series, ranges);
  end if;
end
$$;

do $$
begin
  perform create_refresh('1min', '1 minute', 'sample');
  perform create_refresh('5min', '5 minutes', 'rollup_1min');
end
$$;
