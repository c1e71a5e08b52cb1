import type { Route } from '../../http/route.ts'
import { getArchival } from './get-archival.ts'
import { putArchival } from './put-archival.ts'
import { runArchival } from './run-archival.ts'

/** What operators set for the whole service. */
export const settingsRoutes: readonly Route[] = [getArchival, putArchival, runArchival]
