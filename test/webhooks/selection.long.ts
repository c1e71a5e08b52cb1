import t from 'tap'
import { eachEngine } from '../support/sdk.ts'
import { compareSelections } from './selection.ts'

eachEngine(t, 'a thousand sets of endpoints get what they asked for, and nothing of other users', (t, engine) =>
  compareSelections(t, engine, 1_000, 20_260_225),
)
