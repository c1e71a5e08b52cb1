import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { Nullable } from '../../http/schema.ts'
import { findSubscription } from '../../intake/notices/subscriptions.ts'
import { meansOf, requireProvider, Subscription, SubscriptionPath, subscriptionErrors } from './subscribing.ts'

/** One subscription as the provider has it (contract 8.2). */
export const getProviderSubscription = route(
  {
    method: 'GET',
    path: '/api/v1/providers/{provider}/webhooks/subscriptions/{subscription_id}',
    operationId: 'getProviderSubscription',
    summary: 'A subscription at a provider',
    description: 'Null when there is none of this id. Only of providers that return a single one (oura).',
    tag: 'Provider webhooks',
    guard: 'developer',
    share: 'own',
    params: SubscriptionPath,
    response: Type.Object({ subscription: Nullable(Subscription) }),
    example: { subscription: { id: '5ab1', event_type: 'update', data_type: 'sleep' } },
    errors: subscriptionErrors,
  },
  async ({ params: { provider, subscription_id: id } }, deps) => {
    requireProvider(provider)
    return { subscription: (await findSubscription(meansOf(deps), provider, id))?.shown ?? null }
  },
)
