-- Long lists carry a filter that says which records they cannot have, so that a deletion reads only the few that may have
-- its record (server/store/origins/filter.ts). A list without one is searched itself.
alter table sample_origin add column filter bytea;
-- A filter is read in pieces, which needs it uncompressed; it would not compress anyway.
alter table sample_origin alter column filter set storage external;
