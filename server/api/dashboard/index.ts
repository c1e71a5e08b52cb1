import type { Route } from '../../http/route.ts'
import { getConfig } from './config.ts'
import { getStats } from './stats.ts'

/** The overview that operators see first. */
export const dashboardRoutes: readonly Route[] = [getStats, getConfig]
