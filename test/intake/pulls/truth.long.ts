// Of 20 people and 60 days, as truth.test.ts.
import t from 'tap'
import { eachEngine } from '../../support/sdk.ts'
import { OTHERS, truthHolds } from './whole-way.ts'

eachEngine(t, 'what is stored of twenty people and sixty days is what is true of them', (t, engine) =>
  truthHolds(t, engine, { people: 20, days: 60, after: 3 }),
)

// Their past is of 30 days before the present, which is four days after the consents.
eachEngine(t, 'and of the other providers, of which 30 days are kept', (t, engine) =>
  truthHolds(t, engine, { people: 20, days: 26, after: 3, providers: OTHERS }),
)
