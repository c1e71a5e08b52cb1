// Process that runs the statements of requests back to back on the bare driver, to compare the API with. A list sets
// the statements of each request; any other message starts a loop, which is answered with its count and latencies.
import { openDatabase } from '../server/db/database.ts'
import { inTurn, type Load } from './requests.ts'
import type { Statement } from './service.ts'

/** The size of the API's pool (server/main.ts). */
const CONNECTIONS = 12

interface Loop {
  connections: number
  seconds: number
}

// The driver as the API configures it: the same texts of instants, no Date objects.
const { pool } = openDatabase({
  url: process.env.DATABASE_URL ?? '',
  name: 'pulsebase benchmark',
  maxConnections: CONNECTIONS,
  statementTimeoutMs: 60_000,
  onError: () => {},
})

let next: (() => readonly Statement[]) | undefined

process.on('message', async (message: Statement[][] | Loop) => {
  if (Array.isArray(message)) {
    next = inTurn(message)
    process.send?.(true)
  } else process.send?.(await run(message))
})
process.once('disconnect', () => process.exit())

async function run({ connections, seconds }: Loop): Promise<Load> {
  const latenciesMs: number[] = []
  const started = performance.now()
  const end = started + seconds * 1000
  const walk = async () => {
    for (let at = performance.now(); at < end; ) {
      for (const statement of next?.() ?? []) await pool.query(statement)
      const now = performance.now()
      latenciesMs.push(now - at)
      at = now
    }
  }
  await Promise.all(Array.from({ length: connections }, walk))
  return { count: latenciesMs.length, seconds: (performance.now() - started) / 1000, latenciesMs }
}
