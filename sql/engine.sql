-- Which engine's folder applies to this database: the only place that asks.
-- A new database gets the extension when the server offers it and this role may create it. A database that was made
-- without it stays plain, also when its server offers the extension later.
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
select case
  when exists (select 1 from pg_extension where extname = 'timescaledb')
   and not exists (select 1 from schema_migration where name like 'plain/%') then 'timescale'
  else 'plain'
end as engine;
