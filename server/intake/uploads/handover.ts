import type { Batch } from '../../batch/columns.ts'

/** Bytes of cached samples; about a million and a half. */
export const HANDOVER_BYTES = 32 * 1024 * 1024

/** Milliseconds and value as float64, zone offset as int16; for some samples also the length as int32. */
const SAMPLE_BYTES = 18
const LENGTH_BYTES = 4

/** Generous estimate of the memory around the samples: keys and objects. */
const BATCH_BYTES = 2_048
const COLUMNS_BYTES = 1_024
const ITEM_BYTES = 512

/**
 * Parsed bodies on their way from acceptance to import within this process, and for a while after it, since a phone that
 * lost an answer sends the same body again. The handover only saves reading a stored body: anything missing here
 * (another process accepted it, this one restarted, others displaced it) is read from the database.
 */
export interface Handover {
  /** Keeps the batch of a user's body, and drops the least recently used ones. */
  put(userId: string, sha256: Buffer, batch: Batch): void
  /** The batch of a user's body, or undefined if it is not here. It is shared: callers must not change it. */
  get(userId: string, sha256: Buffer): Batch | undefined
}

const bytesOf = ({ samples, derived, sources, rejections, events }: Batch) =>
  [...samples, ...derived].reduce(
    (sum, { timeMs, lastsS, origins }) =>
      sum +
      COLUMNS_BYTES +
      timeMs.length * SAMPLE_BYTES +
      (lastsS?.length ?? 0) * LENGTH_BYTES +
      (origins?.bytes.length ?? 0),
    BATCH_BYTES,
  ) +
  (sources.length + rejections.length) * ITEM_BYTES +
  Object.values(events).reduce((sum, items) => sum + items.length * ITEM_BYTES, 0) +
  events.workouts.reduce(
    (sum, { notes, segments, laps, route }) => sum + 2 * textBytes(notes, segments, laps, route),
    0,
  )

const textBytes = (...texts: (string | null)[]) => texts.reduce((sum, text) => sum + (text?.length ?? 0), 0)

const keyOf = (userId: string, sha256: Buffer) => `${userId} ${sha256.toString('base64')}`

/** Creates an empty handover of at most `limitBytes` of samples; 0 keeps nothing. */
export function createHandover(limitBytes = HANDOVER_BYTES): Handover {
  const kept = new Map<string, Batch>()
  let bytes = 0
  function forget(key: string): Batch | undefined {
    const batch = kept.get(key)
    if (batch) bytes -= bytesOf(batch)
    kept.delete(key)
    return batch
  }
  function keep(key: string, batch: Batch): void {
    // The first in the map is the least recently used.
    kept.set(key, batch)
    bytes += bytesOf(batch)
    for (const oldest of kept.keys()) {
      if (bytes <= limitBytes) break
      forget(oldest)
    }
  }
  return {
    put(userId, sha256, batch) {
      const key = keyOf(userId, sha256)
      forget(key)
      keep(key, batch)
    },
    get(userId, sha256) {
      const key = keyOf(userId, sha256)
      const batch = forget(key)
      // Rejected items, such as a time in the future, may have become acceptable.
      if (batch && batch.rejected === 0) keep(key, batch)
      return batch
    },
  }
}
