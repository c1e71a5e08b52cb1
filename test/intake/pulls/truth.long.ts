// Of 20 people and 60 days, as truth.test.ts.
import t from 'tap'
import { eachEngine } from '../../support/sdk.ts'
import { truthHolds } from './whole-way.ts'

eachEngine(t, 'what is stored of twenty people and sixty days is what is true of them', (t, engine) =>
  truthHolds(t, engine, { people: 20, days: 60, after: 3 }),
)
