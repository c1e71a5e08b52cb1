-- Which source counts where several cover one day: lower wins, for every user alike. A start of the service adds what is
-- missing, from the catalogue, and changes nothing.
create table provider_priority (
  provider text primary key,
  id uuid not null default gen_random_uuid(),
  priority int4 not null constraint provider_priority_range check (priority between 1 and 100),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table device_type_priority (
  device_type text primary key,
  id uuid not null default gen_random_uuid(),
  priority int4 not null constraint device_type_priority_range check (priority between 1 and 100),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- Counts the changes of priorities; one row. Added to a user's revision it tells whether an earlier answer still holds.
create table ranking (
  only_row boolean not null default true,
  revision int8 not null default 0,
  constraint ranking_pkey primary key (only_row),
  constraint ranking_one_row check (only_row)
);
insert into ranking default values;
