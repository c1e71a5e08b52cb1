-- An endpoint whose deletion has begun has no id any more: nobody can name it, and its rows are removed in batches.
alter table endpoint alter column uid drop not null;
