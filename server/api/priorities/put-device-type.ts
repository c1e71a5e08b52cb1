import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import {
  DeviceTypeName,
  DeviceTypePriority,
  deviceTypePriorityExample,
  PriorityFields,
  readDeviceTypes,
  writeDeviceTypes,
} from './priority.ts'

/** Sets the priority of one device type (contract 11). */
export const putDeviceTypePriority = route(
  {
    method: 'PUT',
    path: '/api/v1/priorities/device-types/{device_type}',
    operationId: 'putDeviceTypePriority',
    summary: 'Set the number of one device type',
    tag: 'Priorities',
    guard: 'developer',
    params: Type.Object({ device_type: DeviceTypeName() }),
    body: PriorityFields,
    bodyExample: { priority: 1 },
    response: DeviceTypePriority,
    example: deviceTypePriorityExample,
  },
  async ({ params, body }, { db }) => {
    await writeDeviceTypes(db, [{ ...params, ...body }])
    return (await readDeviceTypes(db)).find(({ device_type }) => device_type === params.device_type)
  },
)
