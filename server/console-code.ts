import { consoleLink, newConsoleCode } from './api/console/codes.ts'
import { ConfigError, loadConfig } from './config.ts'
import { openDatabase } from './db/database.ts'
import { migrate } from './db/migrate.ts'
import { inOwnDatabase } from './own-database.ts'

const USAGE = `npm run console:code -- [email]

Prints an address that signs in to the console, once and within 15 minutes: as the developer with this email address, or
as the first one.`

/** A command that cannot be executed; the message is for the operator. */
class UsageError extends Error {}

async function newCode(url: string, email: string | undefined): Promise<string> {
  await migrate(url)
  const db = openDatabase({
    url,
    name: 'pulsebase console code',
    maxConnections: 1,
    statementTimeoutMs: 10_000,
    onError: () => {},
  })
  try {
    const [developer] = await db.query<{ id: string }>(
      `select id from developer
       where $1::text is null or lower(email) = lower($1)
       order by created_at, id
       limit 1`,
      [email ?? null],
    )
    if (!developer) {
      throw new UsageError(email ? `There is no developer ${email}.` : 'There is no developer: start the service.')
    }
    return await newConsoleCode(db, developer.id)
  } finally {
    await db.end()
  }
}

async function main(): Promise<void> {
  const [email, ...more] = process.argv.slice(2)
  if (more.length > 0 || email?.startsWith('-')) throw new UsageError('Give one email address, or none.')
  const config = loadConfig(process.env)
  if (!config.consoleEnabled) throw new ConfigError('CONSOLE_ENABLED', 'is false: the service has no console')
  await inOwnDatabase(config, async (url) => {
    process.stdout.write(`${consoleLink(config.apiBaseUrl, await newCode(url, email))}\n`)
  })
}

main().catch((error: unknown) => {
  const known = error instanceof UsageError || error instanceof ConfigError
  process.stderr.write(`${known ? error.message : `Could not make a code: ${(error as Error).message}`}\n`)
  if (error instanceof UsageError) process.stderr.write(`\n${USAGE}\n`)
  process.exitCode = 1
})
