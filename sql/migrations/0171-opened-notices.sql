-- Notices of providers that repeat themselves without a time (Notices.repeats), by SHA-256 of their body.
create table opened_notice (
  provider text not null,
  sha256 bytea not null,
  opened_at timestamptz not null default now(),
  constraint opened_notice_pkey primary key (provider, sha256)
);
