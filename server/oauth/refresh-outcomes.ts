import type { Transaction } from '../db/database.ts'
import { errors } from '../errors.ts'
import { endGrant } from './disconnect.ts'
import type { OAuthParts } from './parts.ts'
import { settingsKey } from './pauses.ts'
import type { TokenAnswer } from './token-request.ts'

// What becomes of a grant when a refresh brought no tokens (providers' token endpoints: RFC 6749, 5.2). Each of these
// stores it, lets go of the grant, and throws what its callers get, or returns undefined: they look again at once.

/** The grant, as its holder read it. */
interface HeldGrant {
  readonly id: string
  readonly provider: string
  readonly version: number
  readonly refresh_doubt: number
}

/** Waits after failures that say nothing about the grant: 15 s, then twice as long each time, up to an hour, ±20 %. */
const FIRST_WAIT_SECONDS = 15
const LONGEST_WAIT_SECONDS = 3_600
const JITTER = 0.2

/** Waits once answers were lost; the first attempt after one is made at once. */
const DOUBT_WAITS_SECONDS: readonly number[] = [0, 60, 300, 900]

/** Waits before a refusal is believed: the next refusal confirms it. While answers may be lost, more have to. */
const CONFIRM_SECONDS: readonly number[] = [60]
const CONFIRM_IN_DOUBT_SECONDS: readonly number[] = [60, 300, 900]

/** Our own settings are wrong: the log says so, and people's connections stay. */
const MISCONFIGURED_SECONDS = 1_800

/** A provider that refuses so many grants in ten minutes, and more than it refreshes, has an outage; a day at most. */
const OUTAGE_GRANTS = 5
const OUTAGE_SECONDS = 300

/** What kept a refresh from being answered. */
export interface Trouble {
  readonly text: string
  /** Whether the provider may have replaced the refresh token. */
  readonly lost: boolean
  readonly afterSeconds?: number | null
}

/** There was no answer, or one that says nothing about the grant. @throws AppError refresh_failed */
export async function onTrouble(parts: OAuthParts, grant: HeldGrant, trouble: Trouble): Promise<undefined> {
  const { text, lost, afterSeconds = null } = trouble
  const { provider, id } = grant
  parts.metrics.tokenRefreshes.labels(provider, lost ? 'lost' : 'unavailable').inc()
  parts.log.warn({ provider, grant: id, reason: text, lost }, 'a token was not refreshed')
  const at = await release(
    parts,
    grant,
    (failures) => {
      if (lost) return DOUBT_WAITS_SECONDS[Math.min(grant.refresh_doubt, DOUBT_WAITS_SECONDS.length - 1)] as number
      const wait = Math.min(FIRST_WAIT_SECONDS * 2 ** failures, LONGEST_WAIT_SECONDS)
      return Math.max(wait * (1 + JITTER * (2 * Math.random() - 1)), Math.min(afterSeconds ?? 0, LONGEST_WAIT_SECONDS))
    },
    { lost },
  )
  if (at === undefined) return undefined
  throw errors.refreshFailed(text, at)
}

/** Returns when it is tried again, epoch ms; undefined: at once, or somebody else has stored newer tokens. */
async function release(
  parts: OAuthParts,
  { id, version, provider }: HeldGrant,
  waitSeconds: (failures: number) => number,
  { lost, pause = null }: { lost: boolean; pause?: string | null },
): Promise<number | undefined> {
  return parts.db.transaction(async (tx) => {
    const [held] = await tx.query<{ refresh_failures: number }>(
      'select refresh_failures from provider_grant where id = $1 and version = $2 for update',
      [id, version],
    )
    if (!held) return undefined
    const seconds = waitSeconds(held.refresh_failures)
    const { due_ms } = await tx.one<{ due_ms: number }>(
      `update provider_grant
       set refresh_held_until = null, refresh_doubt = refresh_doubt + $3::int4,
           refresh_failures = least(refresh_failures + 1, 1000), refresh_due_at = now() + make_interval(secs => $2),
           pause_error = $4, pause_settings = $5
       where id = $1
       returning date_part('epoch', refresh_due_at) * 1000 as due_ms`,
      [id, seconds, lost ? 1 : 0, pause, pause === null ? null : settingsKey(parts, provider)],
    )
    return seconds > 0 ? due_ms : undefined
  })
}

/**
 * The token endpoint refused. Only `invalid_grant`, and what the provider says in its place (`Refresh.deadErrors`), is
 * about the grant, and only once it is confirmed: after it the grant ends. @throws AppError refresh_rejected,
 * access_doubted, refresh_refused
 */
export async function onRefusal(
  parts: OAuthParts,
  grant: HeldGrant,
  { refusal, text }: Extract<TokenAnswer, { kind: 'refusal' }>,
  deadErrors: readonly string[],
): Promise<undefined> {
  const { provider, id } = grant
  if (refusal.error !== 'invalid_grant' && !deadErrors.includes(refusal.error ?? '')) {
    parts.metrics.tokenRefreshes.labels(provider, 'misconfigured').inc()
    parts.log.error({ provider, grant: id, reason: text }, 'a token endpoint refuses our settings')
    const at = await release(parts, grant, () => MISCONFIGURED_SECONDS, { lost: false, pause: text })
    if (at === undefined) return undefined
    throw errors.refreshRefused(provider, text, at)
  }
  const outcome = await parts.db.transaction((tx) => refused(tx, parts, grant))
  if (outcome === 'newer') return undefined
  parts.metrics.tokenRefreshes.labels(provider, outcome === 'revoked' ? 'revoked' : 'refused').inc()
  parts.log.warn({ provider, grant: id, revoked: outcome === 'revoked' }, 'a refresh token was refused')
  if (outcome === 'revoked') throw errors.refreshRejected(provider)
  throw errors.accessDoubted(provider, outcome.dueMs)
}

interface HeldRefusals {
  refusals: number
  refresh_doubt: number
  outage_may_last: boolean
  /** Whether a notice said so. */
  was_withdrawn: boolean
}

async function refused(
  tx: Transaction,
  { settings }: OAuthParts,
  { id, version, provider }: HeldGrant,
): Promise<'newer' | 'revoked' | { dueMs: number }> {
  const [held] = await tx.query<HeldRefusals>(
    `select refusals, refresh_doubt,
            coalesce(refused_since, now()) > now() - interval '1 day' as outage_may_last,
            coalesce(doubted_at > greatest(granted_at, now() - interval '1 day'), false) as was_withdrawn
     from provider_grant
     where id = $1 and version = $2
     for update`,
    [id, version],
  )
  if (!held) return 'newer'
  const waits = held.refresh_doubt > 0 ? CONFIRM_IN_DOUBT_SECONDS : CONFIRM_SECONDS
  const wait = waits[held.refusals] ?? (held.outage_may_last && (await isOutage(tx, provider, id)) ? OUTAGE_SECONDS : 0)
  const { due_ms } = await tx.one<{ due_ms: number }>(
    `update provider_grant
     set refresh_held_until = null, pause_error = null, pause_settings = null, refusals = least(refusals + 1, 1000), refused_at = now(),
         refused_since = coalesce(refused_since, now()), refresh_due_at = now() + make_interval(secs => $2)
     where id = $1
     returning date_part('epoch', refresh_due_at) * 1000 as due_ms`,
    [id, wait],
  )
  if (wait > 0) return { dueMs: due_ms }
  const reason = held.was_withdrawn ? 'deregistration' : 'refresh_failed'
  await endGrant(tx, settings, id, { status: 'revoked', reason })
  return 'revoked'
}

async function isOutage(tx: Transaction, provider: string, own: string): Promise<boolean> {
  const { refused, refreshed } = await tx.one<{ refused: number; refreshed: number }>(
    `select (select count(*) from provider_grant
             where provider = $1 and refused_at > now() - interval '10 minutes' and id <> $2) + 1 as refused,
            (select count(*) from provider_grant
             where provider = $1 and refreshed_at > now() - interval '10 minutes') as refreshed`,
    [provider, own],
  )
  return refused >= OUTAGE_GRANTS && refused > refreshed
}
