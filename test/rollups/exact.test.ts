// Rollups compared with a recomputation from the samples, after random writes, overwrites, deletions, compressions and
// refreshes in random order: reads are exact at every moment, stored rollups are exact when nothing is dirty.
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { runs } from '../support/thorough.ts'
import {
  apply,
  checkLocalDays,
  checkReads,
  checkSamples,
  checkStored,
  connect,
  eachStrategy,
  open,
  place,
  read,
  SEED,
  samples,
  step,
} from './model.ts'

eachStrategy(t, 'rollups', async (t, engine, strategy) => {
  await t.test('are exact at every moment, and when they have caught up', async (t) => {
    const bench = await open(t, engine, strategy)
    let [compared, days] = [0, 0]
    const history = fc.array(fc.tuple(step, fc.array(read, { minLength: 1, maxLength: 3 })), {
      minLength: 10,
      maxLength: 25,
      size: 'max',
    })
    await fc.assert(
      fc.asyncProperty(fc.noBias(history), async (history) => {
        for (const [step, reads] of history) {
          await apply(bench, step)
          for (const asked of reads) {
            await checkReads(bench, asked)
            await checkSamples(bench, asked)
          }
          days += await checkLocalDays(bench)
        }
        await refreshRollups(bench.db)
        const dirty = await bench.db.query('select 1 from rollup_dirty')
        if (dirty.length > 0) throw new Error(`${dirty.length} ranges are still dirty`)
        compared += await checkStored(bench)
        await checkLocalDays(bench)
        const stale = await bench.db.query('select 1 from rollup_local_day where stale and day < local_days_due()')
        if (stale.length > 0) throw new Error(`${stale.length} days are still stale`)
      }),
      { seed: SEED, numRuns: runs(1, 5), endOnFailure: true },
    )
    t.ok(compared > runs(100, 1_000), `${compared} rows compared`)
    t.ok(days > runs(50, 500), `${days} days compared`)
  })

  await t.test('lose no change that is committed while they are refreshed, and killed', async (t) => {
    const bench = await open(t, engine, strategy)
    const { db, url } = bench
    const theirs = { ...bench, db: connect(t, url, 'pulsebase refresher') }
    let writing = true
    let killed = 0
    const refresher = async (span: string) => {
      while (writing) {
        await apply(theirs, { kind: 'refresh', span, workers: 1 }).catch(() => {
          killed += 1
        })
        await delay(1)
      }
    }
    const killer = async () => {
      const kill = `select pg_terminate_backend(pid) from pg_stat_activity
                    where datname = current_database() and application_name = 'pulsebase refresher'`
      while (writing) {
        await delay(7)
        await db.query(kill)
      }
    }
    const refreshers = [refresher('120 days'), refresher('1 day'), killer()]
    const writes = fc.sample(fc.noBias(fc.record({ kind: fc.constant('write' as const), ...place, samples })), {
      numRuns: runs(10, 40),
      seed: SEED,
    })
    try {
      for (const write of writes) await apply(bench, write)
    } finally {
      writing = false
    }
    await Promise.all(refreshers)
    await refreshRollups(db)
    t.equal((await db.query('select 1 from rollup_dirty')).length, 0)
    t.ok((await checkStored(bench)) > runs(50, 500))
    t.ok((await checkLocalDays(bench)) > runs(10, 50))
    t.ok(killed > 0, `${killed} refreshes were killed`)
  })
})
