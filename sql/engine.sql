-- Names the engine's folder for this database; nothing else asks which engine runs. A new database gets the extension
-- when the server offers it and this role may create it. A database created without it stays plain, even if its server
-- offers the extension later.
do $$
begin
  if to_regclass('sample') is null
     and exists (select 1 from pg_available_extensions where name = 'timescaledb')
     and current_setting('shared_preload_libraries') like '%timescaledb%' then
    create extension if not exists timescaledb;
  end if;
exception when insufficient_privilege then
  raise notice 'timescaledb is available but this role may not create it; an administrator can run: create extension timescaledb';
end
$$;
-- Up to 2.21.0 a prepared statement misses rows written to a compressed chunk after it was planned: reads and rollups
-- would lose samples.
do $$
declare
  found text := (select extversion from pg_extension where extname = 'timescaledb');
begin
  if string_to_array(regexp_replace(found, '[^0-9.].*', ''), '.')::int4[] < array[2, 21, 1] then
    raise exception 'TimescaleDB % answers prepared statements wrongly: update the extension to 2.21.1 or newer', found;
  end if;
end
$$;
select case
  when exists (select 1 from pg_extension where extname = 'timescaledb')
   and not exists (select 1 from schema_migration where name like 'plain/%') then 'timescale'
  else 'plain'
end as engine;
