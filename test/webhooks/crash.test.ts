// The small edition of crash.long.ts.
import t from 'tap'
import { engines } from '../support/servers.ts'
import { surviveKills } from './kills.ts'

t.test('5 kills between 300 commits', async (t) => {
  for (const engine of engines().slice(0, 1))
    await surviveKills(t, engine, { commits: 300, kills: 5, rolledBack: 30, seed: 20_260_224 })
})
