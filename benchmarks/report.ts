import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { figure, type Measure, spread } from './bench.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

/** The directory of results and profiles; git ignores it. */
export const RESULTS = join(ROOT, 'benchmarks', 'results')

/** What the figures of a run depend on. */
export interface Header {
  commit: string
  cpu: string
  cores: number
  /** Load average of the minute before the run: unless it is about 0, absolute figures are worthless. */
  load: number
  node: string
  quick: boolean
  samples: number
}

/** The measurements on one engine. */
export interface EngineResult {
  engine: string
  version: string
  measures: Measure[]
}

/** Collects what the figures of this run depend on. */
export async function header(quick: boolean, samples: number): Promise<Header> {
  const cores = cpus()
  const cpu = cores[0]?.model ?? 'unknown CPU'
  const load = loadavg()[0] ?? 0
  return { commit: await commit(), cpu, cores: cores.length, load, node: process.version, quick, samples }
}

/** The commit that is checked out, read from git's files; uncommitted changes are not reported. */
async function commit(): Promise<string> {
  try {
    const head = (await readFile(join(ROOT, '.git/HEAD'), 'utf8')).trim()
    const ref = /^ref: (.+)$/.exec(head)?.[1]
    if (!ref) return head.slice(0, 10)
    const loose = await readFile(join(ROOT, '.git', ref), 'utf8').catch(() => undefined)
    const packed = async () => await readFile(join(ROOT, '.git/packed-refs'), 'utf8')
    const line = loose ?? (await packed()).split('\n').find((entry) => entry.endsWith(` ${ref}`))
    return line?.slice(0, 10) ?? 'unknown'
  } catch {
    return 'unknown'
  }
}

/** Whether the median of a measure reaches its target. */
export function isMet({ values, target }: Measure): boolean {
  const { median } = spread(values)
  return target.at === 'least' ? median >= target.value : median <= target.value
}

/** The table of one engine, and below it the additional figures. */
export function table(head: Header, { engine, version, measures }: EngineResult): string {
  const rows = measures.map((measure) => {
    const { median, min, max } = spread(measure.values)
    const unit = measure.unit ? ` ${measure.unit}` : ''
    const target = `${measure.target.at === 'least' ? '≥' : '≤'} ${measure.target.value}${unit}`
    const range = `${figure(min)}..${figure(max)}`
    return [measure.id, measure.what, figure(median) + unit, range, target, isMet(measure) ? 'met' : 'NOT MET']
  })
  const lines = [['id', 'measure', 'ratio', 'spread', 'target', ''], ...rows]
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? []
  const { commit, cpu, cores, load, node, quick, samples } = head
  // Two measures may share their runs: a line is printed once, with the first of them.
  const beside = new Map<string, string>()
  for (const { id, beside: lines } of measures) {
    for (const line of lines) if (!beside.has(line)) beside.set(line, `  ${id}  ${line}`)
  }
  return [
    `${engine}: ${version}; Node ${node}; commit ${commit}; ${cpu}, ${cores} cores, load ${load.toFixed(1)} before; ${samples} rounds${quick ? ', quick' : ''}`,
    ...lines.map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    ),
    'beside the ratios (medians):',
    ...beside.values(),
  ].join('\n')
}

/** Writes all measurements, round by round; returns the file. */
export async function writeResults(stamp: string, head: Header, engines: EngineResult[]): Promise<string> {
  await mkdir(RESULTS, { recursive: true })
  const file = join(RESULTS, `${stamp}.json`)
  const results = engines.map(({ measures, ...engine }) => ({
    ...engine,
    measures: measures.map((measure) => ({ ...measure, ...spread(measure.values), met: isMet(measure) })),
  }))
  await writeFile(file, `${JSON.stringify({ stamp, ...head, engines: results }, undefined, 2)}\n`)
  return file
}
