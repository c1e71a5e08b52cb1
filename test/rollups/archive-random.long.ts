// Late, old and repeated uploads, deletions, archive runs under changing settings, refreshes and compressions in random
// order: every read equals that of a straight-line model. exact.test.ts runs a small share of this.
import fc from 'fast-check'
import t from 'tap'
import { apply, checkLocalDays, checkReads, checkSamples, eachStrategy, open, read, SEED, step } from './model.ts'

eachStrategy(t, 'rollups and their archive', async (t, engine, strategy) => {
  let archived = 0
  const history = fc.array(fc.tuple(step, read), { minLength: 20, maxLength: 40, size: 'max' })
  await fc.assert(
    fc.asyncProperty(fc.noBias(history), async (history) => {
      const bench = await open(t, engine, strategy)
      for (const [step, asked] of history) {
        await apply(bench, step)
        await checkReads(bench, asked)
        await checkSamples(bench, asked)
        await checkLocalDays(bench)
      }
      archived += [...bench.archived.values()].reduce((sum, quarters) => sum + quarters.size, 0)
      await bench.db.end()
    }),
    { seed: SEED + 1, numRuns: 25, endOnFailure: true },
  )
  t.ok(archived > 1_000, `${archived} quarter hours were archived at the end of histories`)
})
