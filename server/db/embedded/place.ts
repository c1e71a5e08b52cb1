import { createHash } from 'node:crypto'
import { chmod, lstat, mkdir, readdir, readlink, realpath, rmdir, symlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type Account, canEnter } from './account.ts'

/**
 * Where root puts directories that the server's user could not reach otherwise; the usual place for a service's state.
 */
export const SHARED_DIR = '/var/lib/pulsebase'

/**
 * The directory that holds the cluster `postgres`: `dataDir` itself, or a directory below /var/lib/pulsebase when
 * `account` cannot enter `dataDir` (root's home, say). The link `<dataDir>/postgres` then records where it is.
 * @throws Error when the recorded place is gone, or an existing cluster can no longer be reached.
 */
export async function clusterHome(
  dataDir: string,
  account: Account | undefined,
  log: (message: string) => void,
): Promise<string> {
  const cluster = join(dataDir, 'postgres')
  const recorded = await recordedHome(cluster)
  if (recorded) return recorded
  if (!account || (await canEnter(account, dataDir))) return realpath(dataDir)
  if (await isPresent(cluster)) throw unreachable(account, dataDir)
  const home = await claimHome(dataDir, cluster, account)
  log(`the database user (uid ${account.uid}) cannot enter ${dataDir}: the database is kept in ${home}`)
  return home
}

async function recordedHome(cluster: string): Promise<string | undefined> {
  const target = await readlink(cluster).catch(() => undefined)
  if (!target) return undefined
  const home = dirname(resolve(dirname(cluster), target))
  if (await isPresent(home)) return realpath(home)
  throw new Error(
    `The database of this data directory was kept in ${home}, which is gone: ` +
      `restore it, or remove ${cluster} to start with an empty database`,
  )
}

/**
 * Creates the first free directory for `dataDir` below /var/lib/pulsebase and records it. A non-empty directory belongs
 * to an earlier data directory of the same name, and is left alone.
 */
async function claimHome(dataDir: string, cluster: string, account: Account): Promise<string> {
  const hash = createHash('sha256').update(resolve(dataDir)).digest('hex').slice(0, 16)
  for (let number = 1; ; number++) {
    const home = join(SHARED_DIR, number === 1 ? hash : `${hash}-${number}`)
    await makePassable(home)
    if ((await readdir(home)).length > 0) continue
    try {
      if (!(await canEnter(account, home))) throw unreachable(account, home)
      await symlink(join(home, 'postgres'), cluster)
      return home
    } catch (error) {
      const recorded = (error as NodeJS.ErrnoException).code === 'EEXIST' && (await recordedHome(cluster))
      if (!recorded) throw error
      // Another process claimed one for the same data directory at the same moment; theirs counts.
      if (recorded !== home) await rmdir(home)
      return recorded
    }
  }
}

/** Creates `dir` below /var/lib/pulsebase, open to pass through whatever the umask; an existing one is not changed. */
export async function makePassable(dir: string): Promise<void> {
  for (const path of [SHARED_DIR, dir]) {
    if (await mkdir(path, { recursive: true })) await chmod(path, 0o755)
  }
}

function unreachable({ uid }: Account, dir: string): Error {
  return new Error(
    `The database user (uid ${uid}) cannot enter ${dir}: let it pass (chmod o+x) through every directory above, ` +
      'or choose another data directory',
  )
}

const isPresent = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  )
