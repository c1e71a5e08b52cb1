-- What an upload held by the person's own days, in the form of `days` and `rejected_days`. Null where that is the same as by
-- days of UTC, and for uploads that were imported before this.
alter table upload add column local_days jsonb, add column local_rejected_days jsonb;
