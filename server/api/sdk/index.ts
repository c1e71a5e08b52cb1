import type { Route } from '../../http/route.ts'
import { getBatch } from './get-batch.ts'
import { importBatch } from './import-batch.ts'
import { listBatches } from './list-batches.ts'
import { logEvents } from './log-events.ts'
import { syncUpload } from './sync-upload.ts'

/** What phones use, and the fate of what they sent. */
export const sdkRoutes: readonly Route[] = [syncUpload, logEvents, listBatches, getBatch, importBatch]
