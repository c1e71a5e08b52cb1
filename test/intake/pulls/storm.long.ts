// As storm.test.ts, for a minute. STORM_SEED repeats another one.
import t from 'tap'
import { eachEngine } from '../../support/sdk.ts'
import { weathers } from './storm.ts'

eachEngine(t, 'a minute of everything at the same time leaves nothing over and loses no consent', (t, engine) =>
  weathers(t, engine, { seed: Number(process.env.STORM_SEED ?? 14), seconds: 60 }),
)
