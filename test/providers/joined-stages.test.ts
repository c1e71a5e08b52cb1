// The pieces of a night, in whatever order and however often they come, are its stages, minute by minute.
import fc from 'fast-check'
import t from 'tap'
import type { SleepStageName } from '../../server/batch/columns.ts'
import { joinedStages } from '../../server/providers/joined-stages.ts'
import type { Level } from '../../server/providers/stages.ts'
import { runs } from '../support/thorough.ts'

const MIN = 60_000
const NIGHT = Date.UTC(2026, 2, 6, 22)

const anyNight = fc
  .record({
    minutes: fc.integer({ min: 1, max: 240 }),
    cuts: fc.uniqueArray(fc.integer({ min: -30, max: 270 }), { minLength: 2, maxLength: 20 }),
    stages: fc.array(fc.constantFrom<(SleepStageName | undefined)[]>('awake', 'light', 'deep', 'rem', undefined), {
      minLength: 20,
      maxLength: 20,
    }),
  })
  .chain(({ minutes, cuts, stages }) => {
    const edges = cuts.toSorted((a, b) => a - b)
    const pieces = edges.slice(1).map((until, place): Level => {
      const startMs = NIGHT + (edges[place] as number) * MIN
      return [stages[place], startMs, NIGHT + until * MIN]
    })
    const order = fc.shuffledSubarray(pieces, { minLength: pieces.length })
    const repeated = pieces.length > 0 ? fc.subarray(pieces) : fc.constant([])
    return fc.record({ minutes: fc.constant(minutes), pieces: fc.constant(pieces), order, repeated })
  })

t.test(
  'each minute has the stage of its piece, what is the same is one, and nothing is outside of the night',
  async (t) => {
    const property = fc.property(anyNight, ({ minutes, pieces, order, repeated }) => {
      const found = joinedStages([...repeated, ...order], NIGHT, NIGHT + minutes * MIN) ?? []
      for (let minute = -30; minute < 270; minute += 1) {
        const ms = NIGHT + minute * MIN
        const isIn = minute >= 0 && minute < minutes
        const expected = isIn ? pieces.find(([, from, until]) => from <= ms && ms < until)?.[0] : undefined
        if (
          found
            .filter(([, from, until]) => from <= ms && ms < until)
            .map(([stage]) => stage)
            .join() !== (expected ?? '')
        )
          return false
      }
      return found.every(([stage, from, until], place) => {
        const next = found[place + 1]
        return from < until && (!next || next[1] > until || (next[1] === until && next[0] !== stage))
      })
    })
    fc.assert(property, { seed: 18, numRuns: runs(300, 10_000) })
    t.equal(joinedStages([], 0, 1), undefined)
    t.equal(joinedStages([[undefined, 0, 1]], 0, 1), undefined)
  },
)

t.test('of two pieces that overlap the earlier one goes on to its end', async (t) => {
  const piece = (stage: SleepStageName, startMs: number, endMs: number): Level => [stage, startMs, endMs]
  t.strictSame(joinedStages([piece('deep', 5, 20), piece('light', 0, 10), piece('rem', 6, 9)], 0, 15), [
    ['light', 0, 10],
    ['deep', 10, 15],
  ])
})
