-- Where a person was: runs of records with one zone offset, two hours apart at most. What has no offset takes that of the nearest
-- run (server/store/zones.ts). The runs of a user do not overlap.
create table zone_run (
  user_id uuid not null references app_user (id) on delete cascade,
  lo timestamptz not null,
  hi timestamptz not null,
  -- Minutes east of UTC.
  zone_offset_min int2 not null,
  constraint zone_run_pkey primary key (user_id, lo)
);

-- What was stored before: a day has the offset of its latest sample.
do $$
begin
  if to_regclass('rollup_1day') is not null then
    execute '
      insert into zone_run (user_id, lo, hi, zone_offset_min)
      select i.user_id, min(i.bucket), max(i.bucket) + interval ''1 day'' - interval ''1 second'', i.last_zone
      from (
        select d.*, d.bucket - row_number() over (partition by d.user_id, d.last_zone order by d.bucket) * interval ''1 day'' as run
        from (
          select distinct on (s.user_id, r.bucket) s.user_id, r.bucket, r.last_zone
          from rollup_1day r
          join data_source s on s.id = r.source_id
          where r.last_zone is not null
          order by s.user_id, r.bucket, r.n desc
        ) d
      ) i
      group by i.user_id, i.last_zone, i.run';
  end if;
end
$$;
