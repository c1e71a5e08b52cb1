import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Bench, figure, type Measure, median, withClient, withDatabase, withService } from './bench.ts'
import { DATA_START_MS, type Dataset, generate } from './generate.ts'
import { residentMb } from './processes.ts'
import type { Service } from './service.ts'
import { upload } from './upload.ts'

/** What minutes of mixed load do to the memory of the service. */
export const ids = ['MEM']

const COLUMNS_JSON = 'application/vnd.pulsebase.columns+json'
const SECONDS = 600
const QUICK_SECONDS = 200
/** Pages and summaries a second, and seconds between large pages. */
const READS_PER_SECOND = 20
const BULK_EVERY_SECONDS = 5
const BULK_AT_ONCE = 20
/** Between uploads of a person, so that the machine is busy but not only with these. */
const REST_MS = 500

interface Load {
  service: Service
  /** A user who is read, with a history. */
  reader: string
  ended: () => boolean
}

/**
 * Three people upload, one after the other's end anew as somebody else; meanwhile another person's pages, buckets and
 * summaries are read, and now and then 200,000 samples at once. In the end twenty such pages are read at the same time.
 */
export async function run(bench: Bench): Promise<Measure[]> {
  const seconds = bench.quick ? QUICK_SECONDS : SECONDS
  const plan = { bodies: 10, everySeconds: 5, seed: 5 } as const
  const datasets = await Promise.all(
    (['heart rate', 'mixed', 'whole'] as const).map((kind) =>
      generate(join(bench.directory, `mixed-memory-${kind.slice(0, 5)}`), { ...plan, kind }),
    ),
  )
  const seen = await generate(join(bench.directory, 'mixed-memory-seen'), { ...plan, kind: 'heart rate', bodies: 100 })
  const taken = await withDatabase(bench, 'mixed_memory', (url) =>
    withService(bench, { url, name: 'mixed-memory' }, (service) =>
      underLoad({ service, url, seconds }, datasets, seen),
    ),
  )
  return measures(taken)
}

interface Taken {
  idle: number
  /** Resident megabytes, one a second. */
  loaded: number[]
  bulk: number
}

async function underLoad(
  { service, url, seconds }: { service: Service; url: string; seconds: number },
  datasets: readonly Dataset[],
  seen: Dataset,
): Promise<Taken> {
  await delay(2_000)
  const idle = residentMb(service.pid)
  const reader = await service.createUser()
  await withClient(url, (db) => upload(service, db, [{ userId: reader, dataset: seen }]))
  const until = performance.now() + seconds * 1000
  const load: Load = { service, reader, ended: () => performance.now() > until }
  const loaded: number[] = []
  const sample = setInterval(() => loaded.push(residentMb(service.pid)), 1_000)
  try {
    await Promise.all([...datasets.map((dataset) => uploads(load, url, dataset)), reads(load), bulkPages(load)])
  } finally {
    clearInterval(sample)
  }
  const before = residentMb(service.pid)
  let peak = before
  const watch = setInterval(() => {
    peak = Math.max(peak, residentMb(service.pid))
  }, 50)
  try {
    await Promise.all(Array.from({ length: BULK_AT_ONCE }, () => bulkPage(load)))
  } finally {
    clearInterval(watch)
  }
  return { idle, loaded, bulk: peak - before }
}

async function uploads({ service, ended }: Load, url: string, dataset: Dataset): Promise<void> {
  while (!ended()) {
    const userId = await service.createUser()
    await withClient(url, (db) => upload(service, db, [{ userId, dataset }]))
    await delay(REST_MS)
  }
}

async function reads(load: Load): Promise<void> {
  const hour = 3_600
  for (let count = 0; !load.ended(); count += 1) {
    const start = DATA_START_MS / 1000 + (count % 200) * hour
    const window = `start_time=${start}&end_time=${start + 6 * hour}`
    const paths = [
      `timeseries?types=heart_rate&limit=100&${window}`,
      `timeseries?types=heart_rate&resolution=15min&limit=100&${window}`,
      `summaries/activity?start_date=2024-01-01&end_date=2024-01-31`,
    ]
    await ask(load, paths[count % paths.length] as string, {})
    await delay(1000 / READS_PER_SECOND)
  }
}

async function bulkPages(load: Load): Promise<void> {
  while (!load.ended()) {
    await bulkPage(load)
    await delay(BULK_EVERY_SECONDS * 1000)
  }
}

const bulkPage = (load: Load) =>
  ask(load, `timeseries?types=heart_rate&limit=200000&start_time=2024-01-01&end_time=2025-01-01`, {
    accept: COLUMNS_JSON,
  })

/** Reads an answer to its end; one that says to come again is asked for again. */
async function ask({ service, reader }: Load, path: string, headers: Record<string, string>): Promise<void> {
  for (;;) {
    const answer = await fetch(`${service.origin}/api/v1/users/${reader}/${path}`, {
      headers: { ...service.headers, ...headers },
    })
    const { byteLength } = await answer.arrayBuffer()
    if (answer.status === 200 && byteLength > 0) return
    if (answer.status !== 503) throw new Error(`GET ${path} was answered ${answer.status}`)
    await delay(1_000)
  }
}

function measures({ idle, loaded, bulk }: Taken): Measure[] {
  const tenth = Math.ceil(loaded.length / 10)
  const at = (from: number) => median(loaded.slice(from, from + tenth))
  const quarters = [0, 1, 2, 3].map((quarter) => figure(at(Math.floor((loaded.length * quarter) / 4))))
  return [
    {
      id: 'MEM',
      what: 'resident memory after minutes of mixed load',
      values: [at(loaded.length - tenth)],
      unit: 'MB',
      target: { at: 'most', value: 400 },
      beside: [
        `idle ${figure(idle)} MB; at the start of each quarter ${quarters.join(', ')}; most ${figure(Math.max(...loaded))}`,
      ],
    },
    {
      id: 'MEM',
      what: '20 pages of 200,000 samples at once, above that',
      values: [bulk],
      unit: 'MB',
      target: { at: 'most', value: 200 },
      beside: [],
    },
  ]
}
