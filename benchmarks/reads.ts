import { join } from 'node:path'
import {
  type Bench,
  cpuText,
  figure,
  type Measure,
  median,
  type Timed,
  timed,
  withClient,
  withDatabase,
  withService,
} from './bench.ts'
import { DATA_START_MS, type Dataset, generate, RECORDS_PER_BODY, seededRandom } from './generate.ts'
import { settle } from './history.ts'
import { type CursorPage, firstPage, type Window, walkPages } from './pages.ts'
import { startHelper } from './processes.ts'
import { inTurn, type Load, type Request, requestLoop } from './requests.ts'
import type { Service } from './service.ts'
import { type Job, upload } from './upload.ts'

/** How fast pages of samples are read, by format and by request. */
export const ids = ['R1', 'R3', 'R5', 'R8']

const CONNECTIONS = 8
const WARM_UP_REQUESTS = 2_000
const WARM_UP_MS = 10_000
const DAY_SECONDS = 86_400
const YEAR_SECONDS = 365 * DAY_SECONDS
const DATA_START = DATA_START_MS / 1000
const COLUMNS_JSON = 'application/vnd.pulsebase.columns+json'

interface Suite {
  bench: Bench
  service: Service
  url: string
  /** A year of heart rate, and months of twelve types. */
  beats: string
  mix: string
  random: () => number
}

/** One kind of load; each call runs it once. */
type Side = (seconds: number) => Promise<Timed<Load>>

/** The runs of two sides, round by round. */
interface Comparison {
  a: Timed<Load>[]
  b: Timed<Load>[]
}

/** Reads pages of two users: one with a year of heart rate (a million samples), one with a mix of twelve types. */
export async function run(bench: Bench): Promise<Measure[]> {
  const beatBodies = bench.quick ? 100 : 500
  const mixBodies = bench.quick ? 25 : 100
  const dataset = (kind: 'heart rate' | 'mixed', bodies: number, days: number) =>
    generate(join(bench.directory, `reads-${kind}`), {
      kind,
      bodies,
      everySeconds: Math.floor((days * DAY_SECONDS) / (bodies * RECORDS_PER_BODY)),
      seed: 5,
    })
  const data = [await dataset('heart rate', beatBodies, 366), await dataset('mixed', mixBodies, 140)]
  return withDatabase(bench, 'reads', async (url) => {
    // A separate service, so that a profile contains reads only.
    const jobs = await withService(bench, { url, name: 'reads-load' }, (service) => load(service, url, data))
    const [beats, mix] = jobs.map((job) => job.userId) as [string, string]
    return withService(bench, { url, name: 'reads' }, async (service) => {
      const suite: Suite = { bench, service, url, beats, mix, random: seededRandom(6) }
      const result: Measure[] = []
      if (bench.wanted('R1')) result.push(await pageAgainstDriver(suite))
      if (bench.wanted('R3')) {
        result.push(await totals(suite, 'day', DAY_SECONDS))
        result.push(await totals(suite, 'year', YEAR_SECONDS))
      }
      if (bench.wanted('R5')) result.push(await allTypes(suite))
      if (bench.wanted('R8')) result.push(...(await forms(suite)))
      return result
    })
  })
}

async function load(service: Service, url: string, data: readonly Dataset[]): Promise<Job[]> {
  const jobs = await Promise.all(data.map(async (dataset) => ({ userId: await service.createUser(), dataset })))
  await withClient(url, async (db) => {
    await upload(service, db, jobs)
    await settle(db)
  })
  return jobs
}

/** Windows of one length that start at random whole seconds within the first `days` days of the data. */
function windows({ bench, random }: Suite, seconds: number, days: number): Window[] {
  return Array.from({ length: bench.quick ? 15 : 40 }, () => {
    const start = DATA_START + Math.floor(random() * days * DAY_SECONDS)
    return { start, end: start + seconds }
  })
}

async function pageAgainstDriver(suite: Suite): Promise<Measure> {
  const { bench, service, url, beats } = suite
  const walk = { userId: beats, type: 'heart_rate', limit: 100, windows: windows(suite, DAY_SECONDS, 360), pages: 20 }
  const pages = await walkPages(service, url, walk)
  const helper = await startHelper('driver-loop.ts', { DATABASE_URL: url })
  const stop = bench.closing(helper.stop)
  try {
    await helper.ask(pages.map(({ statement }) => [statement]))
    const driver: Side = (seconds) =>
      timed(bench, helper.pid, () => helper.ask<Load>({ connections: CONNECTIONS, seconds }))
    const { a, b } = await compare(bench, api(suite, inTurn(pages)), driver)
    return {
      id: 'R1',
      what: 'page of 100 samples (by cursor): API ÷ bare driver, req/s',
      values: ratios({ a, b }, rate),
      target: { at: 'least', value: 0.6 },
      beside: [figureLine('API, page of 100', a), figureLine('bare driver, the same pages', b, 'driver process')],
    }
  } finally {
    await stop()
  }
}

/** Every first page requests a new window: a known total is not counted again. */
async function totals(suite: Suite, name: string, seconds: number): Promise<Measure> {
  const { service, url, beats } = suite
  const walk = { userId: beats, type: 'heart_rate', limit: 100 }
  const places = windows(suite, seconds, name === 'day' ? 360 : 0.1)
  const place = inTurn(places)
  let asked = 0
  const first = () => {
    const { start, end } = place()
    asked += 1
    return firstPage(service, walk, { start: start + asked, end: end + asked })
  }
  const pages = await walkPages(service, url, { ...walk, windows: places, pages: 20 })
  const { a, b } = await compare(suite.bench, api(suite, first), api(suite, inTurn(pages)))
  return {
    id: 'R3',
    what: `page with total_count ÷ without, window of a ${name}, req/s`,
    values: ratios({ a, b }, rate),
    target: { at: 'least', value: 0.7 },
    beside: [
      figureLine(`first page (counts), window of a ${name}`, a),
      figureLine(`later page, window of a ${name}`, b),
    ],
  }
}

async function allTypes(suite: Suite): Promise<Measure> {
  const { service, url, mix } = suite
  const walk = { userId: mix, limit: 100, windows: windows(suite, 10 * DAY_SECONDS, 120), pages: 20 }
  const all = await walkPages(service, url, walk)
  const one = await walkPages(service, url, { ...walk, type: 'heart_rate' })
  const { a, b } = await compare(suite.bench, api(suite, inTurn(all), 1), api(suite, inTurn(one), 1))
  return {
    id: 'R5',
    what: 'all-types page ÷ one-type page (12 types, by cursor), latency',
    values: ratios({ a, b }, latency),
    target: { at: 'most', value: 6 },
    beside: [figureLine('all types, one connection', a), figureLine('one type, one connection', b)],
  }
}

async function forms(suite: Suite): Promise<Measure[]> {
  const { bench, service, url, beats } = suite
  const walk = {
    userId: beats,
    type: 'heart_rate',
    limit: 1_000,
    windows: windows(suite, 30 * DAY_SECONDS, 330),
    pages: 10,
  }
  const pages = await walkPages(service, url, walk)
  const as = (headers: (page: CursorPage) => Record<string, string>) =>
    inTurn(pages.map((page) => ({ path: page.path, headers: { ...page.headers, ...headers(page) } })))
  const envelope = api(suite, inTurn(pages))
  const columns = api(
    suite,
    as(() => ({ accept: COLUMNS_JSON })),
  )
  const unchanged = api(
    suite,
    as(({ etag }) => ({ 'if-none-match': etag })),
    CONNECTIONS,
    304,
  )
  const columnar = await compare(bench, columns, envelope)
  const notModified = await compare(bench, unchanged, envelope)
  return [
    {
      id: 'R8',
      what: 'columns ÷ envelope, 1,000 points (by cursor), req/s',
      values: ratios(columnar, rate),
      target: { at: 'least', value: 1.5 },
      beside: [figureLine('columns', columnar.a), figureLine('envelope', columnar.b)],
    },
    {
      id: 'R8',
      what: '304 ÷ 200, 1,000 points, req/s',
      values: ratios(notModified, rate),
      target: { at: 'least', value: 3 },
      beside: [figureLine('304', notModified.a)],
    },
  ]
}

/** Load on the API. */
function api({ bench, service }: Suite, next: () => Request, connections = CONNECTIONS, status = 200): Side {
  return (seconds) =>
    timed(bench, service.pid, () => requestLoop(service.origin, next, { connections, seconds, status }))
}

/** Runs a side until the code it uses is compiled. */
async function warmUp(side: Side): Promise<void> {
  const deadline = performance.now() + WARM_UP_MS
  for (let count = 0; count < WARM_UP_REQUESTS && performance.now() < deadline; ) {
    count += (await side(1)).result.count
  }
}

/** Warms up both sides, then runs them in turn; every other round the second one comes first. */
async function compare(bench: Bench, sideA: Side, sideB: Side): Promise<Comparison> {
  const seconds = bench.quick ? 1.5 : 4
  await warmUp(sideA)
  await warmUp(sideB)
  const result: Comparison = { a: [], b: [] }
  for (let round = 0; round < bench.samples; round += 1) {
    const runs = [async () => result.a.push(await sideA(seconds)), async () => result.b.push(await sideB(seconds))]
    for (const one of round % 2 === 0 ? runs : runs.reverse()) await one()
  }
  return result
}

const rate = ({ result }: Timed<Load>): number => result.count / result.seconds
const latency = ({ result }: Timed<Load>): number => median(result.latenciesMs)

/** The first side's figure divided by the second side's, round by round. */
const ratios = ({ a, b }: Comparison, of: (run: Timed<Load>) => number): number[] =>
  a.map((run, round) => of(run) / of(b[round] as Timed<Load>))

function figureLine(what: string, runs: Timed<Load>[], server?: string): string {
  const cpu = cpuText(
    runs.map((run) => ({ cpu: run.cpu, count: run.result.count })),
    'request',
    server,
  )
  return `${what}: ${figure(median(runs.map(rate)))} req/s, median ${figure(median(runs.map(latency)))} ms; ${cpu}`
}
