import { mapStreams } from '../map-streams.ts'
import { activities, activityDetails, moveIQ } from './activities.ts'
import { mct } from './cycles.ts'
import { dailies, epochs, stressDetails } from './days.ts'
import { APP } from './items.ts'
import {
  allDayRespiration,
  bloodPressures,
  bodyComps,
  healthSnapshot,
  hrv,
  pulseox,
  skinTemp,
  userMetrics,
} from './measures.ts'
import { sleeps } from './sleep.ts'

/** Adds what a part of Garmin's holds: docs/providers.md. */
export const map = mapStreams(APP, {
  activities,
  manuallyUpdatedActivities: activities,
  activityDetails,
  moveIQActivities: moveIQ,
  dailies,
  epochs,
  sleeps,
  bodyComps,
  stressDetails,
  userMetrics,
  pulseox,
  allDayRespiration,
  healthSnapshot,
  hrv,
  bloodPressures,
  skinTemp,
  mct,
})
