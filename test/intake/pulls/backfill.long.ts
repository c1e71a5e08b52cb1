// A thousand random schedules of asking for the past: no range is asked for twice, and none is left out.
import t from 'tap'
import { eachEngine } from '../../support/sdk.ts'
import { neverOverlaps } from './backfill-schedules.ts'

const SCHEDULES = 500

eachEngine(t, 'no range is asked for twice, whatever dies and fails, and none is left out', (t, engine) =>
  neverOverlaps(t, engine, { seed: engine.name === 'plain' ? 1_000 : 2_000, count: SCHEDULES }),
)
