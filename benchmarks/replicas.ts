import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startReplicated } from '../test/support/standby.ts'
import {
  type Bench,
  cpuText,
  figure,
  type Measure,
  median,
  type Timed,
  timed,
  withClient,
  withService,
} from './bench.ts'
import { DATA_START_MS, generate, RECORDS_PER_BODY, seededRandom } from './generate.ts'
import { settle } from './history.ts'
import { walkPages } from './pages.ts'
import { inTurn, type Load, type Request, requestLoop } from './requests.ts'
import type { Service } from './service.ts'
import { upload } from './upload.ts'

/** What a page costs the primary when a replica answers it. */
export const ids = ['R10']

const CONNECTIONS = 8
const DAY_SECONDS = 86_400
const DAYS = 100

/** Two services on one database: one reads from the primary, the other from a standby of it. */
export async function run(bench: Bench): Promise<Measure[]> {
  const probe = await bench.engine.create('bench_replicas')
  const ends: (() => Promise<void>)[] = []
  const stop = bench.closing(async () => {
    for (const end of ends.reverse()) await end()
    await bench.engine.drop('bench_replicas')
  })
  try {
    const servers = await startReplicated(
      { teardown: (end) => ends.push(end) },
      { name: bench.engine.name, url: probe },
    )
    await withClient(servers.primary.url, (db) => db.query('create database pulsebase'))
    const url = servers.primary.url.replace(/\/postgres$/, '/pulsebase')
    const onPrimary = { ...bench, engine: { ...bench.engine, pid: servers.primaryPid } }
    return [await primaryCpu(onPrimary, url, servers)]
  } finally {
    await stop()
  }
}

type Replicated = Awaited<ReturnType<typeof startReplicated>>

async function primaryCpu(bench: Bench, url: string, servers: Replicated): Promise<Measure> {
  const bodies = bench.quick ? 25 : 100
  const dataset = await generate(join(bench.directory, 'replicas'), {
    kind: 'heart rate',
    bodies,
    everySeconds: Math.floor((DAYS * DAY_SECONDS) / (bodies * RECORDS_PER_BODY)),
    seed: 5,
  })
  return withService(bench, { url, name: 'replicas-none' }, async (without) => {
    const userId = await without.createUser()
    await withClient(url, async (db) => {
      await upload(without, db, [{ userId, dataset }])
      await settle(db)
    })
    await servers.caughtUp()
    const random = seededRandom(6)
    const windows = Array.from({ length: 15 }, () => {
      const start = DATA_START_MS / 1000 + Math.floor(random() * (DAYS - 2) * DAY_SECONDS)
      return { start, end: start + DAY_SECONDS }
    })
    const pages = await walkPages(without, url, { userId, type: 'heart_rate', limit: 100, windows, pages: 20 })
    const settings = { DATABASE_READ_URL: servers.atStandby(url), ROLE: 'api' }
    return withService(bench, { url, name: 'replicas', settings }, async (service) => {
      await replicaUsed(service)
      return compare(bench, { service, without }, inTurn(pages))
    })
  })
}

async function compare(
  bench: Bench,
  { service, without }: { service: Service; without: Service },
  next: () => Request,
): Promise<Measure> {
  const seconds = bench.quick ? 1.5 : 4
  const side = (one: Service) =>
    timed(bench, one.pid, () => requestLoop(one.origin, next, { connections: CONNECTIONS, seconds }))
  const [a, b]: [Timed<Load>[], Timed<Load>[]] = [[], []]
  // The first of each warms up.
  for (let round = 0; round <= bench.samples; round += 1) {
    a.push(await side(service))
    b.push(await side(without))
  }
  const counted = (runs: Timed<Load>[]) => runs.slice(1)
  const cost = ({ cpu, result }: Timed<Load>) => cpu.database / result.count
  return {
    id: 'R10',
    what: 'CPU of the primary for a page of 100 samples: with a replica ÷ without',
    values: counted(a).map((run, round) => cost(run) / cost(counted(b)[round] as Timed<Load>)),
    target: { at: 'most', value: 0.25 },
    beside: [line('a replica answers', counted(a)), line('the primary answers', counted(b))],
  }
}

function line(what: string, runs: Timed<Load>[]): string {
  const cpu = cpuText(
    runs.map(({ cpu, result }) => ({ cpu, count: result.count })),
    'request',
  )
  return `${what}: ${figure(median(runs.map(({ result }) => result.count / result.seconds)))} req/s; ${cpu} (database: the primary)`
}

async function replicaUsed({ origin }: Service): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    const { replicas = [] } = (await (await fetch(`${origin}/readyz`)).json()) as {
      replicas?: { unavailable: unknown }[]
    }
    if (replicas[0]?.unavailable === null) return
    await delay(100)
  }
  throw new Error('the replica is not used')
}
