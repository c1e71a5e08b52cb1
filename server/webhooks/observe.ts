import { Gauge, type Registry } from 'prom-client'
import type { Database } from '../db/database.ts'
import { LatestCount } from '../latest-count.ts'
import { OF_DATABASE, soon } from '../metrics.ts'

/** How late deliveries are; disabled endpoints do not count. */
export interface Backlog {
  pending_events: number
  due_deliveries: number
  later_deliveries: number
  oldest_due_seconds: number
}

/**
 * Adds waiting deliveries to the metrics, counted on request. Returns the last count for the probe, which starts the
 * next count but must not wait for it: undefined before the first, and after a failed one.
 */
export function observeWebhooks(registry: Registry, db: Database): () => Backlog | undefined {
  const counter = new LatestCount(() => readBacklog(db))
  for (const { name, help, labelNames = [], set } of gauges) {
    new Gauge({
      ...OF_DATABASE,
      ...{ name, help, labelNames, registers: [registry] },
      async collect() {
        const known = await soon(counter.count())
        // While the database does not answer, the last value stays.
        if (known) set(this, known)
      },
    })
  }
  return counter.probe
}

const gauges: readonly {
  name: string
  help: string
  labelNames?: string[]
  set(gauge: Gauge, known: Backlog): void
}[] = [
  {
    name: 'pulsebase_webhook_events_pending',
    help: 'Events recorded but not fanned out yet',
    set: (gauge, known) => gauge.set(known.pending_events),
  },
  {
    name: 'pulsebase_webhook_deliveries_waiting',
    help: 'Waiting deliveries: due now, or later as a retry',
    labelNames: ['when'],
    set(gauge, known) {
      gauge.labels('due').set(known.due_deliveries)
      gauge.labels('later').set(known.later_deliveries)
    },
  },
  {
    name: 'pulsebase_webhook_lag_seconds',
    help: 'How long the oldest due delivery has been due',
    set: (gauge, known) => gauge.set(known.oldest_due_seconds),
  },
]

const readBacklog = (db: Database) =>
  db.one<Backlog>(
    `select (select count(*) from event where pending) as pending_events,
            count(*) filter (where d.due_at <= now()) as due_deliveries,
            count(*) filter (where d.due_at > now()) as later_deliveries,
            greatest(0, coalesce(date_part('epoch', now() - min(d.due_at)), 0)) as oldest_due_seconds
     from waiting_deliveries() d
     join endpoint n on n.id = d.endpoint_id and n.disabled_at is null`,
  )
