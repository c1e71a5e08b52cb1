-- Before which instant nothing is left of a series, neither samples nor rollups, because it is kept no longer. Noted for
-- each series when it was removed: one statement that marked all series would meet imports that mark some.
alter table source_series add column expired_to timestamptz;
update source_series set expired_to = a.expired_to from archival a where a.expired_to is not null;
alter table archival drop column expired_to;
