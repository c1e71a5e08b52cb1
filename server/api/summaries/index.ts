import type { Route } from '../../http/route.ts'
import { getActivitySummary } from './activity.ts'
import { getBodySummary } from './body.ts'
import { getDataSummary } from './data.ts'
import { getRecoverySummary } from './recovery.ts'
import { getSleepSummary } from './sleep.ts'
import { getTimeline } from './timeline.ts'

/** Summaries of a user's data. */
export const summaryRoutes: readonly Route[] = [
  getActivitySummary,
  getSleepSummary,
  getRecoverySummary,
  getBodySummary,
  getDataSummary,
  getTimeline,
]
