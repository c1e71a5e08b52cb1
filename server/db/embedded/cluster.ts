import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { lchown, mkdir, open, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Account } from './account.ts'

const run = promisify(execFile)

/** Name of the superuser of every cluster created here. */
export const SUPERUSER = 'postgres'

/**
 * Locale arguments of initdb for PostgreSQL 17 and newer: PostgreSQL's own C.UTF-8, which sorts by code point and
 * depends on no library of the system, so an upgrade of that cannot corrupt an index
 * (https://www.postgresql.org/docs/18/locale.html#LOCALE-PROVIDERS).
 */
export const BUILTIN_LOCALE = ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']

export interface NewCluster {
  initdb: string
  /** Absolute; must not exist, or be empty. */
  cluster: string
  password: string
  /** Owner of the cluster; undefined: this user. */
  account: Account | undefined
  /** Further arguments of initdb. */
  args: string[]
}

/** Whether `cluster` is a complete cluster; @throws Error when it holds something else. */
export async function clusterExists(cluster: string): Promise<boolean> {
  const files = await readdir(cluster).catch(ignoreMissing)
  if (!files || files.length === 0) return false
  if (files.includes('PG_VERSION')) return true
  throw new Error(`${cluster} holds something that is not a database: move it away, or choose another data directory`)
}

/** @throws Error when the cluster was created by another major version of PostgreSQL than `major`. */
export async function checkVersion(cluster: string, major: string): Promise<void> {
  const made = (await readFile(join(cluster, 'PG_VERSION'), 'utf8')).trim()
  if (made === major) return
  throw new Error(
    `The database in ${cluster} was created by PostgreSQL ${made}, this version of Pulsebase ships ${major}: ` +
      'dump it with the version that created it, and load the dump into an empty data directory',
  )
}

/**
 * Creates a UTF-8 cluster with checksums that only lets its superuser in, by password. It is created beside its place
 * and renamed, so a cluster is complete or does not exist; leftovers of a killed attempt are removed first.
 * @throws Error with the output of initdb.
 */
export async function initCluster({ initdb, cluster, password, account, args }: NewCluster): Promise<void> {
  await removeDrafts(cluster)
  // A unique name: the initdb of a killed attempt may still be running.
  const draft = `${cluster}.init-${randomBytes(4).toString('hex')}`
  const passwordFile = `${draft}.password`
  try {
    // Root creates the directory for the server's user, who may not write in the directory above.
    await mkdir(draft, { mode: 0o700 })
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' })
    if (account) await lchown(draft, account.uid, account.gid)
    if (account) await lchown(passwordFile, account.uid, account.gid)
    const fixed = ['--encoding=UTF8', '--data-checksums', '--auth=scram-sha-256', `--username=${SUPERUSER}`]
    await run(initdb, ['-D', draft, ...fixed, `--pwfile=${passwordFile}`, '--no-instructions', ...args], {
      ...account,
      cwd: '/',
      env: serverEnv(),
    })
    await rmdir(cluster).catch(ignoreMissing)
    await rename(draft, cluster)
    await syncDirectory(dirname(cluster))
  } catch (error) {
    const { stderr } = error as { stderr?: string }
    throw new Error(`The database could not be created in ${cluster}: ${stderr?.trim() || error}`, { cause: error })
  } finally {
    await rm(passwordFile, { force: true })
  }
}

async function removeDrafts(cluster: string): Promise<void> {
  for (const name of await readdir(dirname(cluster))) {
    if (!name.startsWith(`${basename(cluster)}.init-`)) continue
    // An initdb that is still running may be faster once or twice; it soon fails, and its leftovers do no harm.
    await rm(join(dirname(cluster), name), { recursive: true, force: true, maxRetries: 3 }).catch(() => {})
  }
}

/** Environment of PostgreSQL's programs: no PG* variable or secret of ours, messages in English. */
export function serverEnv(): Record<string, string> {
  return { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
}

/** Writes a file that only its owner reads, completely or not at all, and only once it is on disk. */
export async function writePrivate(file: string, content: string): Promise<void> {
  await rm(`${file}.new`, { force: true })
  await writeFile(`${file}.new`, content, { mode: 0o600, flag: 'wx', flush: true })
  await rename(`${file}.new`, file)
  await syncDirectory(dirname(file))
}

async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
