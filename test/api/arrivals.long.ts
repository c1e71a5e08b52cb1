// In many orders, as arrivals.test.ts. Not with Sensor Bio, which tells no zone: what arrives before any zone is known stays
// without one (docs/uploads.md).
import t from 'tap'
import { eachEngine } from '../support/sdk.ts'
import { orderDoesNotMatter } from './arrivals.ts'

for (const ring of ['oura', 'ultrahuman'] as const)
  eachEngine(t, `${ring}, a watch and a phone of two people, in many orders`, (t, engine) =>
    orderDoesNotMatter(t, engine, { ring, people: ['ana', 'bikash'], days: 4, orders: 20, seed: 1_800 }),
  )
