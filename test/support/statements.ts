import type { Pool, PoolClient } from 'pg'

/**
 * Now and then the last use of a key is written, and a key found a minute ago is looked up again
 * (server/http/api-keys.ts), not as part of a request: how often depends on the speed of the machine.
 */
const KEYS = /^\s*(update api_key k\s|select id from api_key where key_hash)/

/**
 * Records the statements that a pool runs for requests from now on; the returned function returns those since its last
 * call.
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
      if (!KEYS.test(text)) heard.push(text)
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
