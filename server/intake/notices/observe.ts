import { Gauge, type Registry } from 'prom-client'
import type { Database, Queryable } from '../../db/database.ts'
import { LatestCount } from '../../latest-count.ts'
import { OF_DATABASE, soon } from '../../metrics.ts'

const STATES_SQL = `
  select provider, state, count(*) as notices,
         coalesce(date_part('epoch', now() - min(received_at) filter (where state = 'waiting')), 0) as seconds
  from notification
  group by 1, 2`

interface Row {
  provider: string
  state: string
  notices: number
  seconds: number
}

/** The inbox, for the probe. */
export interface Inbox {
  waiting: number
  held: number
  malformed: number
  oldest_waiting_seconds: number
}

/**
 * Adds the metrics of the inbox: what is in it, and how long the oldest notice that is not opened has waited. Returns the
 * last count for the probe, which starts the next one: undefined before the first, and after a failed one.
 */
export function observeNotices(registry: Registry, db: Pick<Database, keyof Queryable>): () => Inbox | undefined {
  const counter = new LatestCount(() => db.query<Row>(STATES_SQL))
  const registers = [registry]
  new Gauge({
    ...OF_DATABASE,
    name: 'pulsebase_notices_lag_seconds',
    help: 'Age of the oldest notice of a cloud provider that is not opened yet',
    labelNames: ['provider'],
    registers,
    async collect() {
      const rows = await soon(counter.count())
      if (!rows) return
      this.reset()
      for (const { provider, state, seconds } of rows) if (state === 'waiting') this.labels(provider).set(seconds)
    },
  })
  new Gauge({
    ...OF_DATABASE,
    name: 'pulsebase_notices_waiting',
    help: 'Notices of cloud providers that wait, that are held for an account, or that cannot be read',
    labelNames: ['provider', 'state'],
    registers,
    async collect() {
      const rows = await soon(counter.count())
      // While the database does not answer, the last values stay.
      if (!rows) return
      this.reset()
      for (const { provider, state, notices } of rows) this.labels(provider, state).set(notices)
    },
  })
  return () => {
    const rows = counter.probe()
    return rows && inboxOf(rows)
  }
}

function inboxOf(rows: readonly Row[]): Inbox {
  const of = (state: string) => rows.filter((row) => row.state === state).reduce((sum, { notices }) => sum + notices, 0)
  return {
    ...{ waiting: of('waiting'), held: of('held'), malformed: of('malformed') },
    oldest_waiting_seconds: Math.max(0, ...rows.map(({ seconds }) => seconds)),
  }
}
