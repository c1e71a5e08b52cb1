-- Stores what notices said of a grant: what is to be asked for, and the parcel of data and deletions that they carried
-- (brotli; null: none), as an upload of everybody whose data it is, or as more of one that waits and has less than
-- `most_bytes` then. What is new is of one run for each of them: the one that waits already, or a new one. `of_past`: it
-- belongs to the backfill that is under way, if there is one. The caller holds the grant.
create or replace function store_notices(
  the_grant uuid, parcel bytea, parcel_sha256 bytea, parcel_bytes int4, most_bytes int4, wishes jsonb, of_past boolean
) returns void
language plpgsql as $$
declare
  the_provider text;
  the_run text;
  backfill text;
  the_lane text;
  the_scope text;
  asking uuid;
  added text[];
  -- Connections whose upload is new.
  newly uuid[];
  new_id uuid;
  one record;
  own_key text;
  run sync_run;
begin
  select provider into the_provider from provider_grant where id = the_grant and state = 'live' for update;
  if not found then
    return;
  end if;
  select t.run_key into backfill
  from sync_task t
  where of_past and t.grant_id = the_grant and t.kind = 'backfill'
  limit 1;
  the_lane := case when backfill is null then 'live' else 'history' end;
  the_scope := case when backfill is null then 'live' else 'historical' end;
  if parcel is not null then
    select array_agg(c.id) into newly
    from (
      select c.id, c.user_id from connection c where c.grant_id = the_grant and c.status = 'active' order by c.user_id
    ) c
    where not add_to_waiting(c.user_id, c.id, the_scope, backfill, parcel, parcel_bytes, most_bytes);
  end if;
  if newly is null and wishes = '[]' then
    return;
  end if;
  select t.run_key into the_run
  from sync_task t
  where t.grant_id = the_grant and t.kind in ('notice', 'object') and t.lane = 'live' and t.connection_id is null
    and exists (select from sync_run r where r.run_key = t.run_key and r.source = 'webhook')
  order by t.id
  limit 1;
  the_run := coalesce(backfill, the_run, gen_random_uuid()::text);
  added := queue_wishes(the_grant, null, the_run, the_lane, wishes);
  if added is null and newly is null then
    return;
  end if;
  perform 1 from connection c where c.grant_id = the_grant and c.status = 'active' order by c.id for no key update;
  select coalesce(
    (select user_id from sync_run where run_key = the_run),
    (select c.user_id from connection c where c.grant_id = the_grant and c.status = 'active' order by c.user_id limit 1)
  ) into asking;
  -- Uploads, runs and events of several users are written in one order by everybody.
  for one in
    select c.id, c.user_id from connection c where c.grant_id = the_grant and c.status = 'active' order by c.user_id
  loop
    -- Whose upload took it has a run already.
    continue when added is null and not one.id = any (newly);
    own_key := open_run(one.user_id, the_provider, the_run, asking, the_scope, tstzrange(null, null), '{}', 'webhook');
    perform open_reports(one.user_id, own_key, added);
    if one.id = any (newly) then
      new_id := gen_random_uuid();
      perform accept_upload(
        new_id, one.user_id, the_provider, parcel_sha256, parcel, parcel_bytes, 0, null, null, the_scope, null,
        own_key, null, 'webhook', one.id
      );
      update upload set open_bytes = parcel_bytes where id = new_id;
    end if;
    run := settle_run(one.user_id, own_key, null);
  end loop;
end
$$;

-- Stores what notices said of several grants, in this order: of each what store_notices takes, and what note_items notes. A
-- parcel's `sizes` are those of its bytes here and before they were packed, null: none; `hashes` (SHA-256) and `parcels` follow
-- each other without gaps, as in receive_notices. The caller holds the grants.
create or replace function store_several_notices(
  grants uuid[], are_past boolean[], sizes int4[], unpacked_sizes int4[], hashes bytea, parcels bytea, most_bytes int4,
  wishes text[], brought text[]
) returns void
language plpgsql as $$
declare
  one record;
begin
  for one in
    select n.*, 1 + 32 * (count(n.size) over w)::int4 - 32 as hash_at,
           1 + (sum(n.size) over w)::int4 - n.size as parcel_at
    from unnest(grants, are_past, sizes, unpacked_sizes, wishes, brought)
      with ordinality n (grant_id, of_past, size, unpacked, wishes, brought, place)
    window w as (order by n.place)
    order by n.place
  loop
    perform store_notices(
      one.grant_id, substring(parcels from one.parcel_at for one.size), substring(hashes from one.hash_at for 32),
      one.unpacked, most_bytes, one.wishes::jsonb, one.of_past
    );
    if one.brought <> '[]' then
      perform note_items(one.grant_id, one.brought::jsonb);
    end if;
  end loop;
end
$$;
