import type { Config } from '../config.ts'
import type { Transaction } from '../db/database.ts'
import { violatedConstraint } from '../db/database.ts'
import { errors } from '../errors.ts'
import { type EventSettings, recordEvents, wantedEvents } from '../webhooks/record.ts'

/** Why a connection ends, as its event says (contract 12.10). */
export type EndReason = 'refresh_failed' | 'deregistration' | 'user_disconnected'

// The connection, and the user's only by its event; in the order of locks (store/lock.ts) its grant was locked before.
const REVOKE_SQL = `
  update connection c
  set status = 'revoked', status_reason = 'user_disconnected', grant_id = null,
      revoked_at = clock_timestamp(), updated_at = clock_timestamp()
  from (select id, status from connection where user_id = $1 and provider = $2 for update) before
  where c.id = before.id and (c.grant_id is null or c.grant_id = any ($3))
  returning c.id, c.user_id, c.provider, c.revoked_at, before.status = 'active' as ended`

// An upload that waits for its import stands for a connection that is about to be created: it is then created revoked.
// The user is not locked first: deleting a user locks its connections first.
const CREATE_REVOKED_SQL = `
  insert into connection as c (user_id, provider, status, status_reason, revoked_at)
  select $1, $2, 'revoked', 'user_disconnected', clock_timestamp()
  where exists (select from upload where user_id = $1 and provider = $2 and status = 'queued')
  on conflict (user_id, provider) do nothing
  returning c.id`

/** What the end of a grant depends on. */
type EndSettings = EventSettings & Pick<Config, 'deleteDataOnDeauthorisation'>

interface Ended {
  id: string
  user_id: string
  provider: string
  revoked_at: string
  /** Whether it was active. */
  ended: boolean
}

/** Whose connection ends, and whether the provider is asked to end it, too. */
export interface Ending {
  readonly userId: string
  readonly provider: string
  /** Whether the provider is asked to end the grant, if it can be and nobody else uses it. */
  readonly tellProvider: boolean
}

/**
 * Ends the connection of a user to a provider, again if it has ended before; the next upload or consent opens it again.
 * Its tokens go with it, unless another user shares them. Developers get their event in the same transaction. Returns
 * false when there never was a connection.
 * @throws AppError not_found when the user is deleted at this moment
 */
export async function endConnection(
  tx: Transaction,
  settings: EventSettings,
  { userId, provider, tellProvider }: Ending,
): Promise<boolean> {
  for (;;) {
    const grants = await lockGrants(tx, userId, provider)
    const [row] = await tx.query<Ended>(REVOKE_SQL, [userId, provider, grants])
    if (row) {
      await tx.query('select cancel_sync($1, $2)', [userId, provider])
      await removeUnused(tx, grants, tellProvider)
      if (row.ended) await recordRevoked(tx, settings, row, 'user_disconnected')
      return true
    }
    if (await createRevoked(tx, userId, provider)) return true
    const [stored] = await tx.query('select from connection where user_id = $1 and provider = $2', [userId, provider])
    if (!stored) return false
    // There was nothing to lock until an import or the first consent of the user stored it, whose grant would stay.
  }
}

async function createRevoked(tx: Transaction, userId: string, provider: string): Promise<boolean> {
  try {
    const created = await tx.query(CREATE_REVOKED_SQL, [userId, provider])
    return created.length > 0
  } catch (error) {
    // Deleted at this moment.
    if (violatedConstraint(error) === 'connection_user_id_fkey') throw errors.notFound('User', userId)
    throw error
  }
}

/**
 * Locks the grants of a user's connections, then these connections and those of others that have ended, which removing
 * a grant changes, each in the order of their ids; `provider` null = of all providers. Returns the ids of the grants.
 */
export async function lockGrants(tx: Transaction, userId: string, provider: string | null): Promise<string[]> {
  const granted = `select grant_id from connection where user_id = $1 and provider = coalesce($2, provider)`
  await tx.query('savepoint before_grants')
  for (;;) {
    const grants = await tx.query<{ id: string }>(
      `select id from provider_grant where id in (${granted}) order by id for update`,
      [userId, provider],
    )
    const locked = new Set(grants.map(({ id }) => id))
    const connections = await tx.query<{ grant_id: string | null }>(
      `${granted} or grant_id = any ($3) and status <> 'active' order by id for update`,
      [userId, provider, [...locked]],
    )
    if (connections.every(({ grant_id }) => grant_id === null || locked.has(grant_id))) return [...locked]
    // A consent moved a connection to another grant meanwhile: from the start, since grants are locked first.
    await tx.query('rollback to savepoint before_grants')
  }
}

// A connection that ended keeps its grant for a new consent only while that grant has ended, too: one that others made
// live again is not theirs any more. The token is sealed for the row that goes: it opens by that row's id and version
// (grants.ts). The job outlives the row, and any deletion of the user, for an hour at most.
const REMOVE_SQL = `
  with gone as (
    delete from provider_grant g
    where g.id = any ($1)
      and not exists (select from connection c where c.grant_id = g.id and (c.status = 'active' or g.state = 'ended'))
    returning g.*
  )
  select graphile_worker.add_job(
    'leave',
    payload => json_build_object(
      'provider', provider, 'account_id', account_id, 'username', username, 'zone', zone, 'issuer', issuer,
      'grant_id', id, 'version', version, 'key_id', key_id, 'access', encode(access, 'base64'),
      'until', now() + interval '1 hour', 'attempt', 1
    ),
    queue_name => 'leave:' || provider,
    job_key => leave_key(provider, coalesce(account_id, id::text)),
    max_attempts => 3
  )
  from gone
  where $2 and state = 'live' and access is not null`

/** Removes those of some grants, locked by `lockGrants`, that no connection uses, and queues the request that ends them at the provider. */
export async function removeUnused(tx: Transaction, grants: readonly string[], tellProvider: boolean): Promise<void> {
  if (grants.length > 0) await tx.query(REMOVE_SQL, [grants, tellProvider])
}

/**
 * Ends the active connections of a locked grant, whose tokens no longer work, and clears these; it stays, so that a new
 * consent continues where it ended.
 */
export async function endGrant(
  tx: Transaction,
  settings: EndSettings,
  grantId: string,
  { status, reason }: { status: 'revoked' | 'expired'; reason: EndReason },
): Promise<void> {
  await tx.query(
    `update provider_grant
     set state = 'ended', key_id = null, access = null, refresh = null, access_until = null, version = version + 1,
         pause_error = null, pause_settings = null, refresh_held_until = null, refresh_due_at = null, next_pull_at = null, asked_at = null, live_at = null,
         history_at = null
     where id = $1`,
    [grantId],
  )
  await tx.query(`select from connection where grant_id = $1 and status = 'active' order by id for update`, [grantId])
  const ended = await tx.query<Ended>(
    `update connection
     set status = $2, status_reason = $3, revoked_at = clock_timestamp(), updated_at = clock_timestamp()
     where grant_id = $1 and status = 'active'
     returning id, user_id, provider, revoked_at, true as ended`,
    [grantId, status, reason],
  )
  await tx.query(
    `update backfill_part set state = 'failed', error = 'The connection has ended'
     where grant_id = $1 and state in ('planned', 'asked', 'receiving')`,
    [grantId],
  )
  // Once a person has withdrawn access there, the past can be asked for again.
  await tx.query('delete from backfill_part where grant_id = $1 and ($2 or asked_at is null and not attempted)', [
    grantId,
    reason === 'deregistration',
  ])
  // What is left of the past waits for a new consent (resume_history).
  await tx.query(`delete from sync_task where grant_id = $1 and kind <> 'history'`, [grantId])
  await tx.query(`update sync_task set due_at = 'infinity' where grant_id = $1`, [grantId])
  // In the order in which everybody writes events of several users.
  for (const one of ended.toSorted((a, b) => (a.user_id < b.user_id ? -1 : 1))) {
    await tx.query('select cancel_runs($1, $2)', [one.user_id, one.provider])
    await recordRevoked(tx, settings, one, reason)
    const isUnwanted = settings.deleteDataOnDeauthorisation.includes(one.provider)
    if (reason === 'deregistration' && isUnwanted) await tx.query(DELETE_SQL, [one.user_id, one.provider])
  }
}

const DELETE_SQL = `
  select graphile_worker.add_job(
    'delete_withdrawn', payload => json_build_object('user_id', $1::text, 'provider', $2::text),
    queue_name => 'delete_withdrawn', job_key => 'withdrawn:' || $1 || ':' || $2
  )`

async function recordRevoked(
  tx: Transaction,
  settings: EventSettings,
  { id, user_id, provider, revoked_at }: Ended,
  reason: EndReason,
): Promise<void> {
  const wanted = await wantedEvents(tx, settings, user_id)
  if (!wanted?.('connection.revoked', 'live')) return
  const data = { user_id, provider, connection_id: id, reason, revoked_at }
  await recordEvents(tx, [
    {
      userId: user_id,
      provider,
      name: 'connection.revoked',
      key: `connection.revoked.${user_id}.${provider}.${revoked_at}`,
      scope: 'live',
      data: Buffer.from(JSON.stringify(data)),
      packed: false,
    },
  ])
}
