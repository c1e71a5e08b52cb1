-- Scores follow what they are computed from however old they are, and nothing but samples and their rollups expires.

-- Whether the day had a score when that changed: then it is looked at in any case, else as long as it is recent.
alter table score_due add column scored boolean not null default false;
create index score_due_scored_idx on score_due (category) where scored;

-- What waited in vain.
update score_due d
set scored = true
where exists (
  select from health_score h
  where h.user_id = d.user_id and h.provider = 'internal' and h.category = d.category
    and (h.recorded_at at time zone 'UTC' + coalesce(h.zone_offset_min, 0) * interval '1 minute')::date - date '1970-01-01' = d.day
);

drop trigger if exists source_removed on data_source;
drop function if exists forget_resilience();
drop function if exists delete_expired_events(int4);
