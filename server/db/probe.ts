import pg from 'pg'

/** Asks whether the database answers, on a connection that nothing else uses. */
export interface Probe {
  /** Resolves within twice the limit, whatever state the database is in. Questions at the same time are one. */
  answers(): Promise<boolean>
  end(): Promise<void>
}

/** Opens a probe; it connects with the first question, and again after one that was not answered within `limitMs`. */
export function openProbe(url: string, limitMs: number): Probe {
  const pool = new pg.Pool({
    connectionString: url,
    max: 1,
    application_name: 'pulsebase probe',
    connectionTimeoutMillis: limitMs,
    query_timeout: limitMs,
  })
  // Whatever breaks while nobody asks is seen by the next question.
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
