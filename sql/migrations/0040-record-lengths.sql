-- How long the record of a sample lasted, in seconds; null where that is of no consequence (server/batch/lengths.ts).
alter table sample add column lasts_s int4;

alter table rollup_local_day
  -- What records that start in a quarter hour of the day carry into those that follow, from the first one after it on:
  -- `spills` has what each of some quarter hours in a row gets, `spill_runs` 256 times the number of these quarter hours, plus
  -- 80, plus the quarter hour of the start, counted from 00:00 UTC of the day.
  add column spill_runs int2[],
  add column spills float8[],
  -- As `minutes`, of steps, with records spread evenly over their minutes. Null when that is not known, or when a record of the
  -- day lasts so long that nobody knows its minutes.
  add column spread_minutes int2[];

-- Nothing that is stored has a length yet.
update rollup_local_day set spread_minutes = minutes where series_id = 80 and minutes is not null;

-- The longest record of a series, in seconds; null: none has a length.
alter table source_series add column longest_s int4;
