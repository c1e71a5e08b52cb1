import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Queryable } from '../db/database.ts'
import { errors, shortened } from '../errors.ts'
import type { Keys } from '../http/tokens.ts'
import { callOf } from '../provider-client/call.ts'
import type { OAuthClient } from '../provider-client/clients.ts'
import { NoAnswer } from '../provider-client/http.ts'
import type { Identity, OAuth, Tokens } from '../providers/provider.ts'
import { grantedScopes } from '../providers/scopes.ts'
import { storable } from '../text.ts'
import { connect } from './connect.ts'
import { limitText, noteConsentError } from './consent-error.ts'
import { leaveAtOnce } from './leave.ts'
import { askedOf, type OAuthParts } from './parts.ts'
import { type Asked, challengeOf, createState, takeState, verifierOf } from './state.ts'
import { requestTokens } from './token-request.ts'

/** A new consent: where to send the browser, with the state that comes back. */
export interface Authorization {
  readonly url: string
  readonly state: string
}

/** Asks for a consent: notes its state and builds the provider's address (RFC 6749, 4.1.1). @throws AppError not_found */
export async function authorize(
  { db, keys }: { db: Queryable; keys: Pick<Keys, 'oauthVerifier'> },
  client: OAuthClient,
  asked: Asked,
): Promise<Authorization> {
  const state = await createState(db, asked)
  const oauth = client.oauth(null)
  const url = new URL(oauth.authorizeUrl)
  const parameters = {
    response_type: 'code',
    client_id: client.settings.clientId,
    redirect_uri: client.redirectUri,
    ...(client.scope && { scope: client.scope }),
    state,
    ...(oauth.pkce && { code_challenge: challengeOf(verifierOf(keys, state)), code_challenge_method: 'S256' }),
    ...oauth.params,
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return { url: url.href, state }
}

/** What a provider sends back through the browser (contract 6.5). */
export interface Callback {
  readonly code?: string | undefined
  readonly state?: string | undefined
  readonly scope?: string | undefined
  readonly error?: string | undefined
  readonly error_description?: string | undefined
}

/** Where the browser goes: to the caller's page, to our page of success, or to our page of failures. */
export type Landing =
  | { readonly kind: 'page'; readonly uri: string }
  | { readonly kind: 'connected'; readonly userId: string }
  /** `isOurs`: the message is for the person, and nobody else wrote any of it. */
  | { readonly kind: 'failed'; readonly message: string; readonly isOurs: boolean }

/** Wait before asking for the account a second time; it doubles with each further attempt. */
const IDENTIFY_AGAIN_MS = 500

/** What the callback knows beside the provider's parameters. */
export interface CallbackContext {
  readonly parts: OAuthParts
  readonly client: OAuthClient
  readonly keys: Pick<Keys, 'oauthVerifier'>
  /** What the browser's cookie holds. */
  readonly browser: string | undefined
  /** Whether the provider is enabled. */
  readonly isEnabled: () => Promise<boolean>
}

/** Characters of a provider's error that its page shows. */
const MESSAGE_CHARACTERS = 200

/**
 * Completes a consent: exchanges the code, asks whose account it is, and stores the connection (contract 6.5).
 * @throws AppError for a state that is not valid, and when the code cannot be exchanged
 */
export async function complete(context: CallbackContext, callback: Callback): Promise<Landing> {
  const { parts, client, browser } = context
  const { code, state, error } = callback
  if (error) {
    const asked = state ? await takeState(parts.db, state, browser) : undefined
    // Without a state of ours, anybody may have sent it.
    if (asked?.provider === client.id) {
      noteConsentError(parts, client.id, error)
      const limited = limitText(client, error)
      if (limited !== undefined) return failed(limited)
    }
    const message = shortened(`${error}: ${callback.error_description || 'Unknown error'}`, MESSAGE_CHARACTERS)
    return { kind: 'failed', message: message.slice(0, MESSAGE_CHARACTERS).toWellFormed(), isOurs: false }
  }
  if (!code || !state) return { kind: 'failed', message: 'Missing OAuth parameters', isOurs: false }
  const taken = await takeState(parts.db, state, browser)
  if (!taken) throw errors.badState()
  if (taken.provider !== client.id) throw errors.wrongState()
  if (!taken.sameBrowser) throw errors.otherBrowser()
  if (!(await context.isEnabled())) throw errors.providerDisabled(client.id)
  const oauth = client.oauth(null)
  const tokens = await exchange(context, oauth, code, state)
  const ref = randomUUID()
  const consent = await identified({ parts, client, oauth, tokens, ref })
  if (!consent)
    return failed(`${client.name} granted access, but did not say whose. Nothing was connected. Please connect again.`)
  const told = consent.account.scope
  const scope = told === undefined ? (tokens.scope ?? callback.scope ?? null) : told
  const problem = consent.refused ?? withoutScopes(client, oauth, scope)
  if (problem !== undefined) {
    await leaveAtOnce(parts, { client, oauth, tokens, account: consent.account })
    return failed(problem)
  }
  const issuer = oauth.issuer ?? null
  const asked = { userId: taken.userId, provider: client.id, account: consent.account, ref, tokens, scope, issuer }
  const connected = await connect(parts, asked, consent.stillLives).catch(async (error) => {
    await leaveAtOnce(parts, { client, oauth, tokens, account: consent.account })
    throw error
  })
  if (!connected) {
    return failed(`${client.name} has just ended an earlier connection of this account. Please connect again.`)
  }
  return taken.redirectUri === null
    ? { kind: 'connected', userId: taken.userId }
    : { kind: 'page', uri: taken.redirectUri }
}

const failed = (message: string): Landing => ({ kind: 'failed', message, isOurs: true })

/** Exchanges the code for tokens. Never repeated, since a code works once. @throws AppError exchange_refused, exchange_failed */
async function exchange(
  { parts, client, keys }: CallbackContext,
  oauth: OAuth,
  code: string,
  state: string,
): Promise<Tokens> {
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: client.redirectUri,
    ...(oauth.pkce && { code_verifier: verifierOf(keys, state) }),
  }
  const answer = await requestTokens({ http: parts.http, client, oauth, form, asked: askedOf(parts) }).catch(
    (error: unknown) => {
      if (error instanceof NoAnswer) throw errors.exchangeFailed(error.message)
      throw error
    },
  )
  if (answer.kind === 'refusal') throw errors.exchangeRefused(answer.text)
  if (answer.kind === 'later') throw errors.exchangeFailed(answer.text)
  return answer.tokens
}

interface Identified {
  account: Identity
  /** Why the provider does not register the account, for people to read; undefined: it does. */
  refused: string | undefined
  /** Whether the tokens still work, and the account is registered. */
  stillLives: () => Promise<boolean>
}

/** Longest id of an account, in characters. */
const MAX_ID = 255

/** New tokens of an account that is not known yet; `ref`: our id to register the account under. */
interface Unknown {
  parts: OAuthParts
  client: OAuthClient
  oauth: OAuth
  tokens: Tokens
  ref: string
}

/**
 * Asks whose tokens they are, and registers the account where the provider requires it. Undefined: the provider did not
 * answer within `identifyMs`, although it was asked repeatedly.
 */
async function identified({ parts, client, oauth, tokens, ref }: Unknown): Promise<Identified | undefined> {
  const deadline = Date.now() + parts.identifyMs
  const call = callOf({ http: parts.http, client, oauth, token: tokens.access, asked: askedOf(parts) })
  const identify = async () => {
    const account = cleaned(await oauth.identify(tokens, call))
    const text = await oauth.enrol?.({ ...account, ref }, call)
    return { account, refused: text === undefined ? undefined : storable(text) }
  }
  const stillLives = () =>
    identify().then(
      ({ refused }) => refused === undefined,
      () => false,
    )
  for (let waitMs = IDENTIFY_AGAIN_MS; ; waitMs *= 2) {
    try {
      return { ...(await withinTime(identify(), deadline)), stillLives }
    } catch (error) {
      parts.log.warn({ err: error, provider: client.id }, 'a provider did not say whose account was connected')
      if (Date.now() + waitMs >= deadline) return undefined
      await delay(waitMs)
    }
  }
}

/** The account, ready to be stored. @throws Error if its id cannot be stored as it is: a cleaned id may be another account's */
function cleaned({ id, username, zone, scope }: Identity): Identity {
  if (id !== null && id.length > MAX_ID) throw new Error('the id of the account is too long')
  if (id !== null && storable(id) !== id) throw new Error('no id can be like this')
  const known = { id, username: username && storable(username), zone: zone && storable(zone) }
  return scope === undefined ? known : { ...known, scope: scope && storable(scope) }
}

function withinTime<T>(work: Promise<T>, deadline: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error('there was no answer in time'))
    const timer = setTimeout(late, Math.max(0, deadline - Date.now()))
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** What to tell the person if a needed permission was not granted; undefined: nothing is missing. */
function withoutScopes({ name }: OAuthClient, oauth: OAuth, scope: string | null): string | undefined {
  const granted = grantedScopes(scope, oauth)
  if (granted === null) return undefined
  const missing = (oauth.needs ?? []).filter(({ anyOf }) => !anyOf.some((one) => granted.has(one)))
  if (missing.length === 0) return undefined
  const said = missing.map(({ words }) => words).join(', and ')
  return `Nothing was connected. Connect again, and on the page of ${name} allow ${said}.`
}
