import type { Route } from '../../http/route.ts'
import { getDataSummary } from './data.ts'
import { getTimeline } from './timeline.ts'

/** What a user has, summed up. */
export const summaryRoutes: readonly Route[] = [getDataSummary, getTimeline]
