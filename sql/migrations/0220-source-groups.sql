-- Ids of sources are drawn per group (sql/routines/samples/source_ids.sql), each from a sequence of its own that goes over
-- all numbers: what one group leaves out, another takes. Ids that were given before stay as they are, and none is given
-- again.
do $$
declare
  used int8 := greatest(
    (select max(id) from data_source), pg_sequence_last_value(pg_get_serial_sequence('data_source', 'id')::regclass), 0
  );
begin
  alter table data_source alter column id drop identity;
  for place in 0 .. 63 loop
    execute format('create sequence source_id_%s as int4 start %s owned by data_source.id', place, used + 1);
  end loop;
end
$$;
