import type { Route } from '../../http/route.ts'
import { getArchival } from './get-archival.ts'
import { putArchival } from './put-archival.ts'
import { runArchival } from './run-archival.ts'

/** Settings of the whole service. */
export const settingsRoutes: readonly Route[] = [getArchival, putArchival, runArchival]
