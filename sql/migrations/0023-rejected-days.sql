-- What an upload held and could not be stored, by what it was and when, {type: {day of UTC: {reason: items}}}; these items
-- are in `days` as well. Null where everything was stored, and for uploads that were imported before this.
alter table upload add column rejected_days jsonb;
