-- TimescaleDB's name for date_bin, so that every query is the same on both engines.
-- Its origin for minutes and hours is 2000-01-03, which every width used here divides evenly from the epoch.
create function time_bucket(width interval, ts timestamptz) returns timestamptz
language sql immutable parallel safe
return date_bin(width, ts, '2000-01-03 00:00:00+00');
