import { Type } from 'typebox'
import { route } from '../../http/route.ts'
import { registerSubscriptions } from '../../intake/notices/subscriptions.ts'
import {
  CallbackQuery,
  meansOf,
  OperationResult,
  requireProvider,
  resultExample,
  SubscriptionsPath,
  subscriptionErrors,
} from './subscribing.ts'

/** Subscribes to everything that a provider notifies of (contract 8.2). */
export const registerProviderSubscriptions = route(
  {
    method: 'POST',
    path: '/api/v1/providers/{provider}/webhooks/subscriptions',
    operationId: 'registerProviderSubscriptions',
    summary: 'Subscribe to the notifications of a provider',
    description:
      'The provider makes sure of the address while this request waits, so it has to reach this service already. Registered again, what is there is `skipped`; what has another address is moved. A provider that refuses is a result with the status `error`, not an error of this request. Every day the subscriptions are compared with what the provider has, and repaired.',
    tag: 'Provider webhooks',
    guard: 'developer',
    share: 'own',
    params: SubscriptionsPath,
    query: CallbackQuery,
    response: Type.Object({ subscriptions: Type.Union([OperationResult, Type.Array(OperationResult)]) }),
    example: { subscriptions: [resultExample] },
    errors: subscriptionErrors,
  },
  async ({ params: { provider }, query }, deps) => {
    requireProvider(provider)
    const { asOne, results } = await registerSubscriptions(meansOf(deps), provider, query.callback_url)
    return { subscriptions: asOne ? results[0] : results }
  },
)
