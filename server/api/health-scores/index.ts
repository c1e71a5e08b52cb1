import type { Route } from '../../http/route.ts'
import { listHealthScores } from './list.ts'

/** Scores of providers, and those computed here. */
export const healthScoreRoutes: readonly Route[] = [listHealthScores]
