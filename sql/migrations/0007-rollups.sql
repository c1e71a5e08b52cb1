-- Ranges of a series whose rollups are behind its samples: written in the transaction that changed the samples, removed
-- by the refresh that covered them. Reads take these ranges from the samples themselves. Both ends are instants of
-- changed samples.
create table rollup_dirty (
  seq int8 generated always as identity primary key,
  source_id int4 not null references data_source (id) on delete cascade,
  series_id int2 not null,
  lo timestamptz not null,
  hi timestamptz not null,
  created_at timestamptz not null default now()
);
create index rollup_dirty_series_idx on rollup_dirty (source_id, series_id);

-- What was stored before there were rollups.
insert into rollup_dirty (source_id, series_id, lo, hi)
select k.source_id, k.series_id, first.ts, last.ts
from source_series k
cross join lateral (
  select s.ts from sample s where s.source_id = k.source_id and s.series_id = k.series_id order by s.ts limit 1
) first
cross join lateral (
  select s.ts from sample s where s.source_id = k.source_id and s.series_id = k.series_id order by s.ts desc limit 1
) last;
