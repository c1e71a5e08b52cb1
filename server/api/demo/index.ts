import type { Route } from '../../http/route.ts'
import { addDemo } from './add.ts'
import { getDemo } from './get.ts'
import { removeDemo } from './remove.ts'

/** Invented people to look at. */
export const demoRoutes: readonly Route[] = [getDemo, addDemo, removeDemo]
