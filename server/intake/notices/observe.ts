import { Gauge, type Registry } from 'prom-client'
import type { Database, Queryable } from '../../db/database.ts'
import { soon } from '../../metrics.ts'

const STATES_SQL = `
  select provider, state, count(*) as notices,
         coalesce(date_part('epoch', now() - min(received_at)) filter (where state = 'waiting'), 0) as seconds
  from notification
  group by 1, 2`

interface Row {
  provider: string
  state: string
  notices: number
  seconds: number
}

/** Adds the metrics of the inbox: what is in it, and how long the oldest notice that is not opened has waited. */
export function observeNotices(registry: Registry, db: Pick<Database, keyof Queryable>): void {
  const registers = [registry]
  const lag = new Gauge({
    name: 'pulsebase_notices_lag_seconds',
    help: 'Age of the oldest notice of a cloud provider that is not opened yet',
    labelNames: ['provider'],
    registers,
  })
  new Gauge({
    name: 'pulsebase_notices_waiting',
    help: 'Notices of cloud providers that wait, that are held for an account, or that cannot be read',
    labelNames: ['provider', 'state'],
    registers,
    async collect() {
      const rows = await soon(db.query<Row>(STATES_SQL))
      // While the database does not answer, the last values stay.
      if (!rows) return
      this.reset()
      lag.reset()
      for (const { provider, state, notices, seconds } of rows) {
        this.labels(provider, state).set(notices)
        if (state === 'waiting') lag.labels(provider).set(seconds)
      }
    },
  })
}
