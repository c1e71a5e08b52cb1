-- The advisory lock that whoever outdates rollups holds until the very end of the transaction (await_writers).
create or replace function hold_until_written() returns int8
language plpgsql
as $$
declare
  key int8 := hashtextextended('writer:' || pg_current_xact_id()::text, 0);
begin
  perform pg_advisory_xact_lock(key);
  return key;
end
$$;

alter table rollup_dirty add column writer int8;
alter table rollup_dirty alter column writer set default hold_until_written();
