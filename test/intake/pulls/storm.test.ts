// Connecting, refreshing, pulling, importing, disconnecting and deleting at the same time; storm.long.ts does so for long.
import t from 'tap'
import { oneEngine } from '../../support/sdk.ts'
import { weathers } from './storm.ts'

oneEngine(t, 'what happens at the same time leaves nothing over and loses no consent', (t, engine) =>
  weathers(t, engine, { seed: 14, actions: 10 }),
)
