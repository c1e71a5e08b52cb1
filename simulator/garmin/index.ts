import type { Provider } from '../provider.ts'
import { Backfills } from './backfills.ts'
import { Callbacks } from './callbacks.ts'
import { activityId, userIdOf } from './items.ts'
import { sleepId } from './nights.ts'
import { noticesOf, variables } from './notices.ts'
import { oauth } from './oauth.ts'
import { answer, familyOf, fault } from './routes.ts'

/** Garmin: Health API, Activity API, Women's Health. Nothing can be fetched that it did not announce. */
export function garmin(): Provider {
  const callbacks = new Callbacks()
  const backfills = new Backfills(callbacks)
  return {
    name: 'garmin',
    title: 'Garmin',
    oauth,
    apiPath: '',
    limits: [{ per: 'application', seconds: 60, requests: 100, path: '/backfill/' }],
    settings: {
      ...{ access_seconds: 86_400, code_seconds: 600, grace_seconds: 0, missing_scope_status: 403 },
      ...{ retry_percent: 100, subscription_days: 0 },
      ...{ redirect_uris: null, member_limit: null, page_size: 1, limits: null },
      own: {
        // The past comes so many seconds after it was asked for, over so many; so much of it twice.
        ...{ delay_seconds: 5, spread_seconds: 20, repeat_percent: 5 },
        // Lists of records in one body, at most; seconds between heart rates of a day, and samples of an activity.
        ...{ records_together: 4, heart_rate_seconds: 15, detail_seconds: 5 },
        // Addresses about the user only below partner-gateway; permissions as a list; 401 for what is too old; nights
        // get another id when they become longer.
        ...{ gateway_only: false, bare_permissions: false, old_unauthorized: false, new_sleep_ids: false },
      },
    },
    family: familyOf,
    answer: (call) => answer(call, { backfills, callbacks }),
    tooMany: () => fault(429, 'Too many requests'),
    unauthorized: () => fault(401, 'Invalid access token'),
    records: [],
    notices: noticesOf(backfills, callbacks),
    variables,
    accountOf: userIdOf,
    ids: (person) => ({
      // Naps have none of their own; those of a date without a night are not told.
      sleep: (view) => (view.deleted || view.sleep.nap ? null : sleepId(person, view, false)),
      ...{ rest: () => null, cycle: () => null },
      workout: ({ workout, deleted }) => (deleted ? null : String(activityId(person, workout))),
    }),
  }
}
