-- Ordinary tables have no columnstore: there is never a chunk to compress.
create or replace function compress_next(age interval) returns boolean
language sql
return false;
