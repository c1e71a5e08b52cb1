-- Adds a parcel to the upload of a connection that came last, if that waits, came because of notices with the same scope and
-- run (null: any), and has room; false when there is none. Whoever deletes the user waits. The caller holds the grant.
create or replace function add_to_waiting(
  the_user uuid, the_connection uuid, the_scope text, the_run text, parcel bytea, parcel_bytes int4, most_bytes int4
) returns boolean
language plpgsql as $$
declare
  waiting uuid;
begin
  select u.id into waiting
  from (
    select id, open_bytes, sync_type, run_key
    from upload
    where user_id = the_user and status = 'queued' and connection_id = the_connection
    order by seq desc
    limit 1
  ) u
  where u.open_bytes + parcel_bytes <= most_bytes and u.sync_type = the_scope
    and (the_run is null or u.run_key in (the_run, the_run || '_' || the_user));
  if not found then
    return false;
  end if;
  perform 1 from app_user where id = the_user for key share;
  -- Its import may have begun meanwhile.
  update upload set open_bytes = open_bytes + parcel_bytes where id = waiting and open_bytes is not null;
  if not found then
    return false;
  end if;
  insert into upload_part (upload_id, body) values (waiting, parcel);
  return true;
end
$$;

-- Lets an upload take nothing more; returns its body and what was added to it, in order: nothing when nothing was.
create or replace function close_upload(the_upload uuid) returns table (body bytea)
language plpgsql as $$
begin
  update upload set open_bytes = null where id = the_upload and open_bytes is not null;
  if exists (select from upload_part where upload_id = the_upload) then
    return query
      select x.body
      from (
        select 0 as place, b.body
        from upload u
        join upload_body b on b.user_id = u.user_id and b.sha256 = u.sha256
        where u.id = the_upload
        union all
        select p.place, p.body from upload_part p where p.upload_id = the_upload
      ) x
      order by x.place;
  end if;
end
$$;

-- Replaces the body of a closed upload by one that also holds what was added to it.
create or replace function join_upload(the_upload uuid, joined_sha256 bytea, joined bytea, joined_bytes int4) returns void
language plpgsql as $$
declare
  the_user uuid;
  old bytea;
begin
  select user_id into the_user from upload where id = the_upload;
  perform 1 from app_user where id = the_user for key share;
  select sha256 into old from upload where id = the_upload and status = 'queued' for update;
  if not found or old = joined_sha256 then
    return;
  end if;
  insert into upload_body (user_id, sha256, body, decoded_bytes)
  values (the_user, joined_sha256, joined, joined_bytes)
  on conflict do nothing;
  update upload set sha256 = joined_sha256 where id = the_upload;
  delete from upload_part where upload_id = the_upload;
  delete from upload_body b
  where b.user_id = the_user and b.sha256 = old
    and not exists (select from upload u where u.user_id = b.user_id and u.sha256 = b.sha256);
end
$$;
