import { randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Reads the generated SECRET_KEY of a data directory, or generates it (mode 0600) if there is none. Two processes that
 * start at once end with the same key, and a killed one leaves a complete key or none: the file gets its name when it
 * is complete, and only one process can give it that name.
 */
export async function dataDirSecret(dataDir: string): Promise<string> {
  const path = join(dataDir, 'secret-key')
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  const known = await readFile(path, 'utf8').catch(ignore('ENOENT'))
  if (known === undefined) {
    try {
      await writeFile(draft, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true })
      await link(draft, path).catch(ignore('EEXIST'))
    } finally {
      await rm(draft, { force: true })
    }
  }
  const secret = (known ?? (await readFile(path, 'utf8'))).trim()
  if (secret.length !== 64)
    throw new Error(`${path} is damaged. Restore it from a backup: tokens and credentials depend on it.`)
  return secret
}

function ignore(code: string) {
  return (error: NodeJS.ErrnoException): undefined => {
    if (error.code !== code) throw error
  }
}
