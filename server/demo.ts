import { Worker } from 'node:worker_threads'
import type { Report, Work } from '../demo/worker.ts'
import type { Logger } from './log.ts'

/** What this process does about the demo data. */
export interface DemoState {
  doing: 'add' | 'remove' | null
  /** From 0 to 1; null while nothing is done. */
  share: number | null
  /** Why the last run failed. */
  error: string | null
}

const url = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)

/** A thread of Node 20 does not wait for the loader that the process has. */
const THREAD = `import(${url('typescript.mjs')}).then(() => import(${url('../demo/worker.ts')}))`

/** Adds and removes the demo data, one after the other, in a thread that calls this service as any client does. */
export interface Demo {
  state(): DemoState
  /** Begins, unless the same is under way; removing ends adding. */
  begin(work: Pick<Work, 'service' | 'token' | 'what'>): Promise<void>
  close(): Promise<void>
}

/** Its threads start only when somebody asks for demo data. */
export function openDemo(log: Logger, days?: number): Demo {
  let running: { worker: Worker; what: Work['what'] } | undefined
  let share = 0
  let error: string | null = null
  const start = (work: Work) => {
    const worker = new Worker(THREAD, { eval: true, workerData: work })
    running = { worker, what: work.what }
    share = 0
    error = null
    const isCurrent = () => running?.worker === worker
    worker.on('message', (report: Report) => {
      if (isCurrent()) share = report.share
    })
    worker.on('error', (reason: Error) => {
      log.warn({ err: reason }, 'the demo data could not be changed')
      if (!isCurrent()) return
      error = reason.message
      // It is about to exit; whoever reads of the failure may begin anew at once.
      running = undefined
    })
    worker.on('exit', () => {
      if (isCurrent()) running = undefined
    })
  }
  return {
    state: () => ({ doing: running?.what ?? null, share: running ? share : null, error }),
    async begin({ service, token, what }) {
      // Another request may have begun the same while this one waited.
      while (running && running.what !== what) await running.worker.terminate()
      if (!running) start({ service, token, what, ...(days !== undefined && { days }) })
    },
    async close() {
      await running?.worker.terminate()
    },
  }
}
