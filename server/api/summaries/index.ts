import type { Route } from '../../http/route.ts'
import { getActivitySummary } from './activity.ts'
import { getDataSummary } from './data.ts'
import { getTimeline } from './timeline.ts'

/** What a user has, summed up. */
export const summaryRoutes: readonly Route[] = [getActivitySummary, getDataSummary, getTimeline]
