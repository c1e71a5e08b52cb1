-- A new filter of an endpoint waits for nothing: what is ahead up to then must pass the former one as well.

create type former_filter as (
  -- Position of the feed up to which it counts.
  last_place int8,
  -- Null: all of them.
  filter_types text[],
  -- All that an event must have; one without a scope passes. '{}': any.
  filter_scopes text[],
  -- Null: of everybody.
  user_id uuid
);

-- Null: nothing was changed while it was behind.
alter table endpoint add column former former_filter[];
