import { MAX_SOURCES, type SourceIdentity } from '../batch/columns.ts'
import type { Transaction } from '../db/database.ts'

/**
 * Returns the database keys of a batch's sources, in its order, and whether any was created or changed: more specific
 * or newer facts replace what is stored. A source beyond MAX_SOURCES has no key. A new one gets its key from a trigger
 * (sql/routines/samples/source_ids.sql). The caller holds the user's ingest lock.
 */
export async function resolveSources(
  tx: Transaction,
  { userId, provider, connectionId }: { userId: string; provider: string; connectionId: string },
  sources: readonly SourceIdentity[],
): Promise<{ ids: (number | null)[]; changed: boolean }> {
  if (sources.length === 0) return { ids: [], changed: false }
  const rows = await tx.query<{ id: number | null; changed: boolean }>(
    `with given as (
       select i.*, d.id
       from unnest($4::text[], $5::text[], $6::text[], $7::text[]) with ordinality
         as i (device_model, source, software_version, device_type, position)
       left join data_source d
         on d.user_id = $1 and d.provider = $2 and (d.device_model, d.source) = (i.device_model, i.source)
     ), input as (
       select g.*, g.id is not null
                   or row_number() over (partition by g.id is null order by g.position)
                      <= $8::int4 - (select count(*) from data_source where user_id = $1) as is_kept
       from given g
     ), written as (
       insert into data_source as d (id, user_id, provider, connection_id, device_model, source, software_version, device_type)
       select i.id, $1, $2, $3, i.device_model, i.source, i.software_version, i.device_type from input i where i.is_kept
       on conflict (user_id, provider, device_model, source) do update
       set software_version = coalesce(excluded.software_version, d.software_version),
           device_type = case when excluded.device_type in ('unknown', 'other') then d.device_type else excluded.device_type end,
           connection_id = coalesce(d.connection_id, excluded.connection_id)
       where (coalesce(excluded.software_version, d.software_version), d.connection_id is null)
               is distinct from (d.software_version, false)
          or (excluded.device_type not in ('unknown', 'other') and excluded.device_type <> d.device_type)
       returning d.id, d.device_model, d.source
     )
     select coalesce(w.id, i.id) as id, w.id is not null as changed
     from input i
     left join written w on (w.device_model, w.source) = (i.device_model, i.source)
     order by i.position`,
    [
      userId,
      provider,
      connectionId,
      sources.map((source) => source.deviceModel),
      sources.map((source) => source.source),
      sources.map((source) => source.softwareVersion),
      sources.map((source) => source.deviceType),
      MAX_SOURCES,
    ],
  )
  return { ids: rows.map((row) => row.id), changed: rows.some((row) => row.changed) }
}
