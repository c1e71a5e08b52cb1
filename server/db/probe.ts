import pg from 'pg'

/** Checks whether the database answers, on a connection that nothing else uses. */
export interface Probe {
  /** Resolves within twice the limit, whatever the state of the database. Simultaneous questions share one check. */
  answers(): Promise<boolean>
  end(): Promise<void>
}

/**
 * Opens a probe; it connects with the first question, and again after a question without an answer within `limitMs`.
 */
export function openProbe(url: string, limitMs: number): Probe {
  const pool = new pg.Pool({
    connectionString: url,
    max: 1,
    application_name: 'pulsebase probe',
    connectionTimeoutMillis: limitMs,
    query_timeout: limitMs,
  })
  // The next question notices a connection that breaks in between.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  let asked: Promise<boolean> | undefined
  return {
    answers() {
      asked ??= pool
        .query('select 1')
        .then(
          () => true,
          () => false,
        )
        .finally(() => {
          asked = undefined
        })
      return asked
    },
    end: () => pool.end(),
  }
}
