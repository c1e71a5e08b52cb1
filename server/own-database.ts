import { join } from 'node:path'
import { type Config, ConfigError } from './config.ts'
import { clusterExists } from './db/embedded/cluster.ts'
import { runningEmbeddedDatabase, startEmbeddedDatabase } from './db/embedded.ts'

/**
 * Lets a command work in the database of the service: the configured one, or the embedded one, which is started if no
 * service runs. @throws ConfigError where there is none yet
 */
export async function inOwnDatabase(config: Config, work: (url: string) => Promise<void>): Promise<void> {
  const running = config.databaseUrl ?? (await runningEmbeddedDatabase(config.dataDir))
  if (running) return work(running)
  if (!(await clusterExists(join(config.dataDir, 'postgres')))) {
    throw new ConfigError(
      'DATA_DIR',
      `holds no database (${config.dataDir}): set it, or DATABASE_URL, as for the service`,
    )
  }
  const embedded = await startEmbeddedDatabase({ dataDir: config.dataDir, log: () => {} })
  try {
    await work(embedded.url)
  } finally {
    await embedded.stop()
  }
}
