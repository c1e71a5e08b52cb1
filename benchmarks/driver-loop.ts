// Process that runs the statements of pages back to back on the bare driver: what the API is measured against. The
// first message brings the statements, each further one a loop, which is answered with its count and latencies.
import pg from 'pg'
import type { Statement } from './pages.ts'
import { inTurn, type Load } from './requests.ts'

/** The size of the API's pool (server/main.ts). */
const CONNECTIONS = 12

interface Loop {
  connections: number
  seconds: number
}

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: CONNECTIONS,
  options: '-c timezone=UTC -c datestyle=ISO',
})

let next: (() => Statement) | undefined

process.on('message', async (message: Statement[] | Loop) => {
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
      const { text, values } = next?.() ?? { text: 'select 1', values: [] }
      await pool.query({ name: 'page', text, values, rowMode: 'array' })
      const now = performance.now()
      latenciesMs.push(now - at)
      at = now
    }
  }
  await Promise.all(Array.from({ length: connections }, walk))
  return { count: latenciesMs.length, seconds: (performance.now() - started) / 1000, latenciesMs }
}
