// The service is killed while it delivers; crash.long.ts does so a hundred times.
import t from 'tap'
import { eachEngine } from '../support/sdk.ts'
import { engines } from '../support/servers.ts'
import { surviveEachMoment, surviveKills } from './kills.ts'

t.test('5 kills between 300 commits', async (t) => {
  for (const engine of engines().slice(0, 1))
    await surviveKills(t, engine, { commits: 300, kills: 5, rolledBack: 30, seed: 20_260_224 })
})

eachEngine(t, 'killed before, during and after a call', surviveEachMoment)
