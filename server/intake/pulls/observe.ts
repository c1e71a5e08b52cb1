import { Gauge, type Registry } from 'prom-client'
import type { Database } from '../../db/database.ts'
import { LatestCount } from '../../latest-count.ts'
import { OF_DATABASE, soon } from '../../metrics.ts'
import type { OAuthClients } from '../../provider-client/clients.ts'

/** Read at most this often, since every cursor is looked at. */
const EVERY_MS = 15_000

/** A stream that fails for so long is reported, to operators and in the list of connections. */
export const FAILING_DAYS = 7

const WAITING_SQL = `
  select g.provider, t.lane, count(*) as tasks
  from sync_task t
  join provider_grant g on g.id = t.grant_id
  where t.due_at <= now() and g.state = 'live'
  group by 1, 2`

// Of streams that are closed, nobody asks.
const LAG_SQL = `
  select g.provider, s.stream, max(date_part('epoch', now() - coalesce(s.covered_until, s.begun_at))) as seconds
  from stream_cursor s
  join provider_grant g on g.id = s.grant_id
  where g.state = 'live' and coalesce(s.closed_until, now()) <= now() and s.closed_why is distinct from 'not_granted'
  group by 1, 2`

const USED_SQL = `
  select provider, seconds, provider_limit, (select sum(n) from unnest(slots) n) as used
  from rate_budget
  where grant_id is null and slot >= date_part('epoch', now()) / (seconds / 10.0) - 11`

// A week is longer than any outage that heals by itself.
const FAILING_SQL = `
  select g.provider, s.stream, count(*) as accounts
  from stream_cursor s
  join provider_grant g on g.id = s.grant_id
  where g.state = 'live' and s.failing_since <= now() - interval '${FAILING_DAYS} days'
  group by 1, 2`

// Those that have ended are many.
const BACKFILL_SQL = `
  select g.provider, p.state, count(*) as parts
  from backfill_part p
  join provider_grant g on g.id = p.grant_id
  where p.state in ('planned', 'asked', 'receiving')
  group by 1, 2`

interface Known {
  waiting: { provider: string; lane: string; tasks: number }[]
  lags: { provider: string; stream: string; seconds: number }[]
  used: { provider: string; seconds: number; provider_limit: number | null; used: number }[]
  failing: { provider: string; stream: string; accounts: number }[]
  backfills: { provider: string; state: string; parts: number }[]
}

/**
 * Adds the metrics of pulls: what waits, how old the newest data of each stream is where it is oldest, how much of each
 * provider's limits is used, what keeps failing, and how much of the past is to come. They are read when the metrics
 * are requested.
 */
export function observePulls(registry: Registry, db: Database, clients: OAuthClients): void {
  const counter = new LatestCount(() => read(db), EVERY_MS)
  // Each waits for the same reading, since they are collected at the same time.
  const gauge = (name: string, help: string, labelNames: string[], set: (gauge: Gauge, known: Known) => void) =>
    new Gauge({
      ...OF_DATABASE,
      ...{ name, help, labelNames, registers: [registry] },
      async collect() {
        const now = await soon(counter.count())
        // While the database does not answer, the last values stay.
        if (!now) return
        this.reset()
        set(this, now)
      },
    })
  gauge(
    'pulsebase_pull_tasks_waiting',
    'Streams that are due to be asked for',
    ['provider', 'lane'],
    (of, { waiting }) => {
      for (const { provider, lane, tasks } of waiting) of.labels(provider, lane).set(tasks)
    },
  )
  const lag = 'Time since the stream of some account was last stored whole'
  gauge('pulsebase_pull_lag_seconds', lag, ['provider', 'stream'], (of, { lags }) => {
    for (const { provider, stream, seconds } of lags) of.labels(provider, stream).set(seconds)
  })
  const share = 'Share of a limit of requests that is used'
  gauge('pulsebase_provider_budget_used_ratio', share, ['provider', 'window_seconds'], (of, { used }) => {
    for (const row of used) {
      const limit = row.provider_limit ?? limitOf(clients, row)
      if (limit !== undefined) of.labels(row.provider, String(row.seconds)).set(row.used / limit)
    }
  })
  const past = 'Types of data of which the past is to be asked for (planned), was (asked), or comes (receiving)'
  gauge('pulsebase_backfill_types', past, ['provider', 'state'], (of, { backfills }) => {
    for (const { provider, state, parts } of backfills) of.labels(provider, state).set(parts)
  })
  const failed = `Accounts of which a stream could not be pulled for ${FAILING_DAYS} days`
  gauge('pulsebase_pull_streams_failing', failed, ['provider', 'stream'], (of, { failing }) => {
    for (const { provider, stream, accounts } of failing) of.labels(provider, stream).set(accounts)
  })
}

async function read(db: Database): Promise<Known> {
  const [waiting, lags, used, failing, backfills] = await Promise.all(
    [WAITING_SQL, LAG_SQL, USED_SQL, FAILING_SQL, BACKFILL_SQL].map((sql) => db.query(sql)),
  )
  return { waiting, lags, used, failing, backfills } as Known
}

function limitOf(clients: OAuthClients, { provider, seconds }: Known['used'][number]): number | undefined {
  const budgets = clients.get(provider)?.provider.api.budgets ?? []
  return budgets.find((one) => one.per === 'application' && one.seconds === seconds)?.limit
}
