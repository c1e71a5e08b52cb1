-- Scores that the service computes itself.

-- The score of a platform and the one that is computed stand beside each other.
alter table health_score
  drop constraint health_score_sleep_key,
  add constraint health_score_sleep_key unique (sleep_id, provider);

-- Scores that are missing or behind: written in the transaction that changed what they are computed from, removed by the
-- job that looked at them, whether there was enough for a score or not. One that is due in the future waits.
create table score_due (
  user_id uuid not null references app_user (id) on delete cascade,
  category text not null constraint score_due_category check (category in ('sleep', 'resilience')),
  -- Days since 1970-01-01: the local day a sleep session ended on; the UTC day of a resilience score.
  day int4 not null,
  constraint score_due_pkey primary key (user_id, category, day)
);
create index score_due_day_idx on score_due (category, day);

-- What was stored before there were scores.
insert into score_due (user_id, category, day)
select distinct s.user_id, m.category, m.day
from sleep s
cross join lateral (
  select 'sleep', (s.end_at at time zone 'UTC' + coalesce(s.zone_offset_min, 0) * interval '1 minute')::date - date '1970-01-01'
  union all
  select 'resilience', d.day
  from generate_series(
    (s.start_at at time zone 'UTC')::date - date '1970-01-01' - 1, (s.end_at at time zone 'UTC')::date - date '1970-01-01' + 8
  ) d (day)
) m (category, day)
where s.end_at > now() - interval '366 days';
