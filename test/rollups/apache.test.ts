// The Apache edition of TimescaleDB: hypertables, but neither continuous aggregates nor a columnstore.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import pg from 'pg'
import t, { type Test } from 'tap'
import { ConfigError } from '../../server/config.ts'
import { compressChunks } from '../../server/db/compress.ts'
import { serverAccount } from '../../server/db/embedded/account.ts'
import { initCluster, SUPERUSER } from '../../server/db/embedded/cluster.ts'
import { waitUntil } from '../../server/db/embedded/processes.ts'
import { freePort, spawnPostgres } from '../../server/db/embedded/server.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { applyStrategy } from '../../server/rollups/strategy.ts'
import { type Engine, engines } from '../support/servers.ts'
import { apply, checkReads, checkStored, open, place, read, SEED, samples } from './model.ts'

const timescale = engines().find(({ name }) => name === 'timescale')
const writes = fc.noBias(fc.record({ kind: fc.constant('write' as const), ...place, samples }))

t.test('the Apache edition', { skip: timescale ? false : 'no TimescaleDB' }, async (t) => {
  const engine = await startApache(t, timescale as Engine)
  if (!engine) return t.comment('its programs are on another machine')
  const bench = await open(t, engine, 'per_series')
  const { license } = await bench.db.one<{ license: string }>(
    `select current_setting('timescaledb.license') as license`,
  )
  t.equal(license, 'apache')

  await t.test('gets rollups per series, and the log says so once', async (t) => {
    const said: string[] = []
    t.equal(await applyStrategy(bench.url, 'auto', (line) => said.push(line)), 'per_series')
    t.match(said, [/per_series/])
    t.equal(said.length, 1)
    await t.rejects(
      applyStrategy(bench.url, 'continuous', () => {}),
      { name: ConfigError.name },
    )
    const hypertables = await bench.db.query<{ name: string }>(
      'select hypertable_name as name from timescaledb_information.hypertables order by 1',
    )
    t.strictSame(
      hypertables.map(({ name }) => name),
      ['rollup_15min', 'rollup_1day', 'rollup_1hour', 'sample'],
    )
  })

  await t.test('reads are exact, before and after the refresh; nothing is compressed', async (t) => {
    for (const step of fc.sample(writes, { numRuns: 6, seed: SEED })) await apply(bench, step)
    const asked = fc.sample(fc.noBias(read), { numRuns: 8, seed: SEED })
    for (const one of asked) await checkReads(bench, one)
    while (await refreshRollups(bench.db));
    for (const one of asked) await checkReads(bench, one)
    t.ok((await checkStored(bench)) > 100)
    t.equal(await compressChunks(bench.db, '0'), false)
    for (const step of fc.sample(writes, { numRuns: 2, seed: 3 })) await apply(bench, step)
    await apply(bench, { kind: 'archive', archiveDays: 30, deleteDays: null })
    for (const one of asked) await checkReads(bench, one)
  })
})

/** Starts a server of that edition with the programs of a running one; undefined if it cannot run here. */
async function startApache(t: Test, { url }: Engine): Promise<Engine | undefined> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ setting: string }>(`select setting from pg_config where name = 'BINDIR'`)
  await client.end()
  const [bin = ''] = rows.map(({ setting }) => setting)
  const account = await serverAccount('', () => {})
  const directory = await mkdtemp('/tmp/pulsebase-apache-')
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  await chmod(directory, 0o711)
  const cluster = join(directory, 'postgres')
  const password = 'not-a-secret-of-anybody'
  const made = initCluster({
    initdb: join(bin, 'initdb'),
    cluster,
    password,
    account,
    args: ['--no-sync', '--locale=C.UTF-8'],
  })
  if (
    await made.then(
      () => false,
      () => true,
    )
  )
    return undefined
  const port = await freePort()
  const server = await spawnPostgres({
    postgres: join(bin, 'postgres'),
    cluster,
    port,
    account,
    logFile: join(directory, 'postgres.log'),
    settings: {
      fsync: 'off',
      timezone: 'UTC',
      lc_messages: 'C',
      shared_preload_libraries: 'timescaledb',
      'timescaledb.license': 'apache',
      'timescaledb.telemetry_level': 'off',
      'timescaledb.max_background_workers': '0',
    },
  })
  t.teardown(() => server.stop())
  const engine: Engine = { name: 'timescale', url: `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres` }
  const up = async () => {
    const probe = new pg.Client({ connectionString: engine.url })
    probe.on('error', () => {})
    return probe.connect().then(
      () => probe.end().then(() => true),
      () => false,
    )
  }
  if (!(await waitUntil(async () => server.hasEnded() || (await up()), 30_000, 20)) || server.hasEnded()) {
    throw new Error(`the server did not start: ${await server.ended}`)
  }
  return engine
}
