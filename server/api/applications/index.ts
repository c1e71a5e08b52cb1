import type { Route } from '../../http/route.ts'
import { createApplication } from './create.ts'
import { deleteApplication } from './delete.ts'
import { listApplications } from './list.ts'
import { rotateAppSecret } from './rotate-secret.ts'

/** Applications, each of one developer, whose backends sign phones in. */
export const applicationRoutes: readonly Route[] = [
  listApplications,
  createApplication,
  deleteApplication,
  rotateAppSecret,
]
