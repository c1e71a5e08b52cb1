import { join } from 'node:path'
import type { Client } from 'pg'
import { Client as HttpClient } from 'undici'
import { type Bench, figure, type Measure, median, withClient, withDatabase, withService } from './bench.ts'
import { type Dataset, generate, RECORDS_PER_BODY } from './generate.ts'
import { HISTORY_START, settle, storeHistory, storePhone, YEAR_SECONDS } from './history.ts'
import { type Request, send } from './requests.ts'
import type { Service } from './service.ts'
import { upload } from './upload.ts'

/** What rollups give readers, and what they cost. */
export const ids = ['C1', 'C2', 'R4', 'R6', 'R7', 'R9']

const COLUMNS_JSON = 'application/vnd.pulsebase.columns+json'
const OTHERS = 50

interface Suite {
  bench: Bench
  service: Service
  db: Client
  url: string
}

/** Reads three years of a user, then backfills a year of another user, in a full and in an empty database. */
export async function run(bench: Bench): Promise<Measure[]> {
  const measures: Measure[] = []
  const reads = ['R4', 'R6', 'R7', 'R9', 'C2'].some(bench.wanted)
  if (reads) {
    const some = await withDatabase(bench, 'rollups', (url) =>
      withService(bench, { url, name: 'rollups' }, (service) =>
        withClient(url, (db) => history({ bench, service, db, url })),
      ),
    )
    measures.push(...some.filter(({ id }) => bench.wanted(id)))
  }
  if (bench.wanted('C1')) measures.push(...(await backfill(bench)))
  return measures
}

/** Milliseconds of each run of `work`, without the first ones. */
async function latencies(runs: number, work: () => Promise<unknown>): Promise<number[]> {
  const found: number[] = []
  for (let run = -5; run < runs; run += 1) {
    const started = performance.now()
    await work()
    if (run >= 0) found.push(performance.now() - started)
  }
  return found
}

/** Ratios of two pieces of work, round by round, in turn. */
async function compare(bench: Bench, runs: number, a: () => Promise<unknown>, b: () => Promise<unknown>) {
  const [left, right]: [number[], number[]] = [[], []]
  for (let round = 0; round < bench.samples; round += 1) {
    const sides = [
      async () => left.push(median(await latencies(runs, a))),
      async () => right.push(median(await latencies(Math.max(2, Math.ceil(runs / 5)), b))),
    ]
    for (const side of round % 2 === 0 ? sides : sides.reverse()) await side()
  }
  return { left, right, ratios: left.map((value, round) => value / (right[round] as number)) }
}

/** How to read the user with the long history. */
interface Reader extends Suite {
  user: { userId: string; sourceId: number }
  years: number
  /** Epoch seconds. */
  end: number
  /** A request for the user's data. */
  get(path: string, headers?: Record<string, string>): () => Promise<unknown>
}

/** Three years of a user beside the histories of ten others. */
async function history(suite: Suite): Promise<Measure[]> {
  const { bench, service, db } = suite
  const years = bench.quick ? 1 : 3
  for (let other = 0; other < 10; other += 1) await storeHistory(service, db, years, 4)
  const user = await storeHistory(service, db, years)
  const both = await storeHistory(service, db, years)
  await storePhone(db, both)
  const refreshed = performance.now()
  await settle(db)
  const first = await firstRefresh(db, performance.now() - refreshed)
  const http = new HttpClient(service.origin, { pipelining: 1 })
  const getOf =
    (userId: string): Reader['get'] =>
    (path, headers = {}) => {
      const request: Request = { path: `/api/v1/users/${userId}${path}`, headers: { ...service.headers, ...headers } }
      return () => send(http, request, 200)
    }
  try {
    const end = HISTORY_START + years * YEAR_SECONDS
    const reader: Reader = { ...suite, user, years, end, get: getOf(user.userId) }
    return [
      await hoursOfYear(reader),
      await deepPages(reader),
      await timeline(reader),
      ...(await activity(reader)),
      await merged({ ...reader, get: getOf(both.userId) }),
      first,
    ]
  } finally {
    await http.close()
  }
}

async function hoursOfYear({ bench, db, user, end, get }: Reader): Promise<Measure> {
  const year = `start_time=${end - YEAR_SECONDS}&end_time=${end}&types=heart_rate`
  const hours = await compare(
    bench,
    20,
    get(`/timeseries?${year}&resolution=1hour&limit=200000`, { accept: COLUMNS_JSON }),
    () =>
      db.query({
        name: 'hours',
        text: `select time_bucket('1 hour', ts), avg(value) from sample
               where source_id = $1 and series_id = 1 and ts >= to_timestamp($2) and ts < to_timestamp($3)
               group by 1 order by 1`,
        values: [user.sourceId, end - YEAR_SECONDS, end],
      }),
  )
  return {
    id: 'R4',
    what: '1hour over a year, columns: API ÷ raw scan in SQL, latency',
    values: hours.ratios,
    target: { at: 'most', value: 0.3 },
    beside: [`API ${figure(median(hours.left))} ms, raw scan ${figure(median(hours.right))} ms`],
  }
}

async function deepPages({ bench, service, user, end, get }: Reader): Promise<Measure> {
  const whole = `start_time=${HISTORY_START}&end_time=${end}`
  const deep = await deepPage(service, user.userId, `${whole}&resolution=1hour&limit=100`)
  const first = get(`/timeseries?${whole}&resolution=1hour&limit=100`)
  const pages = await compare(bench, 50, get(`/timeseries?${deep}`), first)
  return {
    id: 'R6',
    what: '1hour, all types: page deep in the history ÷ first page with its total, latency',
    values: pages.ratios,
    target: { at: 'most', value: 1 },
    beside: [`deep ${figure(median(pages.left))} ms, first ${figure(median(pages.right))} ms`],
  }
}

async function timeline({ bench, db, user, years, end, get }: Reader): Promise<Measure> {
  const days = await compare(bench, 20, get('/summaries/data/timeline?group_by=series_type'), () =>
    db.query({
      name: 'timeline',
      text: `select s.series_id, date_trunc('day', s.ts), count(*) from sample s join data_source d on d.id = s.source_id
             where d.user_id = $1 group by 1, 2 order by 1, 2`,
      values: [user.userId],
    }),
  )
  const sql = await latencies(20, () =>
    db.query({
      name: 'counts',
      text: `select place, pairs from daily_counts(array_fill($1::int4, array[10]),
               (select array_agg(series_id order by series_id) from source_series where source_id = $1),
               to_timestamp($2), to_timestamp($3))`,
      values: [user.sourceId, HISTORY_START, end],
    }),
  )
  const [api, own, raw] = [days.left, sql, days.right].map((times) => figure(median(times)))
  return {
    id: 'R7',
    what: `timeline of ${years} years by type: API ÷ raw group-by in SQL, latency`,
    values: days.ratios,
    target: { at: 'most', value: 0.02 },
    beside: [`API ${api} ms, its SQL ${own} ms, raw group-by ${raw} ms`],
  }
}

async function activity({ bench, db, user, end, get }: Reader): Promise<Measure[]> {
  // The generated history may extend beyond today: unfinished days are not stored.
  const over = Math.min(end, (Math.floor(Date.now() / 86_400_000) - 2) * 86_400)
  const from = (start: number, limit: number) =>
    get(`/summaries/activity?start_date=${dateOf(start)}&end_date=${dateOf(over)}&limit=${limit}`)
  const days = await compare(bench, 20, from(over - YEAR_SECONDS, 1000), () =>
    db.query({
      name: 'activity',
      text: `select local_day(ts, zone_offset_min), series_id, count(*), sum(value), min(value), max(value) from sample
             where source_id = $1 and series_id in (1, 80, 81, 82, 100) and ts >= to_timestamp($2) and ts < to_timestamp($3)
             group by 1, 2`,
      values: [user.sourceId, over - YEAR_SECONDS, over],
    }),
  )
  const months = await compare(bench, 50, from(over - 40 * 86_400, 31), from(HISTORY_START, 31))
  return [
    {
      id: 'R9',
      what: 'activity of a year in one page: API ÷ sums of its samples by day in SQL, latency',
      values: days.ratios,
      target: { at: 'most', value: 0.2 },
      beside: [`API ${figure(median(days.left))} ms, raw group-by ${figure(median(days.right))} ms`],
    },
    {
      id: 'R9',
      what: 'activity: the last 31 days of the history ÷ its first 31, latency',
      values: months.ratios,
      target: { at: 'most', value: 1.2 },
      beside: [`last ${figure(median(months.left))} ms, first ${figure(median(months.right))} ms`],
    },
  ]
}

/** A year of somebody with two devices. */
async function merged({ bench, end, get }: Reader): Promise<Measure> {
  const range = `start_date=${dateOf(end - YEAR_SECONDS)}&end_date=${dateOf(end)}&limit=1000`
  const both = await compare(
    bench,
    20,
    get(`/summaries/activity?${range}`),
    get(`/summaries/activity?${range}&merge=none`),
  )
  return {
    id: 'R9',
    what: 'activity of a year of a watch and a phone: merged ÷ of the best source of each day, latency',
    values: both.ratios,
    target: { at: 'most', value: 3 },
    beside: [`merged ${figure(median(both.left))} ms, not merged ${figure(median(both.right))} ms`],
  }
}

const dateOf = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 10)

/** A cursor some pages into the history. */
async function deepPage(service: Service, userId: string, query: string): Promise<string> {
  let cursor = ''
  for (let page = 0; page < 30; page += 1) {
    const answer = await fetch(`${service.origin}/api/v1/users/${userId}/timeseries?${query}${cursor}`, {
      headers: service.headers,
    })
    const { pagination } = (await answer.json()) as { pagination: { next_cursor: string | null } }
    if (!pagination.next_cursor) break
    cursor = `&cursor=${encodeURIComponent(pagination.next_cursor)}`
  }
  return query + cursor
}

async function firstRefresh(db: Client, refreshMs: number): Promise<Measure> {
  const counted = await db.query<{ n: string }>('select count(*) as n from sample')
  const samples = Number(counted.rows[0]?.n)
  return {
    id: 'C2',
    what: 'refresh of rollups for the first time, per sample',
    values: [(refreshMs / samples) * 1000],
    unit: 'µs',
    target: { at: 'most', value: 5 },
    beside: [`${figure(samples)} samples in ${figure(refreshMs)} ms`],
  }
}

/** Uploads a year of a user's heart rate to an empty database, and to one with fifty other histories. */
async function backfill(bench: Bench): Promise<Measure[]> {
  const bodies = bench.quick ? 50 : 260
  const everySeconds = Math.floor(YEAR_SECONDS / (bodies * RECORDS_PER_BODY))
  const dataset = await generate(join(bench.directory, 'backfill'), {
    kind: 'heart rate',
    bodies,
    everySeconds,
    seed: 7,
  })
  const among: Round[] = []
  const alone: Round[] = []
  await withHistories(bench, 0, (empty) =>
    withHistories(bench, OTHERS, async (full) => {
      for (let round = 0; round < Math.min(3, bench.samples); round += 1) {
        alone.push(await backfillRound(empty, dataset))
        among.push(await backfillRound(full, dataset))
      }
    }),
  )
  const ratios = (of: (round: Round) => number) => among.map((round, at) => of(round) / of(alone[at] as Round))
  const figureLine = (rounds: Round[], what: string) => {
    const [right, read] = [median(rounds.map(({ rightMs }) => rightMs)), median(rounds.map(({ readMs }) => readMs))]
    return `${what}: right after ${figure(right)} ms (${figure(dataset.records / (right / 1000))} samples/s), then ${figure(read)} ms a read`
  }
  return [
    {
      id: 'C1',
      what: `1hour right after a year’s backfill: among ${OTHERS} users ÷ alone, time`,
      values: ratios(({ rightMs }) => rightMs),
      target: { at: 'most', value: 1.2 },
      beside: [figureLine(alone, 'alone'), figureLine(among, `among ${OTHERS}`)],
    },
    {
      id: 'C1',
      what: `a 1hour read of it afterwards: among ${OTHERS} users ÷ alone, latency`,
      values: ratios(({ readMs }) => readMs),
      target: { at: 'most', value: 1.2 },
      beside: [],
    },
  ]
}

interface Round {
  /** From the first request of the upload until a read of the whole year is correct. */
  rightMs: number
  readMs: number
}

/** A service on a database with the year of this many users. */
function withHistories(bench: Bench, users: number, work: (suite: Suite) => Promise<void>): Promise<void> {
  return withDatabase(bench, `backfill_${users}`, (url) =>
    withService(bench, { url, name: `backfill-${users}` }, (service) =>
      withClient(url, async (db) => {
        for (let user = 0; user < users; user += 1) await storeHistory(service, db, 1, bench.quick ? 16 : 4)
        await settle(db)
        await work({ bench, service, db, url })
      }),
    ),
  )
}

async function backfillRound({ service, db }: Suite, dataset: Dataset): Promise<Round> {
  await db.query('checkpoint')
  // Compiles the code of the service.
  await upload(service, db, [{ userId: await service.createUser(), dataset: { ...dataset, bodies: 10 } }])
  const userId = await service.createUser()
  const path = `/api/v1/users/${userId}/timeseries?start_time=${HISTORY_START}&end_time=${HISTORY_START + YEAR_SECONDS}&types=heart_rate&resolution=1hour&limit=200000`
  const read = async () => {
    const answer = await fetch(service.origin + path, { headers: { ...service.headers, accept: COLUMNS_JSON } })
    return ((await answer.json()) as { pagination: { total_count: number } }).pagination.total_count
  }
  const started = performance.now()
  await upload(service, db, [{ userId, dataset }])
  const hours = await read()
  const rightMs = performance.now() - started
  const wanted = await db.query<{ n: string }>(
    `select count(distinct time_bucket('1 hour', s.ts)) as n from sample s join data_source d on d.id = s.source_id
     where d.user_id = $1`,
    [userId],
  )
  if (hours !== Number(wanted.rows[0]?.n)) throw new Error(`${hours} hours were read, not ${wanted.rows[0]?.n}`)
  await settle(db)
  return { rightMs, readMs: median(await latencies(20, read)) }
}
