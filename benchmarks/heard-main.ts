// server/main.ts, which reports the statements of its API to the benchmark that started it (see service.ts).
import pg from 'pg'
import type { Statement } from './service.ts'

/** Records now and then when keys were last used, not as part of a request (server/http/api-keys.ts). */
const KEY_USES = /^\s*update api_key k\s/

let heard: Statement[] = []

const { prototype } = pg.Client
const query = prototype.query as (...args: unknown[]) => unknown
prototype.query = function hear(
  this: pg.Client & { connectionParameters: { application_name: string } },
  ...args: unknown[]
) {
  const [asked] = args as [string | Statement]
  if (this.connectionParameters.application_name === 'pulsebase api') {
    const { name, text, values, rowMode } = typeof asked === 'string' ? { name: '', text: asked, values: [] } : asked
    if (!KEY_USES.test(text)) heard.push({ name, text, values, ...(rowMode && { rowMode }) })
  }
  return query.apply(this, args)
} as typeof prototype.query

process.on('message', () => {
  process.send?.(heard)
  heard = []
})
process.on('disconnect', () => process.exit())
await import('../server/main.ts')
