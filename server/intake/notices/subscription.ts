import { createHash } from 'node:crypto'
import { errors } from '../../errors.ts'
import { askedOf, type OAuthParts } from '../../oauth/parts.ts'
import { applicationToken, NoApplicationToken } from '../../provider-client/application-token.ts'
import { callOf, excerpt, ForbiddenAddress } from '../../provider-client/call.ts'
import type { OAuthClient } from '../../provider-client/clients.ts'
import { NoAnswer, type Received } from '../../provider-client/http.ts'
import type { Notices, Subscribed, Subscriptions, Wanted } from '../../providers/notices.ts'
import type { Json } from '../../providers/part.ts'
import type { Request } from '../../providers/provider.ts'
import { storable } from '../../text.ts'
import { isoInstant } from '../../time.ts'
import { keepGiven } from './keys.ts'
import type { KeepLease } from './lease.ts'

// How one subscription at a provider is made, moved, renewed and noted here.

/** Characters of a provider's answer that a result repeats. */
const TEXT = 300

/** What registering our address at providers works with. */
export interface SubscriptionMeans {
  readonly parts: Pick<OAuthParts, 'db' | 'vault' | 'http' | 'clients' | 'metrics' | 'log'>
  noticesOf(provider: string): Notices | undefined
}

/** What became of a subscription (contract 8.2). */
export interface Result {
  readonly subscription_id?: string
  readonly status: 'created' | 'updated' | 'patched' | 'deleted' | 'skipped' | 'renewed' | 'error'
  readonly data_type?: string
  readonly event_type?: string
  readonly reason?: string
  readonly error?: string
  /** The subscription as it is shown. */
  readonly response?: Json
}

/** A provider whose subscriptions are looked at or changed. */
export interface Open {
  readonly provider: string
  readonly means: SubscriptionMeans
  readonly client: OAuthClient
  readonly notices: Notices
  readonly calls: Subscriptions
  readonly keep: KeepLease
}

/** What was asked: an answer that is good, or what is wrong. */
type Said = { readonly ok: Received } | { readonly refused: 'exists' | 'missing' | undefined; readonly text: string }

/** Whether a subscription is the one that is wanted. */
export const isFor = (one: Wanted, wanted: Wanted) =>
  one.eventType === wanted.eventType && one.dataType === wanted.dataType

const typesOf = ({ eventType, dataType }: Wanted) => ({
  ...(dataType !== undefined && { data_type: dataType }),
  ...(eventType !== undefined && { event_type: eventType }),
})

/** Makes what is wanted be there, at an address. */
export async function settle(open: Open, wanted: Wanted, url: string, there: readonly Subscribed[]): Promise<Result> {
  const { calls } = open
  const one = there.find((each) => isFor(each, wanted))
  if (!one) return create(open, wanted, url)
  const noted = await notedOf(open, wanted)
  if (open.notices.givesSigningSecret && !(noted?.subscription_id === one.id && (await isGiven(open)))) {
    const error = 'Its signing secret is not known here: delete the subscription, and create it again'
    return { ...typesOf(wanted), subscription_id: one.id, status: 'error', error }
  }
  if (one.url !== url) {
    const result = await move(open, one, url)
    return result.status === 'updated' && calls.wanted.length === 1 && calls.update
      ? { ...result, status: 'patched' }
      : result
  }
  if (one.isActive === false || (noted?.given ?? null) !== givenBy(calls)) return resume(open, one, url)
  await noteThere(open, wanted, { one, url })
  return { ...typesOf(wanted), subscription_id: one.id, status: 'skipped' }
}

async function create(open: Open, wanted: Wanted, url: string): Promise<Result> {
  const said = await ask(open, open.calls.create(wanted, url))
  if ('refused' in said) {
    if (said.refused === 'exists') return { ...typesOf(wanted), status: 'skipped', reason: 'already_exists' }
    // The daily comparison tries again.
    await noteThere(open, wanted, { one: undefined, url })
    await noteError(open, wanted, said.text)
    return { ...typesOf(wanted), status: 'error', error: said.text }
  }
  const [one] = open.calls.read(said.ok)
  if (!one) return { ...typesOf(wanted), status: 'error', error: 'The provider does not say what it created' }
  const isUseless = open.notices.givesSigningSecret && one.signingSecret === undefined
  await noteThere(open, wanted, { one: isUseless ? undefined : one, url })
  if (isUseless) {
    return {
      ...typesOf(wanted),
      subscription_id: one.id,
      status: 'error',
      error: 'The provider gave no signing secret',
    }
  }
  return { ...typesOf(wanted), subscription_id: one.id, status: 'created', response: one.shown }
}

/** Gives a subscription another address; where that is not offered it is removed, and created again. */
export async function move(open: Open, one: Subscribed, url: string): Promise<Result> {
  const { calls } = open
  const types = typesOf(one)
  if (calls.update) {
    const said = await ask(open, calls.update(one, url))
    if ('refused' in said) return { ...types, subscription_id: one.id, status: 'error', error: said.text }
    await noteThere(open, one, { one: { ...one, ...calls.read(said.ok)[0] }, url })
    return { ...types, subscription_id: one.id, status: 'updated' }
  }
  const said = await ask(open, calls.remove(one.id))
  if ('refused' in said && said.refused !== 'missing')
    return { ...types, subscription_id: one.id, status: 'error', error: said.text }
  return createAnew(open, one, url)
}

/** Creates what was just removed; where the new address is refused, at the former one. */
async function createAnew(open: Open, one: Subscribed, url: string): Promise<Result> {
  // From here on it is missing at the provider: should this process end, the daily comparison repairs that.
  await noteThere(open, one, { one: undefined, url: one.url ?? url })
  const created = await create(open, one, url)
  if (created.status !== 'error' || one.url === null || one.url === url) return created
  const again = await create(open, one, one.url)
  return { ...created, subscription_id: again.subscription_id ?? one.id }
}

async function resume(open: Open, one: Subscribed, url: string): Promise<Result> {
  const { activate } = open.calls
  if (!activate) return move(open, one, url)
  const said = await ask(open, activate(one))
  const types = { ...typesOf(one), subscription_id: one.id }
  if ('refused' in said) return { ...types, status: 'error', error: said.text }
  // It went meanwhile, so nothing was resumed (polar.md 4).
  if (said.ok.status === 204) return create(open, one, url)
  await noteThere(open, one, { one, url })
  return { ...types, status: 'updated' }
}

/** Extends a subscription. */
export async function renew(open: Open, one: Subscribed): Promise<Result & { id: string }> {
  const { renew: request, read } = open.calls
  const types = { ...typesOf(one), id: one.id, subscription_id: one.id }
  const said = request && (await ask(open, request(one)))
  if (!said || 'refused' in said) return { ...types, status: 'error', error: said?.text ?? 'It cannot be renewed' }
  const renewed = { ...one, ...read(said.ok)[0] }
  if (one.url !== null) await noteThere(open, one, { one: renewed, url: one.url })
  return { ...types, status: 'renewed', response: renewed.shown }
}

/** What the provider has. @throws AppError provider_failed */
export async function listed(open: Open): Promise<readonly Subscribed[]> {
  const said = await ask(open, open.calls.list())
  if ('refused' in said) throw errors.providerFailed(open.client.name, said.text)
  return open.calls.read(said.ok)
}

/** Makes a request of the application; what is wrong is said without secrets. */
export async function ask(open: Open, request: Request): Promise<Said> {
  const { means, client, calls, keep } = open
  const { http } = means.parts
  await keep()
  const options = { http, client, oauth: client.oauth(null), asked: askedOf(means.parts) }
  try {
    const own = request.as === 'application' ? await applicationToken(options) : undefined
    const answer = await callOf({ ...options, token: null, ...(own !== undefined && { applicationToken: own }) })(
      request,
    )
    if (answer.status >= 200 && answer.status < 300) return { ok: answer }
    const text = answer.body.subarray(0, 4_000).toString().trim() || `status ${answer.status}`
    const usual = answer.status === 409 ? 'exists' : answer.status === 404 ? 'missing' : undefined
    return { refused: calls.refusal?.(answer) ?? usual, text: clean(client, text) }
  } catch (error) {
    if (error instanceof NoAnswer) return { refused: undefined, text: `no answer: ${error.message}` }
    if (error instanceof ForbiddenAddress) return { refused: undefined, text: error.message }
    if (error instanceof NoApplicationToken) return { refused: undefined, text: clean(client, error.message) }
    throw error
  }
}

const clean = ({ settings }: OAuthClient, text: string) =>
  storable(excerpt(text, [settings.clientSecret, ...Object.values(settings.more)], TEXT))

const givenBy = ({ gives }: Subscriptions): string | null =>
  gives === undefined ? null : createHash('sha256').update(gives).digest('hex')

const NOTED_SQL = `
  select subscription_id, encode(given_sha256, 'hex') as given
  from provider_subscription
  where provider = $1 and event_type is not distinct from $2 and data_type is not distinct from $3`

/** What is noted of a subscription; undefined: it is not one that was wanted before. */
async function notedOf({ means: { parts }, provider }: Open, { eventType = null, dataType = null }: NullableWanted) {
  const rows = await parts.db.query<Noted>(NOTED_SQL, [provider, eventType, dataType])
  return rows[0]
}

interface Noted {
  readonly subscription_id: string | null
  readonly given: string | null
}

interface NullableWanted {
  readonly eventType?: string | null
  readonly dataType?: string | null
}

async function isGiven({ means: { parts }, provider }: Open): Promise<boolean> {
  const given = await parts.db.query(`select from provider_secret where provider = $1 and name = 'given'`, [provider])
  return given.length > 0
}

const NOTE_SQL = `
  insert into provider_subscription as s (
    provider, event_type, data_type, subscription_id, callback_url, expires_at, follows_base_url, given_sha256
  )
  values ($1, $2, $3, $4, $5, $6, $7, decode($8, 'hex'))
  on conflict (provider, event_type, data_type) do update
  set subscription_id = excluded.subscription_id, callback_url = excluded.callback_url, expires_at = excluded.expires_at,
      follows_base_url = excluded.follows_base_url, given_sha256 = excluded.given_sha256,
      checked_at = now(), error = null`

/** Notes that a subscription is wanted at an address, and as what it is there; the secret that came with it is kept. */
async function noteThere(
  { means: { parts }, provider, client, calls }: Open,
  { eventType = null, dataType = null }: NullableWanted,
  { one, url }: { one: Subscribed | undefined; url: string },
): Promise<void> {
  const endsAt = one?.expiresAtMs === undefined ? null : isoInstant(one.expiresAtMs)
  await parts.db.transaction(async (tx) => {
    const isOurs = url === client.noticesUri
    const noted = [provider, eventType, dataType, one?.id ?? null, url, endsAt, isOurs, givenBy(calls)]
    await tx.query(NOTE_SQL, noted)
    if (one?.signingSecret !== undefined) await keepGiven(tx, parts, provider, one.signingSecret)
  })
}

/** Notes that what is wanted cannot be had. */
export async function noteError({ means: { parts }, provider }: Open, wanted: Wanted, error: string): Promise<void> {
  const { eventType = null, dataType = null } = wanted
  parts.log.error({ provider, eventType, dataType, reason: error }, 'a subscription cannot be repaired')
  await parts.db.query(
    `update provider_subscription set error = $4, checked_at = now()
     where provider = $1 and event_type is not distinct from $2 and data_type is not distinct from $3`,
    [provider, eventType, dataType, error],
  )
}
