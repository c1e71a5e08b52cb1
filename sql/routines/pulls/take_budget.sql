-- The row of a budget, made if there is none, and locked; `owner`: the grant whose budget it is, null = of the application.
-- With `is not distinct from` all accounts of the provider were read.
create or replace function lock_budget(the_provider text, owner uuid, the_seconds int4) returns rate_budget
language plpgsql as $$
declare
  b rate_budget;
begin
  loop
    if owner is null then
      select * into b from rate_budget r
      where r.provider = the_provider and r.grant_id is null and r.seconds = the_seconds
      for update;
    else
      select * into b from rate_budget r
      where r.provider = the_provider and r.grant_id = owner and r.seconds = the_seconds
      for update;
    end if;
    if found then
      return b;
    end if;
    insert into rate_budget (provider, grant_id, seconds) values (the_provider, owner, the_seconds) on conflict do nothing;
  end loop;
end
$$;

-- Writes a budget that the caller has locked.
create or replace function keep_budget(b rate_budget) returns void
language plpgsql as $$
begin
  if b.grant_id is null then
    update rate_budget r
    set slot = b.slot, slots = b.slots, provider_limit = b.provider_limit, live_until = b.live_until,
        history_until = b.history_until
    where r.provider = b.provider and r.grant_id is null and r.seconds = b.seconds;
  else
    update rate_budget r
    set slot = b.slot, slots = b.slots, provider_limit = b.provider_limit, live_until = b.live_until,
        history_until = b.history_until
    where r.provider = b.provider and r.grant_id = b.grant_id and r.seconds = b.seconds;
  end if;
end
$$;

-- Whether a provider may be asked now, and if so, that it is: null, or the instant from which it may be tried again. Of
-- each of `budgets` ({account, seconds, limit, per_account, aligned, heard: {limit, used}}) at most `share` of the limit is used.
-- Aligned windows begin at multiples of their length since 1970; of others the last eleven tenths count, which cover
-- every span of that length. `heard`: the provider's own account, which corrects ours upwards. Everything by the clock of
-- the database.
create or replace function take_budget(the_provider text, the_grant uuid, the_lane text, share float8, budgets jsonb)
returns timestamptz
language plpgsql as $$
declare
  at float8 := date_part('epoch', clock_timestamp());
  opens timestamptz;
  one record;
  b rate_budget;
  held rate_budget[] := '{}';
  newest int8;
  oldest int8;
  tenth float8;
  most int4;
  allowed int4;
  used int4;
  place int4;
  free timestamptz;
begin
  -- A database that dies may forget the last half second of requests; waiting for the disk would cost each of them more.
  perform set_config('synchronous_commit', 'off', true);
  for one in
    select x.* from jsonb_to_recordset(budgets) x (account boolean, seconds int4, "limit" int4, per_account int4, aligned boolean, heard jsonb)
    order by x.account, x.seconds
  loop
    b := lock_budget(the_provider, case when one.account then the_grant end, one.seconds);
    tenth := one.seconds / 10.0;
    newest := floor(at / tenth);
    -- Tenths that nobody asked in are empty.
    if newest > b.slot then
      b.slots := (array_fill(0, array[least(newest - b.slot, 11)::int4]) || b.slots)[1:11];
      b.slot := newest;
    end if;
    oldest := case when one.aligned then floor(at / one.seconds) * 10 else b.slot - 10 end;
    used := (select coalesce(sum(n), 0) from unnest(b.slots) with ordinality s (n, i) where b.slot - i + 1 >= oldest);
    if (one.heard ->> 'used')::int4 > used then
      b.slots[1] := b.slots[1] + (one.heard ->> 'used')::int4 - used;
      used := (one.heard ->> 'used')::int4;
    end if;
    b.provider_limit := coalesce((one.heard ->> 'limit')::int4, b.provider_limit);
    most := coalesce(b.provider_limit, one."limit");
    if one.per_account is not null and b.provider_limit is null then
      most := most + one.per_account * (select count(*) from provider_grant where provider = the_provider and state = 'live');
    end if;
    allowed := greatest(1, floor(most * share));
    free := b.closed_until;
    if used >= allowed then
      -- Until so many tenths have gone that one more fits.
      place := 11;
      while not one.aligned and place > 1 and used - b.slots[place] >= allowed loop
        used := used - b.slots[place];
        place := place - 1;
      end loop;
      free := greatest(free, to_timestamp(
        case when one.aligned then (floor(at / one.seconds) + 1) * one.seconds else (b.slot - place + 12) * tenth end
      ));
      -- So that nobody of this lane is served in vain.
      if not one.account and the_lane = 'live' then
        b.live_until := free;
      end if;
      if not one.account and the_lane in ('live', 'history') then
        b.history_until := free;
      end if;
    end if;
    opens := greatest(opens, case when free > clock_timestamp() then free end);
    held := held || b;
  end loop;
  foreach b in array held loop
    if opens is null then
      b.slots[1] := b.slots[1] + 1;
    end if;
    perform keep_budget(b);
  end loop;
  return opens;
end
$$;

-- Closes the fullest of a provider's budgets, since the provider refused a request: for 15, 30, 60 s and on, at most for the
-- length of its window, or, when it did say, for so many seconds, and no less than 1, 2, 4 s and on. Returns until when.
create or replace function close_budget(the_provider text, the_grant uuid, budgets jsonb, after_seconds float8)
returns timestamptz
language sql as $$
  with fullest as (
    select r.provider, r.grant_id, r.seconds
    from rate_budget r
    join jsonb_to_recordset(budgets) x (account boolean, seconds int4, "limit" int4)
      on r.seconds = x.seconds and r.grant_id is not distinct from case when x.account then the_grant end
    where r.provider = the_provider
    order by (select sum(n) from unnest(r.slots) n)::float8 / x."limit" desc, r.seconds, r.grant_id
    limit 1
  )
  update rate_budget r
  set closures = case when r.closed_until > now() - make_interval(secs => r.seconds) then least(r.closures + 1, 20) else 1 end,
      closed_until = greatest(r.closed_until, now() + make_interval(secs => greatest(
        after_seconds,
        least(
          r.seconds,
          case when after_seconds is null then 15 else 1 end
          * 2 ^ case when r.closed_until > now() - make_interval(secs => r.seconds) then r.closures else 0 end
        )
      )))
  from fullest f
  where r.provider = f.provider and r.grant_id is not distinct from f.grant_id and r.seconds = f.seconds
  returning r.closed_until
$$;
