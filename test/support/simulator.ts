import type { Test } from 'tap'
import { type Simulator, startSimulator } from '../../simulator/server.ts'

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
      ask(`${env[`${provider.toUpperCase()}_API_URL`]}${path}`, { headers: { authorization: `Bearer ${token}` } }),
    control: (method, path, body) =>
      ask(`${url}/_control/${path}`, { method, ...(body && { body: JSON.stringify(body) }) }),
  }
}

/** Sends a request and reads its answer, JSON where it is; redirects are not followed. */
export async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const { status, headers, ...answer } = await fetchOnce(url, init)
  const isJson = headers.get('content-type')?.startsWith('application/json')
  return { status, headers, body: isJson ? JSON.parse(answer.text) : answer.text }
}

async function fetchOnce(url: string, init: RequestInit) {
  const answer = await fetch(url, { redirect: 'manual', ...init })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
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
    ...more,
  })
  return `${env[`${prefix}_AUTHORIZE_URL`]}?${query}`
}

const SCOPES: Record<string, string> = {
  oura: 'personal daily heartrate workout session spo2 stress heart_health ring_configuration'
    .split(' ')
    .map((name) => `extapi:${name}`)
    .join(' '),
  whoop: 'offline read:profile read:body_measurement read:cycles read:recovery read:sleep read:workout',
}

/** Sends a form to a provider's token endpoint, with the client's credentials. */
export function askToken({ env }: Simulator, provider: string, fields: Record<string, string>): Promise<Answer> {
  const prefix = provider.toUpperCase()
  const client = { client_id: env[`${prefix}_CLIENT_ID`] ?? '', client_secret: env[`${prefix}_CLIENT_SECRET`] ?? '' }
  const body = new URLSearchParams({ ...client, ...fields })
  return ask(env[`${prefix}_TOKEN_URL`] ?? '', { method: 'POST', body })
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
  })
  return body
}
