import type { Route } from '../../http/route.ts'
import { listConnections } from './connections.ts'
import { getUserCoverage } from './coverage.ts'
import { createUser } from './create.ts'
import { listDataSources } from './data-sources.ts'
import { deleteUser } from './delete.ts'
import { deleteConnection } from './delete-connection.ts'
import { deleteConnectionData } from './delete-connection-data.ts'
import { getUser } from './get.ts'
import { getPersonalRecord } from './get-personal-record.ts'
import { listUsers } from './list.ts'
import { putPersonalRecord } from './put-personal-record.ts'
import { updateUser } from './update.ts'

/** Users, and everything that belongs directly to one. */
export const userRoutes: readonly Route[] = [
  listUsers,
  createUser,
  getUser,
  updateUser,
  deleteUser,
  listConnections,
  deleteConnection,
  deleteConnectionData,
  listDataSources,
  getUserCoverage,
  getPersonalRecord,
  putPersonalRecord,
]
