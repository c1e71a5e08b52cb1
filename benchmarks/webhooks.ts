import type { Client } from 'pg'
import { Pool } from 'undici'
import { openVault } from '../server/vault.ts'
import { eventBody } from '../server/webhooks/body.ts'
import { packSamples } from '../server/webhooks/packed.ts'
import { newSecret, sealSecret } from '../server/webhooks/secrets.ts'
import {
  type Bench,
  cpuText,
  figure,
  type Measure,
  median,
  percentile,
  type Timed,
  timed,
  withClient,
  withDatabase,
  withService,
} from './bench.ts'
import { type Helper, startHelper } from './processes.ts'
import { SECRET_KEY, type Service } from './service.ts'

/** How fast events are delivered, and whether an endpoint that hangs slows the others. */
export const ids = ['W1', 'W4']

const ENDPOINTS = 10
/** Calls in flight of one process (server/webhooks/deliver.ts). */
const CALLS = 50
const RATE_PER_SECOND = 100

const SETTINGS = {
  OUTGOING_WEBHOOKS_ENABLED: 'true',
  WEBHOOKS_ALLOW_HTTP: 'true',
  WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
}

/** An event as it is stored. */
interface Stored {
  type: string
  data: Buffer
  packed: boolean
}

/** The delivered events: workouts of half a kilobyte, or a hundred samples of heart rate, 17 kB. */
const KINDS: { name: string; event(number: number): Stored }[] = [
  {
    name: 'workouts',
    event: (number) => ({ type: 'workout.created', data: Buffer.from(workout(number)), packed: false }),
  },
  { name: '100 samples', event: (number) => ({ type: 'heart_rate.created', data: heartRate(number), packed: true }) },
]
const SAMPLES = 100

function heartRate(number: number): Buffer {
  const numbers = Array.from({ length: SAMPLES }, (_, index) => index)
  return packSamples({
    provider: 'apple',
    type: 'heart_rate',
    total: SAMPLES,
    chunk: null,
    sources: [{ device: 'Watch7,5', isDailyTotal: null }],
    timeMs: Float64Array.from(numbers, (index) => 1_770_000_000_000 + (number * SAMPLES + index) * 5_000),
    value: Float64Array.from(numbers, (index) => 60 + (index % 40)),
    zoneMin: Int16Array.from(numbers, () => 60),
    of: new Uint16Array(SAMPLES),
  })
}

const workout = (number: number) =>
  JSON.stringify({
    id: '2f5a1c1e-6a0c-4a35-9d0a-5b8f2c3d4e5f',
    user_id: '0b0c6a0e-9d7c-4b8e-8d2f-6c0b9e7a41d3',
    type: 'running',
    start_time: '2026-02-24T06:00:00Z',
    end_time: '2026-02-24T06:45:00Z',
    zone_offset: '+01:00',
    duration_seconds: 2700,
    source: { provider: 'apple', device: 'Watch7,5' },
    calories_kcal: 345.5,
    distance_meters: 5234.0,
    avg_heart_rate_bpm: 142,
    max_heart_rate_bpm: 178,
    avg_pace_sec_per_km: 515,
    elevation_gain_meters: number,
  })

interface Suite {
  bench: Bench
  service: Service
  db: Client
  receiver: Helper
  origin: string
}

interface Call {
  path: string
  at: number
  body: string
}

/** The service and a receiver in separate processes; events are inserted by SQL, as an import does. */
export async function run(bench: Bench): Promise<Measure[]> {
  const receiver = await startHelper('receiver.ts')
  const stop = bench.closing(receiver.stop)
  try {
    const origin = `http://127.0.0.1:${await receiver.ask<number>({ listen: true })}`
    return await withDatabase(bench, 'webhooks', (url) =>
      withService(bench, { url, name: 'webhooks', settings: SETTINGS }, (service) =>
        withClient(url, async (db) => {
          const suite = { bench, service, db, receiver, origin }
          return [
            ...(bench.wanted('W1') ? await throughput(suite) : []),
            ...(bench.wanted('W4') ? await hanging(suite) : []),
          ]
        }),
      ),
    )
  } finally {
    await stop()
  }
}

/** Replaces the registered endpoints by ones with these paths. */
async function register({ db, origin }: Suite, paths: string[]): Promise<void> {
  const vault = openVault(SECRET_KEY)
  await db.query('truncate endpoint, event cascade')
  for (const [index, path] of paths.entries()) {
    const uid = `ep_bench${index}`
    const { sealed, keyId } = sealSecret(vault, uid, newSecret())
    const values = [uid, origin + path, sealed, keyId]
    await db.query('insert into endpoint (uid, url, secret, key_id) values ($1, $2, $3, $4)', values)
  }
}

const healthy = (count: number) => Array.from({ length: count }, (_, index) => `/${index}`)

async function throughput(suite: Suite): Promise<Measure[]> {
  const measures: Measure[] = []
  for (const { name, event } of KINDS) {
    const events = Array.from({ length: suite.bench.quick ? 500 : 2_000 }, (_, number) => event(number))
    measures.push(await throughputOf(suite, name, events))
  }
  return measures
}

async function throughputOf(suite: Suite, name: string, events: Stored[]): Promise<Measure> {
  const { bench } = suite
  const count = events.length * ENDPOINTS
  const bodies = events.map((event) => eventBody({ ...event, user_id: null, scope: null }))
  await register(suite, healthy(ENDPOINTS))
  // Not counted: both compile their code.
  await deliverAll(suite, events)
  await postAll(suite, bodies)
  const delivered: Timed<void>[] = []
  const posted: Timed<void>[] = []
  for (let round = 0; round < bench.samples; round += 1) {
    const sides = [
      async () => delivered.push(await deliverAll(suite, events)),
      async () => posted.push(await postAll(suite, bodies)),
    ]
    for (const side of round % 2 === 0 ? sides : sides.reverse()) await side()
  }
  const figureLine = (what: string, runs: Timed<void>[]) =>
    `${name}, ${what} ${figure(count / median(runs.map(({ seconds }) => seconds)))}/s: ${cpuText(
      runs.map(({ cpu }) => ({ cpu, count })),
      'call',
    )}`
  return {
    id: 'W1',
    what: `signed deliveries/s ÷ bare undici loop, ${name}`,
    values: delivered.map(({ seconds }, round) => (posted[round] as Timed<void>).seconds / seconds),
    target: { at: 'least', value: 0.6 },
    beside: [figureLine('deliveries', delivered), figureLine('bare loop', posted)],
  }
}

/** Times from the notification of committed events until all of their deliveries are received and recorded. */
async function deliverAll({ bench, service, db, receiver }: Suite, events: Stored[]): Promise<Timed<void>> {
  await receiver.ask({ reset: true })
  await db.query('truncate event cascade')
  // Nobody sees them before the commit.
  await db.query('begin')
  await db.query(
    `insert into event (type, key, data, packed)
     select $1, 'bench', data, $2 from unnest($3::bytea[]) as data`,
    [events[0]?.type, events[0]?.packed, events.map(({ data }) => data)],
  )
  await db.query(`select pg_notify('event', '')`)
  return timed(bench, service.pid, async () => {
    await db.query('commit')
    await receiver.ask({ count: events.length * ENDPOINTS })
    for (;;) {
      const { rows } = await db.query('select exists (select from waiting_deliveries() d where d.attempts = 0) as left')
      if (!rows[0].left) return
    }
  })
}

/** The same bodies without signatures and without a database, from this process. */
async function postAll({ bench, service, receiver, origin }: Suite, bodies: Buffer[]): Promise<Timed<void>> {
  await receiver.ask({ reset: true })
  const count = bodies.length * ENDPOINTS
  const pool = new Pool(origin, { connections: CALLS, pipelining: 1 })
  const headers = { 'content-type': 'application/json' }
  let next = 0
  const post = (number: number) =>
    new Promise<void>((resolve, reject) => {
      pool.dispatch(
        { method: 'POST', path: `/${number % ENDPOINTS}`, headers, body: bodies[number % bodies.length] as Buffer },
        {
          onRequestStart() {},
          onResponseStart() {},
          onResponseData() {},
          onResponseEnd: () => resolve(),
          onResponseError: (_, error) => reject(error),
        },
      )
    })
  const walk = async () => {
    while (next < count) {
      next += 1
      await post(next)
    }
  }
  try {
    return await timed(bench, service.pid, async () => {
      await Promise.all(Array.from({ length: CALLS }, walk))
    })
  } finally {
    await pool.close()
  }
}

async function hanging(suite: Suite): Promise<Measure[]> {
  const { bench } = suite
  const seconds = bench.quick ? 5 : 20
  const [without, withOne, single]: [number[][], number[][], number[][]] = [[], [], []]
  for (let round = 0; round < bench.samples; round += 1) {
    const parts = [
      async () => without.push(await latencies(suite, healthy(ENDPOINTS), seconds, RATE_PER_SECOND / ENDPOINTS)),
      async () =>
        withOne.push(
          await latencies(suite, [...healthy(ENDPOINTS - 1), '/hang'], seconds, RATE_PER_SECOND / ENDPOINTS),
        ),
      async () => single.push(await latencies(suite, healthy(1), seconds, RATE_PER_SECOND)),
    ]
    for (const part of round % 2 === 0 ? parts : parts.reverse()) await part()
  }
  const figureLine = (what: string, rounds: number[][]) => {
    const at = (share: number) => figure(median(rounds.map((values) => percentile(values, share))))
    return `${what}: commit to receipt p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)} ms`
  }
  return [
    {
      id: 'W4',
      what: 'p95 of nine endpoints beside one that hangs ÷ beside one that does not',
      values: withOne.map((values, round) => percentile(values, 0.95) / percentile(without[round] as number[], 0.95)),
      target: { at: 'most', value: 1.1 },
      beside: [
        figureLine(`${RATE_PER_SECOND} deliveries/s to ten endpoints`, without),
        figureLine('the same, one of them hanging', withOne),
        figureLine(`${RATE_PER_SECOND} events/s to one endpoint`, single),
      ],
    },
  ]
}

/** Commits events one by one at a fixed rate; returns the ms each took to reach the endpoints that answer. */
async function latencies(suite: Suite, paths: string[], seconds: number, perSecond: number): Promise<number[]> {
  const { db, receiver } = suite
  await register(suite, paths)
  await receiver.ask({ reset: true })
  const count = seconds * perSecond
  const committed: number[] = []
  const started = performance.now()
  for (let number = 0; number < count; number += 1) {
    const wait = started + (number * 1000) / perSecond - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    await db.query(
      `with made as (
         insert into event (type, key, data) values ('workout.created', 'bench', convert_to($1, 'UTF8'))
       )
       select pg_notify('event', '')`,
      [JSON.stringify({ number })],
    )
    committed.push(performance.timeOrigin + performance.now())
  }
  const answering = paths.filter((path) => path !== '/hang')
  const calls = await receiver.ask<Call[]>({ count: count * answering.length })
  return calls
    .filter(({ path }) => path !== paths.at(-1) || paths.length === 1)
    .map(({ at, body }) => at - (committed[Number(/"number":(\d+)/.exec(body)?.[1])] as number))
}
