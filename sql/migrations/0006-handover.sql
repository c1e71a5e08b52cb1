-- Parsed uploads are handed to the importer in memory; whatever is not there is read again from the stored body.
alter table upload drop column parsed;
drop function if exists accept_upload(uuid, uuid, text, bytea, bytea, int4, bytea, int4, text, text, text, text, text);
