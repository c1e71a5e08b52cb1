-- The key of the job that ends a grant at its provider; by account, since a new consent of that account stops it.
create or replace function leave_key(provider text, account text) returns text
language sql immutable parallel safe
as $$
  select 'leave:' || provider || ':' || account
$$;
