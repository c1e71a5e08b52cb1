import type { Pool, PoolClient } from 'pg'

/**
 * Now and then, when a key was last used is noted, on behalf of no request, and a key that was looked up a minute ago is
 * looked up again (server/http/api-keys.ts): how often depends on how fast the machine is.
 */
const KEYS = /^\s*(update api_key k\s|select id from api_key where key_hash)/

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
