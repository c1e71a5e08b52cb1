import type { Batch } from './columns.ts'

/** Bytes of batches that wait in memory for their import; some three million samples. */
const LIMIT_BYTES = 64 * 1024 * 1024

/** Milliseconds and value as float64, zone offset as int16. */
const SAMPLE_BYTES = 18

/**
 * Batches on their way from acceptance to import within this process. It only saves reading a stored body again:
 * what is not here (another process accepted it, or this one restarted) is read from the database.
 */
export interface Handover {
  /** Keeps the batch of an upload, at the cost of the oldest ones when there are too many. */
  put(uploadId: string, batch: Batch): void
  /** Returns the batch of an upload and forgets it; undefined when it is not here. */
  take(uploadId: string): Batch | undefined
}

const bytesOf = (batch: Batch) => batch.samples.reduce((sum, { timeMs }) => sum + timeMs.length * SAMPLE_BYTES, 0)

/** Creates an empty handover of at most `limitBytes` of samples; 0 = nothing is ever kept. */
export function createHandover(limitBytes = LIMIT_BYTES): Handover {
  const kept = new Map<string, Batch>()
  let bytes = 0
  const take = (uploadId: string) => {
    const batch = kept.get(uploadId)
    if (batch) {
      kept.delete(uploadId)
      bytes -= bytesOf(batch)
    }
    return batch
  }
  return {
    put(uploadId, batch) {
      const size = bytesOf(batch)
      if (size > limitBytes) return
      kept.set(uploadId, batch)
      bytes += size
      for (const oldest of kept.keys()) {
        if (bytes <= limitBytes) break
        take(oldest)
      }
    },
    take,
  }
}
