-- Whether what is told of is live or of the past (SyncScope of contract 2.2).

-- Null: recorded before events had one, or of a night that was stored before. It passes every filter.
alter table event add column scope text;

-- Null: both.
alter table endpoint
  add column filter_scope text constraint endpoint_filter_scope_known check (filter_scope in ('historical', 'live'));

-- Live from the first live change on: who was told of a night is told of its changes. Null: of before.
alter table sleep add column scope text;

-- It returns two lists now.
drop function if exists wanted_events(uuid);
