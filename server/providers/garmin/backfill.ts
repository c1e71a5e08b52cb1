import { parseInstant } from '../../time.ts'
import { textAt } from '../answers.ts'
import type { Answer, Backfill, BackfillVerdict, Window } from '../provider.ts'

const HEALTH = 'HEALTH_EXPORT'
const ACTIVITY = 'ACTIVITY_EXPORT'

/** The past that can be asked for, light types first: name in the address, stream, permission. */
const types: readonly (readonly [type: string, stream: string, permission: string])[] = [
  ['sleeps', 'sleeps', HEALTH],
  ['dailies', 'dailies', HEALTH],
  ['activities', 'activities', ACTIVITY],
  ['hrv', 'hrv', HEALTH],
  ['userMetrics', 'userMetrics', HEALTH],
  ['bodyComps', 'bodyComps', HEALTH],
  ['bloodPressures', 'bloodPressures', HEALTH],
  ['skinTemp', 'skinTemp', HEALTH],
  ['mct', 'mct', 'MCT_EXPORT'],
  ['moveiq', 'moveIQActivities', ACTIVITY],
  ['healthSnapshot', 'healthSnapshot', HEALTH],
  ['pulseOx', 'pulseox', HEALTH],
  ['respiration', 'allDayRespiration', HEALTH],
  ['stressDetails', 'stressDetails', HEALTH],
  ['epochs', 'epochs', HEALTH],
  ['activityDetails', 'activityDetails', ACTIVITY],
]

/** How Garmin is asked for the past, which it then sends as notices. */
export const backfill: Backfill = {
  days: 30,
  pauseSeconds: 2,
  silenceSeconds: 300,
  types: types.map(([type, stream, permission]) => ({ type, stream, scopes: ['HISTORICAL_DATA_EXPORT', permission] })),
  request: (type, { fromMs, untilMs }: Window) => ({
    path: `/wellness-api/rest/backfill/${type}`,
    query: {
      summaryStartTimeInSeconds: String(Math.ceil(fromMs / 1000)),
      summaryEndTimeInSeconds: String(Math.floor(untilMs / 1000)),
    },
  }),
  judge,
}

/** After a refusal for asking too often, the wait that others found to be enough. */
export const REFUSED_SECONDS = 60

/** Garmin's earliest time moves on with the clock. */
const INSIDE_MS = 30_000

function judge(answer: Answer): BackfillVerdict {
  const { status, json } = answer
  const said = textAt(json, 'errorMessage') ?? textAt(json, 'message') ?? ''
  if (status >= 200 && status < 300) return 'asked'
  if (status === 429) return { later: true, afterSeconds: REFUSED_SECONDS }
  if (status === 408 || status >= 500) return { later: true, afterSeconds: null }
  // Garmin also answers 401 to a range that lies too far back: it says nothing of the connection.
  if (status === 401 || status === 403 || status === 412) return 'forbidden'
  if (status === 409) return 'duplicate'
  if (status !== 400) return 'wrong'
  if (/not enabled/i.test(said)) return 'disabled'
  const earliestMs = earliestIn(said)
  return earliestMs === undefined ? 'wrong' : { earliestMs: earliestMs + INSIDE_MS }
}

/** The earliest start that a refusal allows: `min start time of 1770505200`, or in milliseconds, or as a date-time. */
function earliestIn(said: string): number | undefined {
  const [, text = ''] = /\bmin\w*\b.{0,40}?\b(\d{10}(?:\d{3})?\b|\d{4}-\d\d-\d\dT[\d:.]{5,15}Z?)/i.exec(said) ?? []
  if (!/^\d+$/.test(text)) return parseInstant(text)
  return text.length === 13 ? Number(text) : Number(text) * 1000
}
