-- Which quarter hours the records of a day reach, of series that several sources share (is_merged): a merged year is then read
-- from its days instead of all their quarter hours.
alter table rollup_local_day
  -- A number for each half day of UTC: its low 48 bits are the quarter hours, those above count the half days from 24 hours before
  -- 00:00 UTC of the day. Null when this was not computed.
  add column reached int8[],
  -- Of these the quarter hours that records reach with more than a trace (see least_amount); null when that is all of them.
  add column firm int8[];

-- Days of a user with two sources of one type are worth computing again; others are, as soon as they are read beside a rival.
update rollup_local_day r
set stale = true
from source_series k
join data_source d on d.id = k.source_id
where r.source_id = k.source_id and r.series_id = k.series_id and r.series_id % 5000 in (1, 80, 81, 82, 86, 88, 100)
  and not r.stale
  and exists (
    select 1
    from data_source o
    join source_series p on p.source_id = o.id and p.series_id % 5000 = k.series_id % 5000 and p.series_id < 10000
    where o.user_id = d.user_id and (p.source_id, p.series_id) <> (k.source_id, k.series_id)
  );

drop function if exists local_days(int4, int2, int4, int4, boolean, boolean);
drop function if exists computed_days(int4, int2, int4, int4, boolean, boolean);
drop function if exists day_spills(int4, int2, int4, int4);
