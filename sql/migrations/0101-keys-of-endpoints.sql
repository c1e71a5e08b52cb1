-- Which key sealed the secrets of an endpoint. Null: one from before keys had ids; the job reseal seals these again.
alter table endpoint
  add column key_id int4,
  add column former_key_id int4;
