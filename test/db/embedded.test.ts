import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import t, { type Test } from 'tap'
import { serverAccount } from '../../server/db/embedded/account.ts'
import { nativePackage, usableBinaries } from '../../server/db/embedded/binaries.ts'
import { SHARED_DIR } from '../../server/db/embedded/place.ts'
import { signalProcess, startTime, waitUntil } from '../../server/db/embedded/processes.ts'
import { freePort } from '../../server/db/embedded/server.ts'
import { type EmbeddedDatabase, startEmbeddedDatabase } from '../../server/db/embedded.ts'
import { compiledFile, THIS_RUN } from '../support/service.ts'

const isRoot = process.geteuid?.() === 0
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const WAIT_MS = 20_000

/** Created by the first test and shared by all that need a database: creating one is most of their work. */
const dataDir = join(await passableDirectory(t), 'pulse base', 'data dir')

t.test('the first start creates a database that later starts find again, in a path with spaces', async (t) => {
  const log: string[] = []
  const first = await start(t, dataDir, log)
  t.match(first.url, /^postgresql:\/\/postgres:[\w-]{32}@127\.0\.0\.1:\d+\/pulsebase$/)
  const settings = `select name, setting from pg_settings where name in
    ('data_checksums', 'fsync', 'listen_addresses', 'server_encoding', 'TimeZone', 'unix_socket_directories')`
  const rows = (await query(first.url, settings)) as { name: string; setting: string }[]
  t.strictSame(Object.fromEntries(rows.map(({ name, setting }) => [name, setting])), {
    data_checksums: 'on',
    fsync: 'on',
    listen_addresses: '127.0.0.1',
    server_encoding: 'UTF8',
    TimeZone: 'UTC',
    unix_socket_directories: '',
  })
  await query(first.url, `create table note as select 'Größe' as text`)
  t.equal((await stat(join(dataDir, 'postgres.password'))).mode & 0o777, 0o600)
  t.equal((await stat(join(dataDir, 'postgres'))).mode & 0o777, 0o700)
  t.equal((await stat(join(dataDir, 'postgres.log'))).mode & 0o777, 0o600)
  const pid = await postmasterPid(dataDir)
  await Promise.all([first.stop(), first.stop()])
  t.equal(await startTime(pid), undefined, 'stop ends the server')

  const port = await freePort()
  const second = await start(t, dataDir, log, port)
  t.strictSame(await query(second.url, 'select text from note'), [{ text: 'Größe' }])
  const { password } = new URL(first.url)
  t.match(new URL(second.url), { port: String(port), password })
  await second.stop()
  t.notMatch(log.join('\n') + (await readFile(join(dataDir, 'postgres.log'), 'utf8')), password)
})

t.test('after kill -9 of our process its server is stopped, and committed rows are there again', async (t) => {
  const first = await startChild(t, dataDir)
  await query(first.url, 'create table committed as select 1 as id')
  const busy = await startBusyBackend(first.url)
  await kill(first.child)
  const orphan = await postmasterPid(dataDir)
  t.ok(await startTime(orphan), 'the server outlives a killed process')

  await t.test('which a new start stops', async (t) => {
    const log: string[] = []
    const second = await start(t, dataDir, log)
    await busy.end
    t.match(log, [/left running/])
    t.equal(await startTime(orphan), undefined)
    t.strictSame(await query(second.url, 'select id from committed'), [{ id: 1 }])
    await second.stop()
  })

  await t.test('and so it does when only backends without their postmaster are left', async (t) => {
    const second = await startChild(t, dataDir)
    const busy = await startBusyBackend(second.url)
    const postmaster = await postmasterPid(dataDir)
    await kill(second.child)
    signalProcess(postmaster, 'SIGKILL')
    const third = await start(t, dataDir)
    await busy.end
    t.strictSame(await query(third.url, 'select id from committed'), [{ id: 1 }])
    await third.stop()
  })

  await t.test('after kill -9 of the server alone the caller is told', async (t) => {
    const log: string[] = []
    const second = await start(t, dataDir, log)
    const pidFile = join(dataDir, 'postgres', 'postmaster.pid')
    const [stale, postmaster] = [await readFile(pidFile, 'utf8'), await postmasterPid(dataDir)]
    signalProcess(postmaster, 'SIGKILL')
    t.match([await second.exited, ...log], [/exited by itself/, /exited by itself/])
    await second.stop()

    // At the next start, another process of the same user may have the number in its postmaster.pid.
    const { uid, gid } = await stat(join(dataDir, 'postgres'))
    const stranger = spawn('sleep', ['600'], { uid, gid, stdio: 'ignore' })
    t.teardown(() => stranger.kill())
    await once(stranger, 'spawn')
    await writeFile(pidFile, stale.replace(String(postmaster), String(stranger.pid)))
    const third = await start(t, dataDir)
    t.strictSame(await query(third.url, 'select id from committed'), [{ id: 1 }])
    t.ok(await startTime(stranger.pid ?? 0), 'a process that got its number lives on')
  })
})

t.test('a first start that was killed half-way is done again', async (t) => {
  const dataDir = await passableDirectory(t)
  const child = spawnChild(t, dataDir)
  const started = async () => {
    const draft = (await readdir(dataDir)).find((name) => /\.init-\w+$/.test(name))
    return draft !== undefined && stat(join(dataDir, draft, 'global')).then(Boolean, () => false)
  }
  t.ok(await waitUntil(started, WAIT_MS, 1), 'killed while initdb is at work')
  await kill(child)
  t.notOk((await readdir(dataDir)).includes('postgres'))
  const database = await start(t, dataDir)
  t.strictSame(await query(database.url, 'select 1 as one'), [{ one: 1 }])
})

t.test('a directory in use is refused, and its owner goes on unharmed', async (t) => {
  const owner = await startChild(t, dataDir)
  await t.rejects(startEmbeddedDatabase({ dataDir, log: () => {} }), {
    message: `The data directory ${dataDir} is in use by another Pulsebase, process ${owner.child.pid}`,
  })
  t.strictSame(await query(owner.url, 'select 1 as one'), [{ one: 1 }])

  await t.test('a Ctrl-C in its terminal reaches it, but not its database', async (t) => {
    process.kill(-(owner.child.pid ?? 0), 'SIGINT')
    await owner.next('interrupted')
    t.strictSame(await query(owner.url, 'select 1 as one'), [{ one: 1 }])
  })

  await t.test('when it ends without stopping the database, that ends too', async (t) => {
    const postmaster = await postmasterPid(dataDir)
    owner.child.kill('SIGTERM')
    t.ok(await waitUntil(async () => (await startTime(postmaster)) === undefined, WAIT_MS))
  })
})

t.test('a directory that the database user cannot enter gets its database elsewhere', { skip: !isRoot }, async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'pulsebase-private-'))
  t.teardown(() => rm(dataDir, { recursive: true, force: true }))
  const log: string[] = []
  const first = await start(t, dataDir, log)
  t.teardown(() => removeShared(dataDir))
  const home = dirname(await readlink(join(dataDir, 'postgres')))
  t.equal(dirname(home), SHARED_DIR)
  t.match(log, [`cannot enter ${dataDir}: the database is kept in ${home}`])
  await query(first.url, 'create table note as select 1 as id')

  // A copy of the directory refers to the same database, so it must hit the same lock.
  const copy = `${dataDir}-copy`
  t.teardown(() => rm(copy, { recursive: true, force: true }))
  await cp(dataDir, copy, { recursive: true, verbatimSymlinks: true })
  await t.rejects(startEmbeddedDatabase({ dataDir: copy, log: () => {} }), { message: /is in use by another/ })
  await first.stop()

  const second = await start(t, dataDir, log)
  t.strictSame(await query(second.url, 'select id from note'), [{ id: 1 }])
  t.equal(log.length, 1, 'said once')
  await second.stop()

  await rm(dataDir, { recursive: true })
  await mkdir(dataDir, { mode: 0o700 })
  const anew = await start(t, dataDir, log)
  t.teardown(() => rm(home, { recursive: true, force: true }))
  t.equal(await readlink(join(dataDir, 'postgres')), join(`${home}-2`, 'postgres'), 'a deleted directory starts empty')
  t.strictSame(await query(anew.url, `select to_regclass('note') as note`), [{ note: null }])
  await anew.stop()
  t.ok(await stat(join(home, 'postgres', 'PG_VERSION')), 'the earlier database is left alone')
  await removeShared(dataDir)
  await t.rejects(startEmbeddedDatabase({ dataDir, log: () => {} }), { message: /which is gone/ })
})

t.test('programs without the links of their install script are copied and completed', async (t) => {
  const dir = await passableDirectory(t)
  const { native, version } = await nativePackage()
  const bare = join(dir, 'native')
  await cp(native, bare, {
    recursive: true,
    filter: async (path) => !path.endsWith('/share') && !(await lstat(path)).isSymbolicLink(),
  })
  const account = await serverAccount('', () => {})
  const log: string[] = []
  const binaries = await usableBinaries({ native: bare, version }, account, dir, (line) => log.push(line))
  t.equal(binaries.postgres, join(dir, `postgres-binaries-${version}`, 'bin', 'postgres'))
  t.match(log, [/copying the PostgreSQL programs/])
  await usableBinaries({ native: bare, version }, account, dir, (line) => log.push(line))
  t.equal(log.length, 1, 'copied once')
})

t.test('what cannot work is said in words', async (t) => {
  const cluster = join(dataDir, 'postgres')
  const attempt = (port?: number) => startEmbeddedDatabase({ dataDir, log: () => {}, ...(port && { port }) })
  const other = await passableDirectory(t)
  await mkdir(join(other, 'postgres'))
  await writeFile(join(other, 'postgres', 'diary.txt'), 'dear diary')
  await t.rejects(startEmbeddedDatabase({ dataDir: other, log: () => {} }), {
    message: /holds something that is not a database/,
  })
  const listener = createServer().listen(0, '127.0.0.1')
  t.teardown(() => listener.close())
  await once(listener, 'listening')
  await t.rejects(attempt((listener.address() as AddressInfo).port), { message: /^Port \d+ .* is taken$/ })
  await writeFile(join(cluster, 'postgresql.auto.conf'), `no_such_parameter = 'x'\n`)
  await t.rejects(attempt(), { message: /did not start[\s\S]*no_such_parameter/ })
  await rm(join(dataDir, 'postgres.password'))
  await t.rejects(attempt(), { message: /password of the embedded database cannot be read/ })
  await writeFile(join(cluster, 'PG_VERSION'), '16\n')
  await t.rejects(attempt(), { message: /was created by PostgreSQL 16, this version of Pulsebase ships 18/ })
})

/** A data directory that every user can enter, unlike the checkout if that is in root's home. */
async function passableDirectory(t: Test): Promise<string> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'pulsebase-embedded-')))
  await chmod(dir, 0o755)
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}

async function start(t: Test, dataDir: string, log: string[] = [], port?: number): Promise<EmbeddedDatabase> {
  const database = await startEmbeddedDatabase({ dataDir, log: (line) => log.push(line), ...(port && { port }) })
  t.teardown(() => database.stop())
  return database
}

/** Starts the database in a separate process and process group, which reports what happens line by line. */
function spawnChild(t: Test, dataDir: string): ChildProcess {
  const child = spawn(process.execPath, [...compiledFile('test/support/embedded-main.ts'), dataDir], {
    cwd: ROOT,
    detached: true,
    env: { ...process.env, ...THIS_RUN },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => kill(child))
  return child
}

async function startChild(t: Test, dataDir: string) {
  const child = spawnChild(t, dataDir)
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  const next = async (wanted: string) => {
    const { value } = await lines.next()
    if (!String(value).startsWith(wanted)) throw new Error(`the child says ${value} instead of ${wanted}`)
    return String(value)
  }
  return { child, next, url: await next('postgresql://') }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

const postmasterPid = async (dataDir: string) =>
  Number.parseInt(await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10)

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

/** A backend that computes forever, and so does not notice that its postmaster is gone. */
async function startBusyBackend(url: string): Promise<{ end: Promise<unknown> }> {
  const end = query(url, 'do $$ begin loop end loop; end $$').catch(() => undefined)
  const working = `select 1 from pg_stat_activity where query like 'do $$%' and state = 'active'`
  await waitUntil(async () => (await query(url, working)).length > 0, WAIT_MS)
  return { end }
}

/** Removes the parts of a private data directory below /var/lib/pulsebase. */
async function removeShared(dataDir: string): Promise<void> {
  const target = await readlink(join(dataDir, 'postgres')).catch(() => undefined)
  if (target?.startsWith(`${SHARED_DIR}/`)) await rm(dirname(target), { recursive: true, force: true })
}
