-- Stores notices in the order of receipt; the same one again, while it waits, is one. Returns the ids of the new
-- ones, in that order. Processes that open them are notified.
-- One statement at a time: ids are committed in their order, so that none is opened before an earlier one of another
-- process, and two processes that receive the same notices in another order do not wait for each other. Large ones (more
-- than LARGE_NOTICE_BYTES, 1 MiB), which take long to write and come alone, are in a line of their own, as when they are opened.
-- `hashes` (SHA-256) and `bodies` follow each other without gaps: an array of them would have to be text.
create or replace function receive_notices(
  providers text[], are_signed boolean[], hashes bytea, sizes int4[], bodies bytea
) returns setof int8
language sql as $$
  select pg_advisory_xact_lock(hashtextextended(
    case when 1048576 < any (sizes) then 'receive large notices' else 'receive notices' end, 0
  ));
  select pg_notify('notification', '');
  insert into notification (provider, signed, waiting_sha256, body)
  select n.provider, n.signed, substring(hashes from (n.place::int4 - 1) * 32 + 1 for 32),
         substring(bodies from 1 + (sum(n.size) over (order by n.place) - n.size)::int4 for n.size)
  from unnest(providers, are_signed, sizes) with ordinality n (provider, signed, size, place)
  order by n.place
  on conflict on constraint notification_waiting_key do nothing
  returning id;
$$;
