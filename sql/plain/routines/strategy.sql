-- Why rollups cannot be continuous aggregates here; null when they can.
create or replace function continuous_obstacle() returns text
language sql
return 'this database has no continuous aggregates';

-- Whether other editions of this engine have continuous aggregates, so that the log mentions their absence.
create or replace function continuous_expected() returns boolean
language sql
return false;

-- This engine has no rollups of minutes: reads use the samples.
create or replace function refresh_minutes(the_source int4, the_series int2, ranges tstzmultirange) returns void
language sql
as $$ select $$;

create or replace function forget_old_minutes() returns void
language sql
as $$ select $$;
