-- The oldest attempts are those with the lowest ids. Without this index each attempt is stored with one write less, and
-- the list of an endpoint's attempts is not read from those of all endpoints.
drop index attempt_time_idx;
