import type { Queryable } from '../../db/database.ts'
import { notifyingProviders } from '../../providers/index.ts'

/** Providers send a notice again for so long that was not taken, and somebody else may for ever: Suunto signs no time. */
export const REPEATED_DAYS = 7

// One that waited for an account, or failed, was noted when it was first opened.
const REPEATS_SQL = `
  with noted as (
    insert into opened_notice (provider, sha256)
    select provider, waiting_sha256 from notification
    where id = any ($1) and signed and waiting_sha256 is not null
    on conflict do nothing
    returning sha256
  )
  select n.id
  from notification n
  where n.id = any ($1) and n.signed and n.waiting_sha256 is not null
    and not exists (select from noted f where f.sha256 = n.waiting_sha256)`

/** Which of the notices have come before, where a provider's repeats say nothing new; notes the others. */
export async function repeatsAmong(tx: Queryable, provider: string, ids: readonly number[]): Promise<Set<number>> {
  if (!notifyingProviders.get(provider)?.repeats) return new Set()
  const found = await tx.query<{ id: number }>(REPEATS_SQL, [ids])
  return new Set(found.map(({ id }) => id))
}
