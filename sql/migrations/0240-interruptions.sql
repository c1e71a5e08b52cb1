-- Times awake for at least five minutes between the first and the last sleep of a session (decision D-13); null without stages,
-- which are [[stage, start, end], …] in epoch seconds. Stored, since taking the stages of 90 nights apart takes 3 ms. A new rule
-- needs a new column.
create function interruptions_of(stages jsonb) returns int2
language sql immutable parallel safe
return (
  select count(*) filter (where e.stage = 'awake' and e.ends - e.starts >= 300 and e.starts >= e.first and e.ends <= e.last)
  from (
    select v.stage, v.starts, v.ends, min(v.starts) filter (where v.asleep) over () as first,
           max(v.ends) filter (where v.asleep) over () as last
    from (
      select e->>0 as stage, (e->>1)::float8 as starts, (e->>2)::float8 as ends,
             e->>0 in ('sleeping', 'light', 'deep', 'rem') as asleep
      from jsonb_array_elements(stages) e
    ) v
  ) e
  having count(*) > 0
);

alter table sleep add column interruptions int2 generated always as (interruptions_of(stages)) stored;
