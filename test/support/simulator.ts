import { createHash } from 'node:crypto'
import type { Test } from 'tap'
import { type Simulator, startSimulator } from '../../simulator/server.ts'
import { exchange, type Sent } from './exchange.ts'

/** What time it is at first in tests of the simulator: a Saturday afternoon in Europe. */
export const START = Date.parse('2026-03-07T13:00:00Z')

/** A registered redirect address. */
export const CALLBACK = 'http://localhost:8000/api/v1/oauth/callback'

export interface Playing extends Simulator {
  /** Moves the machine's clock, by which tokens, budgets and data go. */
  wait(seconds: number): void
  /** A request to the API of a provider. */
  get(provider: string, path: string, token: string): Promise<Answer>
  control(method: string, path: string, body?: object): Promise<Answer>
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes
export type Json = any

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Json
}

/** Starts a simulator for a test, whose time stands still, at START unless another one is given. */
export async function play(
  t: Test,
  { at = START, ...options }: Partial<Parameters<typeof startSimulator>[0]> & { at?: number } = {},
): Promise<Playing> {
  let now = at
  const simulator = await startSimulator({ people: 5, days: 60, seed: 7, now: () => now, ...options })
  t.teardown(() => simulator.close())
  const { url, env } = simulator
  return {
    ...simulator,
    wait: (seconds) => {
      now += seconds * 1000
    },
    get: (provider, path, token) =>
      ask(`${env[`${provider.toUpperCase()}_API_URL`]}${path}`, {
        headers: { authorization: `Bearer ${token}`, 'ocp-apim-subscription-key': env.SUUNTO_SUBSCRIPTION_KEY ?? '' },
      }),
    control: (method, path, body) =>
      ask(`${url}/_control/${path}`, { method, ...(body && { body: JSON.stringify(body) }) }),
  }
}

/** Sends a request and reads its answer, JSON where it is; redirects are not followed. */
export async function ask(url: string, sent: Sent = {}): Promise<Answer> {
  const { status, headers, text } = await exchange(url, sent)
  const isJson = headers.get('content-type')?.startsWith('application/json')
  return { status, headers, body: isJson ? JSON.parse(text) : text }
}

/** The address of a consent page. */
export function consentUrl({ env }: Simulator, provider: string, more: Record<string, string> = {}): string {
  const prefix = provider.toUpperCase()
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: env[`${prefix}_CLIENT_ID`] ?? '',
    redirect_uri: CALLBACK,
    state: 'state-of-a-test',
    scope: SCOPES[provider] ?? '',
    ...(challenged.includes(provider) && { code_challenge: CHALLENGE, code_challenge_method: 'S256' }),
    ...(provider === 'google_health' && { access_type: 'offline', prompt: 'consent' }),
    ...more,
  })
  return `${env[`${prefix}_AUTHORIZE_URL`]}?${query}`
}

/** Who wants a proof key, and who wants the application in a header. */
const challenged = ['garmin', 'fitbit', 'google_health']
const basic = ['polar', 'suunto', 'fitbit']

/** What a code was asked for with, and what proves it. */
const VERIFIER = 'a-verifier-of-a-test-that-is-long-enough-for-it'
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

const SCOPES: Record<string, string> = {
  oura: 'personal daily heartrate workout session spo2 stress heart_health ring_configuration'
    .split(' ')
    .map((name) => `extapi:${name}`)
    .join(' '),
  whoop: 'offline read:profile read:body_measurement read:cycles read:recovery read:sleep read:workout',
  strava: 'activity:read_all,profile:read_all',
  polar: 'accesslink.read_all',
  withings: 'user.info,user.metrics,user.activity',
  google_health: [
    ...['openid', 'email'],
    ...['activity_and_fitness', 'health_metrics_and_measurements', 'nutrition', 'sleep', 'settings'].map(
      (name) => `https://www.googleapis.com/auth/googlehealth.${name}.readonly`,
    ),
  ].join(' '),
  ultrahuman: 'ring_data cgm_data profile',
  fitbit:
    'activity heartrate sleep profile weight oxygen_saturation respiratory_rate temperature cardio_fitness settings',
}

/** Sends a form to a provider's token endpoint, with the client's credentials where the provider wants them. */
export function askToken(simulator: Simulator, provider: string, fields: Record<string, string>): Promise<Answer> {
  const url = simulator.env[`${provider.toUpperCase()}_TOKEN_URL`] ?? ''
  const { id, secret } = clientOf(simulator, provider)
  if (basic.includes(provider))
    return ask(url, { method: 'POST', body: new URLSearchParams(fields), headers: basicOf(simulator, provider) })
  const action = provider === 'withings' ? { action: 'requesttoken' } : {}
  const body = new URLSearchParams({ ...action, client_id: id, client_secret: secret, ...fields })
  return ask(url, { method: 'POST', body })
}

/** The application that the variables name. */
export function clientOf({ env }: Simulator, provider: string): { id: string; secret: string } {
  const prefix = provider.toUpperCase()
  return { id: env[`${prefix}_CLIENT_ID`] ?? '', secret: env[`${prefix}_CLIENT_SECRET`] ?? '' }
}

/** The application in a header. */
export function basicOf(simulator: Simulator, provider: string): { authorization: string } {
  const { id, secret } = clientOf(simulator, provider)
  return { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` }
}

/** Registers whose token it is at Polar, which gives no data before. */
export function register({ env }: Simulator, token: string, member: string): Promise<Answer> {
  const body = JSON.stringify({ 'member-id': member })
  return ask(`${env.POLAR_API_URL}/v3/users`, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body })
}

/** What a record lacks of a sample of the provider's documentation: fields, their types, the forms of their times. */
export function unlike(where: string, sample: Json, found: Json): string[] {
  if (Array.isArray(sample) && Array.isArray(found))
    return sample.length > 0 && found.length > 0 ? unlike(`${where}[]`, sample[0], found[0]) : []
  if (typeof sample !== typeof found || Array.isArray(sample) !== Array.isArray(found))
    return [`${where} is ${JSON.stringify(found)?.slice(0, 60)}`]
  if (sample !== null && found !== null && typeof sample === 'object')
    return Object.keys(sample).flatMap((name) => unlike(`${where}.${name}`, sample[name], found[name]))
  const form = (text: unknown) => String(text).replaceAll(/\d+/g, '0').replace('-0:', '+0:')
  return /^\d{4}-\d\d-\d\dT/.test(String(sample)) && form(sample) !== form(found) ? [`${where} is ${found}`] : []
}

/** Where a consent leads, without the form. */
export async function allow(
  simulator: Simulator,
  provider: string,
  more: Record<string, string> = {},
): Promise<URLSearchParams> {
  const { headers } = await ask(consentUrl(simulator, provider, { auto: 'ana', ...more }))
  return new URL(headers.get('location') ?? 'nowhere:').searchParams
}

/** Tokens of a person, by key. */
export async function tokens(simulator: Simulator, provider: string, more: Record<string, string> = {}): Promise<Json> {
  const code = (await allow(simulator, provider, more)).get('code') ?? ''
  const { body } = await askToken(simulator, provider, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: CALLBACK,
    ...(challenged.includes(provider) && { code_verifier: VERIFIER }),
  })
  // One of them answers everything in an envelope.
  return provider === 'withings' ? body.body : body
}
