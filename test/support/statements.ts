import type { Pool, PoolClient } from 'pg'

/** Hears the statements that a pool runs from now on; the returned function tells those since it was last asked. */
export function hearStatements(pool: Pool): () => string[] {
  let heard: string[] = []
  const listening = new WeakSet<PoolClient>()
  pool.on('acquire', (client) => {
    if (listening.has(client)) return
    listening.add(client)
    const query = client.query as (...args: unknown[]) => unknown
    const hear = (...args: unknown[]) => {
      const [asked] = args as [string | { text: string }]
      heard.push(typeof asked === 'string' ? asked : asked.text)
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
