import type { Route } from '../../http/route.ts'
import { getConfig } from './config.ts'
import { getStats } from './stats.ts'

/** What operators see first. */
export const dashboardRoutes: readonly Route[] = [getStats, getConfig]
