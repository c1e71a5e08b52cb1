import type { Route } from '../../http/route.ts'
import { deleteDeveloper } from './delete.ts'
import { getDeveloper } from './get.ts'
import { listDevelopers } from './list.ts'
import { updateDeveloperById } from './update.ts'

/** Developers, all of whom may do the same. */
export const developerRoutes: readonly Route[] = [listDevelopers, getDeveloper, updateDeveloperById, deleteDeveloper]
