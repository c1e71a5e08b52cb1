import type { Client } from 'pg'
import { loadConfig } from '../server/config.ts'
import { type Database, openDatabase } from '../server/db/database.ts'
import { migrate } from '../server/db/migrate.ts'
import { planPulls } from '../server/intake/pulls/plan.ts'
import { oauthClients } from '../server/provider-client/clients.ts'
import { cloudProviders } from '../server/providers/index.ts'
import { type Bench, figure, type Measure, median, percentile, withClient, withDatabase } from './bench.ts'
import { SECRET_KEY } from './service.ts'

/** What it costs to find out what is to be asked for, and whether everybody gets a turn. */
export const ids = ['V10']

const PROVIDERS = ['oura', 'whoop', 'strava'] as const
/** Processes that claim, and what one of them serves: server/intake/pulls/pulls.ts. */
const PROCESSES = 4
const [PLACES, PROVIDER_PLACES, HISTORY_PLACES] = [16, 6, 4]
const CLAIMS = 200

interface Side {
  readonly bench: Bench
  readonly url: string
  readonly db: Database
  readonly client: Client
  readonly grants: number
}

interface Round {
  readonly planMs: number
  readonly claimMs: number
  /** From the moment at which all were due until each was claimed, ms. */
  readonly waitsMs: readonly number[]
  readonly idleClaimMs: number
  readonly emptyClaimMs: number
}

/** Everybody's pull is due at once, on a database without a service: planned, then claimed by four processes. */
export async function run(bench: Bench): Promise<Measure[]> {
  const grants = bench.quick ? 1_000 : 10_000
  const idle = bench.quick ? 10_000 : 100_000
  return withDatabase(bench, 'due', async (url) => {
    await migrate(url)
    const db = openDatabase({
      ...{
        url,
        name: 'pulsebase benchmark',
        maxConnections: PROCESSES,
        statementTimeoutMs: 600_000,
        onError: () => {},
      },
    })
    try {
      return await withClient(url, async (client) => {
        const side = { bench, url, db, client, grants }
        await connectEverybody(side)
        const rounds: Round[] = []
        for (let round = 0; round < bench.samples; round += 1) rounds.push(await measureRound(side, idle))
        return measures(rounds, grants, idle)
      })
    } finally {
      await db.end()
    }
  })
}

/** Accounts of the providers in equal parts, each of a user of its own; they granted what they were asked for. */
async function connectEverybody({ client, grants }: Side): Promise<void> {
  await client.query(
    `with users as (
       insert into app_user (first_name) select 'Bench ' || n from generate_series(1, $1::int4) n returning id
     ), granted as (
       insert into provider_grant (provider, account_id, granted_at)
       select ($2::text[])[1 + row_number() over () % array_length($2, 1)], id::text, now() - interval '3 days' from users
       returning id, provider, account_id
     )
     insert into connection (user_id, provider, grant_id, provider_user_id, created_at)
     select account_id::uuid, provider, id, account_id, now() - interval '3 days' from granted`,
    [grants, PROVIDERS],
  )
  await client.query('insert into process (host, pid) select $1, n from generate_series(1, $2::int4) n', [
    'bench',
    PROCESSES,
  ])
  await client.query('analyze')
}

async function measureRound(side: Side, idle: number): Promise<Round> {
  const { client, grants } = side
  await client.query('delete from sync_task')
  await client.query('truncate sync_run cascade')
  await client.query(
    `update provider_grant set next_pull_at = now(), asked_at = null, live_at = null, history_at = null`,
  )
  await client.query('vacuum analyze provider_grant')
  const started = performance.now()
  await planEverybody(side)
  const planMs = performance.now() - started
  const { claimMs, waitsMs } = await claimEverybody(side)
  if (waitsMs.length !== grants) throw new Error(`${waitsMs.length} of ${grants} grants got a turn`)
  const emptyClaimMs = await claimOfFew(side)
  await client.query(
    `insert into provider_grant (provider, account_id) select 'oura', 'idle ' || n from generate_series(1, $1::int4) n`,
    [idle],
  )
  await client.query('vacuum analyze provider_grant')
  const idleClaimMs = await claimOfFew(side)
  await client.query(`delete from provider_grant where account_id like 'idle %'`)
  return { planMs, claimMs, waitsMs, idleClaimMs, emptyClaimMs }
}

async function planEverybody({ db }: Side): Promise<void> {
  const names = PROVIDERS.map((name) => name.toUpperCase())
  const { providers, apiBaseUrl, syncIntervalSeconds, reconcileIntervalSeconds } = loadConfig({
    SECRET_KEY,
    ...Object.fromEntries(names.flatMap((name) => ['ID', 'SECRET'].map((what) => [`${name}_CLIENT_${what}`, 'bench']))),
  })
  const clients = oauthClients(cloudProviders, { providers, apiBaseUrl })
  while (await planPulls({ db, clients, syncIntervalSeconds, reconcileIntervalSeconds }));
}

/** Each process claims as many as it serves, and ends their turns, until nothing is due. */
async function claimEverybody({ db, client }: Side): Promise<{ claimMs: number; waitsMs: number[] }> {
  const { rows } = await client.query<{ id: string }>('select id from process order by id')
  const started = performance.now()
  const waitsMs: number[] = []
  let claimMs = 0
  const serve = async (process: string) => {
    for (;;) {
      const asked = performance.now()
      const claimed = await claim(db, process)
      claimMs += performance.now() - asked
      if (claimed.length === 0) return
      for (const _ of claimed) waitsMs.push(performance.now() - started)
      await endTurns(db, process, claimed)
    }
  }
  await Promise.all(rows.map(({ id }) => serve(id)))
  return { claimMs, waitsMs }
}

interface Claimed {
  readonly grant_id: string
  readonly fence: number
}

const claim = (db: Database, process: string): Promise<Claimed[]> =>
  db.query<Claimed>('select grant_id, fence from claim_grants($1, $2, $3, $4, $5, $6)', [
    ...[process, PROVIDERS, PROVIDERS.map(() => true)],
    ...[PROVIDERS.map(() => PROVIDER_PLACES), PLACES, HISTORY_PLACES],
  ])

async function endTurns(db: Database, process: string, claimed: readonly Claimed[]): Promise<void> {
  await db.query('delete from sync_task where grant_id = any ($1)', [claimed.map(({ grant_id: id }) => id)])
  for (const { grant_id: id, fence } of claimed)
    await db.query('select release_grant($1, $2, $3, null, null, null)', [id, process, fence])
}

/** Claims while a few have something to do, again and again; returns the median, ms. */
async function claimOfFew({ db, client }: Side): Promise<number> {
  const { rows } = await client.query<{ id: string }>('select id from process order by id limit 1')
  const found: number[] = []
  for (let count = 0; count < CLAIMS; count += 1) {
    await client.query(
      `update provider_grant set live_at = now(), process_id = null
       where id in (select id from provider_grant where provider = 'oura' limit 5)`,
    )
    const asked = performance.now()
    const claimed = await claim(db, rows[0]?.id as string)
    found.push(performance.now() - asked)
    if (claimed.length === 0) throw new Error('nothing was claimed')
    await endTurns(db, rows[0]?.id as string, claimed)
  }
  return median(found)
}

function measures(found: Round[], grants: number, idle: number): Measure[] {
  const middle = (of: (round: Round) => number) => figure(median(found.map(of)))
  const longest = ({ waitsMs }: Round) => Math.max(...waitsMs)
  return [
    {
      id: 'V10',
      what: `${figure(grants)} grants due at once: planning and claiming, each`,
      values: found.map(({ planMs, claimMs }) => (planMs + claimMs) / grants),
      unit: 'ms',
      target: { at: 'most', value: 0.5 },
      beside: [
        `planning ${middle(({ planMs }) => planMs / grants)} ms, claiming ${middle(({ claimMs }) => claimMs / grants)} ms a grant`,
      ],
    },
    {
      id: 'V10',
      what: 'the longest wait for a turn ÷ the median',
      values: found.map((round) => longest(round) / median(round.waitsMs)),
      target: { at: 'most', value: 3 },
      beside: [
        `waits for a turn: median ${middle(({ waitsMs }) => median(waitsMs))} ms, p99 ${middle(({ waitsMs }) => percentile(waitsMs, 0.99))} ms, longest ${middle(longest)} ms`,
      ],
    },
    {
      id: 'V10',
      what: `a claim beside ${figure(idle)} grants that have nothing to do`,
      values: found.map(({ idleClaimMs }) => idleClaimMs),
      unit: 'ms',
      target: { at: 'most', value: 5 },
      beside: [`a claim without them ${middle(({ emptyClaimMs }) => emptyClaimMs)} ms`],
    },
  ]
}
