-- Which engine's folder applies to this database: the only place that asks.
-- The extension is created when the server offers it and this role may; a plain server stays plain.
do $$
begin
  if exists (select 1 from pg_available_extensions where name = 'timescaledb')
     and current_setting('shared_preload_libraries') like '%timescaledb%' then
    create extension if not exists timescaledb;
  end if;
exception when insufficient_privilege then
  raise notice 'timescaledb is available but this role may not create it; an administrator can run: create extension timescaledb';
end
$$;
select case when exists (select 1 from pg_extension where extname = 'timescaledb') then 'timescale' else 'plain' end as engine;
