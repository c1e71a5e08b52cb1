-- A platform may send one thing under several ids. It stays until all of them are deleted, so all are kept
-- (server/store/platform-ids.ts): the first as `external_id`, and the others here, in the order in which they arrived; null
-- for nearly all rows.
alter table sleep_stage add column other_ids text[];
alter table workout add column other_ids text[];
alter table activity add column other_ids text[];
alter table cycle_observation add column other_ids text[];

-- Without a list of pending entries, which every look-up would read from end to end.
create index sleep_stage_other_idx on sleep_stage using gin (other_ids) with (fastupdate = off) where other_ids is not null;
create index activity_other_idx on activity using gin (other_ids) with (fastupdate = off) where other_ids is not null;
create index cycle_observation_other_idx on cycle_observation
  using gin (other_ids) with (fastupdate = off) where other_ids is not null;

-- The record that the id of a workout is a part of, `{record}-s0`; the deletion of a record names it alone (sdk-payload 4.7).
create function record_of(id text) returns text
language sql immutable strict parallel safe
return regexp_replace(id, '-s\d+$', '');

-- Ids of workouts with their records.
create function with_records(ids text[]) returns text[]
language sql immutable strict parallel safe
return (select array_agg(id) || array_agg(regexp_replace(id, '-s\d+$', '')) from unnest(ids) id);

create index workout_record_idx on workout (user_id, record_of(external_id)) where external_id ~ '-s\d+$';
create index workout_other_idx on workout using gin (with_records(other_ids)) with (fastupdate = off)
  where other_ids is not null;

-- What a deletion looks up by the id of a platform's session, and of a nutrient.
create index sleep_given_idx on sleep (user_id, session) where session <> '';
create index meal_nutrient_item_idx on meal_nutrient (user_id, item);
