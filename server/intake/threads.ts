import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { type SampleEvent, type SampleEventsTask, sampleEvents } from '../../workers/sample-events.ts'
import type { UploadResult, UploadTask } from '../../workers/sdk-upload.ts'
import { errors } from '../errors.ts'

/** Uploads that may wait for a thread; beyond it the API says 503 instead of holding more bodies in memory. */
const MAX_WAITING = 64

/** Samples whose events are made at once, in a millisecond. */
const SAMPLES_AT_ONCE = 10_000

/** The worker threads that parse and normalise uploads, and make events of what these changed. */
export interface Threads {
  /** Reads an upload; `task.bytes` is given away. */
  readUpload(task: UploadTask): Promise<UploadResult>
  /** Makes the events of changed samples. */
  sampleEvents(task: SampleEventsTask): Promise<SampleEvent[]>
  close(): Promise<void>
}

/** Hands a buffer over instead of copying it, unless it is a piece of a larger one. The caller cannot use it again. */
function transferable(bytes: Uint8Array): ArrayBuffer[] {
  const { buffer } = bytes
  return buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength ? [buffer] : []
}

/** Starts the thread pool; threads are created when the first upload comes. */
export function startThreads(count = Math.max(1, availableParallelism() - 1)): Threads {
  const workers = fileURLToPath(new URL('../../workers/', import.meta.url))
  const pool = new Piscina({
    filename: `${workers}sdk-upload.ts`,
    minThreads: 1,
    maxThreads: count,
    maxQueue: MAX_WAITING,
    idleTimeout: 60_000,
    // A 32 MiB body becomes a few hundred megabytes of objects; more than this is an attack or a defect.
    resourceLimits: { maxOldGenerationSizeMb: 768, maxYoungGenerationSizeMb: 32 },
  })
  return {
    async readUpload(task) {
      try {
        return await pool.run(task, { transferList: transferable(task.bytes) })
      } catch (error) {
        if (error instanceof Error && /queue is at limit/i.test(error.message)) {
          throw errors.overloaded('Too many uploads at once; please retry.', 5)
        }
        throw error
      }
    },
    async sampleEvents(task) {
      const samples = task.changed.reduce((sum, { timeMs }) => sum + timeMs.length, 0)
      // Handing few over takes longer; and with too many uploads waiting, an import goes on without the threads.
      if (samples <= SAMPLES_AT_ONCE || pool.queueSize >= MAX_WAITING) return sampleEvents(task)
      return pool.run(task, { filename: `${workers}sample-events.ts` })
    },
    close: () => pool.close(),
  }
}
