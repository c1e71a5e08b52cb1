import { route } from '../../http/route.ts'
import { DeviceTypePriorityList, deviceTypePriorityExample, readDeviceTypes } from './priority.ts'

/** The order of device types, best first (contract 11). */
export const listDeviceTypePriorities = route(
  {
    method: 'GET',
    path: '/api/v1/priorities/device-types',
    operationId: 'listDeviceTypePriorities',
    summary: 'Order of the device types',
    description: 'If several devices of one provider cover one day, the type with the lowest number counts.',
    tag: 'Priorities',
    guard: 'developer',
    response: DeviceTypePriorityList,
    example: { items: [deviceTypePriorityExample] },
  },
  async (_, { db }) => ({ items: await readDeviceTypes(db) }),
)
