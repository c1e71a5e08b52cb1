-- The newest uploads of all users, by status: each is one range of this index.
create index upload_status_idx on upload (status, seq desc) where channel = 'sdk';
