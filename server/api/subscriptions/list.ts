import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { listSubscriptions } from '../../intake/notices/subscriptions.ts'
import { meansOf, requireProvider, Subscription, SubscriptionsPath, subscriptionErrors } from './subscribing.ts'

/** The subscriptions of this service as a provider has them (contract 8.2). */
export const listProviderSubscriptions = route(
  {
    method: 'GET',
    path: '/api/v1/providers/{provider}/webhooks/subscriptions',
    operationId: 'listProviderSubscriptions',
    summary: 'List the subscriptions at a provider',
    description: 'The provider is asked now. Their fields differ from provider to provider.',
    tag: 'Provider webhooks',
    guard: 'developer',
    share: 'own',
    params: SubscriptionsPath,
    response: Type.Object({ subscriptions: Type.Array(Subscription) }),
    example: { subscriptions: [{ id: 'abdf33', events: ['EXERCISE'], url: 'https://api.example.org/…/webhooks' }] },
    errors: subscriptionErrors,
  },
  async ({ params: { provider } }, deps) => {
    requireProvider(provider)
    const subscriptions = await listSubscriptions(meansOf(deps), provider)
    return { subscriptions: subscriptions.map(({ shown }) => shown) }
  },
)
