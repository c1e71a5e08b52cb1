import { parseArgs } from 'node:util'
import { type Config, ConfigError, loadConfig } from './config.ts'
import { openDatabase } from './db/database.ts'
import { migrate } from './db/migrate.ts'
import { uuidProblem } from './http/formats.ts'
import { replay, type Selection } from './intake/uploads/replay.ts'
import { inOwnDatabase } from './own-database.ts'
import { startThreads } from './threads.ts'

const USAGE = `npm run replay -- --user <id> [--from <date>] [--to <date>] [--write]
npm run replay -- --batch <id> [--write]

Imports stored uploads again by the rules of this version: one, or those of a user that arrived between two UTC days,
both included. Without --write it changes nothing, and shows what would change.`

const IMPORT_TIMEOUT_MS = 600_000

/** A command that cannot be executed; the message is for the operator. */
class UsageError extends Error {}

/** The selection on the command line. @throws UsageError */
function selected(args: string[]): Selection & { write: boolean } {
  const text = { type: 'string' } as const
  try {
    const options = { batch: text, user: text, from: text, to: text, write: { type: 'boolean' } } as const
    const { values } = parseArgs({ args, options })
    const { batch = null, user = null, from = null, to = null, write = false } = values
    if ((batch === null) === (user === null)) throw new UsageError('Give --user or --batch.')
    if (uuidProblem(batch ?? user ?? '')) throw new UsageError('The id must be a UUID.')
    for (const day of [from, to]) {
      if (day !== null && !(/^\d{4}-\d\d-\d\d$/.test(day) && !Number.isNaN(Date.parse(day)))) {
        throw new UsageError(`${day} is not a date such as 2026-02-24.`)
      }
    }
    if (batch && (from || to)) throw new UsageError('--from and --to go with --user.')
    return { batch, user, from, to, write }
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError((error as Error).message)
  }
}

async function replayIn(
  url: string,
  config: Config,
  { write, ...selection }: ReturnType<typeof selected>,
): Promise<void> {
  await migrate(url)
  const db = openDatabase({
    url,
    name: 'pulsebase replay',
    maxConnections: 4,
    statementTimeoutMs: IMPORT_TIMEOUT_MS,
    onError: () => {},
  })
  const threads = startThreads()
  try {
    await replay({ db, threads, settings: config }, selection, write, (line) => process.stdout.write(`${line}\n`))
  } finally {
    await threads.close()
    await db.end()
  }
}

async function main(): Promise<void> {
  const selection = selected(process.argv.slice(2))
  const config = loadConfig(process.env)
  await inOwnDatabase(config, (url) => replayIn(url, config, selection))
}

main().catch((error: unknown) => {
  const known = error instanceof UsageError || error instanceof ConfigError
  process.stderr.write(`${known ? error.message : `Could not replay: ${(error as Error).message}`}\n`)
  if (error instanceof UsageError) process.stderr.write(`\n${USAGE}\n`)
  process.exitCode = 1
})
