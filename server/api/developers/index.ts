import type { Route } from '../../http/route.ts'
import { deleteDeveloper } from './delete.ts'
import { getDeveloper } from './get.ts'
import { listDevelopers } from './list.ts'
import { updateDeveloperById } from './update.ts'

/** Developers, who all have the same rights. */
export const developerRoutes: readonly Route[] = [listDevelopers, getDeveloper, updateDeveloperById, deleteDeveloper]
