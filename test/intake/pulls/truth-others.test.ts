// As truth.test.ts, of the other providers; of these the main things are compared, and what they do not tell was deleted
// may stay.
import t from 'tap'
import { oneEngine } from '../../support/sdk.ts'
import { runs } from '../../support/thorough.ts'
import { OTHERS, truthHolds } from './whole-way.ts'

oneEngine(t, 'what is stored of people is what is true of them, also a day later', (t, engine) =>
  truthHolds(t, engine, { people: 1, days: runs(3, 4), after: 1, providers: OTHERS }),
)
