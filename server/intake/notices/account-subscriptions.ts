import { createHash } from 'node:crypto'
import { type LiveSyncMode, providerByName } from '../../catalogue/providers.ts'
import type { Database } from '../../db/database.ts'
import { AppError } from '../../errors.ts'
import type { OAuthParts } from '../../oauth/parts.ts'
import { excerpt } from '../../provider-client/call.ts'
import { noticesUri, type OAuthClient } from '../../provider-client/clients.ts'
import { NoAnswer, type Received } from '../../provider-client/http.ts'
import type { AccountSubscribed, AccountSubscriptions, Notices } from '../../providers/notices.ts'
import type { Request } from '../../providers/provider.ts'
import { grantedScopes } from '../../providers/scopes.ts'
import { type Account, type AccountMeans, openAccount } from '../pulls/account.ts'
import { BudgetClosed } from '../pulls/budget.ts'
import { verdictOf } from '../pulls/verdicts.ts'
import { ownSecrets } from './keys.ts'

// Subscriptions of providers that want one for each account. What is wanted follows from the mode of the provider, the
// address of this service and its secret; a job compares it with what was settled, so nobody else has to think of it.

/** Accounts that are looked at in one run of the job. */
const AT_ONCE = 100

/** Characters of a provider's answer that an error repeats. */
const TEXT = 300

/** What subscribing accounts works with. */
export interface AccountSubscriptionMeans extends AccountMeans {
  readonly db: Database
  readonly parts: OAuthParts
  readonly apiBaseUrl: string
  readonly notifying: ReadonlyMap<string, Notices>
}

/** What is wanted of a provider's accounts; address null: that they are not subscribed to. */
interface Wanted {
  readonly client: OAuthClient
  readonly calls: AccountSubscriptions
  readonly address: string
  readonly isWanted: boolean
  readonly secrets: readonly string[]
}

const MODES_SQL = `
  select p.provider, coalesce(s.is_enabled, true) as is_enabled, s.live_sync_mode as mode
  from unnest($1::text[]) p (provider)
  left join provider_setting s using (provider)`

const ADD_SQL = `
  insert into account_subscription (grant_id)
  select g.id
  from provider_grant g
  where g.provider = any ($1) and g.state = 'live'
    and exists (select from connection c where c.grant_id = g.id and c.status = 'active')
    and not exists (select from account_subscription s where s.grant_id = g.id)
  order by g.id
  on conflict do nothing`

// Those that are looked at, or failed, wait for their time; all others are due as well when something else is wanted, or
// when somebody has consented anew.
const CLAIM_SQL = `
  with due as (
    select s.grant_id
    from account_subscription s
    join provider_grant g on g.id = s.grant_id
    join unnest($1::text[], $2::text[]) w (provider, address) on w.provider = g.provider
    where g.state = 'live'
      and exists (select from connection c where c.grant_id = g.id and c.status = 'active')
      and (s.due_at <= now()
        or s.attempts = 0 and (encode(s.address_sha256, 'hex') is distinct from w.address or s.checked_at < g.granted_at))
    order by s.due_at
    limit ${AT_ONCE}
    for update of s skip locked
  )
  update account_subscription s
  set due_at = now() + interval '5 minutes', attempts = least(s.attempts + 1, 1000)
  from due, provider_grant g
  where s.grant_id = due.grant_id and g.id = s.grant_id
  returning g.id, g.provider, g.issuer, g.scope, encode(s.address_sha256, 'hex') as address, s.attempts`

const SETTLED_SQL = `
  update account_subscription
  set address_sha256 = decode($2, 'hex'), checked_at = now(), due_at = now() + interval '1 day', attempts = 0, error = null
  where grant_id = $1`

const LATER_SQL = `
  update account_subscription
  set due_at = now() + make_interval(secs => $2), attempts = $3, error = coalesce($4, error)
  where grant_id = $1`

interface Claimed {
  readonly id: string
  readonly provider: string
  readonly issuer: string | null
  readonly scope: string | null
  /** As hexadecimal text. */
  readonly address: string | null
  readonly attempts: number
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** The job that subscribes to accounts, and compares them once a day. Returns whether there may be more. */
export async function subscribeAccounts(means: AccountSubscriptionMeans): Promise<boolean> {
  const { db } = means
  const wanted = await wantedBy(means)
  if (wanted.size === 0) return false
  const subscribing = [...wanted].flatMap(([provider, { isWanted }]) => (isWanted ? [provider] : []))
  await db.query(ADD_SQL, [subscribing])
  const addresses = [...wanted.values()].map(({ address, isWanted }) => (isWanted ? sha256(address) : null))
  const claimed = await db.query<Claimed>(CLAIM_SQL, [[...wanted.keys()], addresses])
  const closed = new Map<string, number>()
  for (const grant of claimed) {
    const seconds = ((closed.get(grant.provider) ?? 0) - Date.now()) / 1000
    if (seconds > 0) await later(db, grant, { seconds, attempts: grant.attempts - 1 })
    else await settle(means, wanted.get(grant.provider) as Wanted, grant, closed)
  }
  return claimed.length === AT_ONCE && closed.size === 0
}

/** What is wanted of each provider that is configured and enabled. */
async function wantedBy({ db, parts, apiBaseUrl, notifying }: AccountSubscriptionMeans): Promise<Map<string, Wanted>> {
  const providers = [...notifying].filter(([id, one]) => one.accountSubscriptions && parts.clients.has(id))
  const modes = await db.query<{ provider: string; is_enabled: boolean; mode: LiveSyncMode | null }>(MODES_SQL, [
    providers.map(([id]) => id),
  ])
  const wanted = new Map<string, Wanted>()
  for (const { provider, is_enabled: isEnabled, mode } of modes) {
    const [client, notices] = [parts.clients.get(provider), notifying.get(provider)]
    if (!client || !notices?.accountSubscriptions || !isEnabled) continue
    const own = await ownSecrets(db, parts, provider, notices)
    const calls = notices.accountSubscriptions({ settings: client.settings, own })
    const address = calls.address(noticesUri(apiBaseUrl, provider))
    const isWanted = (mode ?? providerByName.get(provider)?.defaultLiveSyncMode) === 'webhook'
    wanted.set(provider, { client, calls, address, isWanted, secrets: Object.values(own) })
  }
  return wanted
}

/** Subscribes to an account, or ends its subscriptions; `closed`: until when providers take no more requests. */
async function settle(
  means: AccountSubscriptionMeans,
  wanted: Wanted,
  grant: Claimed,
  closed: Map<string, number>,
): Promise<void> {
  const { db, parts } = means
  const { id, provider, attempts } = grant
  try {
    const account = openAccount(means, grant)
    const ask = (request: Request) => account.ask(request, 'live')
    const failure = await changed({ ask, wanted, grant, excerpt: account.excerpt })
    if (failure === undefined) {
      if (wanted.isWanted) await db.query(SETTLED_SQL, [id, sha256(wanted.address)])
      else await db.query('delete from account_subscription where grant_id = $1', [id])
      return
    }
    await failed(means, grant, failure)
  } catch (error) {
    if (error instanceof BudgetClosed) {
      closed.set(provider, error.untilMs)
      await later(db, grant, { seconds: (error.untilMs - Date.now()) / 1000, attempts: attempts - 1 })
    } else if (error instanceof NoAnswer || error instanceof AppError) await failed(means, grant, error.message)
    else {
      parts.log.error({ err: error, provider, grant: id }, 'an account cannot be subscribed to')
      throw error
    }
  }
}

/** What is asked for one account. */
interface Asking {
  readonly ask: (request: Request) => Promise<Received>
  readonly wanted: Wanted
  readonly grant: Claimed
  readonly excerpt: Account['excerpt']
}

/** Makes what is wanted be there, and removes what is ours and not wanted. Returns what failed. */
export async function changed({ ask, wanted, grant, excerpt: clean }: Asking): Promise<string | undefined> {
  const { client, calls, address, isWanted, secrets } = wanted
  const { api } = client.provider
  const said = (answer: Received) => {
    const text = api.problem?.(answer) ?? `status ${answer.status}`
    return excerpt(clean(text), secrets, TEXT)
  }
  const listed = await ask(calls.list())
  if (verdictOf(api, listed) !== 'ok') return said(listed)
  const there = calls.read(listed)
  const scope = grantedScopes(grant.scope, client.oauth(grant.issuer))
  const { missing, stale } = differences(there, isWanted ? calls.wanted(scope) : [], { address, former: grant.address })
  let failure: string | undefined
  for (const of of missing) {
    const answer = await ask(calls.create({ of, url: address }))
    const verdict = verdictOf(api, answer)
    // What the plan of the application does not have is not notified of.
    if (verdict !== 'ok' && verdict !== 'denied') failure ??= said(answer)
  }
  // That there is no such subscription is as good.
  for (const one of stale) await ask(calls.remove(one))
  return failure
}

/**
 * What is wanted and not there, and what is there, is ours and not wanted: at this service's address with another secret, or
 * at the one that was settled before (`former`, SHA-256 as hexadecimal text). Others may use the same application.
 */
export function differences(
  there: readonly AccountSubscribed[],
  wanted: readonly string[],
  { address, former }: { address: string; former: string | null },
): { missing: readonly string[]; stale: readonly AccountSubscribed[] } {
  const isThere = (of: string) => there.some((one) => one.of === of && one.url === address)
  const isOurs = (url: string) => withoutQuery(url) === withoutQuery(address) || sha256(url) === former
  return {
    missing: wanted.filter((of) => !isThere(of)),
    stale: there.filter(({ of, url }) => isOurs(url) && !(url === address && wanted.includes(of))),
  }
}

const withoutQuery = (url: string) => url.replace(/\?.*/, '')

/** Soon after the first failures, then after an hour, twice as long each time, up to a day. */
const SOON_SECONDS = 30
const SOON_ATTEMPTS = 3
const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400

async function failed({ db, parts }: AccountSubscriptionMeans, grant: Claimed, error: string): Promise<void> {
  const { id, provider, attempts } = grant
  parts.log.warn({ provider, grant: id, attempts, reason: error }, 'an account is not subscribed to')
  const seconds =
    attempts < SOON_ATTEMPTS ? SOON_SECONDS : Math.min(DAY_SECONDS, HOUR_SECONDS * 2 ** (attempts - SOON_ATTEMPTS))
  await later(db, grant, { seconds, attempts, error })
}

function later(
  db: Database,
  { id }: Claimed,
  { seconds, attempts, error }: { seconds: number; attempts: number; error?: string },
): Promise<unknown> {
  return db.query(LATER_SQL, [id, Math.max(0, seconds), Math.max(0, attempts), error ?? null])
}
