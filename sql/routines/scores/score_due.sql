-- Notes outdated scores (table `score_due`) by triggers: every change of sleep or variability, by an import, a deletion or a
-- purge, is in one transaction with its note, and none of them has to know about scores.

-- The first day that can get a computed score: the largest SCORE_BACKFILL_DAYS.
create or replace function first_scored_day() returns int4
language sql stable
as $$ select local_day(now(), null) - 366 $$;

-- Notes outdated scores of a category of a user from one day to another: those of days that had one, and the missing ones
-- of recent days. Every night that arrives is noted, so the plan for a few is made once: that takes longer than to run it. One
-- for many is made for them.
create or replace function note_scores_due(user_ids uuid[], categories text[], first_days int4[], last_days int4[]) returns void
language plpgsql
set plan_cache_mode = auto
as $$
#variable_conflict use_column
begin
  perform set_config(
    'plan_cache_mode', case when cardinality(user_ids) <= 64 then 'force_generic_plan' else 'force_custom_plan' end, true
  );
  with noted as (
    select k.user_id, k.category, r.days
    from (
      select k.user_id, k.category, range_agg(int4range(k.first_day, k.last_day + 1)) as ranges
      from unnest(user_ids, categories, first_days, last_days) k (user_id, category, first_day, last_day)
      group by 1, 2
    ) k
    -- The data of a user who is being deleted is deleted too.
    join app_user u on u.id = k.user_id
    cross join lateral unnest(k.ranges) r (days)
  ), scored as (
    -- A session may have moved to another day since. One range after the other: mostly they are few and short.
    select distinct n.user_id, n.category, m.day
    from noted n
    cross join lateral (
      select *
      from health_score
      where user_id = n.user_id and provider = 'internal' and category = n.category
        and recorded_at >= day_starts(lower(n.days) - 1) and recorded_at < day_ends(upper(n.days))
      offset 0
    ) h
    left join lateral (select * from sleep where id = h.sleep_id offset 0) s on true
    cross join lateral (
      values (local_day(h.recorded_at, h.zone_offset_min)), (local_day(s.end_at, s.zone_offset_min))
    ) m (day)
  )
  insert into score_due as d (user_id, category, day, scored)
  select n.user_id, n.category, g.day, s.day is not null
  from noted n
  cross join lateral generate_series(lower(n.days), upper(n.days) - 1) g (day)
  left join scored s on s.user_id = n.user_id and s.category = n.category and s.day = g.day
  where s.day is not null or g.day >= first_scored_day()
  on conflict (user_id, category, day) do update set scored = true where excluded.scored and not d.scored;
end
$$;

-- Notes the scores that new, removed or changed sessions make outdated. The score of a night depends on the bedtimes of the
-- 14 nights before; future nights add their own note. The resilience of a UTC day depends on the samples of the best
-- sessions in the 7 days before: another session of the same date may start a day earlier and end a day later.
create or replace function note_sleep_changed(
  user_ids uuid[], starts timestamptz[], ends timestamptz[], zone_offsets_min int2[]
) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
begin
  perform note_scores_due(
    array_agg(s.user_id), array_agg(m.category), array_agg(m.first_day), array_agg(m.last_day)
  )
  from unnest(user_ids, starts, ends, zone_offsets_min) s (user_id, start_at, end_at, zone_offset_min)
  cross join lateral local_day(s.end_at, s.zone_offset_min) own (day)
  cross join lateral (
    values ('sleep', own.day, greatest(own.day, least(own.day + 14, local_day(now(), null) + 1))),
           ('resilience', local_day(s.start_at, null) - 1, local_day(s.end_at, null) + 8)
  ) m (category, first_day, last_day)
  -- An upsert fires a trigger for the rows that it updates even when there are none.
  having count(*) > 0;
end
$$;

create or replace function note_sleep_added() returns trigger
language plpgsql as $$
begin
  perform note_sleep_changed(array_agg(c.user_id), array_agg(c.start_at), array_agg(c.end_at), array_agg(c.zone_offset_min))
  from changed c;
  return null;
end
$$;

create or replace function note_sleep_updated() returns trigger
language plpgsql as $$
begin
  perform note_sleep_changed(array_agg(c.user_id), array_agg(c.start_at), array_agg(c.end_at), array_agg(c.zone_offset_min))
  from before o
  join after n on n.id = o.id
  cross join lateral (
    values (o.user_id, o.start_at, o.end_at, o.zone_offset_min), (n.user_id, n.start_at, n.end_at, n.zone_offset_min)
  ) c (user_id, start_at, end_at, zone_offset_min)
  where (o.start_at, o.end_at, o.zone_offset_min, o.asleep_s, o.awake_s, o.deep_s, o.rem_s, o.is_nap, o.covered, o.stages)
        is distinct from
        (n.start_at, n.end_at, n.zone_offset_min, n.asleep_s, n.awake_s, n.deep_s, n.rem_s, n.is_nap, n.covered, n.stages);
  return null;
end
$$;

create or replace trigger sleep_added
after insert on sleep
referencing new table as changed
for each statement execute function note_sleep_added();

create or replace trigger sleep_removed
after delete on sleep
referencing old table as changed
for each statement execute function note_sleep_added();

create or replace trigger sleep_updated
after update on sleep
referencing old table as before new table as after
for each statement execute function note_sleep_updated();

-- Whatever changes samples says so in `rollup_dirty`; 7 is heart_rate_variability_rmssd, 5007 what was entered by hand of it,
-- and ids of series never change.
create or replace function note_variability_changed() returns trigger
language plpgsql as $$
begin
  perform note_scores_due(
    array[s.user_id], array['resilience'], array[local_day(new.lo, null) + 1], array[local_day(new.hi, null) + 7]
  )
  from data_source s
  where s.id = new.source_id;
  return null;
end
$$;

create or replace trigger variability_changed
after insert on rollup_dirty
for each row when (new.changed and new.series_id in (7, 5007)) execute function note_variability_changed();

-- A score is removed with its session or with its data; the day may get another one.
create or replace function note_score_removed() returns trigger
language plpgsql as $$
begin
  insert into score_due as d (user_id, category, day, scored)
  select u.id, old.category, local_day(old.recorded_at, old.zone_offset_min), true
  from app_user u
  where u.id = old.user_id
  on conflict (user_id, category, day) do update set scored = true where not d.scored;
  return null;
end
$$;

create or replace trigger score_removed
after delete on health_score
for each row when (old.provider = 'internal') execute function note_score_removed();

-- Removes every resilience score that may have been computed from these sources: those of weeks in which they reported sleep
-- or variability, archived or not. Call this before their data is removed: the scores that the rest allows are not known yet.
create or replace function forget_resilience(source_ids int4[]) returns void
language sql as $$
  delete from health_score h
  using (
    select d.user_id, unnest(range_agg(int4range(m.first_day, m.last_day + 1))) as days
    from data_source d
    cross join lateral (
      select local_day(s.start_at, null) - 1 as first_day, local_day(s.end_at, null) + 8 as last_day
      from sleep s
      where s.source_id = d.id
      union all
      select local_day(r.bucket, null) + 1, local_day(r.bucket, null) + 7
      from rollup_1day r
      where r.source_id = d.id and r.series_id in (7, 5007)
      union all
      select local_day(b.lo, null) + 1, local_day(b.hi, null) + 7
      from rollup_dirty b
      where b.source_id = d.id and b.series_id in (7, 5007)
    ) m
    where d.id = any (source_ids)
    group by d.user_id
  ) gone
  where h.user_id = gone.user_id and h.provider = 'internal' and h.category = 'resilience'
    and h.recorded_at >= to_timestamp(lower(gone.days) * 86400.0) and h.recorded_at < to_timestamp(upper(gone.days) * 86400.0)
$$;
