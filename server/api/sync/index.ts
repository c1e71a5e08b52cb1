import type { Route } from '../../http/route.ts'
import { getRun } from './get-run.ts'
import { listAllRuns } from './list-all-runs.ts'
import { listEvents } from './list-events.ts'
import { listHistory } from './list-history.ts'
import { listRuns } from './list-runs.ts'
import { streamEvents } from './stream.ts'

/** Results of imports and syncs (contract 7.5). */
export const syncRoutes: readonly Route[] = [streamEvents, listEvents, listRuns, listAllRuns, listHistory, getRun]
