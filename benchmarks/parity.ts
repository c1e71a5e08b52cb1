import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client as HttpClient } from 'undici'
import { type Bench, figure, type Measure, median, withClient, withDatabase, withService } from './bench.ts'
import { HISTORY_START, settle, storeHistory, YEAR_SECONDS } from './history.ts'

/** Whether both engines give the same answers, and how long each takes, the second compared with the first. */
export const ids = ['P1']

const COLUMNS_JSON = 'application/vnd.pulsebase.columns+json'
const YEARS = 2

/** A read of a user with two years of ten series. */
interface Read {
  name: string
  path: string
  headers?: Record<string, string>
}

function reads(): Read[] {
  const end = HISTORY_START + YEARS * YEAR_SECONDS
  const timeseries = (name: string, query: string, startS: number, headers?: Record<string, string>): Read => ({
    name,
    path: `/timeseries?start_time=${startS}&end_time=${end}&${query}`,
    ...(headers && { headers }),
  })
  const month = end - 30 * 86_400
  const year = end - YEAR_SECONDS
  const columns = { accept: COLUMNS_JSON }
  return [
    timeseries('page of 100 raw', 'types=heart_rate&limit=100', HISTORY_START),
    timeseries('page of 100 raw, all types', 'limit=100', HISTORY_START),
    timeseries('a month raw, columns', 'types=heart_rate&limit=200000', month, columns),
    timeseries('a day by the minute', 'types=heart_rate&resolution=1min&limit=1000', end - 86_400),
    timeseries('a week by 5 minutes', 'types=heart_rate&resolution=5min&limit=1000', end - 7 * 86_400),
    timeseries(
      'a month by 15 minutes, columns',
      'types=heart_rate,steps&resolution=15min&limit=200000',
      month,
      columns,
    ),
    timeseries('a year by the hour, columns', 'types=heart_rate&resolution=1hour&limit=200000', year, columns),
    timeseries('page of 100 hours, all types', 'resolution=1hour&limit=100', HISTORY_START),
    { name: 'timeline by type', path: '/summaries/data/timeline?group_by=series_type' },
    { name: 'timeline by provider and week', path: '/summaries/data/timeline?bucket=week' },
    { name: 'how much data', path: '/summaries/data' },
    { name: 'how much data of half a day', path: `/summaries/data?start_date=${end - 43_200}&end_date=${end}` },
  ]
}

/** The answers of one engine and their durations. */
interface Answer {
  name: string
  hash: string
  ms: number
}

/** Sends all requests to this engine; compares with the answers of the other one if they are there. */
export async function run(bench: Bench): Promise<Measure[]> {
  const answers = await withDatabase(bench, 'parity', (url) =>
    withService(bench, { url, name: 'parity' }, (service) =>
      withClient(url, async (db) => {
        for (let other = 0; other < 5; other += 1) await storeHistory(service, db, 1, 4)
        const { userId } = await storeHistory(service, db, YEARS)
        await settle(db)
        const http = new HttpClient(service.origin, { pipelining: 1 })
        try {
          const found: Answer[] = []
          for (const read of reads()) found.push(await answer(bench, http, { userId, headers: service.headers }, read))
          return found
        } finally {
          await http.close()
        }
      }),
    ),
  )
  const file = join(bench.directory, 'parity.json')
  const before = JSON.parse(await readFile(file, 'utf8').catch(() => '[]')) as Answer[]
  await writeFile(file, JSON.stringify(answers))
  return before.length === 0 ? [] : compared(before, answers)
}

async function answer(
  bench: Bench,
  http: HttpClient,
  { userId, headers }: { userId: string; headers: Record<string, string> },
  read: Read,
): Promise<Answer> {
  const times: number[] = []
  let text = ''
  for (let round = -3; round < bench.samples * 5; round += 1) {
    const started = performance.now()
    const path = `/api/v1/users/${userId}${read.path}`
    const { statusCode, body } = await http.request({ method: 'GET', path, headers: { ...headers, ...read.headers } })
    text = await body.text()
    if (statusCode !== 200) throw new Error(`${read.name}: ${statusCode} ${text}`)
    if (round >= 0) times.push(performance.now() - started)
  }
  // Ids and cursors belong to one database.
  const same = text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '')
    .replaceAll(/"(next|previous)_cursor":"[^"]+"/g, '"$1_cursor":""')
  return { name: read.name, hash: createHash('sha256').update(same).digest('hex'), ms: median(times) }
}

function compared(plain: readonly Answer[], timescale: readonly Answer[]): Measure[] {
  const pairs = timescale.map((one, place) => ({ one, other: plain[place] as Answer }))
  const lines = pairs.map(
    ({ one, other }) =>
      `${one.name}: plain ${figure(other.ms)} ms, timescale ${figure(one.ms)} ms${one.hash === other.hash ? '' : ', ANOTHER ANSWER'}`,
  )
  return [
    {
      id: 'P1',
      what: 'reads that the two engines answer differently',
      values: [pairs.filter(({ one, other }) => one.hash !== other.hash).length],
      target: { at: 'most', value: 0 },
      beside: lines,
    },
    {
      id: 'P1',
      what: 'latency of the same reads: timescale ÷ plain, each of them',
      values: pairs.map(({ one, other }) => one.ms / other.ms),
      target: { at: 'most', value: 1.5 },
      beside: [],
    },
  ]
}
