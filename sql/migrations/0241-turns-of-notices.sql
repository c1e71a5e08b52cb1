-- Notices are opened in turns instead of in the order of receipt, so that nobody waits for what somebody else sends: see
-- sql/routines/notices/receive_notices.sql.
alter table notification
  -- In this order it is opened; of an account it grows with each notice. Null: it is large, and opened in the order of receipt.
  add column turn int8 default 0,
  -- The slots of the accounts that it may be about; null: of any account.
  add column slots int2[];

update notification set turn = null where octet_length(body) > 1048576;

drop index notification_due_idx;
create index notification_due_idx on notification (provider, due_at) where state = 'waiting';
create index notification_held_idx on notification (provider, due_at) where state = 'held';
create index notification_turn_idx on notification (provider, turn, id) where state = 'waiting';

-- Up to this turn everything was opened that had been received when that began.
alter table notice_source add column turn int8 not null default 0;

-- The turn of the next notice of an account. Accounts share 16,384 slots by their hash, so that nothing has to be removed, and
-- nothing about a person is kept: those of one slot take turns as one.
create table notice_turn (
  provider text not null,
  slot int2 not null,
  next int8 not null,
  constraint notice_turn_pkey primary key (provider, slot)
) with (fillfactor = 50);
