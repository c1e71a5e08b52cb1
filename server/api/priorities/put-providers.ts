import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import {
  Priority,
  ProviderPriorityList,
  providerPriorityExample,
  RankedProvider,
  readProviders,
  writeProviders,
} from './priority.ts'

/** Sets the priorities of some or all providers (contract 11). */
export const putProviderPriorities = route(
  {
    method: 'PUT',
    path: '/api/v1/priorities/providers',
    operationId: 'putProviderPriorities',
    summary: 'Set the order of the providers',
    description: 'Providers that are not listed keep their numbers; several may share one.',
    tag: 'Priorities',
    guard: 'developer',
    body: Type.Object({
      priorities: Type.Array(Type.Object({ provider: RankedProvider(), priority: Priority() }), { maxItems: 100 }),
    }),
    bodyExample: { priorities: [{ provider: 'apple', priority: 1 }] },
    response: ProviderPriorityList,
    example: { items: [providerPriorityExample] },
    errors: { 400: 'A provider is listed twice' },
  },
  async ({ body }, { db }) => {
    await writeProviders(db, body.priorities)
    return { items: await readProviders(db) }
  },
)
