import type { Socket } from 'node:net'
import type pg from 'pg'
import { AppError, errors } from '../errors.ts'
import type { Client } from '../gate.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { type Database, databaseUnavailable, openDatabase, queryable, readByTurns } from './database.ts'

/** Time to connect, and to say which revision it has: a replica that needs longer is not used for a while. */
const CHECK_MS = 500
/** Time of a statement there, and of a whole read: what takes longer has more time on the primary. */
const STATEMENT_MS = 4_000
const READ_MS = 6_000
/** One that failed is tried after a second, and after twice as long each time it fails again. */
const AGAIN_MS = 1_000
const LONGEST_MS = 30_000

/**
 * Why the primary answered instead: no replica is in use; it had not yet replayed what the primary has; it did not answer
 * in time; its connection failed; replaying took away rows that the read needed; it could not execute a statement.
 */
export type Fallback = 'unavailable' | 'behind' | 'slow' | 'gone' | 'conflict' | 'error'

/** A read of a user's data. */
export interface UserRead {
  userId: string
  /** Who waits for the answer. */
  client: Client
  /** Whether the answer may be large, or take long. */
  large: boolean
}

/** What the primary has of a user: both count up, and whatever a reader can see moves one of them as it is committed. */
export interface Revision {
  /** Changes of the user's data. */
  user: number
  /** Changes of the priorities of sources, which are the same for everybody. */
  ranking: number
}

/** One replica. */
export interface Replica {
  /** Its place in the configuration, from 1. */
  name: string
  /** Why it is not used, null if it is. */
  unavailable(): string | null
  /** Runs `work` if it has the revision. @throws AppError of `work`, client_left */
  answer<T>(
    asked: UserRead,
    wanted: Revision,
    work: (db: Database) => Promise<T>,
  ): Promise<{ answer: T } | { fallback: Fallback }>
  end(): Promise<void>
}

/** A later statement of the same connection sees at least what this one saw. */
const CHECK_SQL = `
  select u.revision >= $2 and r.revision >= $3, pg_is_in_recovery()
  from app_user u, ranking r
  where u.id = $1`

/** What a replica has in common with its primary. */
const IDENTITY_SQL = `
  select c.system_identifier::text as system, current_database() as database,
         (select md5(string_agg(m.name || ' ' || m.checksum, ',' order by m.name)) from schema_migration m) as schema,
         pg_is_in_recovery() as standby
  from pg_control_system() c`

interface Identity {
  system: string
  database: string
  schema: string
  standby: boolean
}

interface ReplicaOptions {
  url: string
  name: string
  primary: Database
  maxConnections: number
  metrics: Pick<Metrics, 'replicaAvailable'>
  log: Logger
}

/** Why a replica is not used. */
class Unusable extends Error {}

/** The time of a read was over. */
class Late extends Error {}

/** Whether a replica is used: from a trial that succeeds until a read fails. */
class Availability {
  /** Why it is not used, null if it is. */
  reason: string | null = 'it is not yet tried'
  readonly #tried: () => Promise<void>
  readonly #changed: (reason: string | null, error?: unknown) => void
  #waitMs = AGAIN_MS
  #timer: NodeJS.Timeout | undefined
  #ended = false
  #trying = false

  /** `tried` resolves if the replica can be used, and otherwise rejects; `changed` is called with each new reason. */
  constructor(tried: () => Promise<void>, changed: (reason: string | null, error?: unknown) => void) {
    this.#tried = tried
    this.#changed = changed
    void this.#try()
  }

  /** Leaves the replica out until a later trial succeeds. */
  leaveOut(error: unknown): void {
    if (this.#ended || this.#timer) return
    this.#set(whyUnusable(error), error)
    const again = () => {
      this.#timer = undefined
      void this.#try()
    }
    this.#timer = setTimeout(again, this.#waitMs).unref()
    this.#waitMs = Math.min(LONGEST_MS, this.#waitMs * 2)
  }

  /** Tries the replica at once, unless a trial is due anyway; it stays in use until that fails. */
  doubt(): void {
    if (!this.#ended && !this.#timer) void this.#try()
  }

  end(): void {
    this.#ended = true
    clearTimeout(this.#timer)
  }

  async #try(): Promise<void> {
    if (this.#trying) return
    this.#trying = true
    try {
      await this.#tried()
      // A read may have failed meanwhile: then the next trial decides.
      if (this.#ended || this.#timer) return
      this.#waitMs = AGAIN_MS
      this.#set(null)
    } catch (error) {
      this.leaveOut(error)
    } finally {
      this.#trying = false
    }
  }

  #set(reason: string | null, error?: unknown): void {
    if (reason !== this.reason) this.#changed(reason, error)
    this.reason = reason
  }
}

/** Opens connections to a replica; it is used once a trial shows that it is one of the primary's. */
export function openReplica({ url, name, primary, maxConnections, metrics, log }: ReplicaOptions): Replica {
  const db = openDatabase({
    ...{ url, maxConnections, name: 'pulsebase reads', statementTimeoutMs: STATEMENT_MS, connectTimeoutMs: CHECK_MS },
    // A connection that nobody used has ended: a pooler may do that, or the server is gone.
    onError: () => availability.doubt(),
  })
  const tried = async () => {
    const own = await primary.one<Identity>(IDENTITY_SQL)
    const found = await hold(db.pool, ({ connection }) => queryable(connection).one<Identity>(IDENTITY_SQL))
    const problem = identityProblem(own, found)
    if (problem) throw new Unusable(problem)
  }
  metrics.replicaAvailable.set({ replica: name }, 0)
  const availability = new Availability(tried, (reason, error) => {
    metrics.replicaAvailable.set({ replica: name }, reason === null ? 1 : 0)
    if (reason === null) log.info({ replica: name }, 'a replica is used')
    else log.warn({ err: error, replica: name }, `a replica is not used: ${reason}`)
  })
  return {
    name,
    unavailable: () => availability.reason,
    async answer(asked, wanted, work) {
      let isChecked = false
      try {
        return await hold(db.pool, async (held) => {
          if (!(await hasRevision(held.connection, asked.userId, wanted))) return { fallback: 'behind' as const }
          isChecked = true
          held.extend(READ_MS)
          return { answer: await forClient(asked, db, held, work) }
        })
      } catch (error) {
        if (asked.client.destroyed) throw errors.clientLeft()
        if (error instanceof AppError) throw error
        const fallback = fallbackOf(error)
        if (fallback === 'gone' || (fallback === 'slow' && !isChecked)) availability.leaveOut(error)
        if (fallback === 'error') log.error({ err: error, replica: name }, 'a read failed on a replica')
        return { fallback }
      }
    },
    async end() {
      availability.end()
      await db.end()
    },
  }
}

function fallbackOf(error: unknown): Fallback {
  const { code } = error as { code?: string }
  if (error instanceof Late || code === '57014') return 'slow'
  if (code === '40001' || code === '40P01') return 'conflict'
  return error instanceof Unusable || databaseUnavailable(error) ? 'gone' : 'error'
}

function identityProblem(own: Identity, found: Identity): string | undefined {
  if (!found.standby) return NO_STANDBY
  if (own.system !== found.system || own.database !== found.database) return OTHER_DATABASE
  return own.schema === found.schema ? undefined : 'it has not replayed the latest migration'
}

const NO_STANDBY = 'it is not a standby'
const OTHER_DATABASE = 'it is one of another database'

/** What a server answers that is there, but cannot be used, by SQLSTATE. */
const REFUSALS: Record<string, string> = {
  '28000': 'it refuses the login',
  '28P01': 'it refuses the login',
  '3D000': 'it has no such database',
  '42501': 'its role may not read what it has to',
  // It has no tables of this service.
  '42P01': OTHER_DATABASE,
}

/** Why a replica is not used, as its operator can read it; never the text of an error, which may name a role. */
function whyUnusable(error: unknown): string {
  if (error instanceof Unusable) return error.message
  return REFUSALS[(error as { code?: string }).code ?? ''] ?? 'it does not answer'
}

async function hasRevision(connection: pg.PoolClient, userId: string, wanted: Revision): Promise<boolean> {
  const params = [userId, wanted.user, wanted.ranking]
  const [row] = await queryable(connection).rows<[has: boolean, standby: boolean]>(CHECK_SQL, params)
  // A standby that was promoted goes its own way.
  if (row?.[1] === false) throw new Unusable(NO_STANDBY)
  return row?.[0] === true
}

/** A connection, which is cut when its time is over. */
interface Held {
  connection: pg.PoolClient
  /** Gives it so much time from now on. */
  extend(ms: number): void
  /** Lets nobody else have it afterwards. */
  spoil(): void
}

/** Runs `work` on a connection, for CHECK_MS at first. @throws Late */
async function hold<T>(pool: pg.Pool, work: (held: Held) => Promise<T>): Promise<T> {
  const connection = await pool.connect()
  const { stream } = (connection as unknown as { connection: { stream: Socket } }).connection
  let isSpoilt = false
  let isLate = false
  const cut = () => {
    isLate = true
    stream.destroy()
  }
  let timer = setTimeout(cut, CHECK_MS)
  try {
    return await work({
      connection,
      extend(ms) {
        clearTimeout(timer)
        timer = setTimeout(cut, ms)
      },
      spoil() {
        isSpoilt = true
      },
    })
  } catch (error) {
    isSpoilt ||= isLate || databaseUnavailable(error)
    throw isLate ? new Late('it took too long') : error
  } finally {
    clearTimeout(timer)
    connection.release(isSpoilt)
  }
}

/** Runs `work` on the connection; if the client of a large read hangs up, PostgreSQL stops its statement. */
async function forClient<T>(
  { client, large }: UserRead,
  db: Database,
  { connection, spoil }: Held,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  const { processID } = connection as unknown as { processID: number }
  let cancelled: Promise<unknown> | undefined
  const cancel = () => {
    // It might reach the next statement.
    spoil()
    cancelled = db.query('select pg_cancel_backend($1)', [processID]).catch(() => {})
  }
  if (client.destroyed) throw errors.clientLeft()
  if (large) client.once('close', cancel)
  const atOnce = large ? readByTurns(connection) : undefined
  try {
    return await work({
      ...queryable(connection),
      transaction: () => Promise.reject(new Error('nothing is changed on a replica')),
      pool: db.pool,
      end: () => db.end(),
    })
  } finally {
    atOnce?.()
    client.off('close', cancel)
    await cancelled
  }
}
