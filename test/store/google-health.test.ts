// What is stored of Google Health when the same time is asked for again: otherwise, later, or by another granularity.
import t from 'tap'
import { startTestApp, type TestApp } from '../support/app.ts'
import { type CloudUser, connectedUser, write } from '../support/given.ts'
import { batchOf, type TestPart } from '../support/parcels.ts'
import { oneEngine } from '../support/sdk.ts'
import { addSources, MINUTE_MS, summary, write as writeSamples } from '../support/summaries.ts'

const SEVEN = Date.UTC(2026, 2, 7, 7)
const HOUR_MS = 60 * MINUTE_MS
const STEPS = 80
const PHONE = { provider: 'health_connect', device: 'Pixel 9', source: 'Google Fit', type: 'phone' }

const text = (ms: number) => new Date(ms).toISOString()

/** The sum of an hour. */
const hour = (ms: number, count: number) => ({
  ...{ startTime: text(ms), endTime: text(ms + HOUR_MS) },
  steps: { countSum: String(count) },
})

const rolled = (...rollupDataPoints: object[]): TestPart => ({
  stream: 'steps',
  at: '2026-03-10T12:00:00Z',
  body: { rollupDataPoints },
})

/** Imports what Google answered. */
async function answered(app: TestApp, user: CloudUser, ...parts: TestPart[]): Promise<void> {
  await write(app, user, batchOf('google_health', parts))
  await app.db.query('update app_user set revision = revision + 1 where id = $1', [user.userId])
}

/** Steps and minutes of the day, as readers see them. */
async function dayOf(app: TestApp, { userId }: CloudUser) {
  const { body } = await summary(app, userId, 'activity', { start_date: '2026-03-07', end_date: '2026-03-07' })
  const [{ steps, sedentary_minutes: sedentary } = { steps: null, sedentary_minutes: null }] = body.data
  return { steps, sedentary }
}

oneEngine(t, 'Google Health', async (t, engine) => {
  const app = await startTestApp(t, engine)

  await t.test('the sum of an hour beside the minutes of a phone', async (t) => {
    const user = await connectedUser(app, 'google_health')
    const [phone] = await addSources(app.db, user.userId, [PHONE])
    const minutes = Array.from({ length: 120 }, (_, minute) => ({
      ...{ sourceId: phone as number, seriesId: STEPS, ms: SEVEN + minute * MINUTE_MS, value: 10, zone: null },
    }))
    await writeSamples(app.db, user.userId, minutes)
    t.strictSame(await dayOf(app, user), { steps: 1_200, sedentary: 120 })
    await answered(app, user, rolled(hour(SEVEN, 900)))
    t.strictSame(
      await dayOf(app, user),
      { steps: 1_500, sedentary: null },
      'it counts for that hour, and of the phone the next one',
    )
  })
})
