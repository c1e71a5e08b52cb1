-- How often a refresh token was answered with a further successor, since the one before had not been used: its answer was
-- lost. A successor that was replaced like that is rotated at '-infinity', and has none itself.
alter table refresh_token add column successor int4 not null default 0;
