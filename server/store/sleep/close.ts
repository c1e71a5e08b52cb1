import type { Database, Transaction } from '../../db/database.ts'
import { type EventSettings, recordEvents, type Wanted, wantedEvents } from '../../webhooks/record.ts'
import { sessionEvents } from '../../webhooks/session-events.ts'

/** Sessions that one statement closes; an export of years has some thousands. */
const SESSIONS_AT_ONCE = 5_000

/**
 * Closes the sessions for which no more data is expected: they ended more than 120 minutes ago, or a later one of their
 * source is there, and they have not changed for 10 minutes, since an export extends a night many times (sdk-types
 * 7.4). Any number of processes may do so at once; sessions that an import is changing are left to the next run.
 * Returns whether there is more to do. Developers get an event when a session is closed, and again when it was reopened
 * and closed again.
 */
export async function closeSleep(db: Database, settings: EventSettings): Promise<boolean> {
  return db.transaction(async (tx) => {
    const closed = await tx.query<{ id: string; user_id: string }>(CLOSE_SQL, [SESSIONS_AT_ONCE])
    await recordClosed(tx, settings, closed)
    return closed.length === SESSIONS_AT_ONCE
  })
}

async function recordClosed(
  tx: Transaction,
  settings: EventSettings,
  closed: readonly { id: string; user_id: string }[],
) {
  const asked = new Map<string, Wanted>()
  for (const userId of new Set(closed.map(({ user_id }) => user_id))) {
    const wanted = await wantedEvents(tx, settings, userId)
    if (wanted?.('sleep.created', null)) asked.set(userId, wanted)
  }
  const ids = closed.filter(({ user_id }) => asked.has(user_id)).map(({ id }) => id)
  const events = await sessionEvents(tx, 'sleep', ids, 'live')
  await recordEvents(
    tx,
    events.filter(({ userId, name, scope }) => asked.get(userId)?.(name, scope)),
  )
}

const CLOSE_SQL = `
  with due as (
       select s.id
       from sleep s
    join app_user u on u.id = s.user_id
       where s.closed_at is null
         and s.changed_at < now() - interval '10 minutes'
         and (s.end_at < now() - interval '120 minutes'
              or exists (select 1 from sleep later where later.source_id = s.source_id and later.end_at > s.end_at))
       limit $1
       for key share of u skip locked
       for update of s skip locked
     )
     update sleep s set closed_at = now() from due where s.id = due.id
     returning s.id, s.user_id`
