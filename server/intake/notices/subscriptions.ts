import { errors } from '../../errors.ts'
import { requireClient } from '../../provider-client/clients.ts'
import type { Subscribed } from '../../providers/notices.ts'
import { forgetGiven, ownSecrets } from './keys.ts'
import { whileAlone } from './lease.ts'
import {
  ask,
  isFor,
  listed,
  move,
  noteError,
  type Open,
  type Result,
  renew,
  type SubscriptionMeans,
  settle,
} from './subscription.ts'

// The operations on a provider's subscriptions; each is done while nobody else changes them, and looks first at what is
// there.

/** Whether our address can be registered at a provider. @throws AppError unsupported, not_configured */
export function requireSubscriptions({ parts, noticesOf }: SubscriptionMeans, provider: string) {
  const notices = noticesOf(provider)
  if (!notices?.subscriptions) throw errors.noSubscriptions()
  const client = requireClient(parts.clients, provider)
  return { notices, client, subscriptions: notices.subscriptions }
}

async function opened<T>(means: SubscriptionMeans, provider: string, work: (open: Open) => Promise<T>): Promise<T> {
  const { notices, client, subscriptions } = requireSubscriptions(means, provider)
  const { db } = means.parts
  return whileAlone(db, provider, async (keep) => {
    const own = await ownSecrets(db, means.parts, provider, notices)
    return work({ provider, means, client, keep, notices, calls: subscriptions({ settings: client.settings, own }) })
  })
}

/** What a provider has. @throws AppError unsupported, not_configured, provider_refused, provider_failed */
export function listSubscriptions(means: SubscriptionMeans, provider: string): Promise<readonly Subscribed[]> {
  return opened(means, provider, (open) => listed(open))
}

/** One of them; undefined: there is no such one. @throws AppError as above */
export function findSubscription(
  means: SubscriptionMeans,
  provider: string,
  id: string,
): Promise<Subscribed | undefined> {
  return opened(means, provider, async (open) => {
    const { one } = open.calls
    if (!one) throw errors.noSuchOperation(provider, 'getting a single webhook subscription')
    const said = await ask(open, one(id))
    if ('ok' in said) return open.calls.read(said.ok)[0]
    if (said.refused === 'missing') return undefined
    throw errors.providerFailed(open.client.name, said.text)
  })
}

/** Subscribes to all that is wanted, at this address. @throws AppError unsupported, not_configured, provider_failed … */
export function registerSubscriptions(
  means: SubscriptionMeans,
  provider: string,
  url: string,
): Promise<{ readonly asOne: boolean; readonly results: readonly Result[] }> {
  return opened(means, provider, async (open) => {
    const { wanted, asOne = false } = open.calls
    const there = await listed(open)
    const results: Result[] = []
    for (const each of wanted) results.push(await settle(open, each, url, there))
    return { asOne, results }
  })
}

/** Moves one to another address. @throws AppError as above */
export function updateSubscription(
  means: SubscriptionMeans,
  provider: string,
  { id, url }: { id: string; url: string },
): Promise<Result> {
  return opened(means, provider, async (open) => {
    const one = (await listed(open)).find((each) => each.id === id)
    if (!one) return { subscription_id: id, status: 'error', error: 'There is no such subscription' }
    const result = await move(open, one, url)
    return result.status === 'error' ? result : { ...result, status: open.calls.update ? 'patched' : 'updated' }
  })
}

/** Ends one; that it is not there is as good. @throws AppError as above */
export function deleteSubscription(means: SubscriptionMeans, provider: string, id: string): Promise<Result> {
  return opened(means, provider, async (open) => {
    const said = await ask(open, open.calls.remove(id))
    const isGone = 'ok' in said || said.refused === 'missing'
    if (!isGone) return { subscription_id: id, status: 'error', error: said.text }
    const { db } = means.parts
    await db.transaction(async (tx) => {
      const ours = await tx.query(
        'delete from provider_subscription where provider = $1 and subscription_id = $2 returning provider',
        [provider, id],
      )
      // Of another one it is still needed.
      if (open.notices.givesSigningSecret && ours.length > 0) await forgetGiven(tx, provider)
    })
    return { subscription_id: id, status: 'deleted' }
  })
}

/** Extends all of them. @throws AppError as above */
export function renewSubscriptions(means: SubscriptionMeans, provider: string): Promise<readonly Result[]> {
  return opened(means, provider, async (open) => {
    if (!open.calls.renew) throw errors.noSuchOperation(provider, 'renewing webhook subscriptions')
    const results: Result[] = []
    for (const one of await listed(open)) results.push(await renew(open, one))
    return results
  })
}

/** How long before its end a subscription is renewed by the daily comparison. */
const RENEW_MS = 7 * 86_400_000

interface Kept {
  event_type: string | null
  data_type: string | null
  callback_url: string
  follows_base_url: boolean
}

/**
 * Compares what is wanted with what the provider has, and repairs what differs: what is gone is created again, what was
 * moved is moved back, or after API_BASE_URL, what was stopped or has a former secret of ours is given what it lacks, what
 * ends soon is renewed. @throws AppError as above
 */
export function repairSubscriptions(means: SubscriptionMeans, provider: string): Promise<readonly Result[]> {
  return opened(means, provider, async (open) => {
    const rows = await means.parts.db.query<Kept>(
      'select event_type, data_type, callback_url, follows_base_url from provider_subscription where provider = $1',
      [provider],
    )
    const there = await listed(open)
    const results: Result[] = []
    for (const { event_type: eventType, data_type: dataType, ...row } of rows) {
      const url = row.follows_base_url ? open.client.noticesUri : row.callback_url
      const wanted = { ...(eventType !== null && { eventType }), ...(dataType !== null && { dataType }) }
      const one = there.find((each) => isFor(each, wanted))
      const endsSoon = one?.expiresAtMs !== undefined && one.expiresAtMs < Date.now() + RENEW_MS
      const result =
        one && endsSoon && one.url === url ? await renew(open, one) : await settle(open, wanted, url, there)
      if (result.status === 'error') await noteError(open, wanted, result.error ?? '')
      results.push(result)
    }
    return results
  })
}
