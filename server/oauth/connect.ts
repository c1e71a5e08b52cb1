import { setTimeout as delay } from 'node:timers/promises'
import { HELD } from '../db/changes.ts'
import { databaseUnavailable, lockTimedOut, type Transaction, violatedConstraint } from '../db/database.ts'
import { errors } from '../errors.ts'
import type { Identity, Tokens } from '../providers/provider.ts'
import { connectionCreated } from '../webhooks/batch-events.ts'
import { recordEvents, wantedEvents } from '../webhooks/record.ts'
import { lockGrants, removeUnused } from './disconnect.ts'
import { sealTokens } from './grants.ts'
import type { OAuthParts } from './parts.ts'

/** A consent whose account is known. */
export interface Consent {
  readonly userId: string
  readonly provider: string
  readonly account: Identity
  readonly tokens: Tokens
  /** As the provider wrote it; null when it did not say. */
  readonly scope: string | null
  /** Of the sign-in service that granted it. */
  readonly issuer: string | null
  /** The id of the grant, if it is a new one; the account may be registered under it. */
  readonly ref: string
}

/** A request to end a former grant of the account is on its way, or was just made: it may have ended this consent. */
class Leaving extends Error {
  /** Names that request. */
  readonly asked: string
  constructor(asked: string) {
    super('a former grant of the account is being ended')
    this.asked = asked
  }
}

/** How long that request is waited for; no request to a provider takes longer. */
const LEAVING_MS = 35_000
const LOOK_MS = 100

/** A consent is granted once, so it is stored for as long as a person waits; each attempt waits so long for locks. */
const STORING_MS = 30_000
const LOCK_MS = 500

/**
 * Stores a consent: its grant, the tokens sealed, and the connection of the user, with its event. Other
 * users of the account share the grant from then on. A user who had connected another account moves to this one; the one
 * left behind ends as by a disconnect.
 *
 * `stillLives` is asked when a request to end a former grant of this account was under way, or made since the consent:
 * whether the new tokens work after it. Returns false when they do not.
 * @throws AppError bad_request when the user was deleted meanwhile; overloaded
 */
export async function connect(
  parts: OAuthParts,
  consent: Consent,
  stillLives: () => Promise<boolean>,
): Promise<boolean> {
  let survived: string | undefined
  for (const ends = Date.now() + STORING_MS; ; ) {
    try {
      await parts.saving.transaction((tx) => store(tx, parts, consent, survived), LOCK_MS)
      return true
    } catch (error) {
      if (violatedConstraint(error) === 'connection_user_id_fkey') throw errors.badState()
      // Another user of the account was connected at this moment.
      if (violatedConstraint(error) === 'provider_grant_account_key') continue
      if (error instanceof Leaving) {
        await leaveToEnd(parts, consent)
        if (!(await stillLives())) return false
        survived = error.asked
      } else if (!databaseUnavailable(error)) throw error
      else if (Date.now() > ends) throw lockTimedOut(error) ? errors.overloaded(HELD, 5) : error
      else await delay(LOOK_MS)
    }
  }
}

// Such a request takes less than two minutes before it is seen here (flow.ts, LEAVING_MS).
const REMOVE_LEAVE_SQL = `
  select coalesce(locked_at, case
           when payload ->> 'asked' = 'true' and created_at > now() - interval '2 minutes' then created_at
         end)::text as asked
  from graphile_worker.remove_job(leave_key($1, $2))
  where id is not null`

/** `survived`: a request to end a former grant after which the tokens were tried. */
async function store(
  tx: Transaction,
  parts: OAuthParts,
  consent: Consent,
  survived: string | undefined,
): Promise<void> {
  const { userId, provider, account } = consent
  // The first connection of a user is no row that could be locked: without this, of two accounts one would stay unused.
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('consent of ' || $1 || ' ' || $2, 0))`, [
    userId,
    provider,
  ])
  const grantId = await lockGrantsFor(tx, consent)
  if (account.id !== null) {
    const [job] = await tx.query<{ asked: string | null }>(REMOVE_LEAVE_SQL, [provider, account.id])
    if (job && job.asked !== null && job.asked !== survived) throw new Leaving(job.asked)
  }
  const former = await formerGrant(tx, userId, provider)
  const id = await storeGrant(tx, parts, consent, grantId)
  const connection = await storeConnection(tx, consent, id)
  await tx.query(SHARE_SCOPE_SQL, [id, connection.id])
  const isNew = former?.id !== id
  // What is under way for the account left behind would never end, or bring data of that account.
  if (former !== undefined && isNew) await tx.query('select cancel_sync($1, $2)', [userId, provider])
  await parts.connected(tx, { provider, grantId: id, connectionId: connection.id, userId, isNew })
  if (former !== undefined && isNew) {
    // Without both ids it may be the same account, whose consent would end.
    await removeUnused(tx, [former.id], former.account_id !== null && account.id !== null)
  }
  const wanted = await wantedEvents(tx, parts.settings, userId)
  if (wanted?.('connection.created', 'live'))
    await recordEvents(tx, [connectionCreated({ userId, provider }, connection)])
}

/**
 * Locks the grant of the account, that of the user's connection, and the connection, in the order of locks
 * (store/lock.ts). Returns the id of the grant that the consent renews; undefined: it is a new one.
 */
async function lockGrantsFor(tx: Transaction, { userId, provider, account }: Consent): Promise<string | undefined> {
  const find = (lock: string) =>
    tx.query<{ id: string; account_id: string | null }>(
      `select g.id, g.account_id
       from provider_grant g
       where g.provider = $1 and g.account_id = $2
          or g.id = (select c.grant_id from connection c where c.user_id = $3 and c.provider = $1)
       order by g.id
       ${lock}`,
      [provider, account.id, userId],
    )
  await tx.query('savepoint before_both')
  for (;;) {
    const locked = await find('for update')
    await lockGrants(tx, userId, provider)
    const now = await find('')
    if (now.length === locked.length && now.every(({ id }, at) => id === locked[at]?.id)) {
      // Of an account that is not known, the one that this user had.
      return locked.find(({ account_id }) => account_id === account.id)?.id
    }
    await tx.query('rollback to savepoint before_both')
  }
}

async function formerGrant(tx: Transaction, userId: string, provider: string) {
  const [former] = await tx.query<{ id: string; account_id: string | null }>(
    `select g.id, g.account_id
     from connection c
     join provider_grant g on g.id = c.grant_id
     where c.user_id = $1 and c.provider = $2`,
    [userId, provider],
  )
  return former
}

// Everything that was held against the former tokens is forgotten.
const GRANT_SQL = `
  insert into provider_grant as g (
    id, provider, account_id, username, zone, scope, issuer, key_id, access, refresh, version, access_until,
    refreshed_at, next_pull_at
  )
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now() + make_interval(secs => $12), now(), now())
  on conflict (id) do update
  set username = excluded.username, zone = coalesce(excluded.zone, g.zone), scope = excluded.scope,
      issuer = excluded.issuer, state = 'live', key_id = excluded.key_id, access = excluded.access,
      refresh = excluded.refresh, version = excluded.version, access_until = excluded.access_until,
      refreshed_at = excluded.refreshed_at, granted_at = now(), next_pull_at = now(), refresh_held_until = null,
      refresh_doubt = 0, refresh_due_at = null, refresh_failures = 0, refusals = 0, refused_since = null,
      refused_at = null, renewed_at = null, doubted_at = null, pause_error = null, pause_settings = null`

async function storeGrant(
  tx: Transaction,
  { vault }: OAuthParts,
  { provider, account, ref, tokens, scope, issuer }: Consent,
  known: string | undefined,
): Promise<string> {
  const id = known ?? ref
  const [before] = await tx.query<{ version: number }>('select version from provider_grant where id = $1', [id])
  const version = (before?.version ?? 0) + 1
  const { keyId, access, refresh } = sealTokens(vault, id, version, tokens)
  await tx.query(GRANT_SQL, [
    ...[id, provider, account.id, account.username, account.zone, scope, issuer],
    ...[keyId, access, refresh, version, tokens.accessSeconds],
  ])
  return id
}

// The first live pull begins at the consent (contract 6.5).
const CONNECTION_SQL = `
  insert into connection as c (user_id, provider, grant_id, provider_user_id, provider_username, scope, last_synced_at)
  values ($1, $2, $3, $4, $5, $6, now())
  on conflict (user_id, provider) do update
  set grant_id = excluded.grant_id, provider_user_id = excluded.provider_user_id,
      provider_username = excluded.provider_username, scope = excluded.scope, last_synced_at = now(),
      account_since = case when c.provider_user_id is distinct from excluded.provider_user_id then now() else c.account_since end,
      status = 'active', status_reason = null, revoked_at = null, updated_at = now()
  returning id, updated_at as at`

// The latest consent holds for all who share the account: theirs say what it allows.
const SHARE_SCOPE_SQL = `
  update connection c
  set scope = own.scope, updated_at = now()
  from connection own
  where own.id = $2 and c.grant_id = $1 and c.id <> $2 and c.status = 'active' and c.scope is distinct from own.scope`

function storeConnection(
  tx: Transaction,
  { userId, provider, account, scope }: Consent,
  grantId: string,
): Promise<{ id: string; at: string }> {
  const spaced = scope?.split(/[\s,]+/).join(' ') || null
  return tx.one(CONNECTION_SQL, [userId, provider, grantId, account.id, account.username, spaced])
}

/** Waits until no job asks the provider to end a grant of the account. */
async function leaveToEnd({ saving }: OAuthParts, { provider, account }: Consent): Promise<void> {
  const deadline = Date.now() + LEAVING_MS
  while (Date.now() < deadline) {
    const [running] = await saving.query(
      `select from graphile_worker.jobs where key = leave_key($1, $2) and locked_at is not null`,
      [provider, account.id],
    )
    if (!running) return
    await delay(LOOK_MS)
  }
}
