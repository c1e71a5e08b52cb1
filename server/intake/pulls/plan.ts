import { type LiveSyncMode, providerByName } from '../../catalogue/providers.ts'
import type { Queryable, Transaction } from '../../db/database.ts'
import type { OAuthParts } from '../../oauth/parts.ts'
import type { OAuthClient, OAuthClients } from '../../provider-client/clients.ts'
import { DAY_MS } from '../../time.ts'
import { startBackfill } from './backfill.ts'
import {
  asRow,
  grantedStreams,
  queue,
  type RefusedStream,
  refusedStreams,
  resumeHistory,
  startHistory,
} from './tasks.ts'
import { type Cursor, type DuePull, duePull } from './windows.ts'

/** Grants that are planned in one transaction. */
const AT_ONCE = 500

/** Of the requests that a provider takes in a day, pulls may use so many; what is left is for history and people who wait. */
const SHARE_OF_DAY = 0.6

/** How much of the past a new connection brings (contract 13). */
const HISTORY_DAYS = 90

/** What planning works with. */
export interface PlanMeans {
  readonly db: { transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> } & Queryable
  readonly clients: OAuthClients
  /** How often each grant is pulled, in seconds. */
  readonly syncIntervalSeconds: number
  /** The same, of providers whose live sync mode is `webhook`, while their notices come. */
  readonly reconcileIntervalSeconds: number
}

interface DueGrant {
  id: string
  provider: string
  scope: string | null
  issuer: string | null
  granted_ms: number
  now_ms: number
  /** Whether a pull found, in the last day, what no notice had named, or the account cannot be subscribed to. */
  missed: boolean
  cursors: Record<
    string,
    { begun: number; covered: number | null; week: number | null; month: number | null; closed: number | null }
  >
}

const CURSORS = `
  coalesce((
    select jsonb_object_agg(s.stream, jsonb_build_object(
      'begun', date_part('epoch', s.begun_at) * 1000, 'covered', date_part('epoch', s.covered_until) * 1000,
      'week', date_part('epoch', s.reached_week_at) * 1000, 'month', date_part('epoch', s.reached_month_at) * 1000,
      'closed', date_part('epoch', s.closed_until) * 1000
    ))
    from stream_cursor s
    where s.grant_id = g.id
  ), '{}') as cursors`

const GRANT_COLUMNS = `
  g.id, g.provider, g.scope, g.issuer, date_part('epoch', g.granted_at) * 1000 as granted_ms,
  date_part('epoch', now()) * 1000 as now_ms,
  coalesce(g.missed_at > now() - interval '1 day', false) or exists (
    select from account_subscription s where s.grant_id = g.id and (s.address_sha256 is null or s.error is not null)
  ) as missed,
  ${CURSORS}`

// Disabled providers are not asked; whoever enables one finds its grants due.
const DUE_SQL = `
  select ${GRANT_COLUMNS}, (select min(c.user_id::text) from connection c where c.grant_id = g.id) as user_id
  from provider_grant g
  where g.state = 'live' and g.next_pull_at <= now() and g.provider = any ($1)
    and exists (select from connection c where c.grant_id = g.id and c.status = 'active')
  order by g.next_pull_at
  limit ${AT_ONCE}
  for update skip locked`

// A provider that has sent nothing for a day may have no subscription.
const ENABLED_SQL = `
  select p.provider, s.live_sync_mode as mode,
         exists (
           select from notice_source n where n.provider = p.provider and n.opened_at > now() - interval '1 day'
         ) as notices_come,
         (select count(*) from provider_grant g where g.provider = p.provider and g.state = 'live') as grants
  from unnest($1::text[], $2::boolean[]) p (provider, by_default)
  left join provider_setting s using (provider)
  where coalesce(s.is_enabled, p.by_default)`

const START_SQL = `
  select start_sync(p.grant_id, null, null, 'pull', 'live', null, '{}', p.streams, p.refused)
  from rows from (
    jsonb_to_recordset($1::jsonb) as (grant_id uuid, streams jsonb, refused jsonb)
  ) with ordinality p (grant_id, streams, refused, place)
  order by p.place`

const NEXT_SQL = `
  update provider_grant g set next_pull_at = now() + make_interval(secs => p.seconds)
  from unnest($1::uuid[], $2::float8[]) p (id, seconds)
  where g.id = p.id`

interface Enabled {
  provider: string
  mode: LiveSyncMode | null
  notices_come: boolean
  grants: number
}

/** Queues the pulls that are due. Returns whether there may be more. */
export async function planPulls(means: PlanMeans): Promise<boolean> {
  const { db, clients } = means
  const configured = [...clients.values()]
  const enabled = await db.query<Enabled>(ENABLED_SQL, [
    configured.map(({ id }) => id),
    configured.map(({ id }) => providerByName.get(id)?.enabledByDefault ?? true),
  ])
  const byProvider = new Map(enabled.map((one) => [one.provider, one]))
  return db.transaction(async (tx) => {
    const due = await tx.query<DueGrant & { user_id: string }>(DUE_SQL, [[...byProvider.keys()]])
    // Events of several users are written in one order by everybody.
    due.sort((a, b) => (a.user_id < b.user_id ? -1 : 1))
    const seconds = due.map((grant) => {
      return secondsUntilNext(means, byProvider.get(grant.provider) as Enabled, grant) * (0.9 + 0.2 * Math.random())
    })
    await tx.query(NEXT_SQL, [due.map(({ id }) => id), seconds])
    const pulls = due.map((grant) => ({
      grant_id: grant.id,
      streams: duePulls(clients, grant).map(asRow),
      refused: dueRefusals(clients, grant),
    }))
    await tx.query(START_SQL, [JSON.stringify(pulls.filter(({ streams }) => streams.length > 0))])
    return due.length === AT_ONCE
  })
}

/** Where notices come, pulls only look for those that were lost; where one was, more often for a day. */
function secondsUntilNext(
  { clients, syncIntervalSeconds, reconcileIntervalSeconds }: PlanMeans,
  { provider, mode, notices_come: come, grants }: Enabled,
  { missed }: DueGrant,
): number {
  const isNotified = (mode ?? providerByName.get(provider)?.defaultLiveSyncMode) === 'webhook' && come && !missed
  const interval = isNotified ? reconcileIntervalSeconds : syncIntervalSeconds
  return everySeconds(clients.get(provider) as OAuthClient, grants, interval)
}

function duePulls(clients: OAuthClients, grant: DueGrant): (DuePull & { stream: string })[] {
  const client = clients.get(grant.provider)
  if (!client) return []
  const times = { grantedMs: grant.granted_ms, nowMs: grant.now_ms }
  return grantedStreams(client, grant).flatMap((stream) => {
    const due = duePull(stream, cursorOf(grant.cursors[stream.name]), times)
    return due ? [{ stream: stream.name, ...due }] : []
  })
}

/** Streams that were not granted, of which that is not said already. */
function dueRefusals(clients: OAuthClients, grant: DueGrant): readonly RefusedStream[] {
  const client = clients.get(grant.provider)
  if (!client) return []
  return refusedStreams(client, grant).filter(({ stream }) => (grant.cursors[stream]?.closed ?? 0) <= grant.now_ms)
}

function cursorOf(row: DueGrant['cursors'][string] | undefined): Cursor | undefined {
  if (!row) return undefined
  const { begun, covered, week, month, closed } = row
  return { begunMs: begun, coveredMs: covered, reachedWeekMs: week, reachedMonthMs: month, closedMs: closed }
}

/** How often grants are pulled: less often when all of them together would use up what the provider takes in a day. */
export function everySeconds({ provider }: OAuthClient, grants: number, intervalSeconds: number): number {
  const requests = (provider.streams ?? []).filter(({ pollSeconds }) => pollSeconds === undefined).length + 1
  const perDay = provider.api.budgets
    .filter(({ per }) => per === 'application')
    .map(({ seconds, limit, perAccount = 0 }) => ((limit + perAccount * grants) * (DAY_MS / 1000)) / seconds)
  const longest = (grants * requests * (DAY_MS / 1000)) / (SHARE_OF_DAY * Math.min(...perDay, Number.POSITIVE_INFINITY))
  return Math.max(intervalSeconds, longest)
}

// What waited since the former tokens were refused need not wait any longer.
const AWAKE_SQL = `
  with awake as (
    update sync_task set due_at = now(), attempts = 0
    where grant_id = $1 and kind in ('pull', 'sync', 'history') and due_at > now() and due_at < 'infinity'
  )
  update provider_grant
  set asked_at = case when asked_at > now() then now() else asked_at end,
      live_at = case when live_at > now() then now() else live_at end,
      history_at = case when history_at > now() then now() else history_at end
  where id = $1`

// Notices that came before the consent was stored.
const HELD_SQL = `
  with due as (
    update notification n set due_at = now()
    from provider_grant g
    where g.id = $1 and n.provider = g.provider and n.account = g.account_id and n.state = 'held'
    returning n.id
  )
  select pg_notify('notification', '') where exists (select from due)`

/**
 * Returns what queues, as soon as a connection is made, what it is to bring: the first pull, which goes on where an earlier
 * one of the account ended, and the last 90 days if its past is wanted, or what was left of its past; of a past that comes
 * as notices what was not asked for before. Streams that were closed are tried again, and answers are stored even if they are
 * the same as before, or older, since somebody is new to them. The caller holds the grant.
 */
export function queueFirst(clients: OAuthClients, wantsHistory: boolean): OAuthParts['connected'] {
  return async (tx, { provider, grantId, connectionId, userId, isNew }) => {
    const client = clients.get(provider)
    if (!client) return
    await tx.query(
      `update stream_cursor set last_hash = null, closed_until = null, closed_why = null where grant_id = $1`,
      [grantId],
    )
    await tx.query('delete from carried_state where grant_id = $1', [grantId])
    await tx.query(AWAKE_SQL, [grantId])
    await tx.query(HELD_SQL, [grantId])
    const grant = await tx.one<DueGrant>(`select ${GRANT_COLUMNS} from provider_grant g where g.id = $1`, [grantId])
    const streams = duePulls(clients, grant)
    const refused = refusedStreams(client, grant)
    const pull = { grantId, userId, connectionId: null, kind: 'pull', lane: 'asked', untilMs: null } as const
    if (streams.length > 0) await queue(tx, { ...pull, streams, refused })
    if (client.provider.backfill) {
      if (wantsHistory) await startBackfill(tx, { grantId, userId }, client.provider.backfill)
      return
    }
    const granted = grantedStreams(client, grant)
    if (isNew && wantsHistory)
      return void (await startHistory(tx, { grantId, connectionId, userId, days: HISTORY_DAYS, refused }, granted))
    await resumeHistory(tx, { grantId, connectionId, userId }, granted)
  }
}
