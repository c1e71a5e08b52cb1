-- Ordinary tables have no columnstore: no chunk ever needs compression.
create or replace function compress_next(age interval) returns boolean
language sql
return false;

-- Changes and deletions decompress nothing here.
create or replace function expect_changed(samples int8) returns void
language sql
as $$ select $$;

create or replace function expect_deleted(stored text, the_source int4) returns void
language sql
as $$ select $$;
