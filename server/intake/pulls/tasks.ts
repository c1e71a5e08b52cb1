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
}

/**
 * Queues the asking of streams, and opens a run; null when such tasks of all of them wait already, or the grant has
 * ended. Locks the grant.
 */
export async function queue(tx: Queryable, queued: Queued): Promise<string | null> {
  const { run } = await tx.one<{ run: string | null }>('select start_sync($1, $2, $3, $4, $5, $6, $7, $8) as run', [
    ...[queued.grantId, queued.connectionId, queued.userId, queued.kind, queued.lane],
    queued.untilMs === null ? null : isoInstant(queued.untilMs),
    JSON.stringify(queued.options ?? {}),
    JSON.stringify(queued.streams.map(asRow)),
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

async function startOr(tx: Transaction, queued: Queued & { userId: string }): Promise<Started | undefined> {
  const runKey = await queue(tx, queued)
  if (runKey !== null) return { runKey, running: false }
  const { grantId, userId, kind, connectionId } = queued
  const { run } = await tx.one<{ run: string | null }>('select join_sync($1, $2, $3, $4, $5) as run', [
    ...[grantId, connectionId, userId, kind],
    queued.streams.map(({ stream }) => stream),
  ])
  return run === null ? undefined : { runKey: run, running: true }
}

/**
 * Starts a sync that somebody asked for, of everybody who has connected the account; `window` null: the days that are
 * usual for a stream, the last 30 by default.
 * Streams that such a sync waits for already are left out; when all are, it is that one. Undefined: the grant has ended.
 */
export function startSync(
  tx: Transaction,
  to: {
    grantId: string
    userId: string
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
  const { grantId, userId, options } = to
  return startOr(tx, { grantId, userId, options, connectionId: null, kind: 'sync', lane: 'asked', untilMs, streams })
}

/**
 * Starts asking for the past of one user's connection: all streams that have one, at most as far back as they have it.
 * When that runs already, it is that run. Undefined: the grant has ended, or nothing granted has a past.
 */
export async function startHistory(
  tx: Transaction,
  to: { grantId: string; connectionId: string; userId: string; days: number },
  streams: readonly Stream[],
): Promise<(Started & Window) | undefined> {
  const { grantId, connectionId, userId, days } = to
  const untilMs = Date.now()
  const fromMs = untilMs - days * DAY_MS
  const asked = streams.filter(hasPast).map(({ name, historyDays }) => ({
    ...{ stream: name, loMs: Math.max(fromMs, untilMs - (historyDays ?? days) * DAY_MS) },
  }))
  if (asked.length === 0) return undefined
  const queued = { grantId, connectionId, userId, kind: 'history', lane: 'history', untilMs, streams: asked } as const
  const started = await startOr(tx, queued)
  return started && { ...started, fromMs, untilMs }
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
