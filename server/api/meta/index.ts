import type { Route } from '../../http/route.ts'
import { getCoverage } from './coverage.ts'

/** What the service knows. */
export const metaRoutes: readonly Route[] = [getCoverage]
