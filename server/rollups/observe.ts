import { Gauge, type Registry } from 'prom-client'
import type { Database } from '../db/database.ts'
import { soon } from '../metrics.ts'

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
  const lag = new Gauge({
    name: 'pulsebase_rollup_lag_seconds',
    help: 'Age of the oldest change that is missing in the rollups',
    registers,
  })
  const bytes = new Gauge({
    name: 'pulsebase_sample_bytes',
    help: 'Disk space of samples and their index in bytes',
    registers,
  })
  const ratio = new Gauge({
    name: 'pulsebase_sample_compression_ratio',
    help: 'Bytes of compressed samples before their compression ÷ after; 0 when none are compressed',
    registers,
  })
  let sizes: Promise<Sizes | undefined> | undefined
  let readAt = Number.NEGATIVE_INFINITY
  new Gauge({
    name: 'pulsebase_rollup_dirty_ranges',
    help: 'Ranges of series that changed since their rollups were computed',
    registers,
    // Metrics are answered even if the database is not available: its values stay as they were.
    async collect() {
      if (performance.now() - readAt > SIZES_EVERY_MS) {
        readAt = performance.now()
        sizes = readSizes(db).catch(() => undefined)
      }
      const behind = await soon(readBehind(db))
      if (behind) {
        this.set(behind.ranges)
        lag.set(behind.lag)
      }
      const known = sizes && (await soon(sizes))
      if (known) {
        bytes.set(known.bytes)
        ratio.set(known.ratio ?? 0)
      }
    },
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
