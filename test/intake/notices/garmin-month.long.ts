// Of 20 people and 30 days, as garmin-month.test.ts.
import t from 'tap'
import { eachEngine } from '../../support/sdk.ts'
import { monthHolds } from './garmin-month.ts'

eachEngine(t, "what is stored of twenty people's month at Garmin is what is true of them", (t, engine) =>
  monthHolds(t, engine, { people: 20, days: 30 }),
)
