import { parentPort, workerData } from 'node:worker_threads'
import { openApi } from './client.ts'
import { addDemo, removeDemo } from './run.ts'

/** What the thread is started with. */
export interface Work {
  readonly service: string
  /** Access token of a developer. */
  readonly token: string
  readonly what: 'add' | 'remove'
  readonly days?: number
}

/** What the thread reports: the share that is done, from 0 to 1. */
export interface Report {
  readonly share: number
}

const { service, token, what, days }: Work = workerData
const api = openApi(service, token)
const onProgress = (share: number) => parentPort?.postMessage({ share } satisfies Report)

if (what === 'remove') await removeDemo(api)
else await addDemo({ api, onProgress, ...(days && { days }) })
