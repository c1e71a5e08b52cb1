import { Gauge, type Registry } from 'prom-client'
import type { Database } from '../db/database.ts'

/** Asked for at most this often: every waiting delivery is counted. */
const EVERY_MS = 5_000

/** How far deliveries are behind; endpoints that are disabled do not count. */
export interface Backlog {
  pending_events: number
  due_deliveries: number
  later_deliveries: number
  oldest_due_seconds: number
}

/**
 * Adds what waits to be delivered to the metrics, read from the database when somebody asks; returns how to read the same
 * for the probe, undefined while the database does not answer.
 */
export function observeWebhooks(registry: Registry, db: Database): () => Promise<Backlog | undefined> {
  let backlog: Promise<Backlog | undefined> | undefined
  let readAt = Number.NEGATIVE_INFINITY
  const read = () => {
    if (performance.now() - readAt > EVERY_MS) {
      readAt = performance.now()
      backlog = readBacklog(db).catch(() => undefined)
    }
    return backlog as Promise<Backlog | undefined>
  }
  const registers = [registry]
  const waiting = new Gauge({
    name: 'pulsebase_webhook_deliveries_waiting',
    help: 'Deliveries that are not made yet: due now, or later as a retry',
    labelNames: ['when'],
    registers,
  })
  const lag = new Gauge({
    name: 'pulsebase_webhook_lag_seconds',
    help: 'Time since the oldest of the due deliveries was due',
    registers,
  })
  new Gauge({
    name: 'pulsebase_webhook_events_pending',
    help: 'Events that are recorded and not fanned out yet',
    registers,
    // Metrics are answered when the database is not: what it would say stays as it was.
    async collect() {
      const known = await read()
      if (!known) return
      this.set(known.pending_events)
      waiting.labels('due').set(known.due_deliveries)
      waiting.labels('later').set(known.later_deliveries)
      lag.set(known.oldest_due_seconds)
    },
  })
  return read
}

// Each half has an index of its own.
const readBacklog = (db: Database) =>
  db.one<Backlog>(
    `select (select count(*) from event where pending) as pending_events,
            count(*) filter (where d.due_at <= now()) as due_deliveries,
            count(*) filter (where d.due_at > now()) as later_deliveries,
            greatest(0, coalesce(date_part('epoch', now() - min(d.due_at)), 0)) as oldest_due_seconds
     from (
       select endpoint_id, due_at from delivery where state = 'waiting' and attempts = 0
       union all
       select endpoint_id, due_at from delivery where state = 'waiting' and attempts > 0
     ) d
     join endpoint n on n.id = d.endpoint_id and n.disabled_at is null`,
  )
