import t from 'tap'
import { eachEngine } from '../support/sdk.ts'
import { compareSelections } from './selection.ts'

eachEngine(t, 'every endpoint gets what it asked for, and nothing of other users', (t, engine) =>
  compareSelections(t, engine, 40, 20_260_224),
)
