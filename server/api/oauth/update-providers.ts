import { Type } from 'typebox'
import { errors, shortened } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { describeProviders, ProviderDescriptor, providerExample, settableProviders } from './provider.ts'

/** Enables and disables providers, all of the given ones or none (contract 6.3). */
export const updateProviders = route(
  {
    method: 'PUT',
    path: '/api/v1/oauth/providers',
    operationId: 'updateProviders',
    summary: 'Enable and disable providers',
    tag: 'Providers',
    guard: 'developer',
    body: Type.Object({ providers: Type.Record(Type.String(), Type.Boolean(), { maxProperties: 100 }) }),
    bodyExample: { providers: { oura: true } },
    response: Type.Array(ProviderDescriptor),
    example: [providerExample],
    errors: { 400: 'Unknown provider; nothing is changed' },
  },
  async ({ body }, { db }) => {
    const unknown = Object.keys(body.providers).find((name) => !settableProviders.has(name))
    if (unknown !== undefined) throw errors.badRequest(`Unknown provider: ${shortened(unknown)}`)
    // In a fixed order, so that two of these never wait for each other.
    const names = [...settableProviders.keys()].filter((name) => Object.hasOwn(body.providers, name))
    await db.query(
      `insert into provider_setting (provider, is_enabled)
       select * from unnest($1::text[], $2::boolean[])
       on conflict (provider) do update set is_enabled = excluded.is_enabled, updated_at = now()`,
      [names, names.map((name) => body.providers[name])],
    )
    return describeProviders(db)
  },
)
