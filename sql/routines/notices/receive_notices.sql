drop function if exists receive_notices(text[], boolean[], bytea, int4[], bytea);

-- Stores notices; the same one again, while it waits, is one. Returns the ids of the new ones, in the order of receipt.
-- Processes that open them are notified.
-- One statement at a time: ids and turns are committed in their order, so that none is opened before an earlier one of another
-- process, and two processes that receive the same notices in another order do not wait for each other. Large ones (more
-- than LARGE_NOTICE_BYTES, 1 MiB), which take long to write and come alone, are in a line of their own, as when they are opened.
-- `hashes` (SHA-256) and `bodies` follow each other without gaps: an array of them would have to be text. So do `all_slots`, of
-- each as many as `slot_counts` says.
create or replace function receive_notices(
  providers text[], are_signed boolean[], hashes bytea, sizes int4[], bodies bytea,
  slot_counts int4[] default null, all_slots int2[] default null
) returns setof int8
language plpgsql as $$
declare
  are_large boolean := 1048576 < any (sizes);
  turns int8[];
  slot_at int4 := 1;
begin
  perform pg_advisory_xact_lock(hashtextextended(
    case when are_large then 'receive large notices' else 'receive notices' end, 0
  ));
  perform pg_notify('notification', '');
  if not are_large then
    for place in 1..cardinality(providers) loop
      turns[place] := take_turn(providers[place], all_slots[slot_at : slot_at + slot_counts[place] - 1], sizes[place]);
      slot_at := slot_at + coalesce(slot_counts[place], 0);
    end loop;
  end if;
  return query
    insert into notification (provider, signed, waiting_sha256, body, turn, slots)
    select n.provider, n.signed, substring(hashes from (n.place::int4 - 1) * 32 + 1 for 32),
           substring(bodies from 1 + (sum(n.size) over w - n.size)::int4 for n.size), n.turn,
           all_slots[(1 + sum(n.slots) over w - n.slots)::int4 : (sum(n.slots) over w)::int4]
    from unnest(providers, are_signed, sizes, turns, slot_counts)
      with ordinality n (provider, signed, size, turn, slots, place)
    window w as (order by n.place)
    order by n.place
    on conflict on constraint notification_waiting_key do nothing
    returning id;
end
$$;

-- The turn of a notice: behind those of its accounts that wait, and otherwise no later than what is opened now. So whoever has
-- nothing waiting comes next, however much others have, and nobody waits forever: turns of those who come later grow with what
-- was opened. What is longer takes more of them. The caller holds the lock of receive_notices.
create or replace function take_turn(the_provider text, the_slots int2[], the_bytes int4) returns int8
language plpgsql as $$
declare
  opened int8 := coalesce((select turn from notice_source where provider = the_provider), 0);
  takes int8 := 1 + the_bytes / 65536;
  taken int8;
begin
  if cardinality(the_slots) = 1 then
    insert into notice_turn as t (provider, slot, next)
    values (the_provider, the_slots[1], opened + takes)
    on conflict (provider, slot) do update set next = greatest(t.next, opened) + takes
    returning next - takes into taken;
    return taken;
  end if;
  select greatest(opened, max(next)) into taken
  from notice_turn
  where provider = the_provider and slot = any (the_slots);
  insert into notice_turn (provider, slot, next)
  select the_provider, slot, taken + takes from unnest(the_slots) slot
  on conflict (provider, slot) do update set next = excluded.next;
  return taken;
end
$$;
