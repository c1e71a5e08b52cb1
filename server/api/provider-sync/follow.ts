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

/** As it was looked at; when what is left of it is asked for, epoch milliseconds: null when that is now. */
interface Looked extends Run {
  next_ms: number | null
}

const RUN_SQL = `
  select r.status,
         coalesce((
           select json_agg(json_build_object('stream', p.native_type, 'status', p.status,
                                             'error', coalesce(p.error, p.error_code)) order by p.native_type)
           from sync_run_report p
           where p.user_id = r.user_id and p.run_key = r.run_key and p.kind = 'task'
         ), '[]') as streams,
         (
           select date_part('epoch', min(greatest(t.due_at, case t.lane when 'asked' then g.asked_at else g.live_at end))) * 1000
           from sync_task t
           join provider_grant g on g.id = t.grant_id
           where g.process_id is null and t.run_key in (r.run_key, left(r.run_key, -37))
         ) as next_ms
  from sync_run r
  where r.user_id = $1 and r.run_key = $2`

/** The run to wait for, and who waits. */
interface Following {
  userId: string
  runKey: string
  client: Client
}

/**
 * The run once it has ended, or as it is when it takes too long, or waits for so long; undefined when its user is deleted,
 * or nobody waits any more.
 */
export async function followRun(db: Database, { userId, runKey, client }: Following): Promise<Run | undefined> {
  const deadline = Date.now() + PATIENCE_MS
  let last: Run | undefined
  for (let waitMs = LOOK_MS.first; ; waitMs = Math.min(waitMs * LOOK_MS.growth, LOOK_MS.longest)) {
    await delay(Math.min(waitMs, Math.max(0, deadline - Date.now())))
    const run = await look(db, userId, runKey)
    if (run === 'gone') return undefined
    last = run ?? last
    const isOver = run && (run.status !== 'in_progress' || (run.next_ms ?? 0) > deadline)
    if (isOver || Date.now() >= deadline) return last
    if (client.destroyed) return undefined
  }
}

/** Undefined while too many others look. */
async function look(db: Database, userId: string, runKey: string): Promise<Looked | 'gone' | undefined> {
  try {
    const [run] = await db.query<Looked>(RUN_SQL, [userId, runKey])
    return run ?? 'gone'
  } catch (error) {
    if (error instanceof AppError && error.status === 503) return undefined
    throw error
  }
}
