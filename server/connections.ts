import pg from 'pg'
import type { Config } from './config.ts'
import { apiConnections, type Limits, limitsOf } from './limits.ts'
import type { Logger } from './log.ts'
import { type Connections, connectionsOf, type Place, placesOf, sumOf, type Work, workOf } from './shares.ts'

type Settings = Pick<Config, 'role' | 'webConcurrency' | 'outgoingWebhooksEnabled' | 'eventFeedEnabled'>

/** What one of several processes holds and does, and how many connections it needs for that. */
export function needsOf(config: Settings, place: Place): { limits: Limits; work: Work; connections: Connections } {
  const limits = limitsOf(place)
  const work = workOf(config, place)
  return { limits, work, connections: connectionsOf(apiConnections(limits, config.role === 'worker'), work, place) }
}

/** The most connections to the database that all processes behind the port have at once. */
export const connectionsNeeded = (config: Settings): number =>
  placesOf(config.webConcurrency).reduce((sum, place) => sum + sumOf(needsOf(config, place).connections), 0)

const ALLOWED_SQL = `
  select current_setting('max_connections')::int as most,
    current_setting('superuser_reserved_connections')::int
      + coalesce(current_setting('reserved_connections', true), '0')::int as reserved`

/** Warns of a database that allows fewer connections than the processes behind this port may have at once. */
export async function reportConnections(url: string, config: Settings, log: Logger): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'pulsebase start' })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query<{ most: number; reserved: number }>(ALLOWED_SQL)
    const { most = 0, reserved = 0 } = rows[0] ?? {}
    const { webConcurrency: processes } = config
    const [needed, allowed] = [connectionsNeeded(config), most - reserved]
    if (needed <= allowed) return
    const less = processes > 1 ? ', or WEB_CONCURRENCY to less' : ''
    log.warn(
      { needed, allowed, processes },
      `the database allows fewer connections than the service may need: set max_connections to ${needed + reserved} or more${less}`,
    )
  } finally {
    await client.end()
  }
}
