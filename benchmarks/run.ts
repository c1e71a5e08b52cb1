// npm run bench: measures the targets of the design on both engines (see README.md).
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Bench, Measure } from './bench.ts'
import * as burst from './burst.ts'
import * as day from './day.ts'
import * as due from './due.ts'
import { ENGINE_NAMES, type EngineName, startEngine, temporaryDirectory } from './engines.ts'
import * as fanOut from './fan-out.ts'
import * as flood from './flood.ts'
import * as ingest from './ingest.ts'
import * as lists from './lists.ts'
import * as memory from './memory.ts'
import * as mixedMemory from './mixed-memory.ts'
import * as notices from './notices.ts'
import * as opened from './opened.ts'
import * as parity from './parity.ts'
import * as pulls from './pulls.ts'
import * as pushed from './pushed.ts'
import * as reads from './reads.ts'
import * as refresh from './refresh.ts'
import * as replicas from './replicas.ts'
import { type EngineResult, header, isMet, RESULTS, table, writeResults } from './report.ts'
import * as rollups from './rollups.ts'
import * as sizes from './sizes.ts'
import * as start from './start.ts'
import * as summaries from './summaries.ts'
import * as webhooks from './webhooks.ts'

const SUITES = [
  ingest,
  memory,
  mixedMemory,
  reads,
  replicas,
  lists,
  rollups,
  sizes,
  day,
  summaries,
  refresh,
  opened,
  parity,
  webhooks,
  fanOut,
  pushed,
  pulls,
  notices,
  due,
  burst,
  flood,
  start,
]

const say = (line: string) => process.stdout.write(`${line}\n`)

/** Everything started and still to be stopped, in order. */
const stops = new Set<() => Promise<void>>()

function closing(stop: () => Promise<void>): () => Promise<void> {
  let stopped: Promise<void> | undefined
  const once = () => {
    stopped ??= stop().finally(() => stops.delete(once))
    return stopped
  }
  stops.add(once)
  return once
}

/** Stops the last started first; a failure does not keep the others running. */
async function stopEverything(): Promise<void> {
  for (const stop of [...stops].reverse()) {
    await stop().catch((error: unknown) => say(`could not stop a part of the benchmark: ${error}`))
  }
}

const { values: flags } = parseArgs({
  options: {
    engine: { type: 'string' },
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    samples: { type: 'string', default: '5' },
    check: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
  },
})

const known = SUITES.flatMap((suite) => suite.ids)
const only = flags.only?.split(',').map((id) => id.trim().toUpperCase()) ?? known
const names = ENGINE_NAMES.filter((name) => flags.engine === undefined || flags.engine === name)
const samples = Number(flags.samples)
const unknown = only.filter((id) => !known.includes(id))
if (unknown.length > 0) throw new Error(`--only takes ${known.join(', ')}, not ${unknown.join(', ')}`)
if (names.length === 0) throw new Error(`--engine takes ${ENGINE_NAMES.join(' or ')}`)
if (!Number.isInteger(samples) || samples < 1) throw new Error('--samples takes a whole number from 1')

let failed = false
let interrupted = false

/** Runs the wanted suites on one engine; a suite that cannot run does not stop the others. */
async function measureEngine(name: EngineName, directory: string, stamp: string): Promise<EngineResult | undefined> {
  const engine = await startEngine(name, directory).catch((error: Error) => {
    say(`${name} is not measured: ${error.message}`)
    // On a machine that is set up correctly only the extension may be missing.
    failed ||= name === 'plain'
  })
  if (!engine) return undefined
  const stop = closing(engine.stop)
  const bench: Bench = {
    engine,
    samples,
    quick: flags.quick,
    directory,
    profileDirectory: flags.profile ? join(RESULTS, `${stamp}-profile`) : undefined,
    wanted: (id) => only.includes(id),
    say,
    fail(line) {
      failed = true
      say(`${name}: ${line}`)
    },
    closing,
  }
  const measures: Measure[] = []
  for (const suite of SUITES) {
    const wanted = suite.ids.filter(bench.wanted)
    if (wanted.length === 0) continue
    const started = performance.now()
    say(`${name}: measuring ${wanted.join(', ')} ...`)
    try {
      measures.push(...(await suite.run(bench)))
      say(`${name}: ${wanted.join(', ')} took ${Math.round((performance.now() - started) / 1000)} s`)
    } catch (error) {
      failed = true
      say(`${name}: ${wanted.join(', ')} could not be taken: ${(error as Error).stack ?? error}`)
    }
  }
  await stop()
  return { engine: name, version: engine.version, measures }
}

async function main(): Promise<number> {
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(':', '-')
  const head = await header(flags.quick, samples)
  const directory = await temporaryDirectory()
  closing(() => rm(directory, { recursive: true, force: true }))
  const results: EngineResult[] = []
  for (const name of names) {
    const result = await measureEngine(name, directory, stamp)
    if (interrupted) return 130
    if (result) results.push(result)
  }
  for (const result of results) say(`\n${table(head, result)}`)
  say(`\nwritten to ${await writeResults(stamp, head, results)}`)
  const missed = results.flatMap((result) => result.measures).some((measure) => !isMet(measure))
  return failed || (flags.check && missed) ? 1 : 0
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // A terminal and npm may both send the signal: the second one must not cut the clean-up short.
  process.on(signal, () => {
    if (interrupted) return
    interrupted = true
    void stopEverything().finally(() => process.exit(130))
  })
}

try {
  process.exitCode = await main()
} finally {
  await stopEverything()
}
