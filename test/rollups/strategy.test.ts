// The two strategies for rollups: neither a change between them nor an interruption makes a read inexact.
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { ConfigError } from '../../server/config.ts'
import type { Database } from '../../server/db/database.ts'
import { refreshContinuous } from '../../server/rollups/continuous.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { applyStrategy, type Strategy } from '../../server/rollups/strategy.ts'
import { eachEngine } from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'
import {
  apply,
  type Bench,
  checkLocalDays,
  checkReads,
  checkStored,
  open,
  place,
  read,
  SEED,
  samples,
} from './model.ts'

const writes = fc.noBias(fc.record({ kind: fc.constant('write' as const), ...place, samples }))

async function write(bench: Bench, count: number, seed = SEED): Promise<void> {
  for (const step of fc.sample(writes, { numRuns: count, seed })) await apply(bench, step)
}

async function checkAll(bench: Bench): Promise<void> {
  for (const asked of fc.sample(fc.noBias(read), { numRuns: runs(4, 8), seed: SEED })) await checkReads(bench, asked)
  await checkLocalDays(bench)
}

async function settle(bench: Bench): Promise<void> {
  while (await refreshRollups(bench.db));
  const dirty = await bench.db.query('select 1 from rollup_dirty')
  if (dirty.length > 0) throw new Error(`${dirty.length} ranges are still dirty`)
}

/** The process whose query is like this and waits for a lock. */
async function stuck(db: Database, like: string): Promise<number> {
  const sql = `select pid from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like $1`
  for (;;) {
    const [found] = await db.query<{ pid: number }>(sql, [like])
    if (found) return found.pid
  }
}

const convert = ({ url }: Bench, wanted: 'auto' | Strategy) => applyStrategy(url, wanted, () => {})

eachEngine(t, 'strategies', async (t, { name, ...engine }) => {
  const continuous = name === 'timescale'

  await t.test('auto takes what the database has, and says why', async (t) => {
    const bench = await open(t, { name, ...engine }, 'per_series')
    const said: string[] = []
    t.equal(await applyStrategy(bench.url, 'auto', (line) => said.push(line)), continuous ? 'continuous' : 'per_series')
    t.strictSame(said, continuous ? ['rollups: continuous'] : [], 'a plain server has no other')
    if (continuous) return
    await t.rejects(convert(bench, 'continuous'), {
      name: ConfigError.name,
      message: 'ROLLUP_STRATEGY cannot be continuous: this database has no continuous aggregates',
    })
  })

  // A reader learns of a new chunk a moment after its rows show, and until then a plan that it keeps leaves them out.
  await t.test('what is dirty is forgotten only once its rollups are committed', async (t) => {
    const bench = await open(t, { name, ...engine }, 'per_series')
    const { db } = bench
    await write(bench, 4)
    const dirty = () => db.rows('select seq from rollup_dirty order by seq')
    const before = await dirty()
    const holder = await db.pool.connect()
    await holder.query('begin; select from rollup_dirty for update')
    const refresh = refreshRollups(db).catch((error: Error) => error)
    const pid = await stuck(db, 'call refresh_due_series%')
    const { days } = await db.one<{ days: number }>('select count(*) as days from rollup_1day')
    t.ok(days > 0, `${days} days are stored`)
    t.strictSame(await dirty(), before, 'and still dirty')
    await checkAll(bench)
    await db.query('select pg_terminate_backend($1)', [pid])
    t.match(await refresh, { message: /terminat/ })
    await holder.query('rollback')
    holder.release()
    await checkAll(bench)
    await write(bench, 2, 3)
    await settle(bench)
    t.ok((await checkStored(bench)) > 50)
  })

  // Archiving goes by what is dirty: a session that still computes from removed samples would remove their rollups.
  await t.test('what another session computes again stays dirty', async (t) => {
    const bench = await open(t, { name, ...engine }, 'per_series')
    const { db } = bench
    await write(bench, 4)
    const first = await db.one<{ source_id: number; series_id: number; writer: string }>(
      'select source_id, series_id, writer::text from rollup_dirty order by seq limit 1',
    )
    const series = [first.source_id, first.series_id]
    const dirty = () =>
      db.rows('select seq from rollup_dirty where source_id = $1 and series_id = $2 order by seq', series)
    const before = await dirty()
    const [holder, other] = [await db.pool.connect(), await db.pool.connect()]
    await holder.query('select pg_advisory_lock($1)', [first.writer])
    const refresh = refreshRollups(db)
    await stuck(db, 'call refresh_due_series%')
    await other.query('begin')
    const claim = other.query(`select pg_advisory_xact_lock(hashtextextended('rollup:' || $1 || ':' || $2, 0))`, series)
    await stuck(db, 'select pg_advisory_xact_lock%')
    await holder.query('select pg_advisory_unlock_all()')
    holder.release()
    await claim
    await refresh
    t.strictSame(await dirty(), before)
    const left = await other.query(
      `select unnest(claimed)::text as seq from compute_rollups($1, $2, '120 days')`,
      series,
    )
    t.equal(left.rows.length, before.length)
    await other.query('commit')
    other.release()
    await settle(bench)
    t.ok((await checkStored(bench)) > 50)
  })
  if (!continuous) return

  await t.test('reads stay exact from one to the other and back', async (t) => {
    const bench = await open(t, { name, ...engine }, 'per_series')
    await write(bench, 6)
    await settle(bench)
    await convert(bench, 'continuous')
    await checkAll(bench)
    await settle(bench)
    t.ok((await checkStored(bench)) > 50)
    await write(bench, 3, 2)
    await convert(bench, 'per_series')
    await checkAll(bench)
    await settle(bench)
    t.ok((await checkStored(bench)) > 50)
    await convert(bench, 'continuous')
    await checkAll(bench)
    await convert(bench, 'per_series')
    await checkAll(bench)
  })

  await t.test('archived rollups go to tables, but not to aggregates', async (t) => {
    const bench = await open(t, { name, ...engine }, 'continuous')
    await write(bench, 8)
    await settle(bench)
    const held = () => bench.db.rows('select * from rollup_15min order by source_id, series_id, bucket')
    const before = await held()
    await bench.db.query(`update archival set raw_floor = '2020-01-01'`)
    t.equal(await convert(bench, 'auto'), 'continuous', 'what is there stays')
    t.equal(await convert(bench, 'per_series'), 'per_series')
    t.strictSame(await held(), before)
    const said: string[] = []
    t.equal(await applyStrategy(bench.url, 'auto', (line) => said.push(line)), 'per_series')
    t.match(said, [/^rollups: per_series \(samples are archived/])
    await t.rejects(convert(bench, 'continuous'), { name: ConfigError.name, message: /samples are archived/ })
    t.strictSame(await held(), before)
  })

  await t.test('a refresh that is killed anywhere loses nothing', async (t) => {
    const bench = await open(t, { name, ...engine }, 'continuous')
    const { db } = bench
    const fate = { ended: 0, finished: 0 }
    let going = true
    const refresher = async () => {
      while (going) {
        await refreshContinuous(db, 5_000, '60 days').then(
          () => (fate.finished += 1),
          () => (fate.ended += 1),
        )
      }
    }
    const killer = async (during: string) => {
      const victims = `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and state = 'active' and query like $1`
      while (going) {
        await db.query(victims, [during])
        await delay(15)
      }
    }
    const others = [refresher(), killer('call refresh_continuous%'), killer('%delete from rollup_dirty where seq%')]
    // Until one was killed, which is a matter of moments.
    for (let round = 0; round < runs(1, 6) || (fate.ended === 0 && round < 100); round += 1) {
      await write(bench, 4, round)
      await checkAll(bench)
    }
    going = false
    await Promise.all(others)
    t.ok(fate.ended > 0, `${fate.ended} refreshes were killed, ${fate.finished} were not`)
    await checkAll(bench)
    while ((await db.query('select 1 from rollup_dirty')).length > 0) await refreshContinuous(db, 5_000, '60 days')
    t.ok((await checkStored(bench)) > 50)
  })

  await t.test('nor does one that is killed before it forgets what it covered', async (t) => {
    const bench = await open(t, { name, ...engine }, 'continuous')
    const { db } = bench
    await write(bench, 4)
    const holder = await db.pool.connect()
    await holder.query('begin; select from rollup_dirty for update')
    const refresh = refreshContinuous(db, 5_000, '60 days').catch((error: Error) => error)
    await db.query('select pg_terminate_backend($1)', [await stuck(db, '%delete from rollup_dirty where seq%')])
    t.match(await refresh, { message: /terminat/ })
    await holder.query('rollback')
    holder.release()
    await checkAll(bench)
    await write(bench, 2, 3)
    await checkAll(bench)
    while ((await db.query('select 1 from rollup_dirty')).length > 0) await refreshContinuous(db, 5_000, '60 days')
    t.ok((await checkStored(bench)) > 50)
  })

  await t.test('one refreshes at a time, and who is second does not wait', async (t) => {
    const bench = await open(t, { name, ...engine }, 'continuous')
    await write(bench, 4)
    const holder = await bench.db.pool.connect()
    await holder.query(`select pg_advisory_lock(hashtextextended('refresh all rollups', 0))`)
    t.equal(await refreshRollups(bench.db), false)
    t.ok((await bench.db.query('select 1 from rollup_dirty')).length > 0, 'nothing was done')
    await holder.query('select pg_advisory_unlock_all()')
    holder.release()
    await Promise.all([refreshRollups(bench.db), refreshRollups(bench.db), refreshRollups(bench.db)])
    await settle(bench)
    t.ok((await checkStored(bench)) > 0)
  })

  await t.test('all of a source goes, from rollups of minutes too', async (t) => {
    const bench = await open(t, { name, ...engine }, 'continuous')
    await write(bench, 6)
    await settle(bench)
    await bench.db.query('select delete_sources($1)', [bench.sources])
    const rollups = ['1min', '5min', '15min', '1hour', '1day', 'local_day'].map((width) => `rollup_${width}`)
    for (const table of ['sample', ...rollups]) {
      t.strictSame(await bench.db.one(`select count(*) as n from ${table}`), { n: 0 }, table)
    }
    await refreshContinuous(bench.db, 5_000, '60 days')
    t.strictSame(await bench.db.one('select count(*) as n from rollup_15min'), { n: 0 })
  })

  await t.test('rollups of minutes are forgotten in time', async (t) => {
    const bench = await open(t, { name, ...engine }, 'continuous')
    await write(bench, 8)
    await settle(bench)
    await bench.db.query(`update rollup_strategy set minutes_from = minutes_from - interval '40 days'`)
    await bench.db.query('select forget_old_minutes()')
    t.strictSame(await bench.db.query('select 1 from rollup_strategy where minutes_from = minutes_horizon()'), [
      { '?column?': 1 },
    ])
    await checkAll(bench)
    t.ok((await checkStored(bench)) > 50)
  })
})
