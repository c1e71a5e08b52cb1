// What Garmin tells arrives whole and right, as it becomes known and as the past. Of 20 people: garmin-month.long.ts.
import t from 'tap'
import { oneEngine } from '../../support/sdk.ts'
import { runs } from '../../support/thorough.ts'
import { monthHolds } from './garmin-month.ts'

oneEngine(t, "what is stored of people's days at Garmin is what is true of them", (t, engine) =>
  monthHolds(t, engine, { people: runs(1, 2), days: 2 }),
)
