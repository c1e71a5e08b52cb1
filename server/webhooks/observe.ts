import { Gauge, type Registry } from 'prom-client'
import type { Database } from '../db/database.ts'
import { soon } from '../metrics.ts'

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
 * Adds what waits to be delivered to the metrics, counted when somebody asks. Returns the last count for the probe, which
 * must not wait for the next one and has it begun: undefined before the first, and after one that failed.
 */
export function observeWebhooks(registry: Registry, db: Database): () => Backlog | undefined {
  let last: Backlog | undefined
  let reading: Promise<Backlog | undefined> | undefined
  let countedAt = Number.NEGATIVE_INFINITY
  const count = async () => {
    last = await readBacklog(db).catch(() => undefined)
    countedAt = performance.now()
    return last
  }
  const read = () => {
    if (!reading || performance.now() - countedAt > EVERY_MS) {
      // Not again until it is over.
      countedAt = Number.POSITIVE_INFINITY
      reading = count()
    }
    return reading
  }
  /** A value that is asked for with the metrics; while the database does not answer, it stays as it was. */
  const observe = <Label extends string>(
    name: string,
    help: string,
    set: (gauge: Gauge<Label>, known: Backlog) => void,
    ...labelNames: Label[]
  ) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const known = await soon(read())
        if (known) set(this, known)
      },
    })
  observe('pulsebase_webhook_events_pending', 'Events that are recorded and not fanned out yet', (gauge, known) =>
    gauge.set(known.pending_events),
  )
  observe(
    'pulsebase_webhook_deliveries_waiting',
    'Deliveries that are not made yet: due now, or later as a retry',
    (gauge, known) => {
      gauge.labels('due').set(known.due_deliveries)
      gauge.labels('later').set(known.later_deliveries)
    },
    'when',
  )
  observe('pulsebase_webhook_lag_seconds', 'Time since the oldest of the due deliveries was due', (gauge, known) =>
    gauge.set(known.oldest_due_seconds),
  )
  return () => {
    void read()
    return last
  }
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
