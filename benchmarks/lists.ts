import type { Client } from 'pg'
import { Client as HttpClient } from 'undici'
import { routes } from '../server/api/index.ts'
import { type Bench, figure, type Measure, median, percentile, withClient, withDatabase, withService } from './bench.ts'
import { HISTORY_START, settle, storeHistory, YEAR_SECONDS } from './history.ts'
import { type Helper, startHelper } from './processes.ts'
import { settleRecords, storeRecords } from './records.ts'
import { type Load, type Request, send } from './requests.ts'
import type { Service, Statement } from './service.ts'

/** Every list and summary of a user with long, dense data: against its SQL, deep pages, and by number of statements. */
export const ids = ['L1', 'L2', 'L3']

const OTHERS = 50
/** Users without data, for the list of users. */
const EMPTY_USERS = 5_000
const MOST_STATEMENTS = 3
const PAGE = 100
const SMALL_PAGE = 10
const SMALL_DAYS = 10
/** The overhead is HTTP: it is most of the time of a statement that takes a tenth of a millisecond. */
const MOST_TIMES_SQL = 4
const MOST_TIMES_FIRST = 3
/** 20 ms where a page of samples takes 2. */
const MOST_TIMES_SAMPLES = 10
const DAY_SECONDS = 86_400
const COLUMNS_JSON = 'application/vnd.pulsebase.columns+json'

interface Endpoint {
  name: string
  /** As declared by the route. */
  path: string
  query?: string
  /** The names of its range parameters and, if its length is limited, the maximum in days. */
  range?: { names: readonly [start: string, end: string]; days?: number }
  /** How its pages are walked, and the longest page. */
  pages?: { by: 'cursor' | 'number' | 'offset' | 'none'; longest: number }
  developer?: true
}

const TIME = { names: ['start_time', 'end_time'] } as const
const DATE = { names: ['start_date', 'end_date'] } as const
const CURSOR = { by: 'cursor', longest: 1000 } as const
const USER = '/api/v1/users/{user_id}'

const ENDPOINTS: readonly Endpoint[] = [
  { name: 'samples, one type', path: `${USER}/timeseries`, query: 'types=heart_rate', range: TIME, pages: CURSOR },
  { name: 'samples, all types', path: `${USER}/timeseries`, range: TIME, pages: CURSOR },
  ...['1min', '15min', '1hour'].map(
    (width): Endpoint => ({
      name: `samples by ${width}`,
      path: `${USER}/timeseries`,
      query: `types=heart_rate&resolution=${width}`,
      range: TIME,
      pages: CURSOR,
    }),
  ),
  { name: 'timeline', path: `${USER}/summaries/data/timeline`, query: 'group_by=series_type', range: DATE },
  { name: 'data summary', path: `${USER}/summaries/data`, range: DATE },
  ...['activity', 'sleep', 'recovery'].map(
    (name): Endpoint => ({ name: `${name} summary`, path: `${USER}/summaries/${name}`, range: DATE, pages: CURSOR }),
  ),
  { name: 'body summary', path: `${USER}/summaries/body` },
  ...['workouts', 'sleep', 'meals', 'menstrual-cycles'].map(
    (name): Endpoint => ({ name, path: `${USER}/events/${name}`, range: DATE, pages: CURSOR }),
  ),
  { name: 'workout types', path: `${USER}/events/workouts/types` },
  { name: 'workout totals', path: `${USER}/events/workouts/totals`, range: DATE },
  { name: 'sleep totals', path: `${USER}/events/sleep/totals`, range: DATE },
  { name: 'health scores', path: `${USER}/health-scores`, range: DATE, pages: { by: 'offset', longest: 1000 } },
  { name: 'users', path: '/api/v1/users', pages: { by: 'number', longest: 100 } },
  {
    name: 'users by sync',
    path: '/api/v1/users',
    query: 'sort_by=last_synced_at',
    pages: { by: 'number', longest: 100 },
  },
  { name: 'connections', path: `${USER}/connections` },
  { name: 'coverage', path: `${USER}/coverage`, range: { ...DATE, days: 365 } },
  { name: 'sync history', path: `${USER}/sync/history`, pages: { by: 'none', longest: 200 } },
  { name: 'dashboard', path: '/api/v1/dashboard/stats', developer: true },
  { name: 'what providers send', path: '/api/v1/meta/coverage' },
]

interface Suite {
  bench: Bench
  userId: string
  /** End of all data, Unix seconds. */
  end: number
  /** First pages requested, each of a different window: a known total is not counted again. */
  asked: number
}

/** An endpoint with the headers of an authorised caller. */
interface Target {
  endpoint: Endpoint
  headers: Record<string, string>
}

/** What is measured of an endpoint before it is timed. */
interface Plan extends Target {
  /**
   * Number of statements after a change of the user's data, of a small page and of the longest; undefined = no answer.
   */
  counts: [small: number | undefined, large: number | undefined]
  first: Statement[]
  /** A deep page; undefined if there is only one page. */
  deep: { request: Request; statements: Statement[] } | undefined
}

/** Three years of a user beside fifty others: 1.5 million samples, and a row of everything else for each day. */
export async function run(bench: Bench): Promise<Measure[]> {
  const years = bench.quick ? 1 : 3
  return withDatabase(bench, 'lists', (url) =>
    withClient(url, async (db) => {
      const suite: Suite = { bench, userId: '', end: HISTORY_START + years * YEAR_SECONDS, asked: 0 }
      const prepare = async (service: Service) => {
        suite.userId = await store(suite, service, db, years)
        return planAll(suite, service, db)
      }
      const plans = await withService(bench, { url, name: 'lists-heard', hear: true }, prepare)
      const measures = [statements(suite, plans)]
      if (bench.wanted('L1') || bench.wanted('L2')) {
        const times = await withService(bench, { url, name: 'lists' }, (service) =>
          measureAll(suite, service, url, plans),
        )
        measures.push(...times)
      }
      return measures.filter(({ id }) => bench.wanted(id))
    }),
  )
}

/** Stores everything and returns the user whose lists are read. */
async function store({ bench }: Suite, service: Service, db: Client, years: number): Promise<string> {
  for (let other = 0; other < (bench.quick ? 10 : OTHERS); other += 1)
    await storeRecords(db, await storeHistory(service, db, years, 30), years)
  const user = await storeHistory(service, db, years, 0.9)
  await storeRecords(db, user, years)
  await db.query(
    `insert into app_user (first_name, last_name, email)
     select 'Ada ' || n, 'Lovelace', 'ada' || n || '@example.org' from generate_series(1, $1::int4) n`,
    [EMPTY_USERS],
  )
  await settle(db)
  await settleRecords(db)
  bench.say(`${bench.engine.name}: a user with ${figure(user.samples)} samples among others is stored`)
  return user.userId
}

interface Asked {
  limit?: number
  /** Length of its range; by default all of history. */
  days?: number
  more?: string
}

/** The request of a first page that was not requested before. */
function firstPage(suite: Suite, endpoint: Endpoint, { limit = PAGE, days, more }: Asked = {}): string {
  const { path, query, range, pages } = endpoint
  suite.asked += 1
  const start = HISTORY_START + suite.asked
  const length = days ?? range?.days
  const end = length === undefined ? suite.end : start + length * DAY_SECONDS
  const parameters = [
    query,
    range && `${range.names[0]}=${start}&${range.names[1]}=${end}`,
    pages && `limit=${limit}`,
    more,
  ]
  return `${path.replace('{user_id}', suite.userId)}?${parameters.filter(Boolean).join('&')}`
}

async function planAll(suite: Suite, service: Service, db: Client): Promise<Plan[]> {
  const developer = await service.login()
  const targets = ENDPOINTS.map((endpoint): Target => {
    if (!routes.some(({ path }) => path === endpoint.path)) throw new Error(`there is no route ${endpoint.path}`)
    return { endpoint, headers: endpoint.developer ? developer : service.headers }
  })
  const counts: Plan['counts'][] = []
  for (const target of targets) counts.push(await countStatements(suite, service, db, target))
  // Statements contain the revision: nothing changes from here on.
  const plans: Plan[] = []
  for (const [index, target] of targets.entries()) {
    const { headers } = target
    const first = await hear(service, { path: firstPage(suite, target.endpoint), headers })
    const deep = await deepPage(suite, service, target)
    plans.push({
      ...target,
      counts: counts[index] as Plan['counts'],
      first,
      deep: deep && { request: deep, statements: await hear(service, deep) },
    })
  }
  return plans
}

/** The statements of a request, from a service that reports them. */
async function hear(service: Service, request: Request): Promise<Statement[]> {
  await service.statements()
  await get(service, request)
  return service.statements()
}

async function countStatements(
  suite: Suite,
  service: Service,
  db: Client,
  { endpoint, headers }: Target,
): Promise<Plan['counts']> {
  const afterChange = async (asked: Asked) => {
    await db.query('update app_user set revision = revision + 1 where id = $1', [suite.userId])
    try {
      return (await hear(service, { path: firstPage(suite, endpoint, asked), headers })).length
    } catch (error) {
      suite.bench.fail((error as Error).message)
      return undefined
    }
  }
  // The worst case: the service has cached data of the user that is out of date.
  await get(service, { path: firstPage(suite, endpoint), headers })
  return [
    await afterChange(endpoint.pages ? { limit: SMALL_PAGE } : { days: SMALL_DAYS }),
    await afterChange(endpoint.pages ? { limit: endpoint.pages.longest } : {}),
  ]
}

/** Walks to a deep page, a full one if there are enough rows; undefined if the first page has all of them. */
async function deepPage(suite: Suite, service: Service, { endpoint, headers }: Target): Promise<Request | undefined> {
  const { pages, path } = endpoint
  if (!pages || pages.by === 'none') return undefined
  if (pages.by === 'number') {
    const { body } = await get(service, { path: firstPage(suite, endpoint), headers })
    return { path: firstPage(suite, endpoint, { more: `page=${body.pages}` }), headers }
  }
  if (pages.by === 'offset') {
    const { body } = await get(service, { path: firstPage(suite, endpoint), headers })
    const offset = Math.max(0, (body.pagination?.total_count ?? 0) - PAGE)
    return { path: firstPage(suite, endpoint, { more: `offset=${offset}` }), headers }
  }
  // The columns of samples come in long pages, and a cursor depends neither on format nor on length.
  const columns = path.endsWith('/timeseries')
  const walked = firstPage(suite, endpoint, { limit: columns ? 20_000 : PAGE })
  const request = { headers: { ...headers, ...(columns && { accept: COLUMNS_JSON }) } }
  const found: string[] = []
  for (let next: string | null = ''; next !== null; ) {
    const { body } = await get(service, { ...request, path: walked + next })
    const { next_cursor } = body.pagination ?? {}
    next = next_cursor ? `&cursor=${encodeURIComponent(next_cursor)}` : null
    if (next) found.push(next)
  }
  const last = found.at(-2) ?? found.at(-1)
  return last ? { path: walked.replace(/limit=\d+/, `limit=${PAGE}`) + last, headers } : undefined
}

async function get(service: Service, { path, headers }: Request) {
  const answer = await fetch(service.origin + path, { headers })
  if (answer.status !== 200) throw new Error(`GET ${path} was answered ${answer.status}: ${await answer.text()}`)
  return {
    body: (await answer.json()) as {
      pages?: number
      pagination?: { next_cursor: string | null; total_count?: number }
    },
  }
}

/** Fails the run if a request takes too many statements, or more for a longer page. */
function statements({ bench }: Suite, plans: readonly Plan[]): Measure {
  const counted = ({ endpoint, counts: [small, large] }: Plan) => `${endpoint.name}: ${small} and ${large}`
  for (const one of plans) {
    const [small = 0, large = small] = one.counts
    if (small !== large || large > MOST_STATEMENTS)
      bench.fail(`statements of ${SMALL_PAGE} rows and of the longest page, ${counted(one)}`)
  }
  return {
    id: 'L3',
    what: 'statements of a request after a change, the most of all lists',
    values: [Math.max(...plans.flatMap(({ counts }) => counts.filter((count) => count !== undefined)))],
    target: { at: 'most', value: MOST_STATEMENTS },
    beside: [`statements of a page of ${SMALL_PAGE} and of the longest: ${plans.map(counted).join('; ')}`],
  }
}

/** Latencies of every side of an endpoint, round by round. */
interface Rounds {
  first: Load[]
  firstSql: Load[]
  deep: Load[]
  deepSql: Load[]
}

async function measureAll(suite: Suite, service: Service, url: string, plans: readonly Plan[]): Promise<Measure[]> {
  const { bench } = suite
  const http = new HttpClient(service.origin, { pipelining: 1 })
  const driver = await startHelper('driver-loop.ts', { DATABASE_URL: url })
  const stop = bench.closing(driver.stop)
  try {
    const measures: Measure[] = []
    let samples: Load[] | undefined
    for (const one of plans) {
      const rounds = await measureOne(suite, http, driver, one)
      // The first of them is the plain page of samples.
      samples ??= rounds.first
      measures.push(...measuresOf(one, rounds), besideSamples(one, rounds.first, samples))
    }
    // The table is sorted by id.
    return measures.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
  } finally {
    await stop()
    await http.close()
  }
}

async function measureOne(suite: Suite, http: HttpClient, driver: Helper, { endpoint, headers, first, deep }: Plan) {
  const seconds = suite.bench.quick ? 0.15 : 0.3
  const rounds: Rounds = { first: [], firstSql: [], deep: [], deepSql: [] }
  const api = (next: () => Request) => loop(seconds, () => send(http, next(), 200))
  const sql = async (all: Statement[]) => {
    await driver.ask([all])
    return driver.ask<Load>({ connections: 1, seconds })
  }
  // The first round is not counted: it compiles code and plans statements.
  for (let round = -1; round < suite.bench.samples; round += 1) {
    const keep = (side: keyof Rounds, load: Load) => round >= 0 && rounds[side].push(load)
    const sides = [
      async () => keep('first', await api(() => ({ path: firstPage(suite, endpoint), headers }))),
      ...(first.length > 0 ? [async () => keep('firstSql', await sql(first))] : []),
      ...(deep
        ? [
            async () => keep('deep', await api(() => deep.request)),
            async () => keep('deepSql', await sql(deep.statements)),
          ]
        : []),
    ]
    for (const side of round % 2 === 0 ? sides : sides.reverse()) await side()
  }
  return rounds
}

async function loop(seconds: number, work: () => Promise<unknown>): Promise<Load> {
  const latenciesMs: number[] = []
  const started = performance.now()
  for (let at = started; at < started + seconds * 1000; ) {
    await work()
    const now = performance.now()
    latenciesMs.push(now - at)
    at = now
  }
  return { count: latenciesMs.length, seconds: (performance.now() - started) / 1000, latenciesMs }
}

const ratios = (a: Load[], b: Load[]) =>
  a.map(({ latenciesMs }, round) => median(latenciesMs) / median((b[round] as Load).latenciesMs))

const besideSamples = ({ endpoint: { name } }: Plan, first: Load[], samples: Load[]): Measure => ({
  id: 'L1',
  what: `${name}: page one ÷ page one of samples of one type, latency`,
  values: ratios(first, samples),
  target: { at: 'most', value: MOST_TIMES_SAMPLES },
  beside: [],
})

function measuresOf({ endpoint: { name } }: Plan, { first, firstSql, deep, deepSql }: Rounds): Measure[] {
  const text = (what: string, loads: Load[]) => {
    const all = loads.flatMap(({ latenciesMs }) => latenciesMs)
    return loads.length > 0 ? [`${what} ${figure(median(all))} / ${figure(percentile(all, 0.99))}`] : []
  }
  const sides = [
    ...text('page one', first),
    ...text('its SQL', firstSql),
    ...text('deep page', deep),
    ...text('its SQL', deepSql),
  ]
  const beside = [`${name}, ms p50 / p99: ${sides.join(', ')}`]
  return [
    ...(firstSql.length > 0
      ? [
          {
            id: 'L1',
            what: `${name}: API ÷ its statements on the bare driver, page one, latency`,
            values: ratios(first, firstSql),
            target: { at: 'most', value: MOST_TIMES_SQL } as const,
            beside,
          },
        ]
      : []),
    ...(deep.length > 0
      ? [
          {
            id: 'L2',
            what: `${name}: page at the far end ÷ page one, latency`,
            values: ratios(deep, first),
            target: { at: 'most', value: MOST_TIMES_FIRST } as const,
            beside,
          },
        ]
      : []),
  ]
}
