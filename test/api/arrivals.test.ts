// What a day's answer holds does not depend on the order in which sources arrive. In many orders: arrivals.long.ts.
import t from 'tap'
import { oneEngine } from '../support/sdk.ts'
import { runs } from '../support/thorough.ts'
import { orderDoesNotMatter } from './arrivals.ts'

oneEngine(t, 'a ring, a watch and a phone of one person, in any order', (t, engine) =>
  orderDoesNotMatter(t, engine, { ring: 'oura', people: ['ana'], days: 2, orders: runs(2, 4), seed: 18 }),
)
