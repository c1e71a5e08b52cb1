import type { Route } from '../../http/route.ts'
import { getCoverage } from './coverage.ts'

/** Facts about the service. */
export const metaRoutes: readonly Route[] = [getCoverage]
