import { Gauge, type Registry } from 'prom-client'
import type { Database } from '../db/database.ts'
import { LatestCount } from '../latest-count.ts'
import { OF_DATABASE, soon } from '../metrics.ts'
import type { Vault } from '../vault.ts'

/** Counted at most this often, since every grant is counted. */
const EVERY_MS = 15_000

interface Count {
  provider: string
  state: 'live' | 'failing' | 'unreadable' | 'ended' | 'misconfigured'
  grants: number
}

// One that no key opens waits for that key, whatever else is wrong with it.
const COUNT_SQL = `
  select provider, grants,
         (array['live', 'failing', 'misconfigured', 'unreadable', 'ended'])[which + 1] as state
  from (
    select provider, count(*) as grants,
           case
             when state = 'ended' then 4
             when key_id <> all ($1) then 3
             when pause_settings is not null then 2
             when refresh_failures > 0 or refusals > 0 then 1
             else 0
           end as which
    from provider_grant
    group by provider, which
  ) counted`

/** Adds the grants of cloud providers to the metrics, by what state they are in, counted when they are requested. */
export function observeGrants(registry: Registry, db: Database, { keyIds }: Pick<Vault, 'keyIds'>): void {
  const counter = new LatestCount(() => db.query<Count>(COUNT_SQL, [keyIds]), EVERY_MS)
  new Gauge({
    ...OF_DATABASE,
    name: 'pulsebase_provider_grants',
    help: 'Grants of cloud providers, by state',
    labelNames: ['provider', 'state'],
    registers: [registry],
    async collect() {
      const known = await soon(counter.count())
      // While the database does not answer, the last values stay.
      if (!known) return
      this.reset()
      for (const { provider, state, grants } of known) this.labels(provider, state).set(grants)
    },
  })
}
