import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The user that PostgreSQL runs as, because it refuses to run as root. */
export interface Account {
  uid: number
  gid: number
}

/** macOS ships a user `_postgres`; Debian's and Red Hat's packages create `postgres`. */
const EXISTING_USERS = ['postgres', 'pulsebase', '_postgres']
const OWN_USER = 'pulsebase'

/**
 * The account to run the server of `cluster` as, or undefined when that is simply the user of this process.
 * As root: the owner of an existing cluster, else a known database user, else a new system user `pulsebase`.
 * @throws Error when the cluster belongs to somebody else, or when no user exists and none can be created.
 */
export async function serverAccount(cluster: string, log: (message: string) => void): Promise<Account | undefined> {
  const owner = await stat(cluster).catch(() => undefined)
  const self = process.geteuid?.()
  if (self !== 0) {
    if (owner && self !== undefined && owner.uid !== self) throw foreignCluster(cluster, owner.uid, self)
    return undefined
  }
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  for (const name of EXISTING_USERS) {
    const account = await lookUp(name)
    if (account) return account
  }
  return createUser(log)
}

/**
 * Whether `account` can enter `dir`, found out by trying: permissions, ACLs and mount options all count.
 * @throws Error when this process may not start a program as that account at all.
 */
export async function canEnter(account: Account, dir: string): Promise<boolean> {
  try {
    await run('/bin/sh', ['-c', 'cd -- "$1"', 'sh', dir], { ...account, cwd: '/', env: {} })
    return true
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (typeof code === 'number') return false
    throw new Error(
      `PostgreSQL refuses to run as root, and this process may not start programs as uid ${account.uid} (${code}): ` +
        'start Pulsebase as an ordinary user, or set DATABASE_URL',
      { cause: error },
    )
  }
}

function foreignCluster(cluster: string, owner: number, self: number): Error {
  return new Error(
    `The embedded database in ${cluster} belongs to uid ${owner}, but this process runs as uid ${self}: ` +
      'start Pulsebase as the user who started it first, or change the owner of the whole data directory',
  )
}

async function lookUp(name: string): Promise<Account | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])])
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
  } catch {
    return undefined
  }
}

async function createUser(log: (message: string) => void): Promise<Account> {
  const reason = await addUser()
  const account = await lookUp(OWN_USER)
  if (!account) {
    throw new Error(
      'PostgreSQL refuses to run as root, there is no user "postgres" or "pulsebase", and none could be created ' +
        `(${reason}): create a system user "${OWN_USER}", start Pulsebase as an ordinary user, or set DATABASE_URL`,
    )
  }
  log(`created the system user ${OWN_USER} (uid ${account.uid}) to run the embedded database`)
  return account
}

/** Tries shadow's useradd, then BusyBox's adduser; returns why neither worked, if so. */
async function addUser(): Promise<string> {
  const commands: [string, string[]][] = [
    ['useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', OWN_USER]],
    ['adduser', ['-S', '-D', '-H', '-s', '/sbin/nologin', OWN_USER]],
  ]
  let reason = 'neither useradd nor adduser is installed'
  for (const [command, args] of commands) {
    try {
      await run(command, args)
      return ''
    } catch (error) {
      const { code, stderr } = error as { code?: unknown; stderr?: string }
      if (code !== 'ENOENT') reason = `${command}: ${stderr?.trim() || code}`
    }
  }
  return reason
}
