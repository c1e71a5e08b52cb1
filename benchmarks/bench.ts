import { join } from 'node:path'
import pg from 'pg'
import type { Engine } from './engines.ts'
import { cpuSeconds, familyCpuSeconds, mainThreadCpuSeconds } from './processes.ts'
import { profileLines } from './profile.ts'
import { type Service, type ServiceOptions, startService } from './service.ts'

/** The input of a suite: one engine and the options of the command line. */
export interface Bench {
  engine: Engine
  /** Rounds of each measure. */
  samples: number
  /** Less data and shorter loops. */
  quick: boolean
  /** For all temporary files. */
  directory: string
  /** Where CPU profiles go; undefined = none. */
  profileDirectory: string | undefined
  wanted(id: string): boolean
  say(line: string): void
  /** Reports a fault of the measured service: the run continues, and fails at the end. */
  fail(line: string): void
  /** Registers a `stop` for when the run is interrupted; the returned function calls it, once. */
  closing(stop: () => Promise<void>): () => Promise<void>
}

/** One line of the table. */
export interface Measure {
  id: string
  what: string
  /** One value per round: a ratio, unless `unit` says otherwise. */
  values: number[]
  unit?: 'B' | 'MB' | 'ms' | 'µs' | '%'
  target: { at: 'least' | 'most'; value: number }
  /** Reported beside it: absolute figures, CPU times. */
  beside: string[]
}

/** CPU seconds by process. */
export interface Cpu {
  server: number
  /** Of that, the server's event loop; the rest is worker threads and garbage collection. */
  loop: number
  database: number
  generator: number
}

/** A measured piece of work. */
export interface Timed<T> {
  result: T
  seconds: number
  cpu: Cpu
}

/** Times work, and the CPU time that process `pid`, the database and this process spend on it. */
export async function timed<T>(bench: Bench, pid: number, work: () => Promise<T>): Promise<Timed<T>> {
  const before = cpuNow(bench, pid)
  const started = performance.now()
  const result = await work()
  const seconds = (performance.now() - started) / 1000
  const after = cpuNow(bench, pid)
  const used = (name: keyof Cpu) => after[name] - before[name]
  const cpu = {
    server: used('server'),
    loop: used('loop'),
    database: used('database'),
    generator: used('generator'),
  }
  return { result, seconds, cpu }
}

function cpuNow(bench: Bench, pid: number): Cpu {
  return {
    server: cpuSeconds(pid),
    loop: mainThreadCpuSeconds(pid),
    database: familyCpuSeconds(bench.engine.pid),
    generator: cpuSeconds(process.pid),
  }
}

/** Creates a database for a suite and drops it afterwards. */
export async function withDatabase<T>(bench: Bench, name: string, work: (url: string) => Promise<T>): Promise<T> {
  const url = await bench.engine.create(`bench_${name}`)
  try {
    return await work(url)
  } finally {
    await bench.engine.drop(`bench_${name}`)
  }
}

/**
 * Starts the service on a database and stops it afterwards; when profiling, prints where its time went. With `hear` the
 * service reports its statements.
 */
export async function withService<T>(
  bench: Bench,
  { url: databaseUrl, name, ...options }: { url: string; name: string } & Pick<ServiceOptions, 'hear' | 'settings'>,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  const { directory, engine } = bench
  const profileDirectory = bench.profileDirectory && join(bench.profileDirectory, `${engine.name}-${name}`)
  const service = await startService({
    databaseUrl,
    directory,
    ...options,
    ...(profileDirectory && { profileDirectory }),
  })
  const stop = bench.closing(service.stop)
  try {
    return await work(service)
  } finally {
    await stop()
    if (profileDirectory) for (const line of await profileLines(profileDirectory)) bench.say(line)
  }
}

/** Opens a separate connection for the duration of `work`. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'pulsebase benchmark' })
  // An interrupted run drops the database by force.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** The median of a list, and its ends. */
export function spread(values: readonly number[]): { median: number; min: number; max: number } {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (index: number) => sorted[index] ?? Number.NaN
  const middle = (sorted.length - 1) / 2
  return { median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2, min: at(0), max: at(sorted.length - 1) }
}

/** The value below which `share` of the values lie. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** The median of the values. */
export const median = (values: readonly number[]): number => spread(values).median

/** Whole numbers in groups of three digits, others with three significant digits. */
export function figure(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2
  return value.toLocaleString('en', { maximumFractionDigits: digits }).replaceAll(',', ' ')
}

/**
 * The CPU time of runs by process, per counted thing: `server 9.1 (event loop 4.0), database 6.2, generator 0.7 µs of
 * CPU a record`.
 */
export function cpuText(runs: readonly { cpu: Cpu; count: number }[], thing: string, server = 'server'): string {
  const each = (name: keyof Cpu) => figure(median(runs.map(({ cpu, count }) => (cpu[name] / count) * 1e6)))
  return `${server} ${each('server')} (event loop ${each('loop')}), database ${each('database')}, generator ${each('generator')} µs of CPU a ${thing}`
}
