// What people's devices say arrives whole and right, and goes on arriving. Of 20 people: truth.long.ts.
import t from 'tap'
import { oneEngine } from '../../support/sdk.ts'
import { runs } from '../../support/thorough.ts'
import { truthHolds } from './whole-way.ts'

oneEngine(t, 'what is stored of people is what is true of them, also a day later', (t, engine) =>
  truthHolds(t, engine, { people: runs(1, 2), days: runs(4, 6), after: 1 }),
)
