// Notices as providers sign them, and the part of a service that opens them.
import { createHmac } from 'node:crypto'
import type { Test } from 'tap'
import { openDatabase } from '../../server/db/database.ts'
import { LANE_KINDS } from '../../server/intake/notices/lanes.ts'
import { laneOf, type OpenMeans, openDue } from '../../server/intake/notices/open.ts'
import { startOpening } from '../../server/intake/notices/opening.ts'
import { notifyingProviders } from '../../server/providers/index.ts'
import type { NoticesTask, Opened } from '../../workers/notices.ts'
import type { TestApp } from './app.ts'

const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text)

/** The headers with which a provider sends a body; `atMs`: when it says that is. */
export type Sign = (secret: string, body: string, atMs?: number) => Record<string, string>

/** By provider, as its fact page says. */
export const signs = {
  oura: (secret, body, atMs = Date.now()) => ({
    'x-oura-timestamp': String(atMs),
    'x-oura-signature': hmac(secret, `${atMs}${body}`).digest('hex').toUpperCase(),
  }),
  whoop: (secret, body, atMs = Date.now()) => ({
    'x-whoop-signature-timestamp': String(atMs),
    'x-whoop-signature': hmac(secret, `${atMs}${body}`).digest('base64'),
  }),
  polar: (secret, body) => ({ 'polar-webhook-signature': hmac(secret, body).digest('hex') }),
  strava: (secret, body, atMs = Date.now()) => {
    const seconds = Math.floor(atMs / 1000)
    return { 'x-strava-signature': `t=${seconds},v1=${hmac(secret, `${seconds}.${body}`).digest('hex')}` }
  },
} satisfies Record<string, Sign>

/** What proves a notice: headers, and what is behind the address. */
export interface Proof {
  readonly headers: Record<string, string>
  readonly query: string
}

/** Of all providers that notify; `id` is that of the client. */
export const proofs: Record<string, (secret: string, body: string, atMs?: number, id?: string) => Proof> = {
  ...Object.fromEntries(
    Object.entries(signs).map(([provider, sign]: [string, Sign]) => [
      provider,
      (secret: string, body: string, atMs?: number) => ({ headers: sign(secret, body, atMs), query: '' }),
    ]),
  ),
  suunto: (secret, body) => ({
    headers: { 'x-hmac-sha256-signature': `sha256=${hmac(secret, body).digest('hex')}` },
    query: '',
  }),
  garmin: (secret, _body, _atMs, id = 'id') => ({ headers: { 'garmin-client-id': id }, query: keyed('k', secret) }),
  withings: (secret) => ({ headers: {}, query: keyed('token', secret) }),
  google_health: (secret) => ({ headers: { authorization: `Bearer ${secret}` }, query: '' }),
}

const keyed = (name: string, secret: string) => `?${new URLSearchParams({ [name]: secret })}`

export type Notifying = keyof typeof signs

/** Sends a notice to a service. */
export function notify(
  app: Pick<TestApp, 'request'>,
  provider: string,
  body: string | Uint8Array,
  { headers = {}, query = '' }: { headers?: Record<string, string>; query?: string } = {},
) {
  const path = `/api/v1/providers/${provider}/webhooks${query}`
  return app.request('POST', path, { body, auth: 'none', headers: { 'content-type': 'application/json', ...headers } })
}

/** What opening works with, on connections of its own. */
export function openMeans(t: Test, app: TestApp): OpenMeans {
  const db = openDatabase({
    ...{ url: app.databaseUrl, name: 'notices', maxConnections: 3, statementTimeoutMs: 60_000, onError: () => {} },
  })
  t.teardown(() => db.end())
  return { db, parts: app.deps.oauth, bodies: app.noticeBodies, read: (task) => readKnown(app, task) }
}

/** Reads notices. Whom each is about was known when it came, or else it would be opened out of its order. */
async function readKnown(app: TestApp, task: NoticesTask): Promise<Opened[]> {
  const accountsIn = notifyingProviders.get(task.provider)?.accounts
  const known = task.bodies.map(({ body }) => new Set(accountsIn?.(body)))
  const opened = await app.threads().openNotices(task)
  for (const [at, notices] of opened.entries())
    for (const { account } of notices === 'malformed' ? [] : notices)
      if (!known[at]?.has(account)) throw new Error(`it was not known that a notice is about ${account}`)
  return opened
}

/** Starts opening notices as the service does; ends with the test. */
export async function startOpeningNotices(t: Test, app: TestApp): Promise<void> {
  const stop = await startOpening(openMeans(t, app))
  t.teardown(stop)
}

/** Opens what is due of a provider. */
export async function openAll(means: OpenMeans, provider: string): Promise<void> {
  for (const kind of LANE_KINDS) {
    const lane = laneOf(provider, kind)
    while ((await openDue(means, lane)) === 'more');
  }
}
