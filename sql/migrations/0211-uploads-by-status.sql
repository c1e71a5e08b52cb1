-- The newest uploads of all users by status and platform: each is one range of this index.
create index upload_status_idx on upload (status, provider, seq desc) where channel = 'sdk';
