import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { renewSubscriptions } from '../../intake/notices/subscriptions.ts'
import { meansOf, OperationResult, requireProvider, SubscriptionsPath, subscriptionErrors } from './subscribing.ts'

/** Extends all subscriptions at a provider (contract 8.2). */
export const renewProviderSubscriptions = route(
  {
    method: 'POST',
    path: '/api/v1/providers/{provider}/webhooks/subscriptions/renew',
    operationId: 'renewProviderSubscriptions',
    summary: 'Renew all subscriptions at a provider',
    description: 'Needed by hand only if the daily job does not run: it renews what ends within a week.',
    tag: 'Provider webhooks',
    guard: 'developer',
    share: 'own',
    params: SubscriptionsPath,
    response: Type.Object({ renewed: Type.Array(OperationResult) }),
    example: { renewed: [{ id: '5ab1', subscription_id: '5ab1', status: 'renewed' }] },
    errors: subscriptionErrors,
  },
  async ({ params: { provider } }, deps) => {
    requireProvider(provider)
    return { renewed: await renewSubscriptions(meansOf(deps), provider) }
  },
)
