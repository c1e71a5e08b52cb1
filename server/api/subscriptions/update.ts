import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { updateSubscription } from '../../intake/notices/subscriptions.ts'
import {
  CallbackQuery,
  meansOf,
  OperationResult,
  requireProvider,
  SubscriptionPath,
  subscriptionErrors,
} from './subscribing.ts'

/** Moves a subscription to another address (contract 8.2). */
export const updateProviderSubscription = route(
  {
    method: 'PUT',
    path: '/api/v1/providers/{provider}/webhooks/subscriptions/{subscription_id}',
    operationId: 'updateProviderSubscription',
    summary: 'Change the address of a subscription at a provider',
    description:
      'The provider makes sure of the new address while this request waits. Where it has no such operation (strava), the subscription is removed and created again, with a new id.',
    tag: 'Provider webhooks',
    guard: 'developer',
    share: 'own',
    params: SubscriptionPath,
    query: CallbackQuery,
    response: Type.Object({ updated: OperationResult }),
    example: { updated: { subscription_id: '5ab1', status: 'patched' } },
    errors: subscriptionErrors,
  },
  async ({ params: { provider, subscription_id: id }, query }, deps) => {
    requireProvider(provider)
    return { updated: await updateSubscription(meansOf(deps), provider, { id, url: query.callback_url }) }
  },
)
