import { mapStreams } from '../map-streams.ts'
import { activity, intraday } from './activity.ts'
import { APP } from './devices.ts'
import { measures } from './measures.ts'
import { workouts } from './sessions.ts'
import { sleep, stages } from './sleep.ts'

/** Adds what a part of Withings' holds: docs/providers.md. */
export const map = mapStreams(APP, { measures, activity, workouts, sleep, stages, intraday })
