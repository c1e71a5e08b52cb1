import pg from 'pg'
import { ConfigError } from '../config.ts'
import { CONNECTION_OPTIONS, connectionTo } from '../db/database.ts'

/** How rollups are stored and refreshed. */
export type Strategy = 'continuous' | 'per_series'

interface State {
  obstacle: string | null
  expected: boolean
  current: Strategy
  archived: boolean
}

const STATE_SQL = `
  select continuous_obstacle() as obstacle, continuous_expected() as expected, s.strategy as current, a.raw_floor is not null as archived
  from rollup_strategy s, archival a`

/**
 * Converts the rollups to the requested strategy and reports it, or why it is not the usual one of this engine. Reads
 * are exact before and after, from the samples until the rollups are refreshed. Processes that start at the same time
 * wait for the first one.
 * @throws ConfigError when `continuous` is requested but not available.
 */
export async function applyStrategy(
  url: string,
  wanted: 'auto' | Strategy,
  log: (message: string) => void,
): Promise<Strategy> {
  const client = new pg.Client({ ...connectionTo(url, CONNECTION_OPTIONS), application_name: 'pulsebase migrate' })
  await client.connect()
  try {
    await client.query(`select pg_advisory_lock(hashtextextended('rollup strategy', 0))`)
    const state = (await client.query<State>(STATE_SQL)).rows[0] as State
    const { chosen, reason } = choose(wanted, state)
    if (chosen !== state.current) await client.query(`select use_${chosen}()`)
    if (chosen !== state.current || (reason && state.expected)) log(`rollups: ${chosen}${reason ? ` (${reason})` : ''}`)
    return chosen
  } finally {
    await client.end()
  }
}

const ARCHIVED = 'samples are archived, so their rollups cannot be computed again as continuous aggregates'

function choose(
  wanted: 'auto' | Strategy,
  { obstacle, current, archived }: State,
): { chosen: Strategy; reason?: string } {
  if (wanted === 'per_series') return { chosen: 'per_series' }
  // Archived rollups can stay where they are, but cannot be moved.
  const reason = obstacle ?? (archived && current === 'per_series' ? ARCHIVED : undefined)
  if (!reason) return { chosen: 'continuous' }
  if (wanted === 'continuous') throw new ConfigError('ROLLUP_STRATEGY', `cannot be continuous: ${reason}`)
  return { chosen: 'per_series', reason }
}
