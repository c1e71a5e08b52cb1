import type { Task } from 'graphile-worker'
import { AppError } from '../../errors.ts'
import { noticesUri } from '../../provider-client/clients.ts'
import type { SubscriptionMeans } from './subscription.ts'
import { registerSubscriptions, repairSubscriptions } from './subscriptions.ts'

/** The daily job that compares the subscriptions that are wanted with what providers have, and repairs what differs. */
export async function repairAll(means: SubscriptionMeans): Promise<void> {
  const { db, log } = means.parts
  const wanted = await db.query<{ provider: string }>(
    'select distinct provider from provider_subscription order by provider',
  )
  for (const { provider } of wanted) {
    try {
      const results = await repairSubscriptions(means, provider)
      const repaired = results.filter(({ status }) => status !== 'skipped')
      if (repaired.length > 0) log.warn({ provider, results: repaired }, 'subscriptions differed from what is wanted')
    } catch (error) {
      // It is configured no more, or does not answer: the others are compared all the same.
      if (!(error instanceof AppError)) throw error
      log.error({ provider, reason: error.message }, 'subscriptions cannot be compared with what the provider has')
    }
  }
}

/** The job that subscribes to a provider whose mode has become `webhook`, unless somebody has chosen an address before. */
export const subscribeTask =
  (means: SubscriptionMeans, apiBaseUrl: string): Task =>
  async (payload) => {
    const { provider } = payload as { provider: string }
    const { db, log, clients } = means.parts
    const known = await db.query('select from provider_subscription where provider = $1 limit 1', [provider])
    if (known.length > 0 || !clients.has(provider)) return
    const { results } = await registerSubscriptions(means, provider, noticesUri(apiBaseUrl, provider))
    const failed = results.filter(({ status }) => status === 'error')
    if (failed.length > 0) log.error({ provider, results: failed }, 'a provider cannot be subscribed to')
  }
