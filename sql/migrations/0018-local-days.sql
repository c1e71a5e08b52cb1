-- What the samples of a series add up to on each local day, so that a year of days costs no more than its rows. A stale
-- row is behind the rollups it is computed from, or was never computed; a day without samples has no row, or a stale one.
create table rollup_local_day (
  source_id int4 not null,
  series_id int2 not null,
  -- Since 1970-01-01. The day of a quarter hour is that of its latest sample.
  day int4 not null,
  stale boolean not null,
  n int8,
  total float8,
  lowest float8,
  highest float8,
  -- Of heart rate and steps, on how many minutes they reached each of the values that `minute_place` numbers from 1 on;
  -- the places that none reached are left out at the end. Null when it is not known: minutes of archived samples are gone.
  minutes int2[],
  constraint rollup_local_day_pkey primary key (source_id, series_id, day)
);
create index rollup_local_day_stale_idx on rollup_local_day (day) where stale;

drop function if exists minutes_in_bands(int4[], int2, int4[], int4[], float8[], boolean, float8);
drop function if exists effort_bounds(uuid, int4);

-- What was stored before there were such days. Samples that no rollup knows of yet are noted when one does.
do $$
begin
  if to_regclass('rollup_1day') is not null then
    execute '
      insert into rollup_local_day (source_id, series_id, day, stale)
      select distinct r.source_id, r.series_id, (r.bucket at time zone ''UTC'')::date - date ''1970-01-01'' + shift, true
      from rollup_1day r
      cross join generate_series(-1, 1) shift';
  end if;
end
$$;
