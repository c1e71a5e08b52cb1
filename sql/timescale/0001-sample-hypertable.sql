-- 30-day chunks; the primary key is the only index.
select create_hypertable('sample', by_range('ts', interval '30 days'), create_default_indexes => false);
