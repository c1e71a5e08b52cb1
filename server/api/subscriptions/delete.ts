import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { deleteSubscription } from '../../intake/notices/subscriptions.ts'
import { meansOf, OperationResult, requireProvider, SubscriptionPath, subscriptionErrors } from './subscribing.ts'

/** Ends a subscription at a provider (contract 8.2). */
export const deleteProviderSubscription = route(
  {
    method: 'DELETE',
    path: '/api/v1/providers/{provider}/webhooks/subscriptions/{subscription_id}',
    operationId: 'deleteProviderSubscription',
    summary: 'End a subscription at a provider',
    description: 'One that is not there counts as ended. It is not created again by the daily comparison.',
    tag: 'Provider webhooks',
    guard: 'developer',
    share: 'own',
    params: SubscriptionPath,
    response: Type.Object({ deleted: OperationResult }),
    example: { deleted: { subscription_id: '5ab1', status: 'deleted' } },
    errors: subscriptionErrors,
  },
  async ({ params: { provider, subscription_id: id } }, deps) => {
    requireProvider(provider)
    return { deleted: await deleteSubscription(meansOf(deps), provider, id) }
  },
)
