import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { Reply } from '../http.ts'
import type { Given, OAuthRequest, OAuthRules, Refusal } from '../oauth/rules.ts'
import { numberOf } from '../random.ts'
import type { Settings } from '../settings.ts'
import type { Person } from '../truth/person.ts'
import { refusal, statuses, success } from './envelope.ts'

export const TOKEN_PATH = '/v2/oauth2'
const NONCE_MS = 30 * 60_000

export function accountOf(person: Person): string {
  return String(70_000_000 + (numberOf(`withings/account/${person.seed}`) % 9_000_000))
}

/** What the server remembers of calls. */
export interface Memory {
  /** Instants of the last calls for tokens, by what they were about. */
  readonly calls: Map<string, number>
  /** When nonces were given. */
  readonly nonces: Map<string, number>
  /** Whether the application ends a consent just now, which nobody is told. */
  ending: boolean
}

/** Sign-in, with a call for everything. */
export function oauthOf(memory: Memory): OAuthRules {
  return {
    authorizePath: '/oauth2_user/authorize2',
    tokenPath: TOKEN_PATH,
    instead: (path, request) => instead(path, request, memory),
    separator: ',',
    scopes: {
      'user.info': 'Changes of the account, devices',
      'user.metrics': 'Weight, blood pressure, temperature, glucose',
      'user.activity': 'Activity, workouts and sleep',
      'user.sleepevents': 'Going to bed and getting up',
    },
    scopePrefix: '',
    refusesUnknownScopes: true,
    blankMeansAll: false,
    minStateLength: 1,
    client: 'form',
    repeatsRedirect: true,
    refresh: true,
    refreshSeconds: 365 * 86_400,
    graceEndsOnUse: true,
    accessEndsOnRefresh: false,
    callbackScope: false,
    memberLimitError: 'access_denied',
    reusedRefreshError: 'invalid_grant',
    shape,
    refused,
    other: () => undefined,
  }
}

/** Some accounts are numbers. */
function shape({ access, refresh, expiresInSeconds, scope, person }: Given): Record<string, unknown> {
  const account = accountOf(person)
  const body = {
    userid: person.strap === 3 ? Number(account) : account,
    ...{ access_token: access, refresh_token: refresh, expires_in: expiresInSeconds, scope },
    ...{ csrf_token: randomBytes(10).toString('hex'), token_type: 'Bearer' },
  }
  return { status: statuses.ok, body }
}

function refused({ error, description }: Refusal): Reply {
  const status = error === 'invalid_grant' ? statuses.parameters : statuses.client
  return refusal(status, `Invalid Params: ${description}`)
}

/** What one address does depends on `action`. */
function instead(path: string, request: OAuthRequest, memory: Memory): Reply | undefined {
  if (path !== TOKEN_PATH && path !== '/v2/signature') return undefined
  const { form, method } = request
  const action = form.get('action')
  if (method === 'POST' && path === '/v2/signature' && action === 'getnonce') return giveNonce(request, memory)
  if (method === 'POST' && path === TOKEN_PATH && action === 'requesttoken') return repeated(request, memory)
  if (method === 'POST' && path === TOKEN_PATH && action === 'revoke') return revoke(request, memory)
  return refusal(statuses.action, 'Not implemented')
}

/** The same call for a token again is refused for a while, whatever became of the first. */
function repeated({ form, nowMs, settings }: OAuthRequest, { calls }: Memory): Reply | undefined {
  const about = form.get('refresh_token') ?? form.get('code') ?? ''
  const key = createHash('sha256').update(about).digest('base64url')
  const before = calls.get(key)
  if (before !== undefined && nowMs - before < repeatSeconds(settings) * 1000)
    return refusal(statuses.tooMany, 'Too Many Requests')
  calls.set(key, nowMs)
  return undefined
}

function repeatSeconds({ own }: Settings): number {
  return Number(own.repeat_seconds)
}

/** Of the values of a call in the order of their names. */
function isSigned({ form, application }: OAuthRequest, names: readonly string[]): boolean {
  const text = [...names].sort().map((name) => form.get(name) ?? '')
  const expected = createHmac('sha256', application.secret).update(text.join(',')).digest('hex')
  return form.get('client_id') === application.id && form.get('signature') === expected
}

function giveNonce(request: OAuthRequest, { nonces }: Memory): Reply {
  const { form, nowMs } = request
  if (!isSigned(request, ['action', 'client_id', 'timestamp']))
    return refusal(statuses.parameters, 'Invalid Params: signature')
  const sent = Number(form.get('timestamp')) * 1000
  if (!(Math.abs(nowMs - sent) < NONCE_MS)) return refusal(statuses.parameters, 'Invalid Params: timestamp')
  const nonce = randomBytes(20).toString('hex')
  nonces.set(nonce, nowMs)
  return success({ nonce })
}

function revoke(request: OAuthRequest, memory: Memory): Reply {
  const { form, nowMs } = request
  const nonce = form.get('nonce') ?? ''
  const given = memory.nonces.get(nonce)
  memory.nonces.delete(nonce)
  if (given === undefined || nowMs - given > NONCE_MS) return refusal(statuses.parameters, 'Invalid Params: nonce')
  if (!isSigned(request, ['action', 'client_id', 'nonce']))
    return refusal(statuses.parameters, 'Invalid Params: signature')
  memory.ending = true
  const found = request.endAccount(form.get('userid') ?? '')
  memory.ending = false
  return found ? success({}) : refusal(statuses.parameters, 'Invalid Params: userid')
}
