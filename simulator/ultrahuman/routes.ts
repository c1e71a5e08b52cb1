import { json, type Reply } from '../http.ts'
import type { ApiCall } from '../provider.ts'
import { hasGlucoseSensor } from '../truth/measurements.ts'
import { dateOf, dayOf, localDay, localMs } from '../zones.ts'
import { entriesOf } from './entries.ts'
import { accountOf } from './oauth.ts'

/** An error of the API. */
export function fault(status: number, error: string): Reply {
  return json(status, { status, error, data: null })
}

export function familyOf(path: string): string | undefined {
  return path === '/user_data/metrics' ? 'metrics' : undefined
}

/** Answers a request to the API. */
export function answer(call: ApiCall): Reply {
  const { method, path, scopes, settings } = call
  if (method !== 'GET') return fault(404, 'Not found')
  if (path === '/user_data/user_info') return scopes.has('profile') ? user(call) : { status: 403 }
  if (path !== '/user_data/metrics') return fault(404, 'Not found')
  // No data access for the application, or no ring: without a body.
  return scopes.has('ring_data') && !settings.own.no_access ? metrics(call) : { status: 403 }
}

/** Two spellings are around. */
function user({ person, nowMs }: ApiCall): Reply {
  const timezone = person.day(localDay('UTC', nowMs)).zone
  const found = { username: person.key, email: person.email, timezone }
  return json(
    200,
    person.strap === 3 ? { data: { id: accountOf(person), ...found } } : { user_id: accountOf(person), ...found },
  )
}

/** A date by the clock of where the person is now, whatever it was then. */
function metrics({ person, query, nowMs, settings, scopes }: ApiCall): Reply {
  const day = dayOf(query.get('date') ?? '')
  const unknown = [...query.keys()].find((name) => name !== 'date')
  if (unknown !== undefined || Number.isNaN(day)) return fault(400, 'Provide date as YYYY-MM-DD, and nothing else')
  const { zone } = person.day(localDay('UTC', nowMs))
  const date = { day, startMs: localMs(zone, day, 0), endMs: localMs(zone, day + 1, 0) }
  const glucose = scopes.has('cgm_data') && hasGlucoseSensor(person)
  const entries = day < person.span.firstDay ? [] : entriesOf(person, date, { nowMs, glucose })
  if (settings.own.old_envelope) {
    const metric_data = entries.map((one) => (one?.type === 'sleep' ? { ...one, type: 'Sleep' } : one))
    return json(200, { data: { metric_data } })
  }
  return json(200, { status: 200, error: null, data: { latest_time_zone: zone, metrics: { [dateOf(day)]: entries } } })
}
