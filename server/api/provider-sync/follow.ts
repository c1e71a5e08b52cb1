import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../db/database.ts'
import { AppError } from '../../errors.ts'
import type { Client } from '../../gate.ts'

/** How long a request waits for a run (contract 7.1). */
const PATIENCE_MS = 55_000
/** From one look to the next: short at first, since most syncs are. */
const LOOK_MS = { first: 100, longest: 2_000, growth: 1.4 }

/** How a stream of a run ended. */
export interface StreamReport {
  stream: string
  status: string
  error: string | null
}

interface Run {
  status: string
  streams: StreamReport[]
}

const RUN_SQL = `
  select r.status,
         coalesce((
           select json_agg(json_build_object('stream', p.native_type, 'status', p.status,
                                             'error', coalesce(p.error, p.error_code)) order by p.native_type)
           from sync_run_report p
           where p.user_id = r.user_id and p.run_key = r.run_key and p.kind = 'task'
         ), '[]') as streams
  from sync_run r
  where r.user_id = $1 and r.run_key = $2`

/** The run to wait for, and who waits. */
interface Following {
  userId: string
  runKey: string
  client: Client
}

/** The run once it has ended; undefined when it takes too long, its user is deleted, or nobody waits any more. */
export async function followRun(db: Database, { userId, runKey, client }: Following): Promise<Run | undefined> {
  const deadline = Date.now() + PATIENCE_MS
  for (let waitMs = LOOK_MS.first; ; waitMs = Math.min(waitMs * LOOK_MS.growth, LOOK_MS.longest)) {
    await delay(Math.min(waitMs, Math.max(0, deadline - Date.now())))
    const run = await look(db, userId, runKey)
    if (run === 'gone') return undefined
    if (run && run.status !== 'in_progress') return run
    if (client.destroyed || Date.now() >= deadline) return undefined
  }
}

/** Undefined while too many others look. */
async function look(db: Database, userId: string, runKey: string): Promise<Run | 'gone' | undefined> {
  try {
    const [run] = await db.query<Run>(RUN_SQL, [userId, runKey])
    return run ?? 'gone'
  } catch (error) {
    if (error instanceof AppError && error.status === 503) return undefined
    throw error
  }
}
