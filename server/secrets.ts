import { randomBytes } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Reads the generated SECRET_KEY of a data directory, or generates it (mode 0600) when there is none.
 * Two processes that start at once end with the same key, since only one can create the file.
 */
export async function dataDirSecret(dataDir: string): Promise<string> {
  const path = join(dataDir, 'secret-key')
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(`${randomBytes(32).toString('hex')}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const secret = (await readFile(path, 'utf8')).trim()
  if (secret.length !== 64)
    throw new Error(`${path} is damaged. Restore it from a backup: tokens and credentials depend on it.`)
  return secret
}
