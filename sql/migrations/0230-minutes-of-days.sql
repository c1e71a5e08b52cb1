-- On how many minutes of UTC, and how many spans of five minutes, there are samples of the quarter hours of a local day, so that a
-- page of minutes knows their number without reading the samples. Null where that was not counted yet, -1 where samples of the
-- day are archived, which no minute counts.
alter table rollup_local_day
  add column held_minutes int2,
  add column held_fives int2;
