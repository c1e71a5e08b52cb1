import type { Route } from '../../http/route.ts'
import { healthz } from './healthz.ts'
import { metrics } from './metrics.ts'
import { readyz } from './readyz.ts'
import { root } from './root.ts'

/** Probes and metrics, outside the versioned prefix. */
export const healthRoutes: readonly Route[] = [root, healthz, readyz, metrics]
