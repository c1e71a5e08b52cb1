-- Of measured heart rate and steps, on a day of which samples are archived: each minute in which something was entered by hand as
-- well, as in minute_marks. The minute of both together, and as negative numbers that of each by itself. Only of quarter hours
-- that both have archived; 255 where one was archived before the other came. Null when there is no such minute.
alter table rollup_local_day add column shared_marks int4[];
