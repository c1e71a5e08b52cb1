// The side effects of a write on compressed chunks: rows that it takes out of their batches.
import type { Database } from '../../server/db/database.ts'

/** Does it again after a deadlock with the compression of a chunk, as imports do. */
export async function withoutDeadlock<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if ((error as { code?: string }).code !== '40P01') throw error
    }
  }
}

/** A batch of the columnstore: up to 1,000 rows of one series, which can only be opened as a whole. */
interface Batch {
  table: string
  chunk: string
  /** The series and the start. */
  key: string
  rows: number
}

/** The effect of a write on the compressed rows of a table, in rows. */
export interface Opened {
  /** Rows taken out of their batches: each is a separate row until the chunk is compressed again. */
  opened: number
  /** Rows of batches that were deleted as a whole, unopened. */
  removed: number
}

const CHUNKS_SQL = `
  select h.name as table, s.relid::text as chunk, s.compress_relid::text as batches,
         pg_stat_get_tuples_inserted(s.relid) as inserted
  from (
    select name, stored_in(name) as held
    from unnest(array['sample', 'rollup_1min', 'rollup_5min', 'rollup_15min', 'rollup_1hour', 'rollup_1day']) name
  ) h
  cross join lateral show_chunks(h.held) chunk
  join _timescaledb_catalog.compression_settings s on s.relid = chunk and s.compress_relid is not null
  where h.held is not null`

interface Chunk {
  table: string
  chunk: string
  /** The relation that holds its batches. */
  batches: string
  /** Rows ever inserted as rows: those of opened batches, and new ones. */
  inserted: number
}

interface State {
  chunks: Chunk[]
  batches: Batch[]
}

/**
 * Runs `work` and returns the rows it opened and removed in compressed chunks, by table (a continuous aggregate under
 * the name of its view), without untouched tables: `{}` is a write that opened nothing. Exact if `work` writes through
 * the connections of `db`, nobody else writes and nothing is compressed meanwhile. Opening a batch removes it from the
 * compressed rows and inserts its rows beside them, removing it only removes it: opened is the smaller of both counts,
 * since new rows are inserted too. Always `{}` on an engine without chunks.
 */
export async function countOpened(db: Database, work: () => Promise<unknown>): Promise<Record<string, Opened>> {
  const before = await look(db)
  await work()
  const after = await look(db)
  const left = new Set(after.batches.map(({ chunk, key }) => `${chunk} ${key}`))
  const counts: Record<string, Opened> = {}
  for (const { table, chunk, inserted } of before.chunks) {
    const now = after.chunks.find((one) => one.chunk === chunk)
    // The chunk was dropped.
    if (!now) continue
    const gone = before.batches
      .filter((batch) => batch.chunk === chunk && !left.has(`${chunk} ${batch.key}`))
      .reduce((sum, { rows }) => sum + rows, 0)
    if (gone === 0) continue
    const opened = Math.min(gone, now.inserted - inserted)
    const sofar = counts[table] ?? { opened: 0, removed: 0 }
    counts[table] = { opened: sofar.opened + opened, removed: sofar.removed + gone - opened }
  }
  return counts
}

async function look(db: Database): Promise<State> {
  await flushStatistics(db)
  const { columnar } = await db.one<{ columnar: boolean }>(
    `select to_regclass('_timescaledb_catalog.compression_settings') is not null as columnar`,
  )
  const chunks = columnar ? await db.query<Chunk>(CHUNKS_SQL) : []
  const batches: Batch[] = []
  for (const { table, chunk, batches: held } of chunks) {
    const rows = await db.rows<[key: string, rows: number]>(
      `select concat_ws(' ', source_id, series_id, _ts_meta_min_1, _ts_meta_max_1, _ts_meta_count), _ts_meta_count from ${held}`,
    )
    for (const [key, count] of rows) batches.push({ table, chunk, key, rows: count })
  }
  return { chunks, batches }
}

/** A session reports its writes every few seconds: makes each of the pool’s free sessions report them now. */
async function flushStatistics({ pool }: Database): Promise<void> {
  const clients = await Promise.all(Array.from({ length: pool.idleCount }, () => pool.connect()))
  try {
    await Promise.all(clients.map((client) => client.query('select pg_stat_force_next_flush()')))
  } finally {
    for (const client of clients) client.release()
  }
}
