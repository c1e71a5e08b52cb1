import type { Config } from '../config.ts'
import type { Database } from '../db/database.ts'

/** Rows removed in one transaction; an event takes its deliveries along. */
const AT_ONCE = 1_000

/** How long events and attempts are kept. */
export type WebhookRetention = Pick<Config, 'webhookMessageRetentionDays' | 'webhookAttemptRetentionDays'>

/**
 * Removes older events with their deliveries, and older attempts. An event stays while one of its deliveries waits for
 * an enabled endpoint. Also finishes interrupted deletions of endpoints.
 */
export async function pruneWebhooks(db: Database, kept: WebhookRetention): Promise<void> {
  const deleted = await db.query<{ id: number }>('select id from endpoint where uid is null')
  for (const { id } of deleted) await removeEndpoint(db, id)
  await inBatches(db, OLD_EVENTS, kept.webhookMessageRetentionDays)
  await inBatches(db, OLD_ATTEMPTS, kept.webhookAttemptRetentionDays)
}

/** Removes a deleted endpoint, by its key, with its deliveries and attempts. */
export async function removeEndpoint(db: Database, id: number): Promise<void> {
  await inBatches(db, rowsOf('delivery'), id)
  await inBatches(db, rowsOf('attempt'), id)
  // With rows that others were recording or removing.
  await db.query('delete from endpoint where id = $1', [id])
}

async function inBatches(db: Database, statement: string, of: number): Promise<void> {
  const remove = async () => (await db.one<{ gone: number }>(statement, [of, AT_ONCE])).gone
  while ((await remove()) > 0);
}

const OLD_EVENTS = `
  with gone as (
    delete from event
    where id in (
      select e.id
      from event e
      where e.created_at < now() - make_interval(days => $1)
        and not e.pending
        and not exists (
          select from delivery d
          join endpoint n on n.id = d.endpoint_id
          where d.event_id = e.id and d.state = 'waiting' and n.disabled_at is null
        )
        and (
          e.position is null
          or e.position < (select min(lower(n.ahead)) from endpoint n where n.disabled_at is null)
          or not exists (
            select from endpoint n where n.disabled_at is null and e.position <@ n.ahead and gets(n, e)
          )
        )
      order by e.created_at
      limit $2
    )
    returning 1
  )
  select count(*) as gone from gone`

// Attempts are stored in order of time: those with the lowest ids are the oldest.
const OLD_ATTEMPTS = `
  with gone as (
    delete from attempt
    where id in (select id from attempt order by id limit $2)
      and attempted_at < now() - make_interval(days => $1)
    returning 1
  )
  select count(*) as gone from gone`

const rowsOf = (table: 'delivery' | 'attempt') => `
  with gone as (
    delete from ${table}
    where ctid = any (array(select ctid from ${table} where endpoint_id = $1 limit $2 for update skip locked))
    returning 1
  )
  select count(*) as gone from gone`
