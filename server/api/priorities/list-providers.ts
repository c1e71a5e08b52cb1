import { route } from '../../http/route.ts'
import { ProviderPriorityList, providerPriorityExample, readProviders } from './priority.ts'

/** The order of providers, best first (contract 11). */
export const listProviderPriorities = route(
  {
    method: 'GET',
    path: '/api/v1/priorities/providers',
    operationId: 'listProviderPriorities',
    summary: 'Order of the providers',
    description: 'If several sources cover one day, the source of the provider with the lowest number counts.',
    tag: 'Priorities',
    guard: 'developer',
    response: ProviderPriorityList,
    example: { items: [providerPriorityExample] },
  },
  async (_, { db }) => ({ items: await readProviders(db) }),
)
