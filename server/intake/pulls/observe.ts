import { Gauge, type Registry } from 'prom-client'
import type { Database } from '../../db/database.ts'
import { soon } from '../../metrics.ts'
import type { OAuthClients } from '../../provider-client/clients.ts'

/** Read at most this often, since every cursor is looked at. */
const EVERY_MS = 15_000

const WAITING_SQL = `
  select g.provider, t.lane, count(*) as tasks
  from sync_task t
  join provider_grant g on g.id = t.grant_id
  where t.due_at <= now()
  group by 1, 2`

// Of streams that are closed, nobody asks.
const LAG_SQL = `
  select g.provider, s.stream, max(date_part('epoch', now() - coalesce(s.covered_until, s.begun_at))) as seconds
  from stream_cursor s
  join provider_grant g on g.id = s.grant_id
  where g.state = 'live' and coalesce(s.closed_until, now()) <= now()
  group by 1, 2`

const USED_SQL = `
  select provider, seconds, provider_limit, (select sum(n) from unnest(slots) n) as used
  from rate_budget
  where grant_id is null and slot >= date_part('epoch', now()) / (seconds / 10.0) - 11`

interface Known {
  waiting: { provider: string; lane: string; tasks: number }[]
  lags: { provider: string; stream: string; seconds: number }[]
  used: { provider: string; seconds: number; provider_limit: number | null; used: number }[]
}

/**
 * Adds the metrics of pulls: what waits, how old the newest data of each stream is where it is oldest, and how much of
 * each provider's limits is used. They are read when the metrics are requested.
 */
export function observePulls(registry: Registry, db: Database, clients: OAuthClients): void {
  const registers = [registry]
  const labelled = (name: string, help: string, labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers })
  const lag = labelled('pulsebase_pull_lag_seconds', 'Time since the stream of some account was last stored whole', [
    'provider',
    'stream',
  ])
  const budget = labelled('pulsebase_provider_budget_used_ratio', 'Share of a limit of requests that is used', [
    'provider',
    'window_seconds',
  ])
  let last: Promise<Known> | undefined
  let readAt = Number.NEGATIVE_INFINITY
  new Gauge({
    name: 'pulsebase_pull_tasks_waiting',
    help: 'Streams that are due to be asked for',
    labelNames: ['provider', 'lane'],
    registers,
    async collect() {
      if (performance.now() - readAt > EVERY_MS) {
        readAt = performance.now()
        last = read(db)
      }
      const known = last && (await soon(last))
      // While the database does not answer, the last values stay.
      if (!known) return
      for (const gauge of [this, lag, budget]) gauge.reset()
      for (const { provider, lane, tasks } of known.waiting) this.labels(provider, lane).set(tasks)
      for (const { provider, stream, seconds } of known.lags) lag.labels(provider, stream).set(seconds)
      for (const row of known.used) {
        const limit = row.provider_limit ?? limitOf(clients, row)
        if (limit !== undefined) budget.labels(row.provider, String(row.seconds)).set(row.used / limit)
      }
    },
  })
}

async function read(db: Database): Promise<Known> {
  const [waiting, lags, used] = await Promise.all([db.query(WAITING_SQL), db.query(LAG_SQL), db.query(USED_SQL)])
  return { waiting, lags, used } as Known
}

function limitOf(clients: OAuthClients, { provider, seconds }: Known['used'][number]): number | undefined {
  const budgets = clients.get(provider)?.provider.api.budgets ?? []
  return budgets.find((one) => one.per === 'application' && one.seconds === seconds)?.limit
}
