-- Which scores are behind (table `score_due`), noted by triggers: whatever changes sleep or variability, an import, a
-- deletion or a purge, is in one transaction with the note, and none of them has to know of scores.

-- The first day that ever gets a score that is computed; the largest SCORE_BACKFILL_DAYS.
create or replace function first_scored_day() returns int4
language sql stable
as $$ select local_day(now(), null) - 366 $$;

-- Notes what follows from sessions that came, went or changed. The score of a night depends on the bedtimes of the 14
-- nights before; nights to come bring their own note. The resilience of a UTC day depends on the samples of the 7 days
-- before, of the best sessions: another one of the same date may begin a day earlier and end a day later.
create or replace function note_sleep_changed(
  user_ids uuid[], starts timestamptz[], ends timestamptz[], zone_offsets_min int2[]
) returns void
language sql as $$
  insert into score_due (user_id, category, day)
  select distinct u.id, m.category, m.day
  from unnest(user_ids, starts, ends, zone_offsets_min) s (user_id, start_at, end_at, zone_offset_min)
  -- A user that is being deleted takes the sessions along.
  join app_user u on u.id = s.user_id
  cross join lateral (
    select 'sleep', d.day
    from local_day(s.end_at, s.zone_offset_min) own (day)
    cross join generate_series(
      greatest(own.day, first_scored_day()), greatest(own.day, least(own.day + 14, local_day(now(), null) + 1))
    ) d (day)
    union all
    select 'resilience', d.day
    from generate_series(
      greatest(local_day(s.start_at, null) - 1, first_scored_day()), local_day(s.end_at, null) + 8
    ) d (day)
  ) m (category, day)
  on conflict do nothing
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
  where (o.start_at, o.end_at, o.zone_offset_min, o.asleep_s, o.awake_s, o.deep_s, o.rem_s, o.is_nap, o.stages)
        is distinct from
        (n.start_at, n.end_at, n.zone_offset_min, n.asleep_s, n.awake_s, n.deep_s, n.rem_s, n.is_nap, n.stages);
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

-- Whatever changes samples says so in `rollup_dirty`; 7 is heart_rate_variability_rmssd, and ids of series never change.
create or replace function note_variability_changed() returns trigger
language plpgsql as $$
begin
  insert into score_due (user_id, category, day)
  select s.user_id, 'resilience', d.day
  from data_source s
  cross join generate_series(greatest(local_day(new.lo, null) + 1, first_scored_day()), local_day(new.hi, null) + 7) d (day)
  where s.id = new.source_id
  on conflict do nothing;
  return null;
end
$$;

create or replace trigger variability_changed
after insert on rollup_dirty
for each row when (new.series_id = 7) execute function note_variability_changed();

-- Samples go with their source, which may have given variability to nights of another one: what may have been computed
-- from it is not kept until the next run.
create or replace function forget_resilience() returns trigger
language plpgsql as $$
begin
  with forgotten as (
    delete from health_score h
    using gone g
    where h.user_id = g.user_id and h.provider = 'internal' and h.category = 'resilience'
    returning h.user_id, h.recorded_at
  )
  insert into score_due (user_id, category, day)
  select f.user_id, 'resilience', local_day(f.recorded_at, null)
  from forgotten f
  join app_user u on u.id = f.user_id
  on conflict do nothing;
  return null;
end
$$;

create or replace trigger source_removed
after delete on data_source
referencing old table as gone
for each statement execute function forget_resilience();
