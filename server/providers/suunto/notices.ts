import { valuesOf } from '../accounts.ts'
import { textAt, valueAt } from '../answers.ts'
import type { InboundRequest, Keys, Notice, Notices, OpenedBody } from '../notices.ts'
import { fromHex, isSignedBy } from '../signing.ts'
import { isKey, wishFor } from './streams.ts'

/** What an operator enters on the page of the application. */
const SECRET = 'WEBHOOK_SECRET'

/** How Suunto notifies: rows of all day come with the notice, of a workout only its main figures. */
export const notices: Notices = {
  ...{ limitBytes: 8 * 1024 * 1024, secrets: [SECRET], verify, accounts: valuesOf('username'), open },
  // Days as a whole have steps and energy, too.
  tells: ['heart_rate', 'oxygen_saturation', 'elevation', 'health_score'],
  // A repeat of half a night does not take the place of the night.
  repeats: true,
}

/** The body is signed, without a time. */
function verify({ body, headers }: InboundRequest, { own }: Keys): 'signed' | 'refused' {
  const signature = headers['x-hmac-sha256-signature']?.trim().replace(/^sha256=/i, '')
  return isSignedBy([own[SECRET]], [body], fromHex(signature)) ? 'signed' : 'refused'
}

/** Types of notices whose rows are those of a stream. */
const rows: ReadonlyMap<string, string> = new Map([
  ['SUUNTO_247_SLEEP_CREATED', 'sleep'],
  ['SUUNTO_247_ACTIVITY_CREATED', 'activity'],
  ['SUUNTO_247_RECOVERY_CREATED', 'recovery'],
])

function open({ json }: OpenedBody): readonly Notice[] | 'malformed' {
  const [type, account] = [textAt(json, 'type'), textAt(json, 'username')]
  if (type === undefined || account === undefined) return 'malformed'
  const stream = rows.get(type)
  if (stream !== undefined) return [{ account, kind: 'data', stream }]
  if (type !== 'WORKOUT_CREATED') return []
  const key = textAt(valueAt(json, 'workout'), 'workoutKey')
  if (!isKey(key)) return 'malformed'
  return [
    // As far as it goes: Suunto may not have the rest for us.
    { account, kind: 'data', stream: 'workouts' },
    { account, kind: 'fetch', wish: wishFor(key) },
  ]
}
