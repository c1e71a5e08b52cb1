import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import openNoticesInThread, { type NoticesTask, type Opened } from '../workers/notices.ts'
import type { ParcelResult, ParcelTask } from '../workers/parcel.ts'
import { type SampleEvent, type SampleEventsTask, sampleEvents } from '../workers/sample-events.ts'
import type { UploadResult, UploadTask } from '../workers/sdk-upload.ts'
import { Gate } from './gate.ts'
import { smallBodyBytes } from './limits.ts'
import { ALONE, shareOf } from './shares.ts'

/** Samples whose events are made in one task, within a millisecond. */
const SAMPLES_AT_ONCE = 10_000

/** Notices that are read here. */
const INLINE_BYTES = 16 * 1024

/** The worker threads that parse and normalise uploads, and make events of the changes. */
export interface Threads {
  /** Reads an upload; takes ownership of `task.bytes`. */
  readUpload(task: UploadTask): Promise<UploadResult>
  /** Reads a parcel of what a provider answered; takes ownership of `task.bytes`. */
  readParcel(task: ParcelTask): Promise<ParcelResult>
  /** Reads notices of a provider. */
  openNotices(task: NoticesTask): Promise<Opened[]>
  /** Makes the events of changed samples. */
  sampleEvents(task: SampleEventsTask): Promise<SampleEvent[]>
  /** Has a thread read an invented upload, so that its code is compiled when the first one arrives. */
  warmUp(): Promise<void>
  close(): Promise<void>
}

/**
 * Hands buffers over instead of copying them, but for those that are a piece of a larger one. The caller cannot use them
 * afterwards.
 */
const transferable = (pieces: readonly Uint8Array[]): ArrayBuffer[] =>
  pieces.flatMap(({ buffer, byteLength }) =>
    buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [],
  )

/** The callers bound how many wait here: the API by the memory of bodies, imports by their number. */
const WITHOUT_END = { waiting: Number.POSITIVE_INFINITY, waitMs: 2 ** 31 - 1, retrySeconds: 5 }

/** Threads of a process; several processes share the machine's cores, and each has one at least. */
export const threadCount = (place = ALONE, cores = availableParallelism()): number =>
  Math.max(1, shareOf(Math.max(2, cores - 1), place))

/**
 * Starts the thread pool; threads are created when the first upload arrives. Of two threads or more, one is always free
 * for small uploads.
 */
export function startThreads(count = threadCount()): Threads {
  const workers = fileURLToPath(new URL('../workers/', import.meta.url))
  const pool = new Piscina({
    filename: `${workers}sdk-upload.ts`,
    minThreads: 1,
    maxThreads: count,
    idleTimeout: 60_000,
    // A 32 MiB body becomes a few hundred megabytes of objects; more than this is an attack or a defect.
    resourceLimits: { maxOldGenerationSizeMb: 768, maxYoungGenerationSizeMb: 16 },
    // Requests go first where processors are short; it has no effect where the system does not know of it.
    niceIncrement: 5,
  })
  const most = Math.max(1, count - 1)
  const large = new Gate({ what: 'uploads', capacity: most, perKey: most, ...WITHOUT_END })
  const run = (task: UploadTask | ParcelTask, filename: string) => {
    const pieces = [task.bytes].flat()
    const read = () => pool.run(task, { filename, transferList: transferable(pieces) })
    const size = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
    return size > smallBodyBytes(task.encoding) ? large.run('', read) : read()
  }
  return {
    readUpload: (task) => run(task, `${workers}sdk-upload.ts`),
    readParcel: (task) => run(task, `${workers}parcel.ts`),
    openNotices(task) {
      const bytes = task.bodies.reduce((sum, { body }) => sum + body.length, 0)
      // Within a millisecond: a thread may be busy for longer with what others have sent.
      if (bytes <= INLINE_BYTES) return Promise.resolve(openNoticesInThread(task))
      const read = () => pool.run(task, { filename: `${workers}notices.ts` })
      return task.bodies.some(({ body }) => body.length > smallBodyBytes('identity')) ? large.run('', read) : read()
    },
    async sampleEvents(task) {
      const samples = task.changed.reduce((sum, { timeMs }) => sum + timeMs.length, 0)
      // A transfer of few samples takes longer.
      if (samples <= SAMPLES_AT_ONCE) return sampleEvents(task)
      return pool.run(task, { filename: `${workers}sample-events.ts` })
    },
    warmUp: () => pool.run(Date.now(), { filename: `${workers}warm-up.ts` }),
    close: () => pool.close(),
  }
}
