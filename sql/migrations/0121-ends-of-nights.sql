-- What the source of a night measured at its very end belongs to it, too (server/api/summaries/sleep-days.ts). What was there
-- is gone from archived nights: their sums stay as they are.
insert into kept_sum (source_id, series_id, starts, ends, n, total)
select k.source_id, k.series_id, k.starts, k.ends + interval '1 microsecond', k.n, k.total
from kept_sum k
join sleep s on s.source_id = k.source_id and s.start_at = k.starts and s.end_at = k.ends
on conflict do nothing;
