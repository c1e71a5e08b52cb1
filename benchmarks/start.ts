import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import { Client as HttpClient } from 'undici'
import {
  type Bench,
  figure,
  type Measure,
  median,
  type Timed,
  timed,
  withClient,
  withDatabase,
  withService,
} from './bench.ts'
import { DATA_START_MS, type Dataset, generate } from './generate.ts'
import { settle } from './history.ts'
import { firstPage } from './pages.ts'
import { childCount, cpuSeconds, familyCpuSeconds } from './processes.ts'
import { send } from './requests.ts'
import type { Service } from './service.ts'
import { upload } from './upload.ts'

/** What a restart costs: the start itself, the first upload and the first page after it; and what an idle service costs. */
export const ids = ['ST', 'O2']

const EVERY_SECONDS = 5
const PAGE_SECONDS = 3_600
/** The start goes on for a moment behind the first answer of the probe: the console is built. */
const SETTLED_MS = 2_000
/** From that upload or page on it is no longer cold. */
const WARM = 20
/** So many of them are taken together. */
const WARM_COUNT = 10
/** A whole turn of the clock that enqueues jobs. */
const IDLE_SECONDS = 60
const QUICK_IDLE_SECONDS = 20

interface Suite {
  bench: Bench
  url: string
  db: Client
  dataset: Dataset
  /** One for each upload; they have uploaded before. */
  users: string[]
}

/** Starts of the service on a database that is there and up to date. */
export async function run(bench: Bench): Promise<Measure[]> {
  const plan = { kind: 'mixed', bodies: WARM + WARM_COUNT, everySeconds: EVERY_SECONDS, seed: 11 } as const
  const dataset = await generate(join(bench.directory, 'start'), plan)
  return withDatabase(bench, 'start', (url) =>
    withClient(url, async (db) => {
      const suite = { bench, url, db, dataset, users: await prepare(bench, { url, db, dataset }) }
      return [...(bench.wanted('ST') ? await starts(suite) : []), ...(bench.wanted('O2') ? await idle(suite) : [])]
    }),
  )
}

/** Migrates the database, and has each user upload the first body: another one brings no new source and no new series. */
function prepare(bench: Bench, { url, db, dataset }: Pick<Suite, 'url' | 'db' | 'dataset'>): Promise<string[]> {
  return withService(bench, { url, name: 'start-before' }, async (service) => {
    const users: string[] = []
    for (let round = 0; round < bench.samples; round += 1) {
      const userId = await service.createUser()
      await upload(service, db, [{ userId, dataset: only(dataset, 0) }])
      users.push(userId)
    }
    return users
  })
}

const only = (dataset: Dataset, body: number): Dataset => ({ ...dataset, bodies: 1, read: () => dataset.read(body) })

/** What a start costs until the probe answers. */
interface Start {
  ms: number
  server: number
  database: number
}

/** The first turn after a start, and some later ones. */
interface Cold {
  first: Timed<void>
  later: Timed<void>[]
}

async function starts(suite: Suite): Promise<Measure[]> {
  const { bench, users, dataset, db } = suite
  const started: Start[] = []
  const [uploads, pages]: [Cold[], Cold[]] = [[], []]
  const uploading = (userId: string) => async (service: Service, turn: number) => {
    await upload(service, db, [{ userId, dataset: only(dataset, turn) }])
  }
  for (const [round, userId] of users.entries()) {
    const parts = [
      async () => uploads.push(await afterStart(suite, started, uploading(userId))),
      async () => pages.push(await afterStart(suite, started, (service, turn) => readPage(service, userId, turn))),
    ]
    for (const part of round % 2 === 0 ? parts : parts.reverse()) await part()
  }
  const side = (which: keyof Start) => figure(median(started.map((one) => one[which])))
  const start = `start: ready after ${side('ms')} ms; until then service ${side('server')}, database ${side('database')} ms of CPU`
  bench.say(`${bench.engine.name}: ${start}`)
  return [
    measure('upload of 2,000 samples', { sides: uploads, most: 3, start }),
    measure('page of 100 samples', { sides: pages, most: 10, start }),
  ]
}

/** Starts the service, lets it come to rest, and takes turns until they are no longer cold. */
async function afterStart(
  { bench, url }: Suite,
  started: Start[],
  work: (service: Service, turn: number) => Promise<void>,
): Promise<Cold> {
  const databaseBefore = familyCpuSeconds(bench.engine.pid)
  const begun = performance.now()
  return withService(bench, { url, name: 'start' }, async (service) => {
    const ms = performance.now() - begun
    const database = (familyCpuSeconds(bench.engine.pid) - databaseBefore) * 1000
    started.push({ ms, server: cpuSeconds(service.pid) * 1000, database })
    await delay(SETTLED_MS)
    const turn = (number: number) => timed(bench, service.pid, () => work(service, number))
    const first = await turn(1)
    for (let number = 2; number < WARM; number += 1) await work(service, number)
    const later: Timed<void>[] = []
    for (let number = WARM; number < WARM + WARM_COUNT; number += 1) later.push(await turn(number))
    return { first, later }
  })
}

/** A page that counts, each of another window. */
async function readPage(service: Service, userId: string, turn: number): Promise<void> {
  const start = DATA_START_MS / 1000 + turn * EVERY_SECONDS
  const page = firstPage(service, { userId, type: 'heart_rate', limit: 100 }, { start, end: start + PAGE_SECONDS })
  const http = new HttpClient(service.origin)
  await send(http, page, 200).finally(() => http.close())
}

type Side = 'server' | 'database'

function measure(what: string, { sides, most, start }: { sides: Cold[]; most: number; start: string }): Measure {
  const mean = (turns: Timed<void>[], of: (turn: Timed<void>) => number) =>
    turns.reduce((sum, turn) => sum + of(turn), 0) / turns.length
  const both = ({ cpu }: Timed<void>) => cpu.server + cpu.database
  const text = (turnsOf: (side: Cold) => Timed<void>[]) => {
    const ms = (of: (turn: Timed<void>) => number) =>
      figure(median(sides.map((side) => mean(turnsOf(side), of) * 1000)))
    const cpu = (side: Side) => ms((turn) => turn.cpu[side])
    return `${ms(({ seconds }) => seconds)} ms, service ${cpu('server')}, database ${cpu('database')} ms of CPU`
  }
  return {
    id: 'ST',
    what: `first ${what} after a start ÷ later, CPU`,
    values: sides.map(({ first, later }) => both(first) / mean(later, both)),
    target: { at: 'most', value: most },
    beside: [start, `first ${what}: ${text(({ first }) => [first])}; later: ${text(({ later }) => later)}`],
  }
}

/** CPU time of a service that nobody uses, and the processes it keeps. */
async function idle({ bench, url }: Suite): Promise<Measure[]> {
  const seconds = bench.quick ? QUICK_IDLE_SECONDS : IDLE_SECONDS
  await withClient(url, async (db) => {
    // What was uploaded before is nothing that an idle service has to do.
    await settle(db)
    await db.query('checkpoint')
  })
  return withService(bench, { url, name: 'idle' }, async (service) => {
    await delay(2 * SETTLED_MS)
    const { cpu, seconds: passed } = await timed(bench, service.pid, () => delay(seconds * 1000))
    const share = (what: string, value: number): Measure => ({
      id: 'O2',
      what: `CPU of an idle ${what}, of a core`,
      values: [(value / passed) * 100],
      unit: '%',
      target: { at: 'most', value: 1 },
      beside: [],
    })
    const processes: Measure = {
      id: 'O2',
      what: 'processes that the service keeps beside itself',
      values: [childCount(service.pid)],
      target: { at: 'most', value: 0 },
      beside: [],
    }
    return [share('service', cpu.server), share('database', cpu.database), processes]
  })
}
