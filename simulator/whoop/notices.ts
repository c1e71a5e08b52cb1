import { createHmac } from 'node:crypto'
import type { Notice, Notices, Stretch } from '../notices/notices.ts'
import { uuidOf } from '../random.ts'
import { changesOf } from '../truth/changes.ts'
import type { Person } from '../truth/person.ts'
import { accountOf, SCORING_MS, sleepId, workoutId } from './records.ts'

const SCOPES: Readonly<Record<string, string>> = {
  workout: 'read:workout',
  sleep: 'read:sleep',
  recovery: 'read:recovery',
}

/** Notices of model v2: creation is an update. A recovery is named by its sleep. */
export const notices: Notices = {
  byHand: true,
  // "Five times over about an hour".
  retries: [60, 300, 600, 1200, 1500],
  answerSeconds: 10,
  of: told,
  headers: ({ text, client, settings, nowMs, firstMs }) => {
    const timestamp = String(settings.own.retries_keep_time ? firstMs : nowMs)
    const signature = createHmac('sha256', client.secret).update(timestamp).update(text).digest('base64')
    return { 'x-whoop-signature': signature, 'x-whoop-signature-timestamp': timestamp }
  },
  takes: (status) => status >= 200 && status < 300,
}

type Said = readonly [atMs: number, type: string, id: string]

function told({ person, scopes, fromMs, toMs }: Stretch): Notice[] {
  const said = [
    ...changesOf(person, fromMs, toMs).flatMap((change) => atOnce(person, change)),
    ...changesOf(person, fromMs - SCORING_MS, toMs - SCORING_MS).flatMap((change) => scored(person, change)),
  ]
  return said
    .filter(([, type]) => scopes.has(SCOPES[type.split('.')[0] ?? ''] ?? ''))
    .sort(([a], [b]) => a - b)
    .map((one) => notice(person, one))
}

type Changed = ReturnType<typeof changesOf>[number]

/** An edited sleep is another one, which takes the place of the first. */
function atOnce(person: Person, change: Changed): Said[] {
  const { atMs, how } = change
  if (change.what === 'workout')
    return [[atMs, how === 'removed' ? 'workout.deleted' : 'workout.updated', workoutId(person, change.view)]]
  if (change.what !== 'sleep') return []
  const id = sleepId(person, change.view)
  const before = change.before ? sleepId(person, change.before) : id
  const gone: Said[] = [[atMs, 'sleep.deleted', before], ...ifScored(change, [atMs, 'recovery.deleted', before])]
  if (how === 'removed') return gone
  return [...(before === id ? [] : gone), [atMs, 'sleep.updated', id]]
}

/** What a score adds, a while later; a sleep that is edited or deleted meanwhile gets none. */
function scored(person: Person, change: Changed): Said[] {
  const atMs = change.atMs + SCORING_MS
  if (change.how === 'removed') return []
  if (change.what === 'workout' && change.how === 'made')
    return [[atMs, 'workout.updated', workoutId(person, change.view)]]
  if (change.what !== 'sleep') return []
  const id = sleepId(person, change.view)
  return ifScored(change, [atMs, 'sleep.updated', id]).concat(
    ifScored(change, change.view.sleep.nap ? undefined : [atMs, 'recovery.updated', id]),
  )
}

function ifScored(change: Changed & { what: 'sleep' }, said: Said | undefined): Said[] {
  const { nap, unscorable } = change.view.sleep
  const recovery = said?.[1].startsWith('recovery') === true
  return said === undefined || unscorable || (recovery && nap) ? [] : [said]
}

function notice(person: Person, [atMs, type, id]: Said): Notice {
  const trace = uuidOf(`whoop/notice/${person.seed}/${type}/${id}/${atMs}`)
  return { atMs, topic: type, body: () => ({ user_id: accountOf(person), id, type, trace_id: trace }) }
}
