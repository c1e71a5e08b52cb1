import { Gauge, type Registry } from 'prom-client'
import type { Database } from '../db/database.ts'
import { LatestCount } from '../latest-count.ts'
import { OF_DATABASE, soon } from '../metrics.ts'
import { STORED_EVERY } from './due.ts'

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

/** Waiting deliveries that are counted, at most. */
const COUNTED = 20_000

/** Positions of the feed that are looked at for all endpoints, and for each at least: more than are passed unstored. */
const LOOKED_AT = 20_000
const LEAST_REACH = 2 * STORED_EVERY

async function readBacklog(db: Database): Promise<Backlog> {
  const { endpoints } = await db.one<{ endpoints: number }>(
    'select count(*) as endpoints from endpoint where disabled_at is null',
  )
  const reach = Math.max(LEAST_REACH, Math.floor(LOOKED_AT / Math.max(1, endpoints)))
  return db.one<Backlog>(BACKLOG, [COUNTED, reach])
}

/** The backlog, as far as a probe looks. What is ahead of an endpoint beyond that counts as due, in case it gets it. */
export const BACKLOG = `
  select (select count(*) from event where pending) as pending_events,
         counted.due_deliveries, counted.later_deliveries,
         greatest(0, coalesce(date_part('epoch', now() - least(oldest.due_at, beyond.created_at)), 0)) as oldest_due_seconds
  from (
    select count(*) filter (where d.due_at <= now()) as due_deliveries,
           count(*) filter (where d.due_at > now()) as later_deliveries
    from (select d.due_at from waiting_deliveries($1, $2) d limit $1) d
  ) counted
  cross join (select min(d.due_at) as due_at from waiting_deliveries(1, $2) d) oldest
  cross join (
    select min(e.created_at) as created_at
    from endpoint n
    cross join lateral parts_ahead(n, $2) part
    cross join lateral (
      select e.created_at
      from event e
      where e.position >= part.first_end and e.position < part.part_end
      order by e.position
      limit 1
    ) e
    where n.disabled_at is null
  ) beyond`
