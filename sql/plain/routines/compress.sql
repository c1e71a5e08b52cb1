-- Ordinary tables have no columnstore: there is never a chunk to compress.
create or replace function compress_next(age interval) returns boolean
language sql
return false;

-- Nothing is opened by a change or a deletion.
create or replace function expect_changed(samples int8) returns void
language sql
as $$ select $$;

create or replace function expect_deleted(stored text, the_source int4) returns void
language sql
as $$ select $$;
