import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import {
  DeviceTypeName,
  DeviceTypePriorityList,
  deviceTypePriorityExample,
  Priority,
  readDeviceTypes,
  writeDeviceTypes,
} from './priority.ts'

/** Sets the priorities of some or all device types (contract 11). */
export const putDeviceTypePriorities = route(
  {
    method: 'PUT',
    path: '/api/v1/priorities/device-types',
    operationId: 'putDeviceTypePriorities',
    summary: 'Set the order of the device types',
    description: 'Device types that are not listed keep their numbers; several may share one.',
    tag: 'Priorities',
    guard: 'developer',
    body: Type.Object({
      priorities: Type.Array(Type.Object({ device_type: DeviceTypeName(), priority: Priority() }), { maxItems: 100 }),
    }),
    bodyExample: { priorities: [{ device_type: 'watch', priority: 1 }] },
    response: DeviceTypePriorityList,
    example: { items: [deviceTypePriorityExample] },
    errors: { 400: 'A device type is listed twice' },
  },
  async ({ body }, { db }) => {
    await writeDeviceTypes(db, body.priorities)
    return { items: await readDeviceTypes(db) }
  },
)
