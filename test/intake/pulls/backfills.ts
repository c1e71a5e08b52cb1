// A service that asks the simulator's Garmin for the past, turn by turn, at the pace of a test.
import type { Test } from 'tap'
import { openDatabase, type Queryable } from '../../../server/db/database.ts'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { RetiredApis } from '../../../server/intake/pulls/retired.ts'
import { serveTurn, type TurnMeans } from '../../../server/intake/pulls/turn.ts'
import { openAccessTokens } from '../../../server/oauth/refresh.ts'
import type { TestApp } from '../../support/app.ts'
import { startGrantJobs } from '../../support/clouds.ts'
import { notify, openAll, openMeans } from '../../support/notices.ts'
import { connectPerson, type Simulated, startSimulated } from '../../support/people.ts'
import { createUser } from '../../support/sdk.ts'
import type { Engine } from '../../support/servers.ts'

const MANY = 1_000_000

/** A request for the past: its type, and the range in seconds since 1970. */
export interface AskedRange {
  readonly person: string
  readonly type: string
  readonly from: number
  readonly to: number
  readonly status: number
}

export interface Backfilling extends Simulated {
  /** Connects a person of the simulator to Garmin; returns the user. `more` goes to the consent page. */
  join(person: string, options?: { user?: string; more?: Record<string, string> }): Promise<string>
  /** One turn of a grant's history, if something is due; with `kills` the process dies before it stores what it learned. */
  turn(kills?: boolean): Promise<boolean>
  /** Turns until nothing is due any more. */
  ask(): Promise<void>
  /** What the provider tells in the next minute, or in so many seconds, is received, opened and imported. */
  deliver(seconds?: number): Promise<void>
  /** Another notice is received, opened and imported. */
  tell(body: object): Promise<void>
  /** As if so many seconds had passed, and limits forgotten. */
  pass(seconds: number): Promise<void>
  asked(): Promise<AskedRange[]>
}

type Settings = Parameters<typeof startSimulated>[2] & {
  /** Summary types that are told; absent: all of them. */
  topics?: readonly string[]
  /** Whether they are announced, not sent. */
  ping?: boolean
}

export async function startBackfills(
  t: Test,
  engine: Engine,
  { world = {}, topics, ping = false, ...settings }: Settings = {},
): Promise<Backfilling> {
  const simulated = await startSimulated(t, engine, { world: { people: 2, days: 40, ...world }, ...settings })
  const { app, simulator } = simulated
  await simulator.control('POST', 'settings', {
    ...{ provider: 'garmin', limits: [MANY], own: { heart_rate_seconds: 3_600, detail_seconds: 600 } },
  })
  const url = `${app.url}/api/v1/providers/garmin/webhooks`
  await simulator.control('POST', 'subscriptions', {
    provider: 'garmin',
    url,
    with_secret: true,
    ping,
    ...(topics && { topics }),
  })
  const { processId } = await startGrantJobs(t, app)
  const db = openDatabase({
    ...{ url: app.databaseUrl, name: 'turns', maxConnections: 4, statementTimeoutMs: 60_000, onError: () => {} },
  })
  t.teardown(() => db.end())
  const parts = { ...app.deps.oauth, db, saving: db }
  const means = {
    ...{ db, parts, log: parts.log, tokens: openAccessTokens(parts) },
    stopping: () => false,
    answered() {},
    retired: new RetiredApis(),
  }
  const opening = openMeans(t, app)
  const turn = (kills = false) => served(app, kills ? { ...means, db: dying(means) } : means, processId())
  const ask = async () => {
    while (await turn()) await app.db.query('delete from rate_budget')
  }
  const taken = async () => {
    await openAll(opening, 'garmin')
    // What they named is asked for, and all is imported.
    await ask()
    const waiting = `select count(*) as n from upload where status = 'queued'`
    const isImported = async () => (await app.db.one<{ n: number }>(waiting)).n === 0
    if (!(await waitUntil(isImported, 60_000, 20))) throw new Error('it was not imported')
  }
  return {
    ...simulated,
    ...{ turn, ask },
    async join(person, { user, more = {} } = {}) {
      const id = user ?? (await createUser(app))
      await connectPerson(app, { user: id, provider: 'garmin', person, more })
      return id
    },
    async deliver(seconds = 60) {
      await simulator.control('POST', 'clock', { advance_seconds: seconds })
      await simulator.control('POST', 'notices')
      await taken()
    },
    async tell(told) {
      const headers = { 'garmin-client-id': simulator.env.GARMIN_CLIENT_ID ?? '' }
      const query = `?k=${simulator.env.GARMIN_WEBHOOK_PATH_SECRET}`
      const { status } = await notify(app, 'garmin', JSON.stringify(told), { headers, query })
      if (status !== 200) throw new Error(`answered ${status}`)
      await taken()
    },
    pass: (seconds) => passed(app, seconds),
    async asked() {
      const { body } = await simulator.control('GET', 'log?provider=garmin')
      return body.flatMap(rangeOf)
    },
  }
}

function rangeOf({ path, query, person, status }: Record<'path' | 'query' | 'person', string> & { status: number }) {
  const [, type] = /\/backfill\/(\w+)$/.exec(path) ?? []
  const of = new URLSearchParams(query)
  const [from, to] = ['Start', 'End'].map((end) => Number(of.get(`summary${end}TimeInSeconds`)))
  return type === undefined ? [] : [{ person, type, from, to, status }]
}

// As claim_grants gives them; the wait between two requests is over.
const CLAIM_SQL = `
  update provider_grant g
  set process_id = $1, leased_until = now() + interval '3 minutes', fence = fence + 1
  where id = (
    select t.grant_id from sync_task t join provider_grant o on o.id = t.grant_id
    where t.lane = 'history' and t.due_at <= now() and o.state = 'live'
    order by t.grant_id limit 1
  )
  returning id as "grantId", provider, 'history' as lane, fence`

async function served({ db }: TestApp, means: TurnMeans, processId: number): Promise<boolean> {
  const [lease] = await db.query<{ grantId: string; provider: string; lane: 'history'; fence: number }>(CLAIM_SQL, [
    processId,
  ])
  if (!lease) return false
  await serveTurn(means, { ...lease, processId }).catch((error) => {
    if (error !== KILLED) throw error
  })
  return true
}

const KILLED = new Error('killed')

/** Nothing that a turn has learned is stored, nor is the grant given back. */
function dying({ db }: Pick<TurnMeans, 'db'>): TurnMeans['db'] {
  const dies = (text: string) => /store_parcel|release_grant/.test(text)
  return {
    ...db,
    query: (text: string, values?: Parameters<Queryable['query']>[1]) =>
      dies(text) ? Promise.reject(KILLED) : db.query(text, values),
    one: (text: string, values?: Parameters<Queryable['query']>[1]) =>
      dies(text) ? Promise.reject(KILLED) : db.one(text, values),
  } as TurnMeans['db']
}

async function passed({ db }: TestApp, seconds: number): Promise<void> {
  const ago = `make_interval(secs => ${seconds})`
  await db.query('delete from rate_budget')
  await db.query(`update backfill_part set asked_at = asked_at - ${ago}, last_item_at = last_item_at - ${ago}`)
  await db.query(`update sync_task set due_at = due_at - ${ago}, failing_since = failing_since - ${ago}`)
}

/** What became of the last range of each stream. */
export const statesOf = async ({ app }: Pick<Backfilling, 'app'>) =>
  Object.fromEntries(
    (
      await app.db.query<{ stream: string; state: string }>(
        `select distinct on (stream) stream, state from backfill_part order by stream, hi desc`,
      )
    ).map(({ stream, state }) => [stream, state]),
  )

/** Runs of a user at Garmin, the newest first. */
export const runsOf = async ({ app }: Pick<Backfilling, 'app'>, user: string) =>
  (await app.request('GET', `/api/v1/users/${user}/sync/history?provider=garmin&limit=200`)).body as {
    run_key: string
    source: string
    scope: string
    status: string
    error: string | null
    items_inserted: number
  }[]

/** Asks for the past. */
export const start = ({ app }: Pick<Backfilling, 'app'>, user: string) =>
  app.request('POST', `/api/v1/providers/garmin/users/${user}/sync/historical?days=7`)

export const statusOf = async ({ app }: Pick<Backfilling, 'app'>, user: string) =>
  (await app.request('GET', `/api/v1/providers/garmin/users/${user}/backfill/status`)).body
