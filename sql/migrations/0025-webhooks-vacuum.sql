-- What waits is found at the left end of an index that everything passed through: until it is vacuumed, each look walks over
-- the dead entries of all that has been delivered, 5 ms for a million. By default that comes after a fifth of the table.
-- The cleanup of indexes is asked for, since it is left out where few pages of a table have dead rows, as here.
alter table delivery set (autovacuum_vacuum_scale_factor = 0.01, vacuum_index_cleanup = on);
alter table event set (autovacuum_vacuum_scale_factor = 0.01, vacuum_index_cleanup = on);
