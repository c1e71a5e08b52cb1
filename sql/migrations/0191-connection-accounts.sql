-- When the user connected another account of the provider than before; null: it has been the same from the start.
alter table connection add column account_since timestamptz;
