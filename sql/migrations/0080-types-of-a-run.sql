-- A run names at most 300 types that its phone reported: how often it reported others.
alter table sync_run add column types_left_out int4 not null default 0;
