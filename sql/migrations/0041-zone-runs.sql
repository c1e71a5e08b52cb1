-- Where a person was: runs of records with one zone offset, two hours apart at most. What has no offset takes that of the nearest
-- run (server/store/zones.ts). By provider, whose data may be deleted. The runs of a user and provider do not overlap.
create table zone_run (
  user_id uuid not null references app_user (id) on delete cascade,
  provider text not null,
  lo timestamptz not null,
  hi timestamptz not null,
  -- Minutes east of UTC.
  zone_offset_min int2 not null,
  constraint zone_run_pkey primary key (user_id, provider, lo)
);

-- What was stored before: a day has the offset of its latest sample.
do $$
begin
  if to_regclass('rollup_1day') is not null then
    execute '
      insert into zone_run (user_id, provider, lo, hi, zone_offset_min)
      select i.user_id, i.provider, min(i.bucket), max(i.bucket) + interval ''1 day'' - interval ''1 second'', i.last_zone
      from (
        select d.*, d.bucket - row_number() over (partition by d.user_id, d.provider, d.last_zone order by d.bucket) * interval ''1 day'' as run
        from (
          select distinct on (s.user_id, s.provider, r.bucket) s.user_id, s.provider, r.bucket, r.last_zone
          from rollup_1day r
          join data_source s on s.id = r.source_id
          where r.last_zone is not null
          order by s.user_id, s.provider, r.bucket, r.n desc
        ) d
      ) i
      group by i.user_id, i.provider, i.last_zone, i.run';
  end if;
end
$$;
