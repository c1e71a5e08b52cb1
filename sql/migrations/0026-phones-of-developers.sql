-- A phone that a developer let in, by hand or by an invitation code, is signed out with that developer.
alter table refresh_token add column let_in_by uuid references developer (id) on delete cascade;

delete from refresh_token t
where t.app_id ~ '^(admin|invite):'
  and not exists (select from developer d where d.id::text = split_part(t.app_id, ':', 2));

update refresh_token
set let_in_by = split_part(app_id, ':', 2)::uuid
where app_id ~ '^(admin|invite):';

alter table refresh_token
  add constraint refresh_token_let_in check (num_nonnulls(application_id, let_in_by) = case when user_id is null then 0 else 1 end);
create index refresh_token_let_in_by_idx on refresh_token (let_in_by) where let_in_by is not null;
