-- Number of the local day of a sample: days since 1970-01-01 at its own zone offset (null = UTC). Written so that the
-- planner inlines it, which it does with immutable parts only: a call would take ten times as long.
create or replace function local_day(ts timestamptz, zone_offset_min int2) returns int4
language sql immutable parallel safe
return (ts at time zone 'UTC' + coalesce(zone_offset_min, 0) * interval '1 minute')::date - date '1970-01-01';

-- Samples before this instant are archived: only the rollups know of them.
create or replace function raw_floor() returns timestamptz
language sql stable
as $$ select coalesce(a.raw_floor, '-infinity') from archival a $$;

-- Nothing before this instant is kept, not even rollups.
create or replace function rollup_floor() returns timestamptz
language sql stable
as $$ select coalesce(a.rollup_floor, '-infinity') from archival a $$;

-- From this instant on there are rollups of `width`, a divisor of a day; 'infinity' where there are none.
create or replace function rollup_from(width interval) returns timestamptz
language sql stable
as $$
  select case when width < interval '15 minutes' then coalesce(r.minutes_from, 'infinity') else '-infinity' end
  from rollup_strategy r
$$;
