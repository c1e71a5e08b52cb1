// A service that asks the simulator, and people of the simulator who connect it.
import type { Test } from 'tap'
import { type Config, loadConfig } from '../../server/config.ts'
import { type Database, openDatabase } from '../../server/db/database.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { planPulls } from '../../server/intake/pulls/plan.ts'
import { startPulls } from '../../server/intake/pulls/pulls.ts'
import { openAccessTokens } from '../../server/oauth/refresh.ts'
import type { HttpRequest, Received } from '../../server/provider-client/http.ts'
import { startTestApp, type TestApp } from './app.ts'
import { callBack, startGrantJobs } from './clouds.ts'
import type { Engine } from './servers.ts'
import { type Playing, play } from './simulator.ts'

/** How long it takes at most until what is due is planned. */
const PLANNED_MS = 20_000

/** As planPulls finds them, whoever has locked them. */
const DUE_SQL = `
  select from provider_grant g
  where g.state = 'live' and g.next_pull_at <= now() and g.provider = any ($1)
    and exists (select from connection c where c.grant_id = g.id and c.status = 'active')
    and coalesce((select s.is_enabled from provider_setting s where s.provider = g.provider), true)`

/** More requests than a test makes. */
const MANY = 1_000_000

export interface Simulated {
  app: TestApp
  simulator: Playing
}

type World = NonNullable<Parameters<typeof play>[1]>

/**
 * Starts a simulator whose time stands still at the present, and a service that knows no other providers. None of them
 * limits requests.
 */
export async function startSimulated(
  t: Test,
  engine: Engine,
  { world = {}, ...settings }: { world?: World } & Partial<Config> = {},
): Promise<Simulated> {
  const simulator = await play(t, { at: Date.now(), ...world })
  const limits = Array.from({ length: 5 }, () => MANY)
  for (const provider of Object.keys((await simulator.control('GET', 'settings')).body))
    await simulator.control('POST', 'settings', { provider, limits })
  const { providers, oauthRedirectOrigins } = loadConfig(simulator.env)
  const app = await startTestApp(t, engine, { providers, oauthRedirectOrigins, eventFeedEnabled: true, ...settings })
  // As if they had said so: before Strava does, few requests are made in a quarter of an hour; Suunto never does.
  await app.db.query(
    `insert into rate_budget (provider, seconds, provider_limit)
     values ('strava', 900, $1), ('strava', 86400, $1), ('suunto', 1, $1)`,
    [MANY],
  )
  return { app, simulator }
}

/** A person of the simulator connects a user; `more` goes to the consent page (docs/simulator.md). */
export async function connectPerson(
  app: Pick<TestApp, 'request'>,
  {
    user,
    provider,
    person,
    more = {},
  }: { user: string; provider: string; person: string; more?: Record<string, string> },
): Promise<void> {
  const { body } = await app.request('GET', `/api/v1/oauth/${provider}/authorize?user_id=${user}`)
  const url = new URL(body.authorization_url)
  for (const [name, value] of Object.entries({ auto: person, ...more })) url.searchParams.set(name, value)
  const consent = await fetch(url, { redirect: 'manual' })
  const { pathname, search } = new URL(consent.headers.get('location') ?? '')
  const answer = await callBack(app, pathname + search)
  const location = answer.headers.get('location') ?? ''
  if (!location.startsWith('/api/v1/oauth/success')) throw new Error(`not connected: ${answer.status} ${location}`)
}

/** Requests to a provider since then, oldest first: method and path. */
export async function askedOf({ control }: Pick<Playing, 'control'>, provider: string): Promise<string[]> {
  const { body } = await control('GET', `log?provider=${provider}`)
  return body.map(({ method, path }: { method: string; path: string }) => `${method} ${path}`)
}

/** The part of a service that asks providers and imports what they say. */
export interface Pulling {
  /** Makes every grant due, or those of these providers, and queues its pull. */
  pullNow(providers?: readonly string[]): Promise<void>
}

/**
 * Starts asking providers, and importing, as the service does; ends with the test. `answering` replaces answers on their
 * way to the service.
 */
export async function startPulling(
  t: Test,
  app: TestApp,
  answering: (path: string, answer: Received, token: string) => Received | Promise<Received> = (_, answer) => answer,
): Promise<Pulling> {
  const jobs = await startGrantJobs(t, app)
  const db = openDatabase({
    ...{ url: app.databaseUrl, name: 'pulls', maxConnections: 4, statementTimeoutMs: 60_000, onError: () => {} },
  })
  const { http } = app.deps.oauth
  const send = async (request: HttpRequest) =>
    answering(request.url.pathname, await http.send(request), request.headers.authorization ?? '')
  const parts = { ...app.deps.oauth, db, saving: db, http: { ...http, send } }
  const pulls = startPulls({ db, parts, tokens: openAccessTokens(parts), processId: jobs.processId })
  t.teardown(async () => {
    await pulls.stop()
    await db.end()
  })
  const { clients } = parts
  const { syncIntervalSeconds, reconcileIntervalSeconds } = app.deps.config
  return {
    async pullNow(providers = [...clients.keys()]) {
      // In the order of locks: others take several grants, too.
      await db.query(
        `update provider_grant set next_pull_at = now()
         where id in (select id from provider_grant where provider = any ($1) order by id for update)`,
        [providers],
      )
      // A grant that is locked at that moment, since a turn or a job is about to end, is planned once it is not.
      const isPlanned = async () => {
        while (await planPulls({ db, clients, syncIntervalSeconds, reconcileIntervalSeconds }));
        return (await db.query(DUE_SQL, [providers])).length === 0
      }
      if (!(await waitUntil(isPlanned, PLANNED_MS, 20))) throw new Error('some pulls are not planned')
    },
  }
}

/** As if what was asked of providers so far had been asked so many days ago. */
export async function daysPass({ db }: Pick<TestApp, 'db'>, days: number): Promise<void> {
  const columns = await db.query<{ name: string }>(
    `select column_name as name from information_schema.columns
     where table_schema = 'public' and table_name = 'stream_cursor' and data_type = 'timestamp with time zone'`,
  )
  const earlier = (name: string) => `${name} = ${name} - make_interval(days => $1)`
  await db.query(`update stream_cursor set ${columns.map(({ name }) => earlier(name))}`, [days])
  await db.query(`update provider_grant set ${earlier('granted_at')}`, [days])
}

/**
 * As if pulls were made at that instant, epoch milliseconds, at most some days before the present, and a day after the
 * last ones.
 */
export async function dayOfPulls({ db }: Pick<TestApp, 'db'>, nowMs: number): Promise<void> {
  await pullsUntil(db, nowMs)
  await db.query(`
    update stream_cursor
    set reached_week_at = reached_week_at - interval '1 day', reached_month_at = reached_month_at - interval '1 day'`)
}

/** Lets pulls that are planned from now on end at `nowMs` of the simulator, whose clock is not the database's. */
export async function pullsUntil(db: Database, nowMs: number): Promise<void> {
  await db.query(`
    create or replace function pull_until() returns trigger language plpgsql as $$
    begin
      new.hi := timestamptz '${new Date(nowMs).toISOString()}';
      new.lo := least(new.lo, new.hi - make_interval(days => coalesce(new.reach_days, 2)));
      return new;
    end
    $$`)
  // Making the trigger again would wait for every statement on the table.
  const [there] = await db.query(`select from pg_trigger where tgname = 'pull_until'`)
  if (there) return
  await db.query(`
    create trigger pull_until before insert on sync_task
    for each row when (new.kind = 'pull') execute function pull_until()`)
}

/** How long nothing may move before something is stuck. */
const PATIENCE_MS = 120_000

/** Waits until nothing is left to ask of providers, and everything that they answered is imported. */
export async function settled({ db }: Pick<TestApp, 'db'>): Promise<void> {
  let [last, movedMs] = ['', performance.now()]
  const nothingLeft = async () => {
    const state = await db.one<{ left: number; parcels: number }>(
      `select (select count(*) from sync_task) + (select count(*) from upload where status = 'queued')
              + (select count(*) from sync_run where status = 'in_progress') as left,
              (select count(*) from upload) as parcels`,
    )
    if (JSON.stringify(state) !== last) [last, movedMs] = [JSON.stringify(state), performance.now()]
    return state.left === 0
  }
  const isOver = async () => (await nothingLeft()) || performance.now() - movedMs > PATIENCE_MS
  await waitUntil(isOver, Number.POSITIVE_INFINITY, 50)
  if (await nothingLeft()) return
  const runs = await db.query(`select stage, status, message, error from sync_run where status = 'in_progress' limit 5`)
  const tasks = await db.query('select kind, stream, due_at, attempts from sync_task limit 5')
  const budgets = await db.query('select provider, live_until, history_until, closed_until from rate_budget limit 20')
  throw new Error(`something is left: ${JSON.stringify({ runs, tasks, budgets })}`)
}

/** What became of a stream in a run. */
export interface Report {
  native_type: string
  status: string
  error_code: string | null
  error: string | null
}

/** The streams of the last run, by name. */
export const reportsOf = ({ db }: Pick<TestApp, 'db'>): Promise<Report[]> =>
  db.query<Report>(
    `select p.native_type, p.status, p.error_code, p.error
     from sync_run_report p
     join (select run_key from sync_run order by started_at desc limit 1) r using (run_key)
     order by p.native_type`,
  )

/** Waits until the last run has asked for everything, whatever has to be asked again later. */
export async function askedOnce({ db }: Pick<TestApp, 'db'>): Promise<void> {
  const idle = async () => {
    const { left } = await db.one<{ left: number }>(
      `select count(*) as left from provider_grant
       where process_id is not null or least(asked_at, live_at, history_at) <= now()`,
    )
    return left === 0
  }
  if (!(await waitUntil(idle, 30_000, 20))) throw new Error('something was never asked')
}

/** As if the time had passed after which failed requests are made again. */
export async function timePasses({ db }: Pick<TestApp, 'db'>): Promise<void> {
  await db.query('update rate_budget set closed_until = null, live_until = null, history_until = null')
  await db.query('update sync_task set due_at = now()')
  await db.query(
    `update provider_grant set asked_at = now(), live_at = now() where id in (select grant_id from sync_task)`,
  )
}
