-- Of heart rate and steps, on a day of which samples are archived while another source has anything near it: each minute of the
-- day as 256 times its quarter hour, counted from 24 hours before 00:00 UTC of the day, plus its place (see minute_place). 255
-- stands for a quarter hour of a record that lasts so long that nobody knows its minutes. Null when this was not kept.
alter table rollup_local_day add column minute_marks int4[];
