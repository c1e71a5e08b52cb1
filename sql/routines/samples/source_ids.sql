-- The group of a source, 0 to 63: the highest six bits of its hash. A distributed PostgreSQL (Citus) cuts the range of this
-- hash into shards of equal width; if their number is a power of two up to 64, the sources of a group are in one of them.
create or replace function source_group(source_id int4) returns int4
language sql immutable strict parallel safe
as $$
  select (hashint4(source_id) >> 26) + 32
$$;

-- Draws the id of a new source from the group of its user: that of any source there is, or one that follows from the user's
-- id. Takes about 64 numbers, and nobody waits for whoever draws at the same time. A group has 33 million ids.
create or replace function new_source_id(the_user uuid) returns int4
language plpgsql
as $$
declare
  home int4 := coalesce(
    (select source_group(d.id) from data_source d where d.user_id = the_user limit 1),
    (uuid_hash(the_user) >> 26) + 32
  );
  numbers regclass := 'source_id_' || home;
  drawn int4;
begin
  loop
    drawn := nextval(numbers);
    exit when source_group(drawn) = home;
  end loop;
  return drawn;
end
$$;

create or replace function give_source_id() returns trigger
language plpgsql as $$
begin
  new.id := new_source_id(new.user_id);
  return new;
end
$$;

create or replace trigger source_id_given
before insert on data_source
for each row when (new.id is null) execute function give_source_id();
