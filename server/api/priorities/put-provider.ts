import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import {
  PriorityFields,
  ProviderPriority,
  providerPriorityExample,
  RankedProvider,
  readProviders,
  writeProviders,
} from './priority.ts'

/** Sets the priority of one provider (contract 11). */
export const putProviderPriority = route(
  {
    method: 'PUT',
    path: '/api/v1/priorities/providers/{provider}',
    operationId: 'putProviderPriority',
    summary: 'Set the number of one provider',
    tag: 'Priorities',
    guard: 'developer',
    params: Type.Object({ provider: RankedProvider() }),
    body: PriorityFields,
    bodyExample: { priority: 1 },
    response: ProviderPriority,
    example: providerPriorityExample,
  },
  async ({ params, body }, { db }) => {
    await writeProviders(db, [{ ...params, ...body }])
    return (await readProviders(db)).find(({ provider }) => provider === params.provider)
  },
)
