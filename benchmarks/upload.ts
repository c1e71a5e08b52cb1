import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import { Pool } from 'undici'
import type { Counts, Dataset } from './generate.ts'
import type { Service } from './service.ts'

const POLL_MS = 10
/** Uploads without progress for this long are stuck. */
const STUCK_MS = 60_000

/** One user's upload of a dataset. */
export interface Job {
  userId: string
  dataset: Dataset
}

/**
 * Uploads the datasets of several users at the same time, each with `inFlight` requests in flight like a phone, and
 * waits until the last upload is imported. Resolves with the results of the records, all uploads together.
 * @throws Error when an upload is refused or its import fails.
 */
export async function upload(service: Service, db: Client, jobs: readonly Job[], inFlight = 2): Promise<Counts> {
  const { rows } = await db.query<{ seq: string }>('select coalesce(max(seq), 0) as seq from upload')
  const before = rows[0]?.seq
  const pool = new Pool(service.origin, { connections: jobs.length * inFlight, pipelining: 1 })
  try {
    await Promise.all(jobs.flatMap((job) => lanes(pool, service, job, inFlight)))
    await imported(db)
  } finally {
    await pool.close()
  }
  return outcome(db, before)
}

/** Sends the bodies of one user in order, `count` at a time. */
function lanes(pool: Pool, service: Service, { userId, dataset }: Job, count: number): Promise<void>[] {
  let next = 0
  const lane = async () => {
    while (next < dataset.bodies) {
      const body = await dataset.read(next++)
      const answer = await pool.request({
        method: 'POST',
        path: `/api/v1/sdk/users/${userId}/sync`,
        headers: { ...service.headers, 'content-type': 'application/json' },
        body,
      })
      const text = await answer.body.text()
      if (answer.statusCode !== 202) throw new Error(`an upload was answered ${answer.statusCode}: ${text}`)
    }
  }
  return Array.from({ length: count }, lane)
}

/** Reads a partial index of waiting uploads only: cheap, however much was uploaded before. */
async function imported(db: Client): Promise<void> {
  let waiting = Number.POSITIVE_INFINITY
  let changed = performance.now()
  for (;;) {
    const { rows } = await db.query<{ n: string }>("select count(*) as n from upload where status = 'queued'")
    const now = Number(rows[0]?.n)
    if (now === 0) return
    if (now !== waiting) {
      waiting = now
      changed = performance.now()
    }
    if (performance.now() - changed > STUCK_MS) throw new Error(`${waiting} uploads are not imported`)
    await delay(POLL_MS)
  }
}

async function outcome(db: Client, before: string | undefined): Promise<Counts> {
  const { rows } = await db.query<{ failed: string; inserted: string; repeated: string; rejected: string }>(
    `select count(*) filter (where status = 'failed') as failed, sum(inserted) as inserted,
            sum(unchanged + duplicates) as repeated, sum(rejected) as rejected
     from upload
     where seq > $1`,
    [before],
  )
  const [row] = rows
  if (!row || Number(row.failed) > 0) throw new Error(`${row?.failed} imports failed`)
  return { inserted: Number(row.inserted), repeated: Number(row.repeated), rejected: Number(row.rejected) }
}
