import { createHmac } from 'node:crypto'
import type { Notice, Notices, Sending, Stretch } from '../notices/notices.ts'
import { secretOf } from '../random.ts'
import { type Change, changesOf } from '../truth/changes.ts'
import type { Person } from '../truth/person.ts'
import { newSince } from '../truth/personas.ts'
import { MINUTE_MS } from '../zones.ts'
import { usernameOf } from './oauth.ts'
import { activity, type Row, recovery, sleepRow } from './samples.ts'
import { gearOf, subset, workoutKey } from './workouts.ts'

const SIGNING = secretOf('suunto signing')

/** What a service has to know to check signatures. */
export const variables = { SUUNTO_WEBHOOK_SECRET: SIGNING }

/** Rows of one notice. */
const MOST_ROWS = 500

/** What is new; what people edit or delete is not told. */
export const notices: Notices = {
  byHand: true,
  // Pauses that double; the number of failures that stop everything, and for how long, are ours.
  retries: [15, 30, 60, 120, 240, 480, 960, 1920, 3840],
  answerSeconds: 2,
  breaker: { failures: 20, seconds: 900 },
  of: told,
  headers,
  takes: (status) => status >= 200 && status < 300,
}

/** The old form has a header with the client instead of a signature. */
function headers({ topic, text, client, settings }: Sending): Record<string, string> {
  if (settings.own.legacy_notices && topic === 'WORKOUT_CREATED') {
    const basic = Buffer.from(`${client.id}:${client.secret}`).toString('base64')
    return { 'content-type': 'application/x-www-form-urlencoded', authorization: `Basic ${basic}` }
  }
  return { 'x-hmac-sha256-signature': createHmac('sha256', SIGNING).update(text).digest('hex') }
}

function told({ person, fromMs, toMs, settings }: Stretch): Notice[] {
  return changesOf(person, fromMs, toMs).flatMap((change): Notice[] => {
    const { atMs } = change
    const username = usernameOf(person)
    if (change.what === 'workout' && change.how === 'made') {
      const { view } = change
      const form = new URLSearchParams({ username, workoutid: workoutKey(person, view.workout) })
      const said = { type: 'WORKOUT_CREATED', username, workout: subset(person, view), gear: gearOf(person) }
      return [{ atMs, topic: said.type, body: () => (settings.own.legacy_notices ? String(form) : said) }]
    }
    if (change.what === 'sleep' && change.how !== 'removed' && !change.view.edited)
      return rowsOf(username, 'SLEEP', { atMs, rows: [sleepRow(person, change.view)] })
    return change.what === 'day' ? progress(person, change) : []
  })
}

/** What the watch measured since it was last connected. */
function progress(person: Person, { atMs }: Change): Notice[] {
  const span = { fromMs: newSince(person, atMs) - 30 * MINUTE_MS, toMs: atMs }
  return [
    ...rowsOf(usernameOf(person), 'ACTIVITY', { atMs, rows: activity(person, span, atMs) }),
    ...rowsOf(usernameOf(person), 'RECOVERY', { atMs, rows: recovery(person, span, atMs) }),
  ]
}

function rowsOf(username: string, kind: string, { atMs, rows }: { atMs: number; rows: readonly Row[] }): Notice[] {
  const type = `SUUNTO_247_${kind}_CREATED`
  return Array.from({ length: Math.ceil(rows.length / MOST_ROWS) }, (_, i) => {
    const samples = rows.slice(i * MOST_ROWS, (i + 1) * MOST_ROWS)
    return { atMs, topic: type, body: () => ({ type, username, samples }) }
  })
}
