import type { Route } from '../../http/route.ts'
import { getBatch } from './get-batch.ts'
import { importBatch } from './import-batch.ts'
import { listAllBatches } from './list-all-batches.ts'
import { listBatches } from './list-batches.ts'
import { logEvents } from './log-events.ts'
import { syncUpload } from './sync-upload.ts'

/** The routes that phones use, and the results of their uploads. */
export const sdkRoutes: readonly Route[] = [syncUpload, logEvents, listBatches, listAllBatches, getBatch, importBatch]
