import { Type } from 'typebox'
import type { Dependencies } from '../../dependencies.ts'
import { errors } from '../../errors.ts'
import { Enum } from '../../http/schema.ts'
import type { Result, SubscriptionMeans } from '../../intake/notices/subscription.ts'
import { settableProviders } from '../oauth/provider.ts'

/** A provider, and the id that it gave to a subscription. */
export const SubscriptionsPath = Type.Object({ provider: Type.String() })
export const SubscriptionPath = Type.Object({
  ...SubscriptionsPath.properties,
  // It becomes a part of the path of a request: not one that leads elsewhere.
  subscription_id: Type.String({ pattern: '^[\\w-][\\w.:~-]{0,199}$', description: 'Id at the provider' }),
})

/** Where the provider is to notify. */
export const CallbackQuery = Type.Object({
  callback_url: Type.String({
    pattern: '^https?://[^\\s#@]+$',
    maxLength: 255,
    description:
      'Where the provider notifies: the public address of `POST /api/v1/providers/{provider}/webhooks` of this service',
    examples: ['https://api.example.org/api/v1/providers/oura/webhooks'],
  }),
})

/** A subscription as the provider has it; its fields differ (contract 8.2). */
export const Subscription = Type.Record(Type.String(), Type.Unknown(), { title: 'ProviderSubscription' })

export const OperationResult = Type.Object(
  {
    subscription_id: Type.Optional(Type.String()),
    status: Enum(['created', 'updated', 'patched', 'deleted', 'skipped', 'renewed', 'error'], {
      title: 'SubscriptionStatus',
    }),
    data_type: Type.Optional(Type.String()),
    event_type: Type.Optional(Type.String()),
    reason: Type.Optional(Type.String({ description: 'With `skipped`: `already_exists`' })),
    error: Type.Optional(Type.String({ description: 'With `error` only' })),
    id: Type.Optional(Type.String({ description: 'With `renewed`: as subscription_id' })),
    response: Type.Optional(Type.Unknown({ description: 'The subscription as the provider has it now' })),
  },
  { title: 'SubscriptionResult' },
)

/** What these routes may answer besides. */
export const subscriptionErrors = {
  400: 'The provider is not configured',
  404: 'Unknown provider',
  500: 'The provider does not answer, or refuses',
  501: 'The provider has no such operation',
  503: 'Its subscriptions are being changed already',
}

/** What the operations work with: the provider challenges us while it is asked, so each statement has a connection of its own. */
export const meansOf = ({ oauth, notices }: Dependencies): SubscriptionMeans => ({
  parts: oauth,
  noticesOf: notices.noticesOf,
})

/** Accepts only providers; whether one has subscriptions is for the operation to say. @throws AppError unknown_provider */
export function requireProvider(provider: string): void {
  if (!settableProviders.has(provider)) throw errors.unknownProvider(provider)
}

export const resultExample = { subscription_id: '5ab1', status: 'created' } satisfies Result
