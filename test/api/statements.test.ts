// The cost of a read: a few statements, however much it shows. Every readable route is requested.
import t, { type Test } from 'tap'
import { routes } from '../../server/api/index.ts'
import type { Route } from '../../server/http/route.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createEndpoint, fanOut } from '../support/endpoints.ts'
import { workout } from '../support/event-lists.ts'
import {
  body,
  createUser,
  heartRate,
  importBody,
  oneEngine,
  record,
  startImports,
  steps,
  upload,
  waitForAll,
} from '../support/sdk.ts'
import { COUNTS_STATEMENTS, isOfOneProcess } from '../support/several.ts'
import { stage } from '../support/sleep.ts'
import { hearStatements } from '../support/statements.ts'
import { runs } from '../support/thorough.ts'

const MOST = 3
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const START_MS = Date.UTC(2025, 6, 1, 12)

/** A page of every list, and days of data that fill it. */
const PAGE = runs(8, 100)
const DAYS = PAGE + 2

/** Routes that are not requested, and why. */
const NOT_ASKED: Record<string, string> = {
  getConsoleSession: 'reads the sign-in that a cookie names: test/api/console.test.ts',
  streamSyncEvents: 'lasts as long as its client: what it reads is tested with streams, and in pages of 100',
  listProviderWorkouts: 'passes on what a provider answers: test/api/provider-sync.test.ts',
  getProviderWorkout: 'the same',
  getBackfillStatus: 'reads an account that sends its past: test/intake/pulls/backfill.test.ts',
  answerChallenge: 'answers a provider: test/intake/notices/receive.test.ts',
  listProviderSubscriptions: 'passes on what a provider answers: test/intake/notices/subscriptions.test.ts',
  getProviderSubscription: 'the same',
  authorizeProvider: 'leads a browser to a provider: test/oauth',
  completeConnection: 'the same, on the way back',
  connectionSucceeded: 'a page for a person that reads nothing: test/oauth',
}

/**
 * A scrape reads nine tables, one statement each, whatever is in them. Recovery reads days, their nights, what was
 * measured in these, and resting heart rates.
 */
const MOST_OF: Record<string, number> = { getMetrics: 9, getRecoverySummary: 5 }

/** Parameters, besides range and limit, with which a route reads everything; each query is requested. */
const QUERIES: Record<string, string[]> = {
  listUsers: ['', 'include=connections', 'include=connections,data', 'sort_by=last_synced_at'],
  getUser: ['include=connections'],
  getTimeseries: [
    '',
    'types=heart_rate',
    'filter_by_priority=true',
    ...['1min', '5min', '15min', '1hour'].flatMap((width) => [
      `resolution=${width}`,
      `resolution=${width}&filter_by_priority=true`,
      `resolution=${width}&include=extremes`,
    ]),
  ],
  getActivitySummary: ['', 'merge=none', 'merge=segments&explain=true', 'sort_order=desc'],
  getDataTimeline: ['', 'group_by=workout_type'],
  listDataSources: ['', 'include=data'],
  getUserCoverage: ['', 'days=local'],
  listAllBatches: ['', 'status=success'],
  listSleep: ['', 'include=stages&filter_by_priority=true'],
  listWorkouts: ['', 'include=zones,segments'],
}

/** A day of everything a phone sends, in one upload. */
function dayOf(day: number) {
  const at = START_MS + day * DAY_MS
  const records = [
    heartRate(at, 60 + (day % 40)),
    heartRate(at + HOUR_MS, 70),
    steps(at, 100 + day),
    record('HKQuantityTypeIdentifierRestingHeartRate', at, 50, { unit: 'bpm' }),
    record('HKCorrelationTypeIdentifierFood', at, 1, { id: `meal ${day}` }),
    record('HKQuantityTypeIdentifierDietaryEnergyConsumed', at, 500, { parentId: `meal ${day}`, unit: 'kcal' }),
    // Each starts a new cycle.
    record('HKCategoryTypeIdentifierMenstrualFlow', START_MS - (3000 - day * 28) * DAY_MS, 3, {
      id: `flow ${day}`,
      metadata: { HKMenstrualCycleStart: '1' },
    }),
  ]
  const night = [stage('light', at - 12 * HOUR_MS, at - 8 * HOUR_MS), stage('deep', at - 8 * HOUR_MS, at - 5 * HOUR_MS)]
  return body(records, { data: { records, sleep: night, workouts: [workout('running', at + 2 * HOUR_MS, 30)] } })
}

/** No phone sends these yet. */
const SCORES_SQL = `
  insert into health_score (user_id, source_id, provider, category, value, recorded_at)
  select $1, d.id, d.provider, 'recovery', 70, now() - n * interval '1 day'
  from data_source d, generate_series(1, ${DAYS}) n
  where d.user_id = $1`

/** As if everything had been delivered. */
const ATTEMPTS_SQL = `
  insert into attempt (endpoint_id, event_uid, event_type, url, succeeded, response_status, response, duration_ms, manual, attempted_at)
  select n.id, e.uid, e.type, 'https://example.org/hook', true, 204, '', 12, false, now()
  from endpoint n join event e on e.position <@ n.ahead and gets(n, e)`

const ENDPOINTS_SQL = `
  insert into endpoint (uid, url, secret) select 'ep_' || n, 'https://example.org/hook', '' from generate_series(1, ${DAYS}) n`

const PHONES_SQL = `
  insert into refresh_token (user_id, app_id, let_in_by, family_id, token_hash, expires_at)
  select $1, 'admin:' || d.id, d.id, gen_random_uuid(), sha256(n::text::bytea), now() + interval '1 day'
  from developer d, generate_series(1, ${DAYS}) n`

/** Values for the parameters of paths. */
interface Places {
  user_id: string
  batch_id: string
  run_key: string
  developer_id: string
  endpoint_id: string
  workout_id: string
  sleep_id: string
}

const parametersOf = ({ query }: Route) => Object.keys((query as { properties?: object } | undefined)?.properties ?? {})

/** The whole range of a route, if it takes one. */
function rangeOf(route: Route): string {
  const { operationId } = route
  const names = parametersOf(route)
  // This route takes a year at most.
  const from = operationId === 'getUserCoverage' ? '2025-06-01' : '2015-01-01'
  const until = operationId === 'getUserCoverage' ? '2026-05-01' : '2035-01-01'
  const named = (end: 'start' | 'end') => names.find((name) => name === `${end}_date` || name === `${end}_time`)
  const [start, end] = [named('start'), named('end')]
  return start && end ? `&${start}=${from}&${end}=${until}` : ''
}

const hasLimit = (route: Route) => parametersOf(route).includes('limit')

/** Requests a route right after the data of the user has changed, so every cached value is outdated. */
async function ask(app: TestApp, heard: () => string[], route: Route, places: Places, query: string) {
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: keyof Places) => places[name])
  await app.db.query('update app_user set revision = revision + 1 where id = $1', [places.user_id])
  heard()
  const auth = route.guard === 'public' ? 'none' : route.guard.endsWith('developer') ? 'developer' : 'key'
  const answer = await app.request('GET', `${path}?${query}${rangeOf(route)}`, { auth })
  return { answer, statements: heard() }
}

/** The number of items on a page; undefined if an answer is not a page. */
function itemsOf(answer: { body: unknown }): number | undefined {
  const { data, items } = (answer.body ?? {}) as { data?: unknown; items?: unknown }
  const list = [answer.body, data, items].find(Array.isArray)
  return list?.length
}

/** Requests everything; returns the number of statements by request. */
async function askAll(t: Test, app: TestApp, heard: () => string[], places: Places, filled: boolean) {
  const found = new Map<string, number>()
  const wrong: unknown[] = []
  for (const route of routes.filter(({ method, operationId }) => method === 'GET' && !(operationId in NOT_ASKED))) {
    for (const query of QUERIES[route.operationId] ?? ['']) {
      const counts: number[] = []
      for (const limit of hasLimit(route) ? [1, PAGE] : [undefined]) {
        const asked = limit === undefined ? query : `${query}&limit=${limit}`
        const { answer, statements } = await ask(app, heard, route, places, asked)
        const name = `${route.path}?${asked}`
        if (answer.status !== 200) wrong.push([name, answer.status])
        if (filled && limit !== undefined && itemsOf(answer) !== limit) wrong.push([name, 'does not fill its page'])
        const most = MOST_OF[route.operationId] ?? MOST
        if (statements.length > most) wrong.push([name, statements])
        counts.push(statements.length)
        const { next_cursor = null } = answer.body?.pagination ?? {}
        if (next_cursor === null) continue
        const next = await ask(app, heard, route, places, `${asked}&cursor=${encodeURIComponent(next_cursor)}`)
        if (next.answer.status !== 200) wrong.push([name, 'second page', next.answer.status])
        if (next.statements.length > most) wrong.push([name, 'second page', next.statements])
      }
      if (filled && new Set(counts).size !== 1)
        wrong.push([route.path, query, 'not as many whatever the limit', counts])
      found.set(`${route.operationId} ${query}`, Math.max(...counts))
    }
  }
  t.strictSame(wrong, [])
  return found
}

oneEngine(t, 'a read takes at most three statements, however much it shows', async (t, engine) => {
  if (isOfOneProcess(t, COUNTS_STATEMENTS)) return
  const app = await startTestApp(t, engine, { outgoingWebhooksEnabled: true })
  const endpoint = await createEndpoint(app)
  const imports = await startImports(t, app)
  const user_id = await createUser(app)
  const connect = (provider: string) =>
    app.db.query('insert into connection (user_id, provider) values ($1, $2)', [user_id, provider])
  const invite = (email: string) => app.request('POST', '/api/v1/invitations', { auth: 'developer', body: { email } })
  const operate = async (name: string) => {
    for (const path of ['/api/v1/developer/api-keys', '/api/v1/applications'])
      await app.request('POST', path, { auth: 'developer', body: { name } })
    await invite(`${name}@example.org`)
  }
  await connect('garmin')
  await operate('first')
  const { batch_id, run_id } = await importBody(app, user_id, dayOf(0))
  const oneOf = async (table: string) =>
    (await app.db.one<{ id: string }>(`select id from ${table} where user_id = $1 limit 1`, [user_id])).id
  const places = {
    ...{ user_id, batch_id, run_key: run_id, developer_id: app.developer.id, endpoint_id: endpoint.id },
    ...{ workout_id: await oneOf('workout'), sleep_id: await oneOf('sleep') },
  }
  const heard = hearStatements(app.db.pool)
  const few = await askAll(t, app, heard, places, false)

  for (const provider of ['oura', 'polar', 'whoop']) await connect(provider)
  for (const name of ['second', 'third', 'fourth']) await operate(name)
  await app.db.query(`insert into app_user (first_name) select 'Ada ' || n from generate_series(1, $1) n`, [DAYS])
  for (let day = 1; day < DAYS; day += 1) await upload(app, user_id, dayOf(day))
  await waitForAll(app, user_id)
  await app.db.query(SCORES_SQL, [user_id])
  await fanOut(app.db)
  await app.db.query(ATTEMPTS_SQL)
  await app.db.query(ENDPOINTS_SQL)
  await app.db.query(PHONES_SQL, [user_id])
  await imports.stop()
  const many = await askAll(t, app, heard, places, true)
  const more = [...many].filter(([question, count]) => count > (few.get(question) as number))
  t.strictSame(more, [], 'no more statements for more data')
})
