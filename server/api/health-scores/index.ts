import type { Route } from '../../http/route.ts'
import { listHealthScores } from './list.ts'

/** Scores from providers, and those that Pulsebase computes. */
export const healthScoreRoutes: readonly Route[] = [listHealthScores]
