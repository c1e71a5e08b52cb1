import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { takeLock } from '../../server/db/embedded/lock.ts'
import { startTime } from '../../server/db/embedded/processes.ts'
import { stopLeftover } from '../../server/db/embedded/server.ts'

/** A database server for the tests: superuser address of its database `postgres`. */
export interface Engine {
  name: 'plain' | 'timescale'
  url: string
}

/** The servers that before.ts started, and for whom; kept in .tap/pulsebase-servers.json. */
export interface ServerRecord {
  /** False while before.ts is running: the record may be incomplete. */
  ready: boolean
  engines: Engine[]
  /** Directories created for this run; each server's cluster is in one of them. */
  directories: string[]
  clusters: string[]
  /** The tap processes that use the servers: simultaneous runs in one checkout share them. */
  runs: { pid: number; start: string }[]
  /** The TEST_* variables that decided which servers these are. */
  environment: string
}

/** The file in which the test processes, and after.ts, find the servers. */
export const RECORD_FILE = fileURLToPath(new URL('../../.tap/pulsebase-servers.json', import.meta.url))

/**
 * The servers of this run: `plain` always, unless TEST_DATABASE_URL has TimescaleDB, and `timescale` where there is one.
 * @throws Error when before.ts did not run.
 */
export function engines(): Engine[] {
  const record = readRecord()
  if (record?.ready && record.engines.length > 0) return record.engines
  throw new Error(
    'No test servers are running. Run all tests with "npm test", or one file with "npx tap test/db/x.test.ts": ' +
      'tap starts the servers first, plain "node" does not.',
  )
}

/** Does `work` while no other before.ts or after.ts of this checkout does; waits for them. */
export async function withRecordLock(work: () => Promise<void>): Promise<void> {
  const directory = dirname(RECORD_FILE)
  await mkdir(directory, { recursive: true })
  let lock = await takeLock(directory, 'pulsebase-servers.lock')
  while ('heldBy' in lock) {
    await delay(50)
    lock = await takeLock(directory, 'pulsebase-servers.lock')
  }
  try {
    await work()
  } finally {
    await lock.release()
  }
}

/** The record as last written, undefined if there is no readable one. */
export function readRecord(): ServerRecord | undefined {
  try {
    return JSON.parse(readFileSync(RECORD_FILE, 'utf8')) as ServerRecord
  } catch {
    return undefined
  }
}

/** Writes the record, which contains passwords, completely or not at all. */
export async function writeRecord(record: ServerRecord): Promise<void> {
  await mkdir(dirname(RECORD_FILE), { recursive: true })
  // Two servers that start write it at the same time.
  const unfinished = `${RECORD_FILE}.${randomBytes(4).toString('hex')}`
  await writeFile(unfinished, JSON.stringify(record, undefined, 2), { mode: 0o600 })
  await rename(unfinished, RECORD_FILE)
}

/** The runs of `record` whose tap process is alive. */
export async function liveRuns(record: ServerRecord): Promise<ServerRecord['runs']> {
  const starts = await Promise.all(record.runs.map(({ pid }) => startTime(pid)))
  return record.runs.filter(({ start }, index) => starts[index] === start)
}

/** Stops exactly the servers of `record`, removes their directories and then the record. */
export async function stopServers(record: ServerRecord): Promise<void> {
  await Promise.all(
    record.clusters.map(async (cluster) => {
      if (await stat(cluster).catch(() => undefined)) await stopLeftover(cluster, () => {})
    }),
  )
  for (const directory of record.directories) await rm(directory, { recursive: true, force: true })
  await rm(RECORD_FILE, { force: true })
}
