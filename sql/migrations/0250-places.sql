-- A delivery that nothing goes wrong with has no row: an endpoint knows how far it is in the feed.

alter table endpoint
  -- Positions of the feed that are ahead of it: what matches of these is to be delivered, unless a row of `delivery` says
  -- otherwise. A new endpoint begins behind the last position that was given.
  add column ahead int8multirange not null
    default int8multirange(int8range(coalesce(pg_sequence_last_value('event_position'::regclass), 0) + 1, null)),
  -- Ids of events that it does not get: those recorded before it was made and while it was disabled. Ids, since clocks
  -- may go back, and positions are given later.
  add column skipped int8multirange not null
    default int8multirange(int8range(null, coalesce(pg_sequence_last_value('event_id_seq'::regclass), 0), '[]'));

-- Of these, what it can recover: recorded while it was disabled for failing.
alter table endpoint rename column missed to missed_times;
alter table endpoint add column missed int8multirange not null default '{}';

update endpoint n
set skipped = int8multirange(int8range(null, n.after_event_id, '[]')),
    missed = coalesce(
      (select range_agg(int8range(e.id, e.id, '[]'))
       from event e
       where n.missed_times <> '{}' and e.created_at <@ n.missed_times),
      '{}');
update endpoint n
set skipped = n.skipped + since.ids,
    missed = case when n.disabled_reason = 'failing' then n.missed + since.ids else n.missed end
from (
  select m.id,
         int8multirange(int8range(
           coalesce((select min(e.id) from event e where e.created_at >= m.disabled_at),
                    coalesce(pg_sequence_last_value('event_id_seq'::regclass), 0) + 1),
           null)) as ids
  from endpoint m
  where m.disabled_at is not null
) since
where n.id = since.id;
alter table endpoint drop column after_event_id, drop column missed_times;

-- The check of each attempt is a quarter of what storing it costs. Attempts are stored while their endpoint is locked
-- (record_attempts), so that none can be without one.
alter table attempt drop constraint attempt_endpoint_id_fkey;
