import t from 'tap'
import { oneEngine } from '../support/sdk.ts'
import { compareSelections } from './selection.ts'

oneEngine(t, 'every endpoint gets what it asked for, and nothing of other users', (t, engine) =>
  compareSelections(t, engine, 40, 20_260_224),
)
