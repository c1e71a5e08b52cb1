import { type Batch, noEvents, type Span } from '../batch/columns.ts'
import type { Transaction } from '../db/database.ts'

// In the order of locks (lock.ts): what follows refers to the user, and its revision moves in the end.
const USER_KEPT = '(select 1 from app_user u where u.id = c.user_id for key share)'

// An upload connects its user with the provider, unless it arrived before the phone signed out; importing it again says
// nothing new about that.
const OPEN_SQL = `
  with before as (
    select status from connection where user_id = $1 and provider = $2
  ), c as (
    insert into connection as c (user_id, provider, last_synced_at)
    values ($1, $2, now())
    on conflict (user_id, provider) do update
    set last_synced_at = case when $3::timestamptz is null then c.last_synced_at else now() end,
        updated_at = case when $3 is null then c.updated_at else now() end,
        status = case when $3 is null or c.revoked_at > $3 then c.status else 'active' end,
        status_reason = case when $3 is null or c.revoked_at > $3 then c.status_reason end
    returning id, user_id, status, updated_at
  )
  select c.id, c.status = 'active' and (select status from before) is distinct from 'active' as opened,
         c.updated_at as at, null::float8 as since_ms, ${USER_KEPT} as kept
  from c`

// What a provider answered before its connection ended is stored, as what a phone sent before it signed out. What it sends of
// itself is a sync of its connection; a pull is one when it ends (store_parcel.sql).
const NAMED_SQL = `
  with synced as (
    update connection c
    set last_synced_at = greatest(c.last_synced_at, $3::timestamptz), updated_at = now()
    where c.id = $1 and c.user_id = $2 and c.status = 'active' and $4 and $3::timestamptz is not null
  )
  select c.id, false as opened, c.updated_at as at, date_part('epoch', c.account_since) * 1000 as since_ms,
         ${USER_KEPT} as kept
  from connection c
  where c.id = $1 and c.user_id = $2 and (c.status = 'active' or $3::timestamptz is null or c.revoked_at > $3)`

/** Whose batch is written, and through which connection it came. */
interface Target {
  userId: string
  provider: string
  receivedAt: string | null
  connection?: NamedConnection
}

/** Through which connection a provider's data came, null = it is gone; and whether it sent that of itself, of now. */
export interface NamedConnection {
  id: string | null
  wasSent: boolean
}

/** The connection of a batch; `opened`: it was opened by it. */
export interface BatchConnection {
  id: string
  opened: boolean
  at: string
  /** When the user connected another account than before, epoch ms; null: it has been the same from the start. */
  since_ms: number | null
}

/**
 * The connection through which a batch came: a phone's upload opens one, an answer of a provider names it. Undefined when
 * that ended before the answer came. Its user cannot be deleted from then on.
 */
export async function connectionOf(
  tx: Transaction,
  { userId, provider, receivedAt, connection }: Target,
): Promise<BatchConnection | undefined> {
  const rows = connection
    ? await tx.query<BatchConnection>(NAMED_SQL, [connection.id, userId, receivedAt, connection.wasSent])
    : await tx.query<BatchConnection>(OPEN_SQL, [userId, provider, receivedAt])
  return rows[0]
}

/** Of spans that an answer lists, the parts that are the account's own: what is older may be of the account before it. */
export function sinceAccount(spans: readonly Span[], { since_ms: sinceMs }: BatchConnection): Span[] {
  const fromMs = sinceMs ?? Number.NEGATIVE_INFINITY
  return spans.flatMap((span) => (span.hiMs > fromMs ? [{ ...span, loMs: Math.max(span.loMs, fromMs) }] : []))
}

/** A batch of which nothing is stored, since its connection had ended: all of its items are ignored. */
export function withoutConnection(batch: Batch): Batch {
  const { received } = batch
  return {
    ...batch,
    ...{ sources: [], samples: [], derived: [], events: noEvents() },
    ...{ duplicates: 0, ignored: received, rejected: 0, rejections: [] },
    ...{ rejectedDays: {}, rejectedLocally: { days: {}, quarters: {} } },
    unstored: received > 0 ? [{ collection: 'all', type: null, reason: 'connection_ended', items: received }] : [],
  }
}
