import type { Pool, PoolClient } from 'pg'

/** Notes now and then when keys were last used, on behalf of no request (server/http/api-keys.ts). */
const KEY_USES = /^\s*update api_key k\s/

/**
 * Hears the statements that a pool runs for requests from now on; the returned function tells those since it was last
 * asked.
 */
export function hearStatements(pool: Pool): () => string[] {
  let heard: string[] = []
  const listening = new WeakSet<PoolClient>()
  pool.on('acquire', (client) => {
    if (listening.has(client)) return
    listening.add(client)
    const query = client.query as (...args: unknown[]) => unknown
    const hear = (...args: unknown[]) => {
      const [asked] = args as [string | { text: string }]
      const text = typeof asked === 'string' ? asked : asked.text
      if (!KEY_USES.test(text)) heard.push(text)
      return query.apply(client, args)
    }
    client.query = hear as typeof client.query
  })
  return () => {
    const all = heard
    heard = []
    return all
  }
}
