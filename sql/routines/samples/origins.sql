-- Whether a list of origins may have a record: false when it has not. `record` is the hash as in the entries, six bytes.
-- A filter is a number of blocks of 32 bytes. The hash names a block, and each of its six bytes a bit in it
-- (server/store/origins/filter.ts). Only the piece of the filter with that block is read.
create or replace function may_have_record(ids bytea, filter bytea, record int8) returns boolean
language sql immutable parallel safe as $$
  select case
    when filter is null then position(substr(int8send(record), 3) in ids) > 0
    else (
      select get_bit(b.block, (record >> 40 & 255)::int4) + get_bit(b.block, (record >> 32 & 255)::int4)
             + get_bit(b.block, (record >> 24 & 255)::int4) + get_bit(b.block, (record >> 16 & 255)::int4)
             + get_bit(b.block, (record >> 8 & 255)::int4) + get_bit(b.block, (record & 255)::int4) = 6
      from substr(filter, (record % (octet_length(filter) / 32))::int4 * 32 + 1, 32) b (block)
    )
  end
$$;
