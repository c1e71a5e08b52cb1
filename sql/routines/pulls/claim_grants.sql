-- Gives grants that have something to do to a process, those first that waited longest, and of what is due first what
-- somebody waits for, then pulls, then history. Of each of `providers` at most as many as `rooms` says, in all `places`,
-- of which `history_places` may be history's. `by_default`: whether a provider is enabled unless an operator set it. A lease
-- ends after three minutes, or with the process; whoever lost it cannot store, since `fence` moved on. Leaves out lanes whose
-- budget is closed, and history while many uploads wait.
create or replace function claim_grants(
  the_process int8, providers text[], by_default boolean[], rooms int4[], places int4, history_places int4
) returns table (grant_id uuid, provider text, lane text, fence int8)
language sql as $$
  with open as (
    select p.provider, p.room,
           coalesce(b.closed_until, '-infinity') <= now() as asked,
           greatest(b.closed_until, b.live_until, '-infinity') <= now() as live,
           greatest(b.closed_until, b.history_until, '-infinity') <= now()
             and (select count(*) from (select from upload where status = 'queued' limit 2001) waiting) <= 2000 as history
    from unnest(providers, by_default, rooms) p (provider, by_default, room)
    left join provider_setting s on s.provider = p.provider
    left join lateral (
      select max(closed_until) as closed_until, max(live_until) as live_until, max(history_until) as history_until
      from rate_budget b
      where b.provider = p.provider and b.grant_id is null
    ) b on true
    where p.room > 0 and coalesce(s.is_enabled, p.by_default)
  ), due as (
    select o.provider, o.room, d.*
    from open o
    cross join lateral (
      select * from (
        select g.id, 1 as rank, 'asked' as lane, g.asked_at as at
        from provider_grant g
        where o.asked and g.provider = o.provider and g.state = 'live' and g.asked_at <= now()
          and (g.process_id is null or g.leased_until <= now())
        order by g.asked_at
        limit o.room
        for update skip locked
      ) asked
      union all
      select * from (
        select g.id, 2, 'live', g.live_at
        from provider_grant g
        where o.live and g.provider = o.provider and g.state = 'live' and g.live_at <= now()
          and (g.process_id is null or g.leased_until <= now())
        order by g.live_at
        limit o.room
        for update skip locked
      ) live
      union all
      select * from (
        select g.id, 3, 'history', g.history_at
        from provider_grant g
        where o.history and g.provider = o.provider and g.state = 'live' and g.history_at <= now()
          and (g.process_id is null or g.leased_until <= now())
        order by g.history_at
        limit least(o.room, history_places)
        for update skip locked
      ) history
    ) d
  ), single as (
    select distinct on (id) * from due order by id, rank
  ), ranked as (
    select s.*, row_number() over (partition by s.provider order by s.rank, s.at) as of_provider,
           case when s.lane = 'history' then row_number() over (partition by s.lane order by s.at) end as of_history
    from single s
  ), chosen as (
    select r.id, r.lane
    from ranked r
    where r.of_provider <= r.room and coalesce(r.of_history, 0) <= history_places
    order by r.rank, r.at
    limit places
  )
  update provider_grant g
  set process_id = the_process, leased_until = now() + interval '3 minutes', fence = g.fence + 1
  from chosen c
  where g.id = c.id
  returning g.id, g.provider, c.lane, g.fence
$$;

-- Ends a lease: the grant goes to the end of its queues, or to when its next task is due. `asked_from` and the others:
-- not before then, since a budget is closed or uploads wait; null = at once.
create or replace function release_grant(
  the_grant uuid, the_process int8, the_fence int8, asked_from timestamptz, live_from timestamptz,
  history_from timestamptz
) returns void
language sql as $$
  -- A statement of its own: one that waited for whoever queues tasks would not see these.
  select from provider_grant where id = the_grant for update;
  update provider_grant g
  set process_id = null, leased_until = null,
      asked_at = case when next.asked is not null then greatest(now(), asked_from, next.asked) end,
      live_at = case when next.live is not null then greatest(now(), live_from, next.live) end,
      history_at = case when next.history is not null then greatest(now(), history_from, next.history) end
  from (
    select min(t.due_at) filter (where t.lane = 'asked') as asked, min(t.due_at) filter (where t.lane = 'live') as live,
           min(t.due_at) filter (where t.lane = 'history') as history
    from sync_task t
    where t.grant_id = the_grant
  ) next
  where g.id = the_grant and g.process_id = the_process and g.fence = the_fence;
$$;
