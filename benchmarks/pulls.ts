import type { Client } from 'pg'
import { waitUntil } from '../server/db/embedded/processes.ts'
import { cloudProviders } from '../server/providers/index.ts'
import { type Simulator, startSimulator } from '../simulator/server.ts'
import { type Bench, type Measure, median, type Timed, timed, withClient, withDatabase, withService } from './bench.ts'
import type { Service } from './service.ts'

/** What asking providers costs beside importing what they answered. */
export const ids = ['V7', 'V8']

/** All that can be asked; Garmin only sends. */
const PROVIDERS = [
  ...(['oura', 'whoop', 'strava', 'polar', 'suunto', 'withings'] as const),
  ...(['google_health', 'ultrahuman', 'sensorbio', 'fitbit'] as const),
]
/** More requests than a run makes. */
const MANY = 1_000_000
/** Of as many limits as a provider may have. */
const UNLIMITED = Array.from({ length: 5 }, () => MANY)
const PATIENCE_MS = 600_000

interface Side {
  bench: Bench
  service: Service
  simulator: Simulator
  db: Client
  days: number
}

interface Round {
  provider: string
  pull: Timed<number>
  imported: Timed<number>
  again: Timed<number>
  changed: number
}

/** A year of a person, asked for and imported; the same answers imported alone; and the same year asked for again. */
export async function run(bench: Bench): Promise<Measure[]> {
  const people = bench.samples + 1
  const days = bench.quick ? 60 : 365
  const now = Date.now()
  const simulator = await startSimulator({ people, days: days + 5, now: () => now })
  const stop = bench.closing(() => simulator.close())
  try {
    for (const provider of PROVIDERS)
      await post(simulator, 'settings', {
        ...{ provider, limits: UNLIMITED },
        // Otherwise Polar shows nothing of the past.
        ...(provider === 'polar' && { own: { old_exercises: true } }),
      })
    const settings = { ...simulator.env, HISTORICAL_SYNC_ON_CONNECT: 'false', EVENT_FEED_ENABLED: 'true' }
    return await withDatabase(bench, 'pulls', (url) =>
      withService(bench, { url, name: 'pulls', settings }, (service) =>
        withClient(url, async (db) => {
          await enableFitbit(service)
          return measures(await rounds({ bench, service, simulator, db, days }))
        }),
      ),
    )
  } finally {
    await stop()
  }
}

/** Its API has ended, so nobody can connect it before. */
async function enableFitbit({ origin, login }: Service): Promise<void> {
  const { status } = await fetch(`${origin}/api/v1/oauth/providers/fitbit`, {
    method: 'PUT',
    headers: { ...(await login()), 'content-type': 'application/json' },
    body: JSON.stringify({ is_enabled: true }),
  })
  if (status !== 200) throw new Error(`enabling Fitbit was answered ${status}`)
}

async function rounds(side: Side): Promise<Round[]> {
  const people = (await (await fetch(`${side.simulator.url}/_control/people`)).json()) as { key: string }[]
  const found: Round[] = []
  for (const [place, { key }] of people.entries()) {
    // The simulator makes a person up when it is first asked: not part of the measure.
    await fetch(`${side.simulator.url}/_control/truth?person=${key}&minutes=true`)
    for (const provider of PROVIDERS) {
      const round = await oneRound(side, provider, key)
      // Not counted: everybody compiles their code.
      if (place > 0) found.push(round)
    }
  }
  return found
}

async function oneRound(side: Side, provider: string, person: string): Promise<Round> {
  const { bench, service, db } = side
  const user = await connect(side, provider, person)
  await drained(db)
  const history = () => timed(bench, service.pid, () => pullHistory(side, provider, user))
  const pull = await history()
  const parcels = await db.query(
    `select u.sha256, b.body, b.decoded_bytes
     from upload u join upload_body b using (user_id, sha256)
     where u.user_id = $1 and u.sync_type = 'historical' order by u.seq`,
    [user],
  )
  const other = await service.createUser()
  await db.query(`insert into connection (user_id, provider) values ($1, $2)`, [other, provider])
  const imported = await timed(bench, service.pid, async () => {
    for (const { sha256, body, decoded_bytes: bytes } of parcels.rows) {
      await db.query(
        `select accept_upload(gen_random_uuid(), $1, $2, $3, $4, $5, 0, null, null, 'historical', null, 'alone', null, 'pull',
                              (select id from connection where user_id = $1))`,
        [other, provider, sha256, body, bytes],
      )
    }
    await drained(db)
    return parcels.rows.length
  })
  const again = await history()
  const { rows } = await db.query<{ changed: number }>(
    `select (items_inserted + items_updated + items_deleted)::int4 as changed from sync_run
     where user_id = $1 and scope = 'historical' order by started_at desc limit 1`,
    [user],
  )
  return { provider, pull, imported, again, changed: rows[0]?.changed ?? Number.NaN }
}

// Of the application and of each account; the service may have asked meanwhile.
const LIFT_SQL = `
  insert into rate_budget (provider, grant_id, seconds, provider_limit)
  select $1, owner, $2, $3
  from (select null::uuid as owner union all select id from provider_grant where provider = $1) owners
  on conflict (provider, grant_id, seconds) do update set provider_limit = excluded.provider_limit`

async function pullHistory({ service, db, days }: Side, provider: string, user: string): Promise<number> {
  // As if providers had said that they take more: waiting for a limit is not measured.
  await db.query('delete from rate_budget')
  for (const { id, api } of cloudProviders.values())
    for (const seconds of new Set(api.budgets.map((budget) => budget.seconds)))
      await db.query(LIFT_SQL, [id, seconds, MANY])
  const path = `/api/v1/providers/${provider}/users/${user}/sync/historical?days=${days}`
  const { status } = await fetch(service.origin + path, { method: 'POST', headers: service.headers })
  if (status !== 200) throw new Error(`the sync was answered ${status}`)
  await drained(db)
  return days
}

/** Waits until everything is asked for and imported. */
async function drained(db: Client): Promise<void> {
  const isDrained = async () => {
    const { rows } = await db.query<{ left: number }>(
      `select ((select count(*) from sync_task) + (select count(*) from upload where status = 'queued'))::int4 as left`,
    )
    return rows[0]?.left === 0
  }
  if (!(await waitUntil(isDrained, PATIENCE_MS, 20))) throw new Error('something is never asked, or never imported')
}

/** Makes a user and goes through the sign-in as a browser would; returns its id. */
async function connect({ service, simulator }: Side, provider: string, person: string): Promise<string> {
  const user = await service.createUser()
  const get = async (url: string) => fetch(url, { redirect: 'manual', headers: service.headers })
  const asked = await get(`${service.origin}/api/v1/oauth/${provider}/authorize?user_id=${user}`)
  const url = new URL(((await asked.json()) as { authorization_url: string }).authorization_url)
  url.searchParams.set('auto', person)
  const consent = new URL((await get(url.href)).headers.get('location') ?? simulator.url)
  await get(service.origin + consent.pathname + consent.search)
  return user
}

async function post({ url }: Simulator, path: string, body: object): Promise<void> {
  await fetch(`${url}/_control/${path}`, { method: 'POST', body: JSON.stringify(body) })
}

function measures(found: Round[]): Measure[] {
  const seconds = (of: (round: Round) => Timed<number>) => median(found.map((round) => of(round).seconds)).toFixed(2)
  const beside = [
    `pull ${seconds(({ pull }) => pull)} s, import alone ${seconds(({ imported }) => imported)} s, again ${seconds(({ again }) => again)} s`,
    `CPU of a pull: service ${median(found.map(({ pull }) => pull.cpu.server)).toFixed(2)} s, database ${median(found.map(({ pull }) => pull.cpu.database)).toFixed(2)} s, simulator ${median(found.map(({ pull }) => pull.cpu.generator)).toFixed(2)} s`,
  ]
  return PROVIDERS.flatMap((provider) => {
    const own = found.filter((round) => round.provider === provider)
    return [
      {
        id: 'V7',
        what: `a year of ${provider}, asked for and imported ÷ its answers imported alone`,
        values: own.map(({ pull, imported }) => pull.seconds / imported.seconds),
        target: { at: 'most' as const, value: 1.5 },
        beside,
      },
      {
        id: 'V8',
        what: `the same year of ${provider} again ÷ the first time; ${Math.max(...own.map(({ changed }) => changed))} rows changed`,
        values: own.map(({ pull, again }) => again.seconds / pull.seconds),
        target: { at: 'most' as const, value: 0.4 },
        beside: [],
      },
    ]
  })
}
