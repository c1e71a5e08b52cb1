import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Client } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { withClient } from './bench.ts'
import type { Engine } from './engines.ts'
import { familyCpuSeconds, startHelper } from './processes.ts'

const run = promisify(execFile)

const TABLE = 'sample_copy'

// Chunks of the same length as in the original.
const HYPERTABLE_SQL = `
  select create_hypertable('${TABLE}', by_range('ts', time_interval), create_default_indexes => false)
  from timescaledb_information.dimensions
  where hypertable_name = 'sample' and column_name = 'ts'`

/** Writes all samples to a CSV file, in the order in which they were stored. */
export async function exportRows(url: string, file: string): Promise<void> {
  await withClient(url, async (db) => {
    await pipeline(
      db.query(copyTo('copy (select * from sample) to stdout (format csv)')),
      createWriteStream(file, { flush: true }),
    )
  })
}

/**
 * Loads a file of `exportRows` into an empty copy of the table by psql's \copy or, without psql, by a process of ours
 * that sends the same text. Returns the seconds, without the start of that process.
 */
export async function copyFile(
  engine: Engine,
  { db, url, csv }: { db: Client; url: string; csv: string },
): Promise<{ seconds: number; databaseCpu: number }> {
  await db.query(`create table ${TABLE} (like sample including all)`)
  try {
    if (engine.name === 'timescale') await db.query(HYPERTABLE_SQL)
    await db.query('checkpoint')
    const before = familyCpuSeconds(engine.pid)
    const seconds = (await hasPsql()) ? await psqlCopy(url, csv) : await helperCopy(url, csv)
    // A backend that is just ending is counted neither as running nor by its parent.
    await delay(200)
    return { seconds, databaseCpu: familyCpuSeconds(engine.pid) - before }
  } finally {
    await db.query(`drop table ${TABLE}`)
  }
}

const hasPsql = (): Promise<boolean> =>
  run('psql', ['--version']).then(
    () => true,
    () => false,
  )

async function psqlCopy(url: string, csv: string): Promise<number> {
  const { hostname, port, username, password, pathname } = new URL(url)
  const env = {
    PATH: process.env.PATH,
    PGHOST: hostname,
    PGPORT: port,
    PGUSER: username,
    PGPASSWORD: password,
    PGDATABASE: pathname.slice(1),
  }
  const copy = `\\copy ${TABLE} from '${csv}' with (format csv)`
  const { stdout } = await run('psql', ['-X', '-v', 'ON_ERROR_STOP=1', '-c', '\\timing on', '-c', copy], { env })
  const ms = /^Time: ([\d.]+) ms/m.exec(stdout)?.[1]
  if (!ms) throw new Error(`psql did not report the time of \\copy: ${stdout}`)
  return Number(ms) / 1000
}

async function helperCopy(url: string, csv: string): Promise<number> {
  const helper = await startHelper('copy-helper.ts', { DATABASE_URL: url })
  try {
    return await helper.ask<number>({ table: TABLE, csv })
  } finally {
    await helper.stop()
  }
}
