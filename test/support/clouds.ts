// A service with cloud providers of the tests, and people who connect them.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Config } from '../../server/config.ts'
import { openDatabase, type Queryable } from '../../server/db/database.ts'
import type { OAuthParts } from '../../server/oauth/parts.ts'
import { openAccessTokens } from '../../server/oauth/refresh.ts'
import { type Jobs, startJobs } from '../../server/queue.ts'
import { startTestApp, type TestAnswer, type TestApp } from './app.ts'
import type { Consent, OAuthProvider } from './oauth-provider.ts'
import { importerOf } from './sdk.ts'
import type { Engine } from './servers.ts'

/** Settings that a test replaces. */
type Overrides = Partial<Config> & { identifyMs?: number }

/** Starts a service that knows these providers, and no others. */
export async function startCloudApp(
  t: Test,
  engine: Engine,
  providers: readonly OAuthProvider[],
  overrides: Overrides = {},
): Promise<TestApp> {
  const dataDir = await mkdtemp(join(tmpdir(), 'pulsebase-clouds-'))
  t.teardown(() => rm(dataDir, { recursive: true, force: true }))
  return startTestApp(t, engine, {
    dataDir,
    eventFeedEnabled: true,
    clouds: new Map(providers.map(({ connector }) => [connector.id, connector])),
    providers: Object.fromEntries(providers.map(({ connector, config }) => [connector.id, config])),
    ...overrides,
  })
}

/** Asks for the connection of a user; path and query of authorize may have more. */
export const authorize = (app: TestApp, { connector }: OAuthProvider, user: string, more = ''): Promise<TestAnswer> =>
  app.request('GET', `/api/v1/oauth/${connector.id}/authorize?user_id=${user}${more}`)

/** The provider sends a browser back. */
export const callBack = (
  app: Pick<TestApp, 'request'>,
  path: string,
  headers: Record<string, string> = {},
): Promise<TestAnswer> => app.request('GET', path, { auth: 'none', headers })

/** A person connects an account; returns the id of its grant. */
export async function connectAccount(
  app: TestApp,
  provider: OAuthProvider,
  user: string,
  consent: Consent = {},
): Promise<string> {
  const { body } = await authorize(app, provider, user)
  const answer = await callBack(app, provider.consent(body.authorization_url, consent))
  const location = answer.headers.get('location') ?? ''
  if (!location.startsWith('/api/v1/oauth/success')) throw new Error(`not connected: ${answer.status} ${location}`)
  const { id } = await app.db.one<{ id: string }>(
    'select grant_id as id from connection where user_id = $1 and provider = $2',
    [user, provider.connector.id],
  )
  return id
}

/** Starts taking jobs of grants, as the service does; ends with the test. */
export async function startGrantJobs(t: Test, app: TestApp): Promise<Jobs> {
  const { log, config: settings } = app.deps
  const onError = () => {}
  const db = openDatabase({
    url: app.databaseUrl,
    name: 'grants',
    maxConnections: 5,
    statementTimeoutMs: 60_000,
    onError,
  })
  const parts: OAuthParts = { ...app.deps.oauth, db, saving: db }
  const grants = { parts, tokens: openAccessTokens(parts) }
  const jobs = await startJobs({
    url: app.databaseUrl,
    db,
    importer: importerOf(app),
    settings,
    concurrency: 2,
    log,
    grants,
  })
  t.teardown(async () => {
    await jobs.stop()
    await db.end()
  })
  return jobs
}

/** Events of the feed that tell of connections, oldest first. */
export async function connectionEvents(app: TestApp): Promise<{ type: string; data: Record<string, unknown> }[]> {
  const rows = await app.db.query<{ type: string; data: Buffer }>(
    `select type, data from event where type like 'connection.%' order by id`,
  )
  return rows.map(({ type, data }) => ({ type, data: JSON.parse(data.toString('utf8')) }))
}

/** Every row of every table, as text. */
export async function dumpOf(db: Queryable): Promise<string[]> {
  const tables = await db.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname in ('public', 'graphile_worker')`,
  )
  const rows = await Promise.all(
    tables.map(({ name }) => db.query<{ row: string }>(`select x::text as row from ${name} x`)),
  )
  return rows.flat().map(({ row }) => row)
}
