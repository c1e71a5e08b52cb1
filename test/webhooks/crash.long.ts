// The service is killed in the middle of its deliveries a hundred times. Run with: npm run test:long
import t from 'tap'
import { eachEngine } from '../support/sdk.ts'
import { surviveKills } from './kills.ts'

eachEngine(t, '100 kills between 10,000 commits', (t, engine) =>
  surviveKills(t, engine, { commits: 10_000, kills: 100, rolledBack: 1_000, seed: 20_260_225 }),
)
