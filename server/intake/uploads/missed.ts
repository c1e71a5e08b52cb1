import { providerByName } from '../../catalogue/providers.ts'
import type { Queryable } from '../../db/database.ts'
import type { Logger } from '../../log.ts'
import type { Metrics } from '../../metrics.ts'
import { notifyingProviders } from '../../providers/index.ts'
import type { Outcome } from '../../store/commit.ts'
import { isoInstant } from '../../time.ts'
import type { StoredUpload } from './stored.ts'

/** So late a notice may be: of what was before, one should have come. */
const LATE_MS = 30 * 60_000

// No notice is about what was before the consent.
const MISSED_SQL = `
  update provider_grant g
  set missed_at = now(), next_pull_at = least(next_pull_at, now() + interval '1 hour')
  from connection c
  where c.id = $1 and g.id = c.grant_id and g.granted_at < $2
    and coalesce((select s.live_sync_mode from provider_setting s where s.provider = g.provider), $3) = 'webhook'
    and exists (select from notice_source n where n.provider = g.provider)
  returning g.id`

/**
 * Notes when a pull brought something new that no notice has named, though the provider notifies such
 * (`Notices.tells`): the account is pulled more often for a day (server/intake/pulls/plan.ts), and the operator sees it
 * in a metric.
 */
export async function noteMissed(
  { db, metrics, log }: { db: Queryable; metrics: Pick<Metrics, 'noticesMissed'>; log: Logger },
  { provider, connection_id: connection, received_at: receivedAt }: StoredUpload,
  outcome: Pick<Outcome, 'events' | 'series'>,
): Promise<void> {
  const notices = notifyingProviders.get(provider)
  if (!notices) return
  const told = new Set<string>(['workout', 'sleep', ...(notices.tells ?? [])])
  const oldMs = Date.parse(receivedAt) - LATE_MS
  const last = Math.max(
    ...foundIn(outcome).flatMap(({ type, firstMs, lastMs }) => (told.has(type) && firstMs < oldMs ? [lastMs] : [])),
  )
  if (last === Number.NEGATIVE_INFINITY) return
  const mode = providerByName.get(provider)?.defaultLiveSyncMode ?? null
  const missed = await db.query<{ id: string }>(MISSED_SQL, [connection, isoInstant(last), mode])
  for (const { id: grant } of missed) {
    metrics.noticesMissed.labels(provider).inc()
    log.warn({ provider, grant }, 'a pull found what no notice had named')
  }
}

/** What is new, by type, and when the first and the last of it was. */
function foundIn({ events, series }: Pick<Outcome, 'events' | 'series'>) {
  return [
    ...events.flatMap(({ type, inserted, firstMs, lastMs }) =>
      inserted > 0 && firstMs !== null && lastMs !== null ? [{ type, firstMs, lastMs }] : [],
    ),
    ...series.flatMap(({ type, inserted, firstTs, lastTs }) =>
      inserted > 0 ? [{ type, firstMs: Date.parse(firstTs), lastMs: Date.parse(lastTs) }] : [],
    ),
  ]
}
