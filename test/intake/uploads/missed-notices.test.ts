// A pull that finds what a notice should have told of: counted whatever it is, where the provider tells of such.
import t from 'tap'
import { noteMissed } from '../../../server/intake/uploads/missed.ts'
import type { StoredUpload } from '../../../server/intake/uploads/stored.ts'
import type { Outcome } from '../../../server/store/commit.ts'
import type { EventCounts } from '../../../server/store/event-items.ts'
import { startTestApp } from '../../support/app.ts'
import { createUser, oneEngine } from '../../support/sdk.ts'

const HOUR_MS = 3_600_000

oneEngine(t, 'a pull counts as a missed notice when it finds what the provider tells of', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const { db } = app
  await db.query(`insert into notice_source (provider, opened_at) select unnest($1::text[]), now()`, [
    ['oura', 'polar', 'withings', 'strava', 'garmin', 'google_health', 'suunto', 'whoop'],
  ])
  const nowMs = Date.now()
  const counts = (type: string, hours: number, inserted = 1) => {
    const ms = nowMs - hours * HOUR_MS
    return { type, inserted, updated: 1, firstTs: new Date(ms).toISOString(), lastTs: new Date(ms).toISOString() }
  }
  const isMissed = async (provider: string, outcome: Partial<Pick<Outcome, 'events' | 'series'>>) => {
    const user = await createUser(app)
    const { id } = await db.one<{ id: string }>(
      `with granted as (
         insert into provider_grant (provider, account_id, granted_at) values ($2, $1::text, now() - interval '1 day')
         returning id
       )
       insert into connection (user_id, provider, grant_id) select $1::uuid, $2, id from granted returning id`,
      [user, provider],
    )
    const upload: StoredUpload = {
      ...{ id: '1', provider, connection_id: id, sha256: Buffer.alloc(0) },
      ...({ channel: 'pull', sync_type: 'live' } as const),
      received_at: new Date(nowMs).toISOString(),
    }
    await noteMissed({ db, metrics: app.deps.metrics, log: app.deps.oauth.log }, upload, {
      ...{ events: [], series: [] },
      ...outcome,
    })
    const { missed } = await db.one<{ missed: boolean }>(
      'select missed_at is not null as missed from provider_grant where account_id = $1',
      [user],
    )
    return missed
  }
  const cases: [provider: string, type: string, hours: number, isMissed: boolean][] = [
    ['oura', 'steps', 3, true],
    ['oura', 'heart_rate', 3, false],
    ['oura', 'steps', 0.4, false],
    ['oura', 'steps', 30, false],
    ['whoop', 'recovery_score', 3, true],
    ['polar', 'heart_rate', 3, true],
    ['polar', 'vo2_max', 3, false],
    ['suunto', 'heart_rate', 3, true],
    ['suunto', 'steps', 3, false],
    ['withings', 'weight', 3, true],
    ['withings', 'heart_rate', 3, false],
    ['google_health', 'hydration', 3, true],
    ['google_health', 'energy', 3, false],
    ['strava', 'weight', 3, false],
    ['fitbit', 'steps', 3, false],
  ]
  const wrong: unknown[] = []
  for (const [provider, type, hours, expected] of cases) {
    const found = await isMissed(provider, { series: [counts(type, hours)] })
    if (found !== expected) wrong.push([provider, type, hours, found])
  }
  t.strictSame(wrong, [])
  t.equal(await isMissed('oura', { series: [counts('steps', 3, 0)] }), false, 'what was known, and has changed')
  const event = (type: EventCounts['type']): EventCounts => ({
    ...{ type, inserted: 1, updated: 0, unchanged: 0, duplicates: 0, announced: [] },
    ...{ firstMs: nowMs - 3 * HOUR_MS, lastMs: nowMs - 3 * HOUR_MS },
  })
  t.equal(await isMissed('suunto', { events: [event('health_score')] }), true)
  t.equal(await isMissed('oura', { events: [event('workout')] }), true)
})
