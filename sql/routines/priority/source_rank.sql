-- Rank of a source among others, lower is better (contract 12.1): the provider decides, then the device type; one without a
-- priority counts as 99. It is the rank of the provider times 1000 plus that of the type. Ties are decided by the amount of
-- data if known, then by device_model, source (both collate "C") and id.
create or replace function source_rank(provider text, device_type text) returns int8
language sql stable
return coalesce((select p.priority from provider_priority p where p.provider = source_rank.provider), 99)::int8 * 1000
  + coalesce((select t.priority from device_type_priority t where t.device_type = source_rank.device_type), 99);
