import type { Route } from '../../http/route.ts'
import { getTimeseries } from './get-timeseries.ts'

/** Reading samples. */
export const timeseriesRoutes: readonly Route[] = [getTimeseries]
