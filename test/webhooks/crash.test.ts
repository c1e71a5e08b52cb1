// The service is killed while it delivers; crash.long.ts does so a hundred times.
import t from 'tap'
import { oneEngine } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'
import { inTestLong } from '../support/thorough.ts'
import { surviveEachMoment, surviveKills } from './kills.ts'

t.test('a kill between 60 commits', inTestLong, async (t) => {
  for (const engine of engines().slice(0, 1))
    await surviveKills(t, engine, { commits: 60, kills: 1, rolledBack: 6, seed: 20_260_224 })
})

oneEngine(t, 'killed before, during and after a call', surviveEachMoment)
