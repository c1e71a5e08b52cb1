-- Who asked for the run of another user of the account is no reference any more: its checks lock that user while the run
-- is held, and the deletion of a user takes both the other way round (server/api/users/delete.ts clears it).
alter table sync_run drop constraint sync_run_primary_user_id_fkey;
