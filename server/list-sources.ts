import { ConfigError, loadConfig } from './config.ts'
import { counted } from './counted.ts'
import { migrate } from './db/migrate.ts'
import { inOwnDatabase } from './own-database.ts'
import { scatteredUsers } from './sources/groups.ts'

// npm run sources: users whose sources are in several groups, which a distributed PostgreSQL would keep apart.

/** Users that are listed; the first line counts all. */
const MOST_LISTED = 1_000

async function list(url: string): Promise<void> {
  await migrate(url)
  const { users, first } = await scatteredUsers(url, MOST_LISTED)
  const print = (line: string) => process.stdout.write(`${line}\n`)
  if (users === 0) print('The sources of every user are in one group.')
  else print(`The sources of ${counted(users, 'user')} are in several groups:`)
  for (const { userId, sources, groups } of first) {
    print(`${userId}  ${counted(sources, 'source')} in groups ${groups.join(', ')}`)
  }
  if (users > first.length) print(`and ${users - first.length} more`)
}

try {
  await inOwnDatabase(loadConfig(process.env), list)
} catch (error) {
  process.stderr.write(`${error instanceof ConfigError ? error.message : (error as Error).message}\n`)
  process.exitCode = 1
}
