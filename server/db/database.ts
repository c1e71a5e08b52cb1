import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import pg from 'pg'
import { errors } from '../errors.ts'
import type { Client, Gate } from '../gate.ts'
import { ColumnsClient, poolColumns, queryColumns } from './columns.ts'

type Param = string | number | boolean | null | Buffer | Date | readonly unknown[] | object

/** Runs one statement; rows come back as objects, instants as ISO text in UTC, int8 as number. */
export interface Queryable {
  query<Row>(text: string, params?: readonly Param[]): Promise<Row[]>
  /** The same with rows as arrays: for large pages, where objects per row cost a third of the time. */
  rows<Row extends unknown[]>(text: string, params?: readonly Param[]): Promise<Row[]>
  /**
   * The same with an array per column, in the order of the rows: for pages, where it takes a third of the time. Columns
   * are of type float8, int8, int4, int2, bool or text.
   */
  columns<Columns extends unknown[][]>(text: string, params?: readonly Param[]): Promise<Columns>
  /** Like `query` for a statement that returns exactly one row. */
  one<Row>(text: string, params?: readonly Param[]): Promise<Row>
}

/** One connection inside a transaction. */
export interface Transaction extends Queryable {
  client: pg.PoolClient
}

/** The only access to SQL. */
export interface Database extends Queryable {
  /** `lockMs`: how long one of its statements waits for a lock, if not as long as any other. */
  transaction<T>(work: (tx: Transaction) => Promise<T>, lockMs?: number): Promise<T>
  pool: pg.Pool
  end(): Promise<void>
}

interface DatabaseOptions {
  url: string
  maxConnections: number
  /** Server-side limit of one statement. */
  statementTimeoutMs: number
  /** Limit of one wait for a lock; by default none. */
  lockTimeoutMs?: number
  /** Time to connect, or to wait for a connection that is in use. */
  connectTimeoutMs?: number
  name: string
  onError(error: Error): void
}

/** Turns PostgreSQL's text of a timestamptz (session zone UTC) into contract 1.2: Z, six digits or none. */
function instantText(text: string): string {
  const [, date, time, fraction] = /^([^ ]+) ([0-9:]+)(?:\.(\d+))?\+00$/.exec(text) ?? []
  if (!date) return text
  return fraction ? `${date}T${time}.${fraction.padEnd(6, '0')}Z` : `${date}T${time}Z`
}

const parsers = new Map<number, (text: string) => unknown>([
  [20, Number], // int8: counts and keys, all far below 2^53
  [1082, (text) => text], // date
  [1184, instantText], // timestamptz
])

const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    parsers.get(oid) ?? pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
}

const statementNames = new Map<string, string>()

/** Every statement is prepared once per connection under a name derived from its text. */
function statementName(text: string): string {
  let name = statementNames.get(text)
  if (!name) {
    name = createHash('sha1').update(text).digest('base64url').slice(0, 16)
    statementNames.set(text, name)
  }
  return name
}

/** Runs statements on a connection, or each on any of a pool. */
export function queryable(target: pg.Pool | pg.PoolClient): Queryable {
  const onTarget = target instanceof pg.Pool ? poolColumns : queryColumns
  return {
    async columns<Columns extends unknown[][]>(text: string, params: readonly Param[] = []) {
      const columns = await onTarget(target as never, { name: `${statementName(text)}c`, text, values: params })
      return columns as Columns
    },
    async query<Row>(text: string, params: readonly Param[] = []) {
      const result = await target.query({ name: statementName(text), text, values: params as unknown[] })
      return result.rows as Row[]
    },
    async rows<Row extends unknown[]>(text: string, params: readonly Param[] = []) {
      const name = `${statementName(text)}a`
      const result = await target.query({ name, text, values: params as unknown[], rowMode: 'array' })
      return result.rows as unknown as Row[]
    },
    async one<Row>(text: string, params: readonly Param[] = []) {
      const result = await target.query({ name: statementName(text), text, values: params as unknown[] })
      if (result.rows.length !== 1) throw new Error(`expected one row, got ${result.rows.length}: ${text.slice(0, 80)}`)
      return result.rows[0] as Row
    },
  }
}

/**
 * What holds on every connection, whatever a database or a role says: times in UTC, texts as they are read here, numbers to the
 * last digit, transactions that do not fail because of others, and no compiling of statements, which is on unless a server says
 * otherwise. Its cost follows the planner's guesses about the rows of functions, which are high: the scores of 2,000 nights took
 * 1.0 s, 0.9 s of it compiling.
 */
export const CONNECTION_OPTIONS = [
  'timezone=UTC',
  'datestyle=ISO',
  'intervalstyle=postgres',
  'bytea_output=hex',
  'extra_float_digits=1',
  'default_transaction_isolation=read\\ committed',
  'jit=off',
]
  .map((setting) => `-c ${setting}`)
  .join(' ')

/**
 * Address and options of a connection. Options of the address itself (`?options=-c …`), which would replace ours, come
 * first, so that ours win.
 */
export function connectionTo(url: string, options: string): { connectionString: string; options: string } {
  const [address = '', query = ''] = url.split(/\?(.*)/s)
  const parameters = new URLSearchParams(query)
  const all = [parameters.get('options'), options].filter(Boolean).join(' ')
  parameters.delete('options')
  const rest = parameters.size > 0 ? `?${parameters}` : ''
  return { connectionString: address + rest, options: all }
}

/** Opens a pool of connections, each with CONNECTION_OPTIONS and the limits of time set. */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    ...connectionTo(
      options.url,
      `${CONNECTION_OPTIONS} -c statement_timeout=${options.statementTimeoutMs} -c lock_timeout=${options.lockTimeoutMs ?? 0}`,
    ),
    max: options.maxConnections,
    application_name: options.name,
    types,
    Client: ColumnsClient,
    idleTimeoutMillis: 60_000,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 10_000,
  })
  // An idle connection that breaks is replaced by the pool; without a listener Node would exit.
  pool.on('error', options.onError)
  // The pool does not listen to a connection in use: its query or the next one fails, and handles the error.
  pool.on('connect', (client) => client.on('error', () => {}))
  return {
    ...queryable(pool),
    pool,
    async transaction<T>(work: (tx: Transaction) => Promise<T>, lockMs?: number): Promise<T> {
      const client = await pool.connect()
      let broken: Error | undefined
      try {
        await client.query(lockMs === undefined ? 'begin' : `begin; set local lock_timeout = ${Math.ceil(lockMs)}`)
        const result = await work({ ...queryable(client), client })
        await client.query('commit')
        return result
      } catch (error) {
        await client.query('rollback').catch((rollbackError: Error) => {
          broken = rollbackError
        })
        throw error
      } finally {
        client.release(broken)
      }
    },
    end: () => pool.end(),
  }
}

/** The same database with a connection of a gate for each statement, and one for a whole transaction. */
export function gated(db: Database, gate: Gate, key = ''): Database {
  return {
    query: (text, params) => gate.run(key, () => db.query(text, params)),
    rows: (text, params) => gate.run(key, () => db.rows(text, params)),
    columns: (text, params) => gate.run(key, () => db.columns(text, params)),
    one: (text, params) => gate.run(key, () => db.one(text, params)),
    transaction: (work, lockMs) => gate.run(key, () => db.transaction(work, lockMs)),
    pool: db.pool,
    end: () => db.end(),
  }
}

/**
 * Parses the rows of a large result in pieces of 64 KiB: Node reads 2 MiB of a fast connection at once, and everybody
 * else waits until they are parsed. Returns a function that ends that.
 */
export function readByTurns(connection: pg.PoolClient): () => void {
  const { stream } = (connection as unknown as { connection: { stream: Socket } }).connection
  const breathe = () => {
    stream.pause()
    setImmediate(() => stream.resume())
  }
  stream.on('data', breathe)
  return () => stream.off('data', breathe)
}

/**
 * The same database for large reads of a client that may hang up: PostgreSQL then stops the running statement. A
 * transaction continues.
 */
export function cancelledBy(db: Database, client: Client): Database {
  async function read<T>(statement: (on: Queryable) => Promise<T>): Promise<T> {
    if (client.destroyed) throw errors.clientLeft()
    const connection = await db.pool.connect()
    let cancelled: Promise<unknown> | undefined
    const cancel = () => {
      const { processID } = connection as unknown as { processID: number }
      cancelled = db.query('select pg_cancel_backend($1)', [processID]).catch(() => {})
    }
    client.once('close', cancel)
    if (client.destroyed) cancel()
    const atOnce = readByTurns(connection)
    try {
      return await statement(queryable(connection))
    } finally {
      atOnce()
      client.off('close', cancel)
      await cancelled
      // The cancellation might otherwise reach the next statement.
      connection.release(cancelled !== undefined)
    }
  }
  return {
    query: (text, params) => read((on) => on.query(text, params)),
    rows: (text, params) => read((on) => on.rows(text, params)),
    columns: (text, params) => read((on) => on.columns(text, params)),
    one: (text, params) => read((on) => on.one(text, params)),
    transaction: (work, lockMs) => db.transaction(work, lockMs),
    pool: db.pool,
    end: () => db.end(),
  }
}

// Connection lost, out of resources, shutdown or recovery, deadlock, lock not available; and codes of sockets.
const UNAVAILABLE_CODE = /^(08...|53...|57P..|40...|55P..|ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT)$/

/** Whether the database, not the statement, caused a failure, so that a retry may succeed a moment later. */
export function databaseUnavailable(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  return UNAVAILABLE_CODE.test(code) || /^(Connection terminated|timeout exceeded when trying to connect)/.test(message)
}

/** Whether a statement waited too long for a lock. */
export const lockTimedOut = (error: unknown) => (error as { code?: string }).code === '55P03'

/** The constraint a failed statement violated, undefined for any other failure. */
export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.constraint : undefined
}
