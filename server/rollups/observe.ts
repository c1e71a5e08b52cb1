import { Gauge, type Registry } from 'prom-client'
import type { Database } from '../db/database.ts'
import { LatestCount } from '../latest-count.ts'
import { OF_DATABASE, soon } from '../metrics.ts'

/** Sizes are read at most this often: each read takes some milliseconds per chunk. */
const SIZES_EVERY_MS = 60_000

interface Sizes {
  bytes: number
  ratio: number | null
}

/**
 * Adds the metrics of samples and rollups: how outdated rollups are (reads are exact all the same) and how much disk
 * space samples take. They are read when the metrics are requested.
 */
export function observeRollups(registry: Registry, db: Database): void {
  const registers = [registry]
  const behind = new LatestCount(() => readBehind(db), 0)
  const sizes = new LatestCount(() => readSizes(db), SIZES_EVERY_MS)
  // Metrics are answered even if the database is not available: its values stay as they were.
  const gauge = (name: string, help: string, count: () => Promise<number | undefined>) =>
    new Gauge({
      ...OF_DATABASE,
      ...{ name, help, registers },
      async collect() {
        const known = await soon(count())
        if (known !== undefined) this.set(known)
      },
    })
  const dirty = 'Ranges of series that changed since their rollups were computed'
  gauge('pulsebase_rollup_dirty_ranges', dirty, async () => (await behind.count())?.ranges)
  const lag = 'Age of the oldest change that is missing in the rollups'
  gauge('pulsebase_rollup_lag_seconds', lag, async () => (await behind.count())?.lag)
  const space = 'Disk space of samples and their index in bytes'
  gauge('pulsebase_sample_bytes', space, async () => (await sizes.count())?.bytes)
  const ratio = 'Bytes of compressed samples before their compression ÷ after; 0 when none are compressed'
  gauge('pulsebase_sample_compression_ratio', ratio, async () => {
    const known = await sizes.count()
    return known && (known.ratio ?? 0)
  })
}

const readBehind = (db: Database) =>
  db.one<{ ranges: number; lag: number }>(
    `select count(*) as ranges, coalesce(date_part('epoch', now() - min(created_at)), 0) as lag from rollup_dirty`,
  )

const readSizes = (db: Database) =>
  db.one<Sizes>(
    `select live_data_bytes + live_index_bytes as bytes, uncompressed_bytes / nullif(compressed_bytes, 0)::float8 as ratio
     from storage_report()`,
  )
