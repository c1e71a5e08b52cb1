import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { describeProviders, ProviderDescriptor, providerExample } from './provider.ts'

/** The providers with their abilities and settings (contract 6.1). */
export const listProviders = route(
  {
    method: 'GET',
    path: '/api/v1/oauth/providers',
    operationId: 'listProviders',
    summary: 'List the providers',
    tag: 'Providers',
    guard: 'public',
    query: Type.Object({
      enabled_only: Type.Boolean({ default: false }),
      cloud_only: Type.Boolean({ default: false, description: 'Only providers with a cloud API' }),
    }),
    response: Type.Array(ProviderDescriptor),
    example: [providerExample],
  },
  async ({ query }, { db }) => {
    const all = await describeProviders(db)
    return all.filter((one) => (one.is_enabled || !query.enabled_only) && (one.has_cloud_api || !query.cloud_only))
  },
)
