import type { Route } from '../../http/route.ts'
import { listDeviceTypePriorities } from './list-device-types.ts'
import { listProviderPriorities } from './list-providers.ts'
import { putDeviceTypePriority } from './put-device-type.ts'
import { putDeviceTypePriorities } from './put-device-types.ts'
import { putProviderPriority } from './put-provider.ts'
import { putProviderPriorities } from './put-providers.ts'

/** Which source counts if several cover one day. */
export const priorityRoutes: readonly Route[] = [
  listProviderPriorities,
  putProviderPriorities,
  putProviderPriority,
  listDeviceTypePriorities,
  putDeviceTypePriorities,
  putDeviceTypePriority,
]
