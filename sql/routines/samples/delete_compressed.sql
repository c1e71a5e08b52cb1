-- Deletions from tables that may be compressed: samples and rollups. TimescaleDB finds the columnstore batches of a
-- deletion only by comparing with constants: a generic plan, which a function that runs often gets by itself, opens
-- every batch of the chunk. So these functions plan each statement for its actual values, which `using` turns into
-- constants. On a plain server it makes no difference.

-- Removes the rows of a series at `instants`, values of the column `instant` of the table `stored`; returns those that
-- existed. Distant rows go one by one: a range would open every batch between them, and the columnstore cannot use a
-- list of instants. Rows within a thousand of each other, the size of a batch, go together.
create or replace function delete_instants(stored text, instant text, the_source int4, the_series int2, instants timestamptz[])
returns timestamptz[]
language plpgsql
as $$
declare
  near record;
  gone timestamptz[] := '{}';
begin
  for near in execute format(
    'select min(n.at) as lo, max(n.at) as hi, array_agg(n.at) as instants
     from (
       select s.%2$I as at, row_number() over (order by s.%2$I) as place
       from %1$I s
       where s.source_id = $1 and s.series_id = $2 and s.%2$I >= $3 and s.%2$I <= $4
     ) n
     where n.at = any ($5)
     group by n.place / 1000',
    stored, instant
  ) using the_source, the_series, (select min(i) from unnest(instants) i), (select max(i) from unnest(instants) i), instants
  loop
    execute format(
      'delete from %1$I where source_id = $1 and series_id = $2 and %2$I >= $3 and %2$I <= $4 and %2$I = any ($5)',
      stored, instant
    ) using the_source, the_series, near.lo, near.hi, near.instants;
    gone := gone || near.instants;
  end loop;
  return gone;
end
$$;

-- Removes all rows of sources from the table `stored`: the columnstore deletes their batches without opening them.
create or replace function delete_of_sources(stored text, source_ids int4[]) returns void
language plpgsql
as $$
declare
  one int4;
begin
  foreach one in array source_ids loop
    perform expect_deleted(stored, one);
    execute format('delete from %I where source_id = $1', stored) using one;
  end loop;
end
$$;
