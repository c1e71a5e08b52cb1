import type { Queryable, Transaction } from '../../db/database.ts'
import type { OAuthClient } from '../../provider-client/clients.ts'
import type { Json } from '../../providers/part.ts'
import type { Stream, Window } from '../../providers/provider.ts'
import { grantedScopes } from '../../providers/scopes.ts'
import { DAY_MS, isoInstant } from '../../time.ts'
import type { Lane } from './budget.ts'
import { hasPast } from './windows.ts'

/** What a sync without a range asks for (contract 7.1). */
const SYNC_DAYS = 30

/** What a grant allows, as its row says it. */
export interface GrantScope {
  readonly scope: string | null
  readonly issuer: string | null
}

/** The streams of a provider that a grant allows. */
export function grantedStreams(client: OAuthClient, { scope, issuer }: GrantScope): readonly Stream[] {
  const granted = grantedScopes(scope, client.oauth(issuer))
  const { streams = [] } = client.provider
  return streams.filter((stream) => granted === null || stream.scope === undefined || granted.has(stream.scope))
}

/** A stream that is wanted and was not granted, and what its report says. */
export interface RefusedStream {
  readonly stream: string
  readonly error: string
}

/** The streams whose scope is asked for of everybody, and that this grant does not allow. */
export function refusedStreams(client: OAuthClient, { scope, issuer }: GrantScope): readonly RefusedStream[] {
  const oauth = client.oauth(issuer)
  const granted = grantedScopes(scope, oauth)
  const asked = grantedScopes(client.scope, oauth)
  // A former sign-in service may not know them all.
  const known = grantedScopes(oauth.scopes.join(' '), oauth)
  return (client.provider.streams ?? []).flatMap(({ name, scope: needed }) =>
    needed !== undefined && granted?.has(needed) === false && asked?.has(needed) && known?.has(needed)
      ? [{ stream: name, error: `The scope ${needed} was not granted` }]
      : [],
  )
}

/** A stream to be asked for, from `loMs` on. */
export interface Asked {
  readonly stream: string
  readonly loMs: number
  readonly reachDays?: number | null
}

/** What is queued for a grant. */
export interface Queued {
  readonly grantId: string
  /** Whose data it is; null: of everybody who has connected the account. */
  readonly connectionId: string | null
  /** Who asked for it; null: nobody. */
  readonly userId: string | null
  readonly kind: 'pull' | 'sync' | 'history'
  readonly lane: Lane
  /** Null: until it is asked. */
  readonly untilMs: number | null
  readonly options?: Readonly<Record<string, Json>>
  readonly streams: readonly Asked[]
  /** Reported as failed beside these. */
  readonly refused: readonly RefusedStream[]
}

/**
 * Queues the asking of streams, and opens a run; null when such tasks of all of them wait already, or the grant has
 * ended. Locks the grant.
 */
export async function queue(tx: Queryable, queued: Queued): Promise<string | null> {
  const { run } = await tx.one<{ run: string | null }>('select start_sync($1, $2, $3, $4, $5, $6, $7, $8, $9) as run', [
    ...[queued.grantId, queued.connectionId, queued.userId, queued.kind, queued.lane],
    queued.untilMs === null ? null : isoInstant(queued.untilMs),
    JSON.stringify(queued.options ?? {}),
    JSON.stringify(queued.streams.map(asRow)),
    JSON.stringify(queued.refused),
  ])
  return run
}

/** As start_sync reads it. */
export const asRow = ({ stream, loMs, reachDays = null }: Asked) => ({
  ...{ stream, lo: isoInstant(Math.floor(loMs)), reach_days: reachDays },
})

/** A sync that was started, or the one that runs already. */
export interface Started {
  readonly runKey: string
  readonly running: boolean
}

/** A sync of everything that somebody asked for. */
interface Wanted {
  readonly grantId: string
  readonly userId: string
  readonly refused: readonly RefusedStream[]
}

/** A range that ends so close to now ends at present. */
const PRESENT_MS = 60_000

/**
 * Starts a sync that somebody asked for, of everybody who has connected the account; `window` null: the days that are usual
 * for a stream, the last 30 by default. While another one brings the same, it is that one; any other runs beside it.
 * Undefined: the grant has ended.
 */
export async function startSync(
  tx: Transaction,
  to: Wanted & {
    streams: readonly Pick<Stream, 'name' | 'usualDays'>[]
    window: Window | null
    options: Readonly<Record<string, Json>>
  },
): Promise<Started | undefined> {
  const nowMs = Date.now()
  const untilMs = to.window?.untilMs ?? nowMs
  const streams = to.streams.map(({ name, usualDays = SYNC_DAYS }) => ({
    ...{ stream: name, loMs: to.window?.fromMs ?? nowMs - usualDays * DAY_MS },
  }))
  // Streams that begin at several times: a run is joined by its earliest one, so only by those who ask the same way.
  const isUsual = new Set(streams.map(({ loMs }) => loMs)).size > 1
  const options = isUsual ? { ...to.options, usual: true } : to.options
  const { grantId, userId, refused } = to
  await tx.query('select from provider_grant where id = $1 for update', [grantId])
  const { run } = await tx.one<{ run: string | null }>('select join_sync($1, $2, $3, $4, $5, $6) as run', [
    ...[grantId, userId, streams.map(({ stream }) => stream)],
    isoInstant(Math.ceil(Math.min(...streams.map(({ loMs }) => loMs)))),
    nowMs - untilMs < PRESENT_MS ? null : isoInstant(Math.floor(untilMs)),
    JSON.stringify(options),
  ])
  if (run !== null) return { runKey: run, running: true }
  const asked = { grantId, userId, options, connectionId: null, kind: 'sync', lane: 'asked', untilMs } as const
  const runKey = await queue(tx, { ...asked, streams, refused })
  return runKey === null ? undefined : { runKey, running: false }
}

/**
 * Starts asking for the past of one user's connection: all streams that have one, at most as far back as they have it.
 * When that runs already, it is that run, which goes back as far as this from then on. Undefined: the grant has ended, or
 * nothing granted has a past.
 */
export async function startHistory(
  tx: Transaction,
  to: Wanted & { connectionId: string; days: number },
  streams: readonly Stream[],
): Promise<(Started & Window) | undefined> {
  const { grantId, connectionId, userId, days, refused } = to
  const untilMs = Date.now()
  const fromMs = untilMs - days * DAY_MS
  const asked = streams.filter(hasPast).map(({ name, historyDays }) => ({
    ...{ stream: name, loMs: Math.max(fromMs, untilMs - (historyDays ?? days) * DAY_MS) },
  }))
  if (asked.length === 0) return undefined
  const { run } = await tx.one<{ run: string | null }>('select widen_history($1, $2, $3, $4) as run', [
    ...[grantId, connectionId, userId, JSON.stringify(asked.map(asRow))],
  ])
  if (run !== null) return { runKey: run, running: true, fromMs, untilMs }
  const queued = { grantId, connectionId, userId, kind: 'history', lane: 'history', untilMs } as const
  const runKey = await queue(tx, { ...queued, streams: asked, refused })
  return runKey === null ? undefined : { runKey, running: false, fromMs, untilMs }
}

/** Makes due what failed or is held back for a grant, since somebody asks for it; at most once a minute. */
export async function retryGrant(tx: Queryable, grantId: string): Promise<void> {
  await tx.query('select retry_grant($1)', [grantId])
}

/** Goes on with what was left of the past of a connection whose access had ended. */
export async function resumeHistory(
  tx: Queryable,
  { grantId, connectionId, userId }: { grantId: string; connectionId: string; userId: string },
  streams: readonly Stream[],
): Promise<void> {
  const granted = streams.map(({ name }) => name)
  await tx.query('select resume_history($1, $2, $3, $4)', [grantId, connectionId, userId, granted])
}
