// The service is killed a hundred times in the middle of its deliveries. Run with: npm run test:long
import t from 'tap'
import { engines } from '../support/servers.ts'
import { surviveKills } from './kills.ts'

t.test('100 kills between 10,000 commits', async (t) => {
  for (const engine of engines().slice(0, 1))
    await surviveKills(t, engine, { commits: 10_000, kills: 100, rolledBack: 1_000, seed: 20_260_225 })
})
